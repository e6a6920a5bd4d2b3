"""Rows as Arrow IPC and Parquet: one table in a stream, or several in a directory, each in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from kafkalog.segments.blocks import Rows
from kafkalog.segments.segment_arrow import ARROW_BATCHES, ARROW_ROOM, ArrowRows
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import GuardedFile, ParquetFile, Words, arrow_batches, chosen_schema
from kafkalog_cli.render.row_formats import ChosenColumns

__all__ = ["KEPT_ROWS", "arrow_directory", "arrow_stream", "write_stream"]

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

    def write(self, batch: Any) -> None:
        with self._file.wanted():
            self._writer.write_batch(batch)

    def close(self) -> None:
        with self._file.wanted():
            self._writer.close()


_WRITERS: Final[dict[str, Callable[[BinaryIO, Any], Any]]] = {"arrow": _IpcWriter, "parquet": ParquetFile}


class ArrowSink:
    """Takes rows and blocks of the tables that `open_table` gives a stream for."""

    room = ARROW_ROOM
    batches: int | None = ARROW_BATCHES
    spaced = True

    def __init__(
        self,
        form: str,
        open_table: Callable[[Table], BinaryIO],
        columns: Sequence[str],
        tables: Sequence[str],
        files: Sequence[str],
    ) -> None:
        self._form = form
        self._open = open_table
        self._columns = ChosenColumns(columns)
        self._files = files
        self._tables = {name: _OfTable(self, TABLES[name]) for name in tables}

    def start(self, table: Table, schema: Any) -> Any:
        """Begin a table's file."""
        return _WRITERS[self._form](self._open(table), schema)

    def schema(self, table: Table) -> Any:
        """Return the schema of a table's chosen columns."""
        return chosen_schema(table, self.names(table), coded=True, files=bool(self._files))

    def words(self, table: Table) -> Words:
        """Return what the dictionaries of a table's columns begin with: all words that are known before its rows."""
        files = [name.encode("utf-8", "backslashreplace").decode() for name in self._files]
        known = {column.name: files if column.name == "file" else column.words for column in table.columns}
        return {name: {text: at for at, text in enumerate(dict.fromkeys(texts))} for name, texts in known.items()}

    def arrow_rows(self, table: Table) -> ArrowRows:
        """Return what makes batches of a table's blocks."""
        return ArrowRows(self.schema(table), self._files)

    def names(self, table: Table) -> Sequence[str]:
        return self._columns.names_of(table)

    def row(self, table: Table, row: Sequence[Any]) -> None:
        if table.name in self._tables:
            self._tables[table.name].row([row[i] for i in self._columns.of(table)])

    def block(self, rows: Rows) -> None:
        if rows.block.table.name in self._tables:
            self._tables[rows.block.table.name].block(rows)

    def flush(self) -> None:
        """Show nothing before the end."""

    def close(self) -> None:
        for table in self._tables.values():
            table.close()


class _OfTable:
    """The rows of one table, in their order; a file without rows has its columns."""

    def __init__(self, sink: ArrowSink, table: Table) -> None:
        self._schema = sink.schema(table)
        self._writer = sink.start(table, self._schema)
        self._blocks = sink.arrow_rows(table)
        self._rows: list[tuple[Any, ...]] = []
        self._words = sink.words(table)

    def row(self, row: Sequence[Any]) -> None:
        self._take(self._blocks.last())
        self._rows.append(tuple(row))
        if len(self._rows) >= KEPT_ROWS:
            self._flush()

    def block(self, rows: Rows) -> None:
        self._flush()
        self._take(self._blocks.add(rows))

    def _take(self, batches: Iterator[Any]) -> None:
        for batch in batches:
            self._writer.write(batch)
            del batch  # the next one is made in its buffers

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._take(arrow_batches(rows, self._schema, self._words))

    def close(self) -> None:
        self._flush()
        self._take(self._blocks.last())
        self._writer.close()


def arrow_stream(form: str, stream: BinaryIO, columns: Sequence[str], table: str, files: Sequence[str]) -> ArrowSink:
    """Return the sink for one table that goes to `stream`."""
    return ArrowSink(form, lambda _: stream, columns, [table], files)


def write_stream(form: str, stream: BinaryIO, schema: Any, batches: Iterable[Any]) -> None:
    """Write batches of any schema to `stream`, as Arrow or Parquet."""
    writer = _WRITERS[form](stream, schema)
    for batch in batches:
        writer.write(batch)
    writer.close()


@contextmanager
def arrow_directory(
    form: str, folder: Path, place: str, columns: Sequence[str], tables: Sequence[str], files: Sequence[str]
) -> Iterator[ArrowSink]:
    """Give the sink for tables that become files of a directory; `place` is the name of each, with {table}."""
    streams: list[BinaryIO] = []

    def opened(table: Table) -> BinaryIO:
        path = folder / place.format(table=table.name)
        path.parent.mkdir(exist_ok=True)
        streams.append(file := path.open("wb"))
        return file

    try:
        yield ArrowSink(form, opened, columns, tables, files)
    finally:
        for stream in streams:
            stream.close()
