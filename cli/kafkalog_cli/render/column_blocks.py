"""Rows that are given as columns, laid out as a block, of which the kernel writes lines of JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from kafkalog.auditing.transactions import ColumnsByName, rows_of
from kafkalog.format.columns import BASE64, bytes_kinds
from kafkalog.format.kernel import NONE
from kafkalog.format.text_columns import TextColumn
from kafkalog.log.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.tables import Table
from kafkalog_cli.render.rows import BlockSink

__all__ = ["ColumnBlock", "write_columns"]

ROOM: Final = 8192  # rows, a multiple of 8
_TEXTS: Final = {"string": Kind.TEXT, "json": Kind.JSON}


def write_columns(sink: BlockSink, table: Table, parts: Iterable[ColumnsByName]) -> None:
    """Write rows that are given as columns, all columns of the table in each part."""
    names = sink.names(table)
    block = ColumnBlock(table, names)
    for columns in parts:
        for start in range(0, len(columns[table.names[0]]), ROOM):
            some = {name: column[start : start + ROOM] for name, column in columns.items()}
            rows = block.of(some) if names else None
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

    def of(self, columns: ColumnsByName) -> Rows | None:
        """Return the rows of columns; None where a text is not UTF-8, as a path may be."""
        block, cells, count = self._block, self._cells, len(columns[self._block.columns[0].name])
        weight, buffers, before = np.zeros(count, np.int64), [], 0
        for column in block.columns:
            found, at = columns[column.name], column.at
            if isinstance(found, TextColumn):
                cells[at : at + count] = found.starts + before
                cells[at + ROOM : at + ROOM + count] = found.sizes
                weight += np.maximum(found.sizes, 0)
                buffers.append(found.data)
                before += len(found.data)
            else:
                cells[at : at + count] = found
                bits = np.packbits(found != NONE, bitorder="little")
                self._valid[column.bit // 8 : column.bit // 8 + len(bits)] = bits
        cells[block.weight : block.weight + count] = weight
        block.buf, block.count = b"".join(buffers), count
        for column in block.columns:
            if column.kind is not Kind.NUMBER:
                at = column.at
                bytes_kinds(block.buf, block.cells, at, at + ROOM, at + 2 * ROOM, count)
                if (cells[at + 2 * ROOM : at + 2 * ROOM + count] == BASE64).any():
                    return None
        return Rows(block, 0, count)
