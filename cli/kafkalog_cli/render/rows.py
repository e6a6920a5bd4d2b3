"""Rows as ndjson, json and csv. Every sink takes (table, row) and writes bytes to a stream."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, BinaryIO, Final, Protocol

from kafkalog.tables import SCHEMA_VERSION, Table
from kafkalog_cli.escape import escape

__all__ = ["ChosenColumns", "CsvSink", "JsonSink", "NdjsonSink", "RowSink", "as_json"]


class RowSink(Protocol):
    """Takes rows in the order in which they come."""

    def row(self, table: Table, row: Sequence[Any]) -> None: ...

    def flush(self) -> None:
        """Show the rows so far, if the format can."""

    def close(self) -> None: ...


_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))  # dumps makes one for every call


def as_json(value: Any) -> str:
    """Write a value as JSON in ASCII, so that nothing in it acts on a terminal, an HTML page or a line reader."""
    return _ENCODER.encode(value)


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


class NdjsonSink:
    """One JSON object a line: ``table`` says which table it is a row of, ``schema_version`` what its columns mean."""

    def __init__(self, stream: BinaryIO, columns: Sequence[str]) -> None:
        self._stream = stream
        self._columns = ChosenColumns(columns)
        self._lines: list[str] = []

    def row(self, table: Table, row: Sequence[Any]) -> None:
        kept = self._columns.of(table)
        if not kept:  # none of the requested columns
            return
        head, names = {"table": table.name, "schema_version": SCHEMA_VERSION}, table.names
        self._lines.append(as_json({**head, **{names[i]: row[i] for i in kept}}))
        if len(self._lines) >= 1000:
            self._write()

    def _write(self) -> None:
        self._stream.write(("\n".join(self._lines) + "\n").encode())
        self._lines.clear()

    def flush(self) -> None:
        self.close()
        self._stream.flush()

    def close(self) -> None:
        if self._lines:
            self._write()


class JsonSink:
    """One object: schema_version, and for each table a list of its rows."""

    def __init__(self, stream: BinaryIO, columns: Sequence[str], expected: Sequence[str]) -> None:
        self._stream = stream
        self._columns = ChosenColumns(columns)
        self._tables: dict[str, io.StringIO] = {name: io.StringIO() for name in expected}

    def row(self, table: Table, row: Sequence[Any]) -> None:
        names = table.names
        text = self._tables.setdefault(table.name, io.StringIO())
        text.write("," if text.tell() else "")
        text.write("\n  " + as_json({names[i]: row[i] for i in self._columns.of(table)}))

    def flush(self) -> None: ...

    def close(self) -> None:
        self._stream.write(f'{{"schema_version": {SCHEMA_VERSION}'.encode())
        for name, text in self._tables.items():
            self._stream.write(f',\n "{name}": [{text.getvalue()}]'.encode())
        self._stream.write(b"}\n")


class CsvSink:
    """One table as RFC 4180; null is an empty field, an empty string a quoted one, JSON columns are JSON text."""

    def __init__(self, stream: BinaryIO, columns: Sequence[str], table: Table, *, escaped: bool) -> None:
        self._stream = stream
        self._kept = ChosenColumns(columns).of(table)
        self._table = table
        self._escaped = escaped
        self._text = io.StringIO()
        csv.writer(self._text, lineterminator="\r\n").writerow(table.names[i] for i in self._kept)

    def row(self, table: Table, row: Sequence[Any]) -> None:
        if table.name != self._table.name:
            return
        line = ",".join(self._field(row[i]) for i in self._kept)
        self._text.write((line or '""') + "\r\n")  # an empty line would be no row
        if self._text.tell() > 1 << 16:
            self._write()

    def _field(self, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        text = value if isinstance(value, str) else as_json(value)
        if self._escaped:
            text = escape(text)
        if text and not any(character in text for character in ',"\r\n') and text == text.strip():
            return text
        return '"' + text.replace('"', '""') + '"'

    def _write(self) -> None:
        self._stream.write(self._text.getvalue().encode("utf-8", "surrogateescape"))
        self._text = io.StringIO()

    def flush(self) -> None:
        self._write()
        self._stream.flush()

    def close(self) -> None:
        self._write()
