"""Rows as ndjson, json and csv. Every sink takes (table, row) and writes bytes to a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO, Final, Protocol

from kafkalog.log.blocks import Block, Rows
from kafkalog.tables import SCHEMA_VERSION, Table
from kafkalog_cli.render.block_lines import BlockLines
from kafkalog_cli.render.cells import JsonRows, as_csv, as_json
from kafkalog_cli.render.escaped_csv import EscapedCsv
from kafkalog_cli.render.row_templates import RowTemplate, csv_template, json_template, ndjson_template

__all__ = ["BlockSink", "ChosenColumns", "CsvSink", "JsonSink", "NdjsonSink", "RowSink"]

_ROOM: Final = 2100  # records in a block: a block costs some calls, and text is made of it while it is in the cache


class RowSink(Protocol):
    """Takes rows in the order in which they come."""

    def row(self, table: Table, row: Sequence[Any]) -> None: ...

    def flush(self) -> None:
        """Show the rows so far, if the format can."""

    def close(self) -> None: ...


class BlockSink(RowSink, Protocol):
    """Takes also blocks of at most `room` records, whose columns are those that it asks for.

    They are of chunks of at most `batches` batches, None for as many as text takes. JSON in them has blanks and is not
    ASCII if it is `spaced`.
    """

    room: int
    spaced: bool
    batches: int | None

    def names(self, table: Table) -> Sequence[str]:
        """Return the columns that blocks of a table need."""

    def block(self, rows: Rows) -> None:
        """Take rows of a block."""


class ChosenColumns:
    """The requested columns, by table; all columns if none were requested."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._kept: dict[str, list[int]] = {}

    def of(self, table: Table) -> list[int]:
        """Return their numbers in the table, in the order in which they were requested."""
        kept = self._kept.get(table.name)
        if kept is None:
            asked = [table.names.index(name) for name in self._names if name in table.names]
            everything = not self._names or (table.name == "findings" and not asked)
            kept = list(range(len(table.names))) if everything else asked
            self._kept[table.name] = kept
        return kept

    def names_of(self, table: Table) -> list[str]:
        """Return their names."""
        return [table.names[i] for i in self.of(table)]


class NdjsonSink:
    """One JSON object a line: ``table`` says which table it is a row of, ``schema_version`` what its columns mean."""

    room = _ROOM
    spaced = False
    batches: int | None = None

    def __init__(self, stream: BinaryIO, columns: Sequence[str]) -> None:
        self._stream = stream
        self._columns = ChosenColumns(columns)
        self._lines = BlockLines(stream)
        self._templates = _Templates()
        self._rows: dict[str, JsonRows] = {}

    def names(self, table: Table) -> Sequence[str]:
        return self._columns.names_of(table)

    def row(self, table: Table, row: Sequence[Any]) -> None:
        text = self._rows.get(table.name)
        if text is None:
            head = {"table": table.name, "schema_version": SCHEMA_VERSION}
            text = self._rows[table.name] = JsonRows(table.names, self._columns.of(table), head)
        if self._columns.of(table):  # else none of the requested columns
            self._lines.write(text(row).encode() + b"\n")

    def block(self, rows: Rows) -> None:
        if rows.block.columns:
            self._lines.rows(rows, self._templates.of(rows.block, ndjson_template))

    def flush(self) -> None:
        self._lines.flush()
        self._stream.flush()

    def close(self) -> None:
        self._lines.flush()


