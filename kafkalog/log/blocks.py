"""Batches and records as the columns of their declared tables, made once for every way out.

A block is one chunk's batches, or one block of decoded records. Its numbers are int64 cells with validity bits as in
Arrow; keys, values and headers stay in `buf`, and their column has where they begin. The next block uses the same
cells.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

from kafkalog.format import kernel
from kafkalog.format.batch import CellTable
from kafkalog.format.columns import BASE64, CELL, NEVER, NOTHING, bytes_kinds, fill
from kafkalog.log import values
from kafkalog.log.records import RecordBlock, headers_of
from kafkalog.log.selection import Picks
from kafkalog.log.values import Value
from kafkalog.tables import Table
from kafkalog.tables.dump import BATCHES, RECORDS

__all__ = ["BatchBlocks", "Block", "BlockColumn", "Filling", "Kind", "RecordBlocks", "RowLayout", "Rows", "fillings"]


class Kind(IntEnum):
    """What the cells of a column are."""

    FILE = 0  # none: the file's name in every row
    NUMBER = 1
    BOOL = 2
    WORD = 3
    TEXT = 4  # three runs of cells: starts, sizes, kinds
    BASE64 = 5  # the same
    HEADERS = 6  # two runs: starts, counts
    JSON = 7  # as of text; its bytes are JSON


class BlockColumn(NamedTuple):
    """A column: its first cell is number `at`, its first validity bit number `bit`, below 0 if no cell is null."""

    name: str
    kind: Kind
    at: int = 0
    bit: int = -1
    words: tuple[str, ...] = ()


class Block:
    """Rows of a declared table, as the columns that were asked for.

    Cells of a run are ``cells[at:at + count]``, and the next run of a column begins `room` later. `weight` is where the
    runs of the rows' sizes and numbers of headers begin, below 0 if no column has bytes.
    """

    __slots__ = ("buf", "cells", "columns", "count", "file", "room", "table", "valid", "weight")

    def __init__(self, table: Table, file: str, columns: Sequence[BlockColumn], room: int, runs: int) -> None:
        self.table = table
        self.file = file
        self.columns = tuple(columns)
        self.room = room
        self.cells = array("q", bytes(8 * room * runs))
        self.valid = bytearray((room * sum(column.bit >= 0 for column in columns) + 7) // 8)
        self.weight = -1
        self.count = 0
        self.buf: bytes | bytearray | memoryview = b""

    def rows(self, start: int, stop: int, most: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield rows as Python values, in the order of the columns.

        With `most`, a key or value has only about that many of its first bytes, and a record so many of its headers.
        """
        if not self.columns:
            return iter([()] * (stop - start))
        return zip(*(self.column(column, start, stop, most) for column in self.columns), strict=True)

    def column(self, column: BlockColumn, start: int, stop: int, most: int | None = None) -> Iterator[Any]:
        """Yield a column's values."""
        if column.kind is Kind.FILE:
            yield from [self.file] * (stop - start)
            return
        for row in range(start, stop):
            bit = column.bit + row
            if column.bit >= 0 and not self.valid[bit >> 3] & 1 << (bit & 7):
                yield None
            else:
                yield self._value(column, column.at + row, most)

    def _value(self, column: BlockColumn, at: int, most: int | None) -> Any:
        cell = self.cells[at]
        match column.kind:
            case Kind.BOOL:
                return bool(cell)
            case Kind.WORD:
                return column.words[cell]
            case Kind.HEADERS:
                count = self.cells[at + self.room]
                if most is not None:
                    count = min(count, most)
                return [_header(*header) for header in headers_of(self.buf, cell, count, most)]
            case Kind.JSON:
                import json  # only for the rows of a decoder

                size = self.cells[at + self.room]
                return None if size < 0 else json.loads(bytes(self.buf[cell : cell + size]))
            case Kind.TEXT | Kind.BASE64:
                size, what = self.cells[at + self.room], self.cells[at + 2 * self.room]
                if what == NOTHING or (what == BASE64) is not (column.kind is Kind.BASE64):
                    return None
                is_cut = most is not None and size > most
                data = bytes(self.buf[cell : cell + (most if most is not None and is_cut else size)])
                return base64.b64encode(data).decode() if what == BASE64 else data.decode(errors="ignore")
            case _:
                return cell


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a block, one after the other."""

    block: Block
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def first(self, count: int) -> Rows:
        """Return only the first `count`."""
        return Rows(self.block, self.start, self.start + count)


def _header(key: bytes, value: bytes | None) -> dict[str, str | None]:
    return {**_texts("key", key), **_texts("value", value)}


def _texts(name: str, data: bytes | None) -> dict[str, str | None]:
    coded = f"{name}_base64"
    if data is None:
        return {name: None, coded: None}
    try:
        return {name: data.decode(), coded: None}
    except UnicodeDecodeError:
        return {name: None, coded: base64.b64encode(data).decode()}


class RowLayout:
    """Hands out runs of cells and of validity bits."""

    def __init__(self, table: Table, room: int) -> None:
        self.room = room
        self.runs = self._nullable = 0
        self._types = {column.name: column.type for column in table.columns}

    def run(self, runs: int = 1) -> int:
        """Return where the first of some runs begins."""
        at = self.runs * self.room
        self.runs += runs
        return at

    def column(self, name: str, value: Value) -> BlockColumn:
        """Return a column with a run of its own."""
        kind = Kind.WORD if value.words else Kind.BOOL if self._types[name] == "bool" else Kind.NUMBER
        bit = -1
        if value.absent != NEVER:
            bit = self._nullable * self.room
            self._nullable += 1
        return BlockColumn(name, kind, self.run(), bit, value.words)


class Filling(NamedTuple):
    """A column with its value."""

    column: BlockColumn
    value: Value

    def fill(self, table: CellTable, picks: Picks, block: Block) -> None:
        """Write the value of these rows into the block."""
        column, value = self
        fill(
            table.cells, table.capacity, picks.rows, 0, picks.count, value.rule, value.column, value.mask, value.absent,
            block.cells, column.at, block.valid, column.bit,
        )  # fmt: skip


def fillings(
    layout: RowLayout, columns: dict[str, BlockColumn], of: Mapping[str, Value], names: Sequence[str]
) -> list[Filling]:
    """Lay out those of the named columns that have a value in `of`, and add them to `columns`."""
    made = [Filling(layout.column(name, of[name]), of[name]) for name in names if name in of]
    columns |= {one.column.name: one.column for one in made}
    return made


class BatchBlocks:
    """Makes blocks of the table ``batches`` with the named columns."""

    def __init__(self, file: str, names: Sequence[str], room: int) -> None:
        layout = RowLayout(BATCHES, room)
        columns = {"file": BlockColumn("file", Kind.FILE)}
        self._fillings = fillings(layout, columns, values.BATCH, names)
        self._block = Block(BATCHES, file, [columns[name] for name in names], room, layout.runs)

    def of(self, heads: CellTable, picks: Picks) -> Block:
        """Make these rows of the kernel's table a block, the same one for every call."""
        for filling in self._fillings:
            filling.fill(heads, picks, self._block)
        self._block.count = picks.count
        return self._block


