"""Rows that are given as columns, laid out as a block, of which the kernel writes lines of JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.texts import TextColumn
from kafkalog.kernel.buffers import NONE
from kafkalog.kernel.columns import BASE64, bytes_kinds
from kafkalog.segments.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AnyColumns", "ColumnBlock", "ColumnsByName", "Marked", "Worded", "rows_of"]

ROOM: Final = 8192  # rows, a multiple of 8
_TEXTS: Final = {"string": Kind.TEXT, "json": Kind.JSON}


class Marked:
    """Numbers that may be any int64, and whether each is there; in other columns of numbers NONE is one that is not."""

    __slots__ = ("there", "values")

    def __init__(self, values: NDArray[Any], there: NDArray[np.bool_] | None = None) -> None:
        self.values = values
        self.there = np.ones(len(values), np.bool_) if there is None else there

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Marked:
        return Marked(self.values[rows], self.there[rows])

    def tolist(self) -> list[int | None]:
        """Return the numbers, None for those that are not there."""
        cells = zip(self.values.tolist(), self.there.tolist(), strict=True)
        return [value if is_there else None for value, is_there in cells]


class Worded:
    """Words by their numbers, -1 for none; they are the same for all parts of a table."""

    __slots__ = ("numbers", "words")

    def __init__(self, numbers: NDArray[Any], words: tuple[str, ...]) -> None:
        self.numbers = numbers
        self.words = words

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: slice) -> Worded:
        return Worded(self.numbers[rows], self.words)

    def tolist(self) -> list[str | None]:
        """Return the words."""
        words = (*self.words, None)
        return [words[number] for number in self.numbers.tolist()]


ColumnsByName = dict[str, "NDArray[Any] | TextColumn"]
AnyColumns = Mapping[str, "NDArray[Any] | TextColumn | Marked | Worded"]


class ColumnBlock:
    """A block that takes one part of a table's rows after the other: whole numbers, flags, words, text and JSON.

    Where all rows are of one `file`, its column need not be given.
    """

    def __init__(self, table: Table, names: Sequence[str], file: str | None = None) -> None:
        self._table = table
        self._file = file
        self._names = names
        self._block: Block | None = None

    def _made(self, given: AnyColumns) -> Block:
        """Return the block for columns like these."""
        types = {column.name: column.type for column in self._table.columns}
        columns: list[BlockColumn] = []
        runs = bits = 0
        for name in self._names:
            if name == "file" and self._file is not None:
                columns.append(BlockColumn(name, Kind.FILE))
                continue
            one = given[name]
            if isinstance(one, TextColumn):
                columns.append(BlockColumn(name, _TEXTS[types[name]], runs * ROOM))
                runs += 3
                continue
            kind = Kind.WORD if isinstance(one, Worded) else Kind.BOOL if types[name] == "bool" else Kind.NUMBER
            words = one.words if isinstance(one, Worded) else ()
            columns.append(BlockColumn(name, kind, runs * ROOM, bits * ROOM, words))
            runs, bits = runs + 1, bits + 1
        block = Block(self._table, self._file or "", columns, ROOM, runs + 2)
        block.weight = runs * ROOM
        return block

    def items(self, columns: AnyColumns) -> Iterator[Rows | tuple[Table, tuple[Any, ...]]]:
        """Yield rows that are given as columns, all columns of the table; the next rows use the same cells.

        Where a text is not UTF-8, as a path may be, rows come one by one.
        """
        table = self._table
        for start in range(0, len(next(iter(columns.values()))), ROOM):
            some = {name: column[start : start + ROOM] for name, column in columns.items()}
            rows = self._of(some) if self._names else None
            if rows is not None:
                yield rows
            else:
                if self._file is not None:
                    some = {"file": TextColumn.same(self._file, len(next(iter(some.values())))), **some}
                yield from ((table, row) for row in rows_of(some))

    def _of(self, columns: AnyColumns) -> Rows | None:
        """Return the rows of columns; None where a text is not UTF-8."""
        if self._block is None:
            self._block = self._made(columns)
        block, count = self._block, len(next(iter(columns.values())))
        cells, valid = np.frombuffer(block.cells, np.int64), np.frombuffer(block.valid, np.uint8)
        weight, buffers, before = np.zeros(count, np.int64), [], 0
        for column in block.columns:
            if column.kind is Kind.FILE:
                continue
            found, at = columns[column.name], column.at
            if isinstance(found, TextColumn):
                cells[at : at + count] = found.starts.astype(np.int64) + before
                cells[at + ROOM : at + ROOM + count] = found.sizes
                weight += np.maximum(found.sizes, 0)
                buffers.append(found.data)
                before += len(found.data)
            else:
                numbers, there = _numbers(found)
                cells[at : at + count] = numbers
                bits = np.packbits(there, bitorder="little")
                valid[column.bit // 8 : column.bit // 8 + len(bits)] = bits
        cells[block.weight : block.weight + count] = weight
        block.buf, block.count = b"".join(buffers), count
        for column in block.columns:
            if column.kind in (Kind.TEXT, Kind.JSON):
                at = column.at
                bytes_kinds(block.buf, block.cells, at, at + ROOM, at + 2 * ROOM, count)
                if (cells[at + 2 * ROOM : at + 2 * ROOM + count] == BASE64).any():
                    return None
        return Rows(block, 0, count)


def _numbers(column: NDArray[Any] | Marked | Worded) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return a column's numbers, and which of them are there."""
    if isinstance(column, Marked):
        return column.values, column.there
    if isinstance(column, Worded):
        return np.maximum(column.numbers, 0), column.numbers >= 0  # polars reads the numbers of null, too
    return column, column != NONE


def rows_of(columns: AnyColumns) -> Iterator[tuple[Any, ...]]:
    """Return columns, which are in the order of their table, as rows."""
    return zip(*map(_cells, columns.values()), strict=True)


def _cells(column: NDArray[Any] | TextColumn | Marked | Worded) -> list[Any]:
    cells: list[Any] = column.tolist()
    return (
        cells
        if isinstance(column, TextColumn | Marked | Worded)
        else [None if cell == NONE else cell for cell in cells]
    )