class _Templates:
    """The templates of blocks, which stay the same as long as their cells do."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Block, RowTemplate]] = {}

    def of(self, block: Block, make: Callable[[Block], RowTemplate]) -> RowTemplate:
        known = self._known.get(block.table.name)
        if known is None or known[0] is not block:
            known = self._known[block.table.name] = (block, make(block))
        return known[1]


class JsonSink:
    """One object: schema_version, and for each table a list of its rows.

    The rows of the first of the `expected` tables are written as they come; those of the others wait in files.
    """

    room = _ROOM
    spaced = False
    batches: int | None = None

    def __init__(self, stream: BinaryIO, columns: Sequence[str], expected: Sequence[str]) -> None:
        self._stream = stream
        self._columns = ChosenColumns(columns)
        self._lists: dict[str, _JsonList] = {}
        self._begun = ""
        self._expected = list(expected)
        self._rows: dict[str, JsonRows] = {}
        self._is_started = False

    def head(self, cells: Mapping[str, Any]) -> None:
        """Write cells of the object before its tables."""
        self._start()
        for name, cell in cells.items():
            self._stream.write(f',\n "{name}": {as_json(cell)}'.encode())

    def _start(self) -> None:
        if not self._is_started:
            self._stream.write(f'{{"schema_version": {SCHEMA_VERSION}'.encode())
        self._is_started = True

    def _list_of(self, name: str) -> _JsonList:
        while self._expected:
            expected, *self._expected = self._expected
            self._add_list(expected)
        return self._lists[name] if name in self._lists else self._add_list(name)

    def _add_list(self, name: str) -> _JsonList:
        if self._lists:
            import tempfile

            from kafkalog.log.off_limits import temporary_folder

            made = _JsonList(tempfile.TemporaryFile(dir=temporary_folder()))  # noqa: SIM115  # closed by `close`
        else:
            self._begun = name
            self._start()
            self._stream.write(f',\n "{name}": ['.encode())
            made = _JsonList(self._stream)
        self._lists[name] = made
        return made

    def names(self, table: Table) -> Sequence[str]:
        return self._columns.names_of(table)

    def row(self, table: Table, row: Sequence[Any]) -> None:
        text = self._rows.get(table.name)
        if text is None:
            text = self._rows[table.name] = JsonRows(table.names, self._columns.of(table))
        self._list_of(table.name).row(text(row).encode())

    def block(self, rows: Rows) -> None:
        self._list_of(rows.block.table.name).block(rows)

    def flush(self) -> None: ...

    def close(self) -> None:
        self._start()
        while self._expected:
            self._list_of(self._expected[0])
        for name, rows in self._lists.items():
            rows.flush()
            if name != self._begun:
                self._stream.write(f',\n "{name}": ['.encode())
                rows.give(self._stream)
            self._stream.write(b"]")
        self._stream.write(b"}\n")


class _JsonList:
    """The rows of one table, with commas between them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lines = BlockLines(file)
        self._templates = _Templates()
        self._is_started = False

    def row(self, data: bytes) -> None:
        self._lines.write((b",\n  " if self._is_started else b"\n  ") + data)
        self._is_started = True

    def block(self, rows: Rows) -> None:
        block, start, stop = rows.block, rows.start, rows.stop
        if not self._is_started and start < stop:
            self._lines.rows(Rows(block, start, start + 1), json_template(block, is_first=True))
            self._is_started = True
            start += 1
        self._lines.rows(Rows(block, start, stop), self._templates.of(block, json_template))

    def flush(self) -> None:
        self._lines.flush()

    def give(self, stream: BinaryIO) -> None:
        """Copy all rows to `stream`."""
        self._file.seek(0)
        while data := self._file.read(1 << 20):
            stream.write(data)
        self._file.close()


class CsvSink:
    """One table as RFC 4180; null is an empty field, an empty string a quoted one, JSON columns are JSON text.

    With `escaped`, what acts on a terminal is escaped; `safe` is that of ``as_csv``.
    """

    room = _ROOM
    spaced = False
    batches: int | None = None

    def __init__(
        self, stream: BinaryIO, columns: Sequence[str], table: Table, *, escaped: bool, safe: bool = False
    ) -> None:
        self._stream = stream
        self._chosen = ChosenColumns(columns)
        self._kept = self._chosen.of(table)
        self._table = table
        self._safe = safe
        self._template = partial(csv_template, safe=safe)
        self._lines = BlockLines(EscapedCsv(stream) if escaped else stream)
        self._templates = _Templates()
        self._write(table.names[i] for i in self._kept)

    def names(self, table: Table) -> Sequence[str]:
        return self._chosen.names_of(table) if table.name == self._table.name else ()

    def row(self, table: Table, row: Sequence[Any]) -> None:
        if table.name == self._table.name:
            self._write(row[i] for i in self._kept)

    def block(self, rows: Rows) -> None:
        if rows.block.table.name != self._table.name:
            return
        self._lines.rows(rows, self._templates.of(rows.block, self._template))

    def _write(self, cells: Iterable[Any]) -> None:
        line = ",".join(as_csv(cell, safe=self._safe) for cell in cells)
        text = (line or '""') + "\r\n"  # an empty line would be no row
        self._lines.write(text.encode("utf-8", "surrogateescape"))

    def flush(self) -> None:
        self._lines.flush()
        self._stream.flush()

    def close(self) -> None:
        self._lines.flush()