_SELF: Final = Value(kernel.BATCH)


class RecordBlocks:
    """Makes blocks of the table ``records`` with the named columns."""

    def __init__(self, file: str, names: Sequence[str], room: int) -> None:
        layout = RowLayout(RECORDS, room)
        columns = {"file": BlockColumn("file", Kind.FILE)}
        self._batch = Filling(BlockColumn("batch", Kind.NUMBER, layout.run()), _SELF)
        self._of_record = fillings(layout, columns, values.RECORD, names)
        self._of_batch = fillings(layout, columns, values.OF_BATCH, names)
        self._of_message = fillings(layout, columns, values.MESSAGE, names)
        self._bytes: list[tuple[BlockColumn, int, int]] = []
        for name, (start, size) in values.BYTES.items():
            coded = f"{name}_base64"
            if name in names or coded in names:
                column = columns[name] = BlockColumn(name, Kind.TEXT, layout.run(3))
                columns[coded] = BlockColumn(coded, Kind.BASE64, column.at)
                self._bytes.append((column, start, size))
        self._headers = layout.run(2) if "headers" in names else -1
        columns["headers"] = BlockColumn("headers", Kind.HEADERS, self._headers)
        weight = layout.run(2) if self._bytes or self._headers >= 0 else -1
        self._block = Block(RECORDS, file, [columns[name] for name in names], room, layout.runs)
        self._block.weight = weight

    def of(self, chunk_heads: CellTable, records: RecordBlock, picks: Picks) -> Block:
        """Make these of the decoded records a block, the same one for every call.

        `chunk_heads` are the batches of their chunk.
        """
        block = self._block
        recs = records.recs
        self._batch.fill(recs, picks, block)
        batch = self._batch.column.at
        inner = Picks(block.cells[batch : batch + picks.count], picks.count)
        outer = inner
        if records.outer is not None:
            outer = Picks(array("q", [records.outer]) * picks.count, picks.count)
        for filling in self._of_record:
            filling.fill(recs, picks, block)
        for filling in self._of_batch:
            filling.fill(chunk_heads, outer, block)
        for filling in self._of_message:
            filling.fill(records.heads, inner, block)
        for column, start, size in self._bytes:
            self._cells(recs, picks, start, block, column.at)
            self._cells(recs, picks, size, block, column.at + block.room)
            starts = column.at
            bytes_kinds(records.buf, block.cells, starts, starts + block.room, starts + 2 * block.room, picks.count)
        if self._headers >= 0:
            self._cells(recs, picks, kernel.HEADERS_START, block, self._headers)
            self._cells(recs, picks, kernel.HEADERS_COUNT, block, self._headers + block.room)
            self._cells(recs, picks, kernel.HEADERS_COUNT, block, block.weight + block.room)
        if block.weight >= 0:
            self._cells(recs, picks, kernel.RECORD_SIZE, block, block.weight)
        block.buf = records.buf
        block.count = picks.count
        return block

    @staticmethod
    def _cells(recs: CellTable, picks: Picks, column: int, block: Block, at: int) -> None:
        fill(
            recs.cells, recs.capacity, picks.rows, 0, picks.count, CELL, column, -1, NEVER, block.cells,
            at, block.valid, -1,
        )  # fmt: skip
