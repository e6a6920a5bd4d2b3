"""Rows that are given as columns, laid out as a block, of which the kernel writes lines of JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.kernel.columns import bytes_kinds
from kafkalog.kernel.plans import BASE64
from kafkalog.segments.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.tables import Table
from kafkalog.tables.arrow import Numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ColumnBlock"]

ROOM: Final = 8192  # rows, a multiple of 8
_TEXTS: Final = {"string": Kind.TEXT, "json": Kind.JSON}


class ColumnBlock:
    """A way out of ``Columns``: a block of their cells in the layout of the kernel, which writes lines of it.

    Where all rows are of one `file`, its column need not be given.
    """

    def __init__(self, table: Table, names: Sequence[str], file: str | None = None) -> None:
        self._table = table
        self._file = file
        self._names = names
        self._block: Block | None = None

    def _made(self, given: Columns) -> Block:
        """Return the block for columns like these."""
        types = {column.name: column.type for column in self._table.columns}
        columns: list[BlockColumn] = []
        runs = bits = 0
        for name in self._names:
            if name == "file" and self._file is not None:
                columns.append(BlockColumn(name, Kind.FILE))
                continue
            one = given.column(name)
            if isinstance(one, TextColumn):
                columns.append(BlockColumn(name, _TEXTS[types[name]], runs * ROOM))
                runs += 3
                continue
            words = one.words if isinstance(one, Numbers) else ()
            kind = Kind.WORD if words else Kind.BOOL if types[name] == "bool" else Kind.NUMBER
            columns.append(BlockColumn(name, kind, runs * ROOM, bits * ROOM, words))
            runs, bits = runs + 1, bits + 1
        block = Block(self._table, self._file or "", columns, ROOM, runs + 2)
        block.weight = runs * ROOM
        return block

    def items(self, columns: Columns) -> Iterator[Rows | tuple[Table, tuple[Any, ...]]]:
        """Yield rows that are given as columns, all columns of the table; the next rows use the same cells.

        Where a text is not UTF-8, as a path may be, rows come one by one.
        """
        file = () if self._file is None else (self._file,)
        for start in range(0, len(columns), ROOM):
            some = columns.take(slice(start, start + ROOM))
            rows = self._of(some) if self._names else None
            if rows is not None:
                yield rows
            else:
                yield from ((self._table, (*file, *row)) for row in some.rows())

    def _of(self, columns: Columns) -> Rows | None:
        """Return the rows of columns; None where a text is not UTF-8."""
        if self._block is None:
            self._block = self._made(columns)
        block, count = self._block, len(columns)
        cells, valid = np.frombuffer(block.cells, np.int64), np.frombuffer(block.valid, np.uint8)
        weight, buffers, before = np.zeros(count, np.int64), [], 0
        for column in block.columns:
            if column.kind is Kind.FILE:
                continue
            found, at = columns.column(column.name), column.at
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


def _numbers(column: NDArray[Any] | Numbers) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return a column's numbers, and which of them are there."""
    if not isinstance(column, Numbers):
        return column, column != NONE
    there = column.are_there()
    return np.where(there, column.values, 0) if column.words else column.values, there
