"""Makes the blocks of the tables ``batches`` and ``records``: which cells a column has, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafkalog.format import kernel
from kafkalog.format.batch import CellTable
from kafkalog.format.columns import NEVER, OF_BATCH, OF_MESSAGE, OF_ROW, take
from kafkalog.log import values
from kafkalog.log.blocks import Block, BlockColumn, BlockStep, Kind, Tables
from kafkalog.log.records import RecordBlock
from kafkalog.log.selection import Picks
from kafkalog.log.values import Value
from kafkalog.tables import Table
from kafkalog.tables.dump import BATCHES, RECORDS

__all__ = ["BatchBlocks", "BlockLayout", "Chosen", "RecordBlocks"]

_HEADERS: Final = (kernel.HEADERS_START, kernel.HEADERS_COUNT)


class BlockLayout:
    """Hands out runs of cells and of validity bits to the columns of a table."""

    def __init__(self, table: Table, file: str, room: int) -> None:
        self._table = table
        self._file = file
        self._room = room
        self._runs = self._nullable = 0
        self._types = {column.name: column.type for column in table.columns}
        self._steps: list[BlockStep] = []
        self.columns = {"file": BlockColumn("file", Kind.FILE)}

    def run(self, runs: int = 1) -> int:
        """Return where the first of some runs begins."""
        at = self._runs * self._room
        self._runs += runs
        return at

    def number(self, name: str, words: tuple[str, ...] = (), *, is_nullable: bool = False) -> BlockColumn:
        """Add a column of cells that someone else fills, with their validity bits if they may be null."""
        kind = Kind.WORD if words else Kind.BOOL if self._types[name] == "bool" else Kind.NUMBER
        bit = self._nullable * self._room if is_nullable else -1
        self._nullable += is_nullable
        self.columns[name] = BlockColumn(name, kind, self.run(), bit, words)
        return self.columns[name]

    def values(self, source: int, of: Mapping[str, Value], names: Sequence[str]) -> None:
        """Add those of the named columns that have a value in `of`."""
        for name in names:
            value = of.get(name)
            if value is None:
                continue
            kind = Kind.WORD if value.words else Kind.BOOL if self._types[name] == "bool" else Kind.NUMBER
            bit = -1
            if value.absent != NEVER:
                bit = self._nullable * self._room
                self._nullable += 1
            column = BlockColumn(name, kind, self.run(), bit, value.words, source, value)
            self.columns[name] = column
            self._steps.append(BlockStep(source, value, column.at, bit))

    def cells(self, *columns: int) -> int:
        """Add runs that are columns of the rows' own table; return where the first begins."""
        at = self.run(len(columns))
        self._steps += [BlockStep(OF_ROW, Value(column), at + i * self._room) for i, column in enumerate(columns)]
        return at

    def block(self, names: Sequence[str]) -> Block:
        """Return the block with the named columns."""
        columns = [self.columns[name] for name in names]
        return Block(self._table, self._file, columns, self._room, self._runs, self._steps)


class Chosen:
    """Rows of a kernel's table that were picked, without the others."""

    def __init__(self) -> None:
        self._table: CellTable | None = None

    def of(self, table: CellTable, picks: Picks) -> CellTable:
        """Return a table that begins with the picked rows: the table itself if these are its first."""
        if not picks.count or picks.rows[picks.count - 1] == picks.count - 1:
            return table
        chosen = self._table
        if chosen is None or chosen.capacity != table.capacity:
            chosen = self._table = CellTable(len(table.cells) // table.capacity, table.capacity)
        take(table.cells, table.capacity, picks.rows, picks.count, chosen.cells)
        return chosen


class BatchBlocks:
    """Makes blocks of the table ``batches`` with the named columns."""

    def __init__(self, file: str, names: Sequence[str], room: int) -> None:
        layout = BlockLayout(BATCHES, file, room)
        layout.values(OF_ROW, values.BATCH, names)
        self._block = layout.block(names)
        self._chosen = Chosen()

    def of(self, heads: CellTable, picks: Picks) -> Block:
        """Make these rows of the kernel's table a block, the same one for every call."""
        rows = self._chosen.of(heads, picks)
        return self._block.take(Tables(rows, rows, rows), picks.count)


class RecordBlocks:
    """Makes blocks of the table ``records`` with the named columns."""

    def __init__(self, file: str, names: Sequence[str], room: int) -> None:
        layout = BlockLayout(RECORDS, file, room)
        layout.values(OF_ROW, values.RECORD, names)
        layout.values(OF_BATCH, values.OF_BATCH, names)
        layout.values(OF_MESSAGE, values.MESSAGE, names)
        has_bytes = "headers" in names
        for name, piece in values.BYTES.items():
            coded = f"{name}_base64"
            if name in names or coded in names:
                at = layout.cells(*piece)
                layout.run()  # what they are
                layout.columns[name] = BlockColumn(name, Kind.TEXT, at, piece=piece)
                layout.columns[coded] = BlockColumn(coded, Kind.BASE64, at, piece=piece)
                has_bytes = True
        if "headers" in names:
            layout.columns["headers"] = BlockColumn("headers", Kind.HEADERS, layout.cells(*_HEADERS), piece=_HEADERS)
        weight = layout.cells(kernel.RECORD_SIZE, kernel.HEADERS_COUNT) if has_bytes else -1
        self._block = layout.block(names)
        self._block.weight = weight
        self._chosen = Chosen()

    def of(self, chunk_heads: CellTable, records: RecordBlock, picks: Picks) -> Block:
        """Make these of the decoded records a block, the same one for every call.

        `chunk_heads` are the batches of their chunk.
        """
        rows = self._chosen.of(records.recs, picks)
        outer = -1 if records.outer is None else records.outer
        return self._block.take(Tables(rows, chunk_heads, records.heads, outer), picks.count, records.buf)
