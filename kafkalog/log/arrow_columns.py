"""The columns of an Arrow batch while they grow.

Numbers are in one buffer that has room for all rows of the batch. A column whose rows all have one value is not
written: its batches share a buffer of that value.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.format import gathering
from kafkalog.format.columns import BY_BIT, CELL, NEVER, OF_ROW, SAME, fill
from kafkalog.log.arrow_texts import ROOM, Buffers, Headers, Texts, constant
from kafkalog.log.blocks import Block, BlockColumn, Kind
from kafkalog.tables.arrow import Cells, Lists, Strings

if TYPE_CHECKING:
    from kafkalog.tables.arrow import Schema

__all__ = ["ROOM", "ArrowColumns"]

_BYTES: Final = 4 << 20  # of strings: with more, a batch has fewer rows
_NUMBERS: Final = (Kind.NUMBER, Kind.BOOL, Kind.WORD)
_TEXTS: Final = (Kind.TEXT, Kind.BASE64, Kind.JSON)
_CODED: Final = "_base64"  # ends the name of the column that has what is not UTF-8
_NO_BITS: Final = bytes(1)


class ArrowColumns:
    """Grows the columns of blocks of one table; `files` are the words for the numbers of files."""

    def __init__(self, columns: Sequence[BlockColumn], schema: Schema, files: tuple[str, ...]) -> None:
        self._files = files
        numbers = [column for column in columns if column.kind in _NUMBERS]
        self._widths = [_width(column, schema.field(column.name).type) for column in numbers]
        self._places: list[tuple[int, int]] = []
        self._state = np.zeros(3 * len(self._widths), np.int64)
        self._words = [column.words for column in numbers]
        self._numbers = {
            column.name: (number, tuple(word.encode("utf-8", "backslashreplace").decode() for word in column.words))
            for number, column in enumerate(numbers)
        }
        self._plans: dict[tuple[bool, int], array[int]] = {}
        self._scratch = np.empty(0, np.int64)
        self._buffers = Buffers()
        self._texts: dict[str, Texts] = {}
        self._headers: dict[str, Headers] = {}
        for column in columns:
            if column.kind in _TEXTS:
                texts = self._texts.setdefault(column.name.removesuffix(_CODED), Texts(ROOM, self._buffers))
                texts.wanted |= gathering.CODED if column.kind is Kind.BASE64 else gathering.TEXT
            elif column.kind is Kind.HEADERS:
                self._headers[column.name] = Headers(ROOM, self._buffers)
        self.begin()

    def suits(self, columns: Sequence[BlockColumn]) -> bool:
        """Say whether rows of a block with these columns can be added: their numbers mean the same words."""
        return self._words == [column.words for column in columns if column.kind in _NUMBERS]

    def begin(self) -> None:
        """Begin a batch."""
        self.rows = 0
        self._of_files: list[tuple[int, int]] = []
        # Those that were not written last: what is not touched takes no memory if it is together.
        order = np.argsort(self._state[::3] == SAME, kind="stable").tolist()
        self._places, size = _laid_out(self._widths, order)
        self._plans.clear()
        self._state = np.zeros(3 * len(self._widths), np.int64)
        self._arena = constant(0, 0)[:0]
        self._arena = self._buffers.take(size)
        for grown in self._grown():
            grown.begin()

    @property
    def size(self) -> int:
        """How many bytes the strings take."""
        return sum(grown.size for grown in self._grown())

    def _grown(self) -> Iterator[Texts | Headers]:
        yield from self._texts.values()
        yield from self._headers.values()

    @property
    def is_full(self) -> bool:
        """Whether the batch should end."""
        return self.rows == ROOM or self.size >= _BYTES

    def fitting(self, block: Block, start: int, stop: int) -> int:
        """Return how many of a block's rows from `start` on are added before their strings are too many bytes.

        A batch has at least one row, whatever it takes.
        """
        if len(block.buf) <= _BYTES or not (self._texts or self._headers):
            return stop - start
        sizes = np.frombuffer(block.cells, np.int64)[block.weight + start : block.weight + stop]
        fits = int(np.searchsorted(np.cumsum(sizes), _BYTES - self.size, "right"))
        return max(fits, 0 if self.rows else 1)

    def add(self, block: Block, start: int, count: int, file: int) -> None:
        """Add rows of a block, which is of file number `file`."""
        if not count:
            return
        if self._widths:
            self._fill(block, start, count)
        tables = block.tables
        done = set()
        for column in block.columns:
            if column.kind in _NUMBERS or column.kind is Kind.FILE:
                continue
            name = column.name.removesuffix(_CODED)
            if name in done:
                continue
            done.add(name)
            cells: Any = block.cells if tables is None else tables.rows.cells
            first, second = column.at, column.at + block.room
            if tables is not None and column.piece is not None:
                first, second = (part * tables.rows.capacity for part in column.piece)
            grown = self._headers[name] if column.kind is Kind.HEADERS else self._texts[name]
            grown.add(block.buf, cells, first + start, second + start, count)
        self._of_files.append((file, count))
        self.rows += count

    def _fill(self, block: Block, start: int, count: int) -> None:
        """Write the numbers of rows."""
        if len(self._scratch) < 4 * count:
            self._scratch = np.empty(4 * max(count, block.room), np.int64)
        tables = block.tables
        key = tables is not None, block.room
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(block)
        if tables is None:
            room, cells = block.room, block.cells
            fill(
                cells, room, start, count, cells, room, -1, cells, room, block.valid, plan, self._state, self._scratch,
                self._arena, self._arena, self.rows,
            )  # fmt: skip
        else:
            fill(
                tables.rows.cells, tables.rows.capacity, start, count, tables.batches.cells, tables.batches.capacity,
                tables.outer, tables.messages.cells, tables.messages.capacity, _NO_BITS, plan, self._state,
                self._scratch, self._arena, self._arena, self.rows,
            )  # fmt: skip

    def _plan(self, block: Block) -> array[int]:
        """Return the plan of the numbers: from the kernel's tables, or from the block's own cells."""
        plan = array("q")
        numbers = (column for column in block.columns if column.kind in _NUMBERS)
        for column, width, (at, valid) in zip(numbers, self._widths, self._places, strict=True):
            if block.tables is not None and column.value is not None:
                step = (column.source, *column.value[:4])
            else:
                absent = NEVER if column.bit < 0 else BY_BIT
                step = (OF_ROW, column.at // block.room, CELL, max(column.bit, 0), absent)
            plan.extend((*step, width, at, 8 * valid))
        return plan

    def made(self, name: str) -> Cells | Strings | Lists:
        """Return the column of a name."""
        if name in self._numbers:
            return self._made(*self._numbers[name])
        if name in self._headers:
            return self._headers[name].made()
        base = name.removesuffix(_CODED)
        return self._texts[base].made(is_coded=name != base) if base in self._texts else self._made_files()

    def _made(self, number: int, words: tuple[str, ...]) -> Cells:
        width, (at, valid) = self._widths[number], self._places[number]
        state, value, mark = self._state[3 * number : 3 * number + 3].tolist()
        bits = -(-self.rows // 8)
        if state == SAME:
            return _same(self.rows, width, None if mark else value, words)
        data = self._arena[at : at + (width * self.rows if width else bits)]
        return Cells(self.rows, data, self._arena[valid : valid + bits] if mark else None, words)

    def _made_files(self) -> Cells:
        files = {file for file, _ in self._of_files}
        if len(files) == 1:
            return _same(self.rows, 4, files.pop(), self._files)
        numbers, counts = zip(*self._of_files, strict=True)
        return Cells(self.rows, np.repeat(np.array(numbers, np.int32), counts).view(np.uint8), None, self._files)


@lru_cache(maxsize=64)
def _same(rows: int, width: int, value: int | None, words: tuple[str, ...]) -> Cells:
    """Return a column whose rows all have one value."""
    if value is None:
        return Cells(rows, constant(width, 0), constant(0, 0), words, again=True)
    return Cells(rows, constant(width, value), None, words, again=True)


def _width(column: BlockColumn, kind: Any) -> int:
    """Return how many bytes a value takes, 0 for a bit."""
    if column.kind is Kind.WORD:
        return 4
    return 0 if column.kind is Kind.BOOL else int(kind.bit_width) // 8


def _laid_out(widths: Sequence[int], order: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Return where each column and its validity bits begin, and the end of the last in `order`."""
    end, bits = 0, -(-ROOM // 8)
    places = [(0, 0)] * len(widths)
    for number in order:
        valid = end + (widths[number] * ROOM or bits)
        places[number] = end, valid
        end = valid + bits
    return places, end
