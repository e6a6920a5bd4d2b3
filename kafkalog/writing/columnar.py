"""Rows as Arrow IPC and Parquet: one table in a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from kafkalog.findings import Finding
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import BlockShape
from kafkalog.segments.segment_arrow import ARROW_BATCHES, ARROW_ROOM, ArrowRows
from kafkalog.tables import Table
from kafkalog.tables.arrow import IpcFile, ParquetFile, arrow_batches, chosen_schema
from kafkalog.writing.row_formats import BlockSink, ChosenColumns

if TYPE_CHECKING:
    from kafkalog.tables.arrow import RecordBatch

__all__ = ["ARROW_SHAPE", "KEPT_ROWS", "ArrowSink", "batches_of", "write_stream"]

KEPT_ROWS: Final = 1 << 14


_WRITERS: Final[dict[str, Callable[[BinaryIO, Any], Any]]] = {"arrow": IpcFile, "parquet": ParquetFile}


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


ARROW_SHAPE: Final = BlockShape(ARROW_ROOM, spaced=True)


def batches_of(
    items: Iterable[tuple[Table, tuple[Any, ...]] | Rows | Finding], table: Table, schema: Any
) -> Iterator[RecordBatch]:
    """Yield rows of a table as batches with the schema's columns, in bounded memory; findings are passed over."""
    blocks, kept = ArrowRows(schema, ()), [table.names.index(name) for name in schema.names]
    rows: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, Rows):
            yield from arrow_batches(rows, schema)
            rows = []
            yield from blocks.add(item)
        elif not isinstance(item, Finding):
            yield from blocks.last()
            rows.append(tuple([item[1][at] for at in kept]))
            if len(rows) >= KEPT_ROWS:
                yield from arrow_batches(rows, schema)
                rows = []
    yield from arrow_batches(rows, schema)
    yield from blocks.last()


def write_stream(form: str, stream: BinaryIO, schema: Any, batches: Iterable[Any]) -> None:
    """Write batches of any schema to `stream`, as Arrow or Parquet."""
    writer = _WRITERS[form](stream, schema)
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
