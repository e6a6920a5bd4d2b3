"""Rows that are given as columns, laid out as a block, of which the kernel writes lines of JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.transactions import ColumnsByName, rows_of
from kafkalog.format.columns import bytes_kinds
from kafkalog.format.kernel import NONE
from kafkalog.log.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.tables import Table
from kafkalog_cli.render.cells import as_json
from kafkalog_cli.render.rows import BlockSink

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ColumnBlock", "write_columns"]

ROOM: Final = 8192  # rows, a multiple of 8
_TEXTS: Final = {"string": Kind.TEXT, "json": Kind.JSON}
_FEW: Final = 64  # different texts that are laid out once


def write_columns(sink: BlockSink, table: Table, parts: Iterable[ColumnsByName]) -> None:
    """Write rows that are given as columns, all columns of the table in each part."""
    names = sink.names(table)
    block = ColumnBlock(table, names)
    for columns in parts:
        for start in range(0, len(columns[table.names[0]]), ROOM):
            some = {name: column[start : start + ROOM] for name, column in columns.items()}
            try:
                rows = block.of(some) if names else None
            except UnicodeEncodeError:  # a path that is not UTF-8
                rows = None
            if rows is not None:
                sink.block(rows)
                continue
            for row in rows_of(some):
                sink.row(table, row)


class ColumnBlock:
    """A block that takes one part of a table's rows after the other: whole numbers, text and JSON."""

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        types = {column.name: column.type for column in table.columns}
        columns: list[BlockColumn] = []
        runs = bits = 0
        for name in names:
            if types[name] in _TEXTS:
                columns.append(BlockColumn(name, _TEXTS[types[name]], runs * ROOM))
                runs += 3
            else:
                assert types[name].startswith("int"), f"{table.name}.{name} is {types[name]}"
                columns.append(BlockColumn(name, Kind.NUMBER, runs * ROOM, bits * ROOM))
                runs, bits = runs + 1, bits + 1
        self._block = Block(table, "", columns, ROOM, runs + 2)
        self._block.weight = runs * ROOM
        self._cells = np.frombuffer(self._block.cells, np.int64)
        self._valid = np.frombuffer(self._block.valid, np.uint8)

    def of(self, columns: ColumnsByName) -> Rows:
        """Return the rows of columns: numbers are int64 with NONE where there is none, texts objects.

        Raises UnicodeEncodeError for text that UTF-8 does not have.
        """
        block, cells, count = self._block, self._cells, len(columns[self._block.columns[0].name])
        data = _Texts()
        weight = np.zeros(count, np.int64)
        for column in block.columns:
            found, at = columns[column.name], column.at
            if column.kind is Kind.NUMBER:
                cells[at : at + count] = found
                bits = np.packbits(found != NONE, bitorder="little")
                self._valid[column.bit // 8 : column.bit // 8 + len(bits)] = bits
            else:
                cells[at : at + count], sizes = data.put(_shown(column.kind, found.tolist()))
                cells[at + ROOM : at + ROOM + count] = sizes
                weight += np.maximum(sizes, 0)
        cells[block.weight : block.weight + count] = weight
        block.buf, block.count = b"".join(data.parts), count
        for column in block.columns:
            if column.kind is not Kind.NUMBER:
                at = column.at
                bytes_kinds(block.buf, block.cells, at, at + ROOM, at + 2 * ROOM, count)
        return Rows(block, 0, count)


def _shown(kind: Kind, cells: list[Any]) -> list[str | None]:
    """Return a column's cells as text; equal objects of JSON are often one object."""
    if kind is Kind.TEXT:
        return cells
    known = {id(cell): None if cell is None else as_json(cell) for cell in {id(cell): cell for cell in cells}.values()}
    return [known[id(cell)] for cell in cells]


class _Texts:
    """The bytes of texts, one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._size = 0

    def put(self, texts: list[str | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Add texts; return where each begins and its size, -1 for none. Those that are often equal are added once."""
        different = set(texts)
        if len(different) > _FEW:
            return self._added(texts)
        once = list(different)
        starts, sizes = self._added(once)
        places = {text: place for place, text in enumerate(once)}
        at = np.fromiter(map(places.__getitem__, texts), np.intp, len(texts))
        return starts[at], sizes[at]

    def _added(self, texts: list[str | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        added = [b"" if text is None else text.encode() for text in texts]
        sizes = np.fromiter(map(len, added), np.int64, len(added))
        ends = self._size + np.cumsum(sizes)
        starts = ends - sizes
        self._size += int(sizes.sum())
        self.parts += added
        sizes[[text is None for text in texts]] = -1
        return starts, sizes
