"""Batches and records as the columns of their declared tables, made once for every way out.

A block is one chunk's batches, or one block of decoded records. Its numbers are int64 cells with validity bits as in
Arrow; keys, values and headers stay in `buf`, and their column has where they begin. The next block uses the same
cells, which are filled when they are asked for: Arrow's columns are made of the kernel's tables directly.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from kafkalog.format.batch import CellTable
from kafkalog.format.columns import BASE64, CELLS, NOTHING, OF_ROW, bytes_kinds, fill
from kafkalog.log.records import headers_of
from kafkalog.log.values import Value
from kafkalog.tables import Table

__all__ = ["Block", "BlockColumn", "BlockStep", "Kind", "Rows", "Tables"]


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
    """A column: its first cell is number `at`, its first validity bit number `bit`, below 0 if no cell is null.

    In the kernel's tables it is `value` of what `source` says, or bytes whose start and size, or headers whose start
    and number, are the columns `piece` of the rows' own table.
    """

    name: str
    kind: Kind
    at: int = 0
    bit: int = -1
    words: tuple[str, ...] = ()
    source: int = OF_ROW
    value: Value | None = None
    piece: tuple[int, int] | None = None


class BlockStep(NamedTuple):
    """Cells of a block that are filled from the kernel's tables."""

    source: int
    value: Value
    at: int
    bit: int = -1


class Tables(NamedTuple):
    """The kernel's tables that rows are made of: of the rows, their batches, and their messages of magic 0 or 1.

    `outer` is the row of all their batches, below 0 if each row has its own.
    """

    rows: CellTable
    batches: CellTable
    messages: CellTable
    outer: int = -1


class Block:
    """Rows of a declared table, as the columns that were asked for.

    Cells of a run are ``cells[at:at + count]``, and the next run of a column begins `room` later. `weight` is where the
    runs of the rows' sizes and numbers of headers begin, below 0 if no column has bytes.
    """

    __slots__ = (
        *("_cells", "_plan", "_scratch", "_size", "_state", "_valid", "buf", "columns", "count", "file", "is_filled"),
        *("room", "table", "tables", "weight"),
    )  # fmt: skip

    def __init__(
        self,
        table: Table,
        file: str,
        columns: Sequence[BlockColumn],
        room: int,
        runs: int,
        steps: Sequence[BlockStep] = (),
    ) -> None:
        self.table = table
        self.file = file
        self.columns = tuple(columns)
        self.room = room
        self._cells = array("q")
        self._size = room * runs
        self._valid = bytearray((room * sum(column.bit >= 0 for column in columns) + 7) // 8)
        self._plan = array(
            "q", [cell for step in steps for cell in (step.source, *step.value[:4], 8, 8 * step.at, step.bit)]
        )
        self._state = array("q", [CELLS, 0, 0] * len(steps))
        self._scratch = array("q")
        self.weight = -1
        self.count = 0
        self.buf: bytes | bytearray | memoryview = b""
        self.tables: Tables | None = None
        self.is_filled = True

    def take(self, tables: Tables, count: int, buf: bytes | bytearray | memoryview = b"") -> Block:
        """Make the first `count` rows of these tables the block's."""
        self.tables = tables
        self.count = count
        self.buf = buf
        self.is_filled = False
        return self

    def freeze(self) -> None:
        """Fill the cells now, and forget the tables: they will change."""
        _ = self.cells
        self.tables = None

    @property
    def cells(self) -> array[int]:
        """The cells of all columns; a block that only becomes Arrow needs none."""
        if len(self._cells) < self._size:
            self._cells = array("q", bytes(8 * self._size))
        if not self.is_filled:
            self._fill()
        return self._cells

    @property
    def valid(self) -> bytearray:
        """The validity bits of all columns that have some."""
        if not self.is_filled:
            _ = self.cells
        return self._valid

    def _fill(self) -> None:
        self.is_filled = True
        tables, cells = self.tables, self._cells
        if tables is None or not self.count:
            return
        if len(self._scratch) < 4 * self.count:
            self._scratch = array("q", bytes(32 * max(self.count, self.room)))
        fill(
            tables.rows.cells, tables.rows.capacity, 0, self.count, tables.batches.cells, tables.batches.capacity,
            tables.outer, tables.messages.cells, tables.messages.capacity, self._valid, self._plan, self._state,
            self._scratch, memoryview(cells).cast("B"), self._valid, 0,
        )  # fmt: skip
        for column in self.columns:
            if column.kind in (Kind.TEXT, Kind.BASE64) and column.piece is not None:
                at = column.at
                bytes_kinds(self.buf, cells, at, at + self.room, at + 2 * self.room, self.count)

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
            return iter([self.file] * (stop - start))
        if column.kind in (Kind.NUMBER, Kind.BOOL, Kind.WORD):
            return iter(self._numbers(column, start, stop))
        return (self._value(column, row, most) for row in range(start, stop))

    def _numbers(self, column: BlockColumn, start: int, stop: int) -> Iterable[Any]:
        """Return the values of a column that has one cell for each."""
        cells: Iterable[Any] = self.cells[column.at + start : column.at + stop]
        if column.bit >= 0:
            valid, bits = self.valid, range(column.bit + start, column.bit + stop)
            cells = [cell if valid[bit >> 3] >> (bit & 7) & 1 else None for bit, cell in zip(bits, cells, strict=True)]
        if column.kind is Kind.BOOL:
            return [None if cell is None else bool(cell) for cell in cells]
        if column.kind is Kind.WORD:
            return [None if cell is None else column.words[cell] for cell in cells]
        return cells

    def _value(self, column: BlockColumn, row: int, most: int | None) -> Any:
        bit, at = column.bit + row, column.at + row
        if column.bit >= 0 and not self.valid[bit >> 3] & 1 << (bit & 7):
            return None
        cell = self.cells[at]
        match column.kind:
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
