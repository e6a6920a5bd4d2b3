"""Rows of blocks collected to Arrow's batches: the kernel writes each value once, where Arrow reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kafkalog.log.arrow_columns import ROOM, ArrowColumns
from kafkalog.log.blocks import Block, Rows
from kafkalog.tables.arrow_batches import ArrowBatches

if TYPE_CHECKING:
    from kafkalog.tables.arrow import RecordBatch, Schema

__all__ = ["ArrowRows"]


class ArrowRows:
    """Collects rows of blocks of one table until they make a batch; `files` are those that they come from.

    A block of another file begins a batch.
    """

    def __init__(self, schema: Schema, files: Sequence[str]) -> None:
        self._schema = schema
        self._batches = ArrowBatches(schema)
        self._names = list(files)
        self._columns: ArrowColumns | None = None
        self._block: Block | None = None

    def add(self, rows: Rows) -> Iterator[RecordBatch]:
        """Keep rows of a block, and yield a batch when there are enough."""
        block, start = rows.block, rows.start
        if block.file not in self._names:
            yield from self.last()
            self._names, self._columns = [block.file], None
        elif self._columns is not None and block is not self._block and not self._columns.suits(block.columns):
            yield from self.last()
            self._columns = None
        self._block = block
        if self._columns is None:
            shown = tuple(name.encode("utf-8", "backslashreplace").decode() for name in self._names)
            self._columns = ArrowColumns(block.columns, self._schema, shown)
        columns = self._columns
        file = self._names.index(block.file)
        while start < rows.stop:
            count = columns.fitting(block, start, min(rows.stop, start + ROOM - columns.rows))
            columns.add(block, start, count, file)
            start += count
            if not count or columns.is_full:
                yield from self.last()

    def last(self) -> Iterator[RecordBatch]:
        """Yield the rows so far."""
        columns = self._columns
        if columns is not None and columns.rows:
            yield self._batches.made(columns.made)
            columns.begin()
