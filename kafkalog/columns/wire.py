"""Tables as bytes: what is sent between processes, and how a stage's result is kept.

A message has a name and a version, and its tables in the order of its schema, each as ``Columns.parts`` gives it.
Nothing in it is code, and every length is checked before it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kafkalog.columns.named import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.errors import KafkaLogError

__all__ = ["Schema", "WireError", "WireTable", "read_message", "write_message"]

_MAGIC: Final = b"KLOG"
_HEAD: Final = struct.Struct("<4sHHI")  # magic, length of the name, version, number of tables
_AT_LEAST: Final = 1 << 20  # rows that any table may have

Rows = list[tuple[Any, ...]]


class WireError(KafkaLogError):
    """Bytes that are not a message of the requested schema."""


@dataclass(frozen=True, slots=True)
class WireTable:
    """A table of a message: the names of its columns, whole numbers first, then text."""

    name: str
    numbers: tuple[str, ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a message; the `version` changes with any change of `tables`."""

    name: str
    version: int
    tables: tuple[WireTable, ...] = field(default=())


def write_message(schema: Schema, tables: Mapping[str, Iterable[tuple[Any, ...]] | Columns]) -> bytes:
    """Write a message; each table is given as columns, or as rows in the order of its columns."""
    name = schema.name.encode()
    parts = [_HEAD.pack(_MAGIC, len(name), schema.version, len(schema.tables)), name]
    for table in schema.tables:
        content = tables[table.name]
        parts += (content if isinstance(content, Columns) else _of_rows(table, list(content))).parts()
    return b"".join(parts)


def _of_rows(table: WireTable, rows: Rows) -> Columns:
    names = (*table.numbers, *table.texts)
    if not rows:
        return Columns.empty(names)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Columns({
        name: TextColumn.of(cells) if name in table.texts
        else np.array([NONE if cell is None else cell for cell in cells], np.int64)
        for name, cells in columns.items()
    })  # fmt: skip


@dataclass(slots=True)
class WireMessage:
    """A message that was read: its tables in order, each requested once."""

    schema: Schema
    data: bytes
    position: int = 0
    read: int = 0  # tables

    def columns(self, name: str) -> Columns:
        """Return a table."""
        table = self.schema.tables[self.read]
        if table.name != name:
            raise WireError(f"{self.schema.name}: the next table is {table.name}, not {name}")
        self.read += 1
        try:
            found = Columns.from_parts(table.numbers, table.texts, self._take)
        except ValueError as error:
            raise WireError(f"{self.schema.name}: {error}") from error
        if len(found) > max(_AT_LEAST, len(self.data)):  # a column of one value takes no bytes
            raise WireError(f"{self.schema.name}: {name} has more rows than the message has bytes")
        return found

    def rows(self, name: str) -> Rows:
        """Return a table as rows; None is no value."""
        return list(self.columns(name).rows())

    def _take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise WireError(
                f"{self.schema.name}: needed {size} bytes at {self.position}, the message has {len(self.data)}"
            )
        found = self.data[self.position : end]
        self.position = end
        return found


def read_message(schema: Schema, data: bytes) -> WireMessage:
    """Begin to read a message. Raises WireError if it is another message, or has another version."""
    message = WireMessage(schema, data)
    magic, length, version, tables = _HEAD.unpack(message._take(_HEAD.size))
    name = message._take(length).decode("utf-8", "replace")
    found, needed = (magic, name, version, tables), (_MAGIC, schema.name, schema.version, len(schema.tables))
    if found != needed:
        raise WireError(f"{schema.name}: needed version {schema.version}, found {name or '?'} version {version}")
    return message
