"""Kafka's generated-message encoding: one message as values, or many in tables.

It reads as Kafka's own code does and is as lenient: a negative version is read as version 0, one above the newest as
the newest unless there is a nested structure, the size of a tagged field counts only if its tag is unknown, and bytes
after the last field are left to the caller. What Kafka only tolerates becomes a remark.

The kernel's loop reads into the tables of a set of programs: one buffer of cells that grows with the messages of a
block and is used again for the next one.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.message_primitives import MalformedError, Text, malformed, remark, uuid_text
from kafkalog.kafka.message_program import MISSING, Program, ProgramSet, ReadField, Structure, known_version
from kafkalog.kafka.message_schema import EVERY_RELEASE, ZERO_UUID, Message, Release, Value
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel import messages as kernel_messages
from kafkalog.kernel.buffers import Bytes

__all__ = ["MOST_CELLS", "UNKNOWN_TAGS", "Decoded", "MalformedError", "MessageTables", "decode", "escaped_text"]

MOST_CELLS: Final = 1 << 22  # of a block
UNKNOWN_TAGS: Final = "_unknownTaggedFields"  # in a structure's fields: [tag, bytes] of each
_DOUBLE: Final = struct.Struct("d")
_LONG: Final = struct.Struct("q")


class Remark(NamedTuple):
    """What Kafka only tolerates in a message, the `message`-th one of a call."""

    message: int
    text: str


class MessageTables:
    """The tables that the programs of a set fill; `room` is how many rows a table has at first.

    A message for which the tables would need more than `most` cells is not read: a file of some kilobytes may unpack to
    millions of empty elements.
    """

    def __init__(self, programs: ProgramSet, room: int = 64, most: int = MOST_CELLS) -> None:
        self.programs = programs
        self.buf: Bytes = b""
        self.cells = array("q")
        self.tables = array("q")
        for width in programs.widths:
            self.tables.extend((0, 0, 0, 0, width))
        self._room = room
        self._most = most
        self._stack = array("q", bytes(8 * ops.FRAME * (programs.depth + 1)))

    def clear(self) -> None:
        """Forget all rows, and very large tables."""
        if len(self.cells) > self._most // 2:
            self.cells = array("q")
            for table in range(len(self.programs.widths)):
                self.tables[table * ops.TABLE : table * ops.TABLE + 2] = array("q", (0, 0))
        for table in range(len(self.programs.widths)):
            self.tables[table * ops.TABLE + 2] = 0

    def read_messages(self, buf: Bytes, messages: CellTable) -> None:
        """Read `messages`, whose bytes are `buf`, after the rows that are there, and report to their other columns.

        Rows that were read from another buffer must be cleared before.
        """
        self.buf = buf
        programs, stack = self.programs, self._stack
        for column, value in ((ops.M_ROW, -1), (ops.M_ERROR, 0)):
            messages.column(column)[:] = array("q", [value]) * messages.count
        done = 0
        while True:
            done, table, rows = kernel_messages.read_messages(
                buf, messages.cells, done, messages.count, programs.programs, programs.steps,
                self.tables, self.cells, stack,
            )  # fmt: skip
            if table < 0:
                return
            if not self._grow(table, rows):
                messages.set(ops.M_ERROR, done, ops.TOO_MANY)
                messages.set(ops.M_NAME, done, 0)
                messages.set(ops.M_A, done, self._most)
                done += 1

    def _grow(self, table: int, rows: int) -> bool:
        """Give a table room for so many rows, four times what it had if possible; its old cells are not used again.

        False if there may be no more cells.
        """
        tables, at, base = self.tables, table * ops.TABLE, len(self.cells)
        old, before, width = tables[at], tables[at + 1], tables[at + 4]
        capacity = max(rows, 4 * before, self._room)
        if base + capacity * width > self._most:
            capacity = max(rows, (self._most - base) // max(width, 1))
            if base + capacity * width > self._most:
                return False
        # A new array: views of the old one may be in use.
        cells = self.cells + array("q", [0]) * (capacity * width)
        for column in range(width):
            cells[base + column * capacity : base + column * capacity + before] = cells[
                old + column * before : old + (column + 1) * before
            ]
        tables[at], tables[at + 1] = base, capacity
        self.cells = cells
        return True

    def rows(self, table: int) -> int:
        """Return how many rows a table has."""
        return self.tables[table * ops.TABLE + 2]

    def column(self, table: int, column: int) -> memoryview:
        """Return a view of one column of a table; reading more may make it stale."""
        base, capacity, rows = self.tables[table * ops.TABLE : table * ops.TABLE + 3]
        return memoryview(self.cells)[base + column * capacity : base + column * capacity + rows]

    def remarks(self) -> Iterator[Remark]:
        """Yield what was odd in the messages of the calls since `clear`, in the order of the bytes."""
        for number in range(self.rows(0)):
            message, code, name, a, b = (self.column(0, column)[number] for column in range(5))
            yield Remark(message, remark(code, self.programs.names[name] if name >= 0 else "", a, b))

    def error(self, messages: CellTable, number: int, version: int) -> MalformedError | None:
        """Return what makes a message malformed; `version` is the one that it says."""
        code, name, at, a, b = (messages.cell(column, number) for column in range(ops.M_ERROR, ops.M_B + 1))
        if not code:
            return None
        left = messages.cell(ops.M_SIZE, number) - at
        return malformed(code, self.programs.names[name].replace("{version}", f"{version}"), at, a, b, left)

    def values(self, structure: Structure, row: int, text: Text) -> dict[str, Value]:
        """Return the fields of a structure, with strings as `text` reads them.

        A tagged field that has its default is left out; unknown tags are kept as `UNKNOWN_TAGS`.
        """
        base, capacity = self.tables[structure.table * ops.TABLE : structure.table * ops.TABLE + 2]
        origin = base + row
        found = {}
        for field in structure.fields:
            value = self._value(field, origin + field.column * capacity, capacity, row, text)
            if not (field.is_tagged and value == field.default):
                found[field.name] = value
        if structure.unknown >= 0:
            count = self.cells[origin + (structure.unknown + 1) * capacity]
            if count:
                first = self.cells[origin + structure.unknown * capacity]
                found[UNKNOWN_TAGS] = self._tags(structure.unknown_table, first, count)
        return found

    def _value(self, field: ReadField, at: int, capacity: int, row: int, text: Text) -> Value:
        kind, cells = field.kind, self.cells
        if kind in ("string", "bytes"):
            size = cells[at + capacity]
            if size < 0:
                return None if size == -1 else field.default
            data = bytes(self.buf[cells[at] : cells[at] + size])
            return text(data) if kind == "string" else data
        if kind == "array":
            count = cells[at + capacity]
            return None if count < 0 else self._elements(field, cells[at], count, text)
        if kind == "struct":
            assert isinstance(field.of, Structure)
            if field.nullable and cells[at] < 1:
                return None if cells[at] != MISSING else field.default
            return self.values(field.of, row, text)
        value = cells[at]
        if kind == "uuid":
            return ZERO_UUID if value < 0 else uuid_text(bytes(self.buf[value : value + 16]))
        if kind == "bool":
            return bool(value)
        return _DOUBLE.unpack(_LONG.pack(value))[0] if kind == "float64" else value

    def _elements(self, field: ReadField, first: int, count: int, text: Text) -> list[Value]:
        of, child = field.of, field.child
        assert isinstance(of, ReadField)
        base, capacity = self.tables[child * ops.TABLE : child * ops.TABLE + 2]
        rows = range(first, first + count)
        if of.kind == "struct":
            assert isinstance(of.of, Structure)
            return [self.values(of.of, row, text) for row in rows]
        at = base + of.column * capacity
        if of.kind.startswith(("int", "uint")):
            return self.cells[at + first : at + first + count].tolist()
        return [self._value(of, at + row, capacity, row, text) for row in rows]

    def _tags(self, table: int, first: int, count: int) -> list[list[Value]]:
        tags, starts, sizes = (self.column(table, column)[first : first + count] for column in range(3))
        return [
            [tag, bytes(self.buf[start : start + size])] for tag, start, size in zip(tags, starts, sizes, strict=True)
        ]


_ROOM = 4  # rows of a table at first
_MOST_CELLS = 1 << 21  # a cell becomes some hundred bytes of values


class Decoded(NamedTuple):
    """A message: its fields in the schema's order, how many bytes they took, and the oddities that Kafka accepts.

    A tagged field that has its default is left out; unknown tags are kept as `UNKNOWN_TAGS`.
    """

    fields: dict[str, Value]
    taken: int
    remarks: tuple[str, ...]


def escaped_text(data: bytes) -> str:
    """Read UTF-8; bytes that are not UTF-8 are escaped with backslashes."""
    return data.decode("utf-8", "backslashreplace")


def decode(
    message: Message, version: int, data: Bytes, *, release: Release = EVERY_RELEASE, text: Text = escaped_text
) -> Decoded:
    """Read `data` as `message` in `version`, with the fields that `release` knows and strings as `text` reads them.

    Raises MalformedError if the bytes are not such a message, or very many.
    """
    if len(data) > ops.MOST_BYTES:
        raise MalformedError(f"the message has {len(data)} bytes, more than are read of one message")
    programs, program = _program(message, known_version(message, version), release)
    tables, one = MessageTables(programs, _ROOM, _MOST_CELLS), CellTable(len(ops.MESSAGE_COLUMNS), 1)
    one.count = 1
    one.set(ops.M_SIZE, 0, len(data))
    tables.read_messages(data, one)
    error = tables.error(one, 0, version)
    if error is not None:
        raise error
    fields = tables.values(program.structure, one.cell(ops.M_ROW, 0), text)
    return Decoded(fields, one.cell(ops.M_TAKEN, 0), tuple(remark.text for remark in tables.remarks()))


@lru_cache(maxsize=512)
def _program(message: Message, version: int, release: Release) -> tuple[ProgramSet, Program]:
    programs = ProgramSet()
    return programs, programs.add(message, version, release)
