"""Rows as Arrow IPC and Parquet: one table in a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final

from kafkalog.segments.blocks import Rows
from kafkalog.segments.segment_arrow import ARROW_BATCHES, ARROW_ROOM, ArrowRows
from kafkalog.tables import Table
from kafkalog.tables.arrow import GuardedFile, ParquetFile, arrow_batches, chosen_schema
from kafkalog_cli.render.row_formats import BlockSink, ChosenColumns

__all__ = ["KEPT_ROWS", "ArrowSink", "write_stream"]

KEPT_ROWS: Final = 1 << 14


class _IpcWriter:
    """An Arrow file."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:
        import pyarrow as pa

        self._file = GuardedFile(stream)
        with self._file.wanted():
            # Words that nobody knew are written when they come: a file can't have another dictionary. Only findings
            # name files that were not given, and polars reads no dictionary that grows.
            options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, mode="w"), schema, options=options)

    def write_batch(self, batch: Any) -> None:
        with self._file.wanted():
            self._writer.write_batch(batch)

    def close(self) -> None:
        with self._file.wanted():
            self._writer.close()


_WRITERS: Final[dict[str, Callable[[BinaryIO, Any], Any]]] = {"arrow": _IpcWriter, "parquet": ParquetFile}


class ArrowSink(BlockSink):
    """The rows of one table, in their order; a file without rows has its columns. `files` are those that it names."""

    room = ARROW_ROOM
    batches = ARROW_BATCHES
    spaced = True

    def __init__(
        self, form: str, stream: BinaryIO, columns: Sequence[str], table: Table, files: Sequence[str] = ()
    ) -> None:
        self._table = table
        self._columns = ChosenColumns(columns)
        self._schema = chosen_schema(table, self.names(table), coded=True, files=bool(files))
        self._writer = _WRITERS[form](stream, self._schema)
        self._blocks = ArrowRows(self._schema, files)
        self._rows: list[tuple[Any, ...]] = []
        names = [name.encode("utf-8", "backslashreplace").decode() for name in files]
        known = {column.name: names if column.name == "file" else column.words for column in table.columns}
        # What the dictionaries of columns begin with: all words that are known before the rows.
        self._words = {
            name: {text: at for at, text in enumerate(dict.fromkeys(texts))} for name, texts in known.items()
        }

    def names(self, table: Table) -> Sequence[str]:
        return self._columns.names_of(table) if table.name == self._table.name else ()

    def row(self, table: Table, row: Sequence[Any]) -> None:
        if table.name == self._table.name:
            self._take(self._blocks.last())
            self._rows.append(tuple([row[i] for i in self._columns.of(table)]))
            if len(self._rows) >= KEPT_ROWS:
                self._take_rows()

    def block(self, rows: Rows) -> None:
        if rows.block.table.name == self._table.name:
            self._take_rows()
            self._take(self._blocks.add(rows))

    def _take(self, batches: Iterator[Any]) -> None:
        for batch in batches:
            self._writer.write_batch(batch)
            del batch  # the next one is made in its buffers

    def _take_rows(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._take(arrow_batches(rows, self._schema, self._words))

    def close(self) -> None:
        self._take_rows()
        self._take(self._blocks.last())
        self._writer.close()


def write_stream(form: str, stream: BinaryIO, schema: Any, batches: Iterable[Any]) -> None:
    """Write batches of any schema to `stream`, as Arrow or Parquet."""
    writer = _WRITERS[form](stream, schema)
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
