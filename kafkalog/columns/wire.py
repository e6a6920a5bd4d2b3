"""Tables as bytes: what is sent between processes, and how a stage's result is kept.

A message has a name and a version, and its tables in the order of its schema: whole numbers as columns of little-endian
int64 (``NONE`` for no value), text as lengths (-1 for no value) and UTF-8, `Columns` as blocks of narrow columns.
Nothing in it is code, and every length is checked before it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.named import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.errors import KafkaLogError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Schema", "WireError", "WireTable", "read_message", "write_message"]

_MAGIC: Final = b"KLOG"
_HEAD: Final = struct.Struct("<4sHHI")  # magic, length of the name, version, number of tables
_ROWS: Final = struct.Struct("<q")
_INT: Final = np.dtype("<i8")
_LENGTH: Final = np.dtype("<i4")

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


def write_message(schema: Schema, tables: Mapping[str, Iterable[tuple[Any, ...]] | Columns | TextColumn]) -> bytes:
    """Write a message; each table is given as rows in the order of its columns, or as columns of these.

    A table of one column of text may be given as ``TextColumn``.
    """
    name = schema.name.encode()
    parts = [_HEAD.pack(_MAGIC, len(name), schema.version, len(schema.tables)), name]
    for table in schema.tables:
        content = tables[table.name]
        if isinstance(content, Columns):
            parts += content.parts()
        elif isinstance(content, TextColumn):
            texts = content.together()
            parts += [_ROWS.pack(len(texts)), texts.sizes.astype(_LENGTH).tobytes(), texts.data]
        else:
            parts += _of_rows(table, list(content))
    return b"".join(parts)


def _of_rows(table: WireTable, rows: Rows) -> list[bytes]:
    parts = [_ROWS.pack(len(rows))]
    if not rows:
        return parts
    columns = list(zip(*rows, strict=True))
    assert len(columns) == len(table.numbers) + len(table.texts)
    numbers = columns[: len(table.numbers)]
    parts += (np.array([NONE if cell is None else cell for cell in column], _INT).tobytes() for column in numbers)
    for column in columns[len(table.numbers) :]:
        cells = [None if cell is None else cell.encode("utf-8", "surrogatepass") for cell in column]
        lengths = [-1 if cell is None else len(cell) for cell in cells]
        parts += [np.array(lengths, _LENGTH).tobytes(), b"".join(cell for cell in cells if cell)]
    return parts


@dataclass(slots=True)
class WireMessage:
    """A message that was read: its tables in order, each requested once and in the form in which it was written."""

    schema: Schema
    data: bytes
    position: int = 0
    read: int = 0  # tables

    def columns(self, name: str) -> Columns:
        """Return a table that was given as columns."""
        table = self._table(name)
        try:
            return Columns.from_parts(table.numbers, self._take)
        except ValueError as error:
            raise WireError(f"{self.schema.name}: {error}") from error

    def numbers(self, name: str) -> list[list[int]]:
        """Return a table of whole numbers as rows; ``NONE`` is no value."""
        table = self._table(name)
        rows = self._count()
        found: list[list[int]] = self._numbers(rows * len(table.numbers)).reshape(-1, rows).T.tolist() if rows else []
        return found

    def rows(self, name: str) -> Rows:
        """Return a table as rows; None is no value."""
        table = self._table(name)
        rows = self._count()
        if not rows:  # as most tables of most messages
            return []
        cells: list[list[Any]] = [
            [None if cell == NONE else cell for cell in self._numbers(rows).tolist()] for _ in table.numbers
        ]
        for _ in table.texts:
            lengths = np.frombuffer(self._take(rows * _LENGTH.itemsize), _LENGTH).tolist()
            cells.append([None if size < 0 else self._text(size) for size in lengths])
        return list(zip(*cells, strict=True))

    def texts(self, name: str) -> TextColumn:
        """Return a table of one column of text."""
        self._table(name)
        count = self._count()
        if not count:
            return TextColumn()
        sizes = np.frombuffer(self._take(count * _LENGTH.itemsize), _LENGTH)
        if (sizes < 0).any():
            raise WireError(f"{self.schema.name}: a text of {name} is missing")
        texts = TextColumn.of_sizes(self._take(int(sizes.sum(dtype=np.int64))), sizes)
        if not texts.is_utf8():
            raise WireError(f"{self.schema.name}: a text of {name} is not UTF-8")
        return texts

    def _table(self, name: str) -> WireTable:
        table = self.schema.tables[self.read]
        if table.name != name:
            raise WireError(f"{self.schema.name}: the next table is {table.name}, not {name}")
        self.read += 1
        return table

    def _count(self) -> int:
        (rows,) = _ROWS.unpack(self._take(_ROWS.size))
        return int(rows)

    def _text(self, size: int) -> str:
        try:
            return self._take(size).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise WireError(f"{self.schema.name}: {error}") from error

    def _numbers(self, rows: int) -> NDArray[np.int64]:
        return np.frombuffer(self._take(rows * _INT.itemsize), _INT).astype(np.int64)

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
