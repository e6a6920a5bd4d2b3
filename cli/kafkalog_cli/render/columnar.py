"""Rows as Arrow IPC and Parquet: one table in a stream, or several in a directory, each in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from kafkalog.segments.blocks import Rows
from kafkalog.segments.segment_arrow import ARROW_BATCHES, ARROW_ROOM, ArrowRows
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import Words, arrow_batches, chosen_schema, parquet_encodings
from kafkalog_cli.render.row_formats import ChosenColumns

__all__ = ["KEPT_ROWS", "arrow_directory", "arrow_stream", "write_stream"]

KEPT_ROWS: Final = 1 << 14
_GROUP_ROWS: Final = 1 << 19
_GROUP_BYTES: Final = 64 << 20
_PAGE_ROWS: Final = 1 << 14  # written at once
_GROUPED: Final = frozenset({"producer_id"})  # neighbours are often equal


class _File:
    """A stream as pyarrow writes to it, while its own writer is called.

    Pyarrow's writers also end a file when they are collected: after an interrupt, when nobody wants that end.
    """

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._position = 0
        self._is_wanted = False

    @contextmanager
    def wanted(self) -> Iterator[None]:
        """Let what pyarrow writes through."""
        self._is_wanted = True
        try:
            yield
        finally:
            self._is_wanted = False

    def write(self, data: Any) -> int:
        if self._is_wanted:
            self._stream.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None: ...

    def close(self) -> None: ...


class _IpcWriter:
    """An Arrow file."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:
        import pyarrow as pa

        self._file = _File(stream)
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


class _ParquetWriter:
    """A Parquet file, in row groups of some size."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        encodings = parquet_encodings(schema)
        # The smallest and largest value, where readers can leave out row groups by them: not of keys and values, which
        # may have megabytes each.
        ordered = [*encodings["column_encoding"], *(field.name for field in schema if field.name in _GROUPED)]
        self._metadata = schema.metadata
        self._held: list[Any] = []
        self._size = 0
        self._file = _File(stream)
        with self._file.wanted():
            self._writer = pq.ParquetWriter(
                pa.PythonFile(self._file, mode="w"), schema, compression="zstd", store_schema=False,
                write_statistics=ordered or False, write_batch_size=_PAGE_ROWS, write_page_checksum=True, **encodings,
            )  # fmt: skip

    def write(self, batch: Any) -> None:
        if self._size + batch.nbytes > _GROUP_BYTES:  # a group takes several times its size while it is written
            self._write()
        self._held.append(batch)
        self._size += batch.nbytes
        if self._size >= _GROUP_BYTES or sum(one.num_rows for one in self._held) >= _GROUP_ROWS:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        if self._held:
            held, self._held, self._size = self._held, [], 0
            with self._file.wanted():
                self._writer.write_table(pa.Table.from_batches(held))

    def close(self) -> None:
        self._write()
        with self._file.wanted():
            self._writer.add_key_value_metadata(self._metadata or {})
            self._writer.close()


_WRITERS: Final[dict[str, Callable[[BinaryIO, Any], Any]]] = {"arrow": _IpcWriter, "parquet": _ParquetWriter}


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
