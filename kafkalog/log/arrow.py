"""Batches and records as Arrow, made from the columns of ``log.blocks`` without rows.

Numbers are not copied where they are int64. Of bytes, only the columns that are asked for are copied, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.format import gathering
from kafkalog.format.columns import bytes_kinds
from kafkalog.log.blocks import BatchBlocks, Block, BlockColumn, Kind, RecordBlocks
from kafkalog.log.chunk import Chunk
from kafkalog.log.selection import Picks, Selection
from kafkalog.tables.arrow import Lists, Numbers, Strings, arrow_batch
from kafkalog.tables.column import HEADER_FIELDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch, Schema

__all__ = ["batches_as_arrow", "records_as_arrow"]

_ROWS: Final = 16 * 1048  # of a batch
_BYTES: Final = 32 << 20  # of strings: with more, a batch has fewer rows
_HEADERS: Final = 1 << 12  # listed at once


def batches_as_arrow(
    file: str, chunks: Iterable[Chunk], schema: Schema, selection: Selection, files: Sequence[str] = ()
) -> Iterator[RecordBatch]:
    """Yield the selected batches' headers of a segment, with the columns of the table ``batches`` in the schema.

    `files` are all the files whose batches go to the same place, if there are several.
    """
    made: _Rows | None = None
    for chunk in chunks:
        if not chunk.heads.count:
            continue
        if made is None:
            made = _Rows(BatchBlocks(file, schema.names, _ROWS), schema, files or (file,))
        picks = selection.batches(chunk.heads)
        yield from made.before(picks.count)
        made.add(made.maker.of(chunk.heads, picks, made.block), picks)
    if made is not None:
        yield from made.last()


def records_as_arrow(
    file: str, chunks: Iterable[Chunk], schema: Schema, selection: Selection, files: Sequence[str] = ()
) -> Iterator[RecordBatch]:
    """Yield the records of the selected batches of a segment, with the columns of the table ``records``."""
    made = _Rows(RecordBlocks(file, schema.names, _ROWS), schema, files or (file,))
    for chunk in chunks:
        selection.leave_out_others(chunk.heads)
        for records in chunk.records():
            picks = selection.records(records)
            yield from made.before(picks.count)
            made.add(made.maker.of(chunk.heads, records, picks, made.block), picks)
    yield from made.last()


class _Rows:
    """Collects rows until they make a batch."""

    def __init__(self, maker: Any, schema: Schema, files: Sequence[str]) -> None:
        self.maker = maker
        self._schema = schema
        self._files = tuple(name.encode("utf-8", "backslashreplace").decode() for name in files)
        self._file = list(files).index(maker.file)
        self._begin()

    def _begin(self) -> None:
        self.block: Block = self.maker.new()
        columns = {column.name: column for column in self.block.columns}
        self._columns: dict[str, BlockColumn] = columns
        self._strings = {
            column.name: _Strings() for column in columns.values() if column.kind in (Kind.TEXT, Kind.BASE64)
        }
        self._lists = {column.name: _Lists() for column in columns.values() if column.kind is Kind.HEADERS}

    def before(self, rows: int) -> Iterator[RecordBatch]:
        """Yield the rows so far if that many more have no room, or if there are bytes enough."""
        if self.block.count + rows > self.block.room or self._size() >= _BYTES:
            yield from self.last()

    def add(self, block: Block, picks: Picks) -> None:
        """Keep the bytes of the rows that were added last."""
        if not picks.count:
            return
        first = block.count - picks.count
        for name, strings in self._strings.items():
            column = self._columns[name]
            strings.add(block.buf, block.cells, column.at + first, block.room, picks.count, column.kind is Kind.BASE64)
        for name, lists in self._lists.items():
            lists.add(block, self._columns[name].at, first, block.count)
        block.buf = b""

    def last(self) -> Iterator[RecordBatch]:
        """Yield the rows so far."""
        if self.block.count:
            yield arrow_batch(self._column, self._schema)
            self._begin()

    def _size(self) -> int:
        sizes = [strings.size for strings in self._strings.values()]
        return sum(sizes) + sum(lists.size for lists in self._lists.values())

    def _column(self, name: str) -> Numbers | Strings | Lists:
        column, count = self._columns[name], self.block.count
        if column.kind is Kind.FILE:
            return Numbers(np.full(count, self._file, np.int32), words=self._files)
        if name in self._strings:
            return self._strings[name].made()
        if name in self._lists:
            return self._lists[name].made()
        cells = np.frombuffer(self.block.cells, np.int64)[column.at : column.at + count]
        absent = None
        if column.bit >= 0:
            bits = np.unpackbits(np.frombuffer(self.block.valid, np.uint8), bitorder="little")
            absent = bits[column.bit : column.bit + count] == 0
        return Numbers(cells if column.kind is not Kind.BOOL else cells != 0, absent, column.words)


class _Strings:
    """A column of strings that grows."""

    def __init__(self) -> None:
        self.rows = self.size = 0
        self._offsets = np.zeros(1 << 12, np.int32)
        self._data = np.empty(0, np.uint8)
        self._valid = np.zeros(1 << 9, np.uint8)

    def add(
        self, buf: bytes | bytearray | memoryview, cells: Any, starts: int, room: int, count: int, is_coded: bool
    ) -> None:
        """Add pieces of `buf`: their starts, sizes and kinds are in runs of cells, `room` apart."""
        sizes, kinds = starts + room, starts + 2 * room
        end = self.size + gathering.size_of(cells, sizes, kinds, count, is_coded)
        self._data = _grown(self._data, self.size, end)
        self._offsets = _grown(self._offsets, self.rows + 1, self.rows + count + 1)
        self._valid = _grown(self._valid, self.rows // 8 + 1, (self.rows + count) // 8 + 1)
        gathering.gather(
            buf, cells, starts, sizes, kinds, count, is_coded, self._offsets, self._data, self._valid, self.rows
        )
        self.rows += count
        self.size = end

    def made(self) -> Strings:
        """Return the column."""
        return Strings(self._offsets[: self.rows + 1], self._data[: self.size], self._valid)


class _Lists:
    """A column of lists of headers that grows."""

    def __init__(self) -> None:
        self._offsets: list[NDArray[np.int32]] = [np.zeros(1, np.int32)]
        self._fields = [_Strings() for _ in HEADER_FIELDS]
        self._found = np.empty(0, np.int64)

    @property
    def size(self) -> int:
        """Return how many bytes its strings and their offsets take."""
        return sum(field.size + 4 * field.rows for field in self._fields)

    def add(self, block: Block, at: int, first: int, stop: int) -> None:
        """Add the headers of rows of a block; the column's cells begin at `at`."""
        cells = np.frombuffer(block.cells, np.int64)
        counts = cells[at + block.room + first : at + block.room + stop]
        self._offsets.append((self._offsets[-1][-1] + np.cumsum(counts)).astype(np.int32))
        if not counts.any():
            return
        if not len(self._found):
            self._found = np.empty(6 * _HEADERS, np.int64)
        row, position, left = first, -1, 0
        while row < stop:
            row, position, left, count = gathering.headers(
                block.buf, block.cells, at, at + block.room, row, stop, position, left, self._found, _HEADERS
            )
            self._add(block, count)

    def _add(self, block: Block, count: int) -> None:
        """Add listed headers: keys, then values, each as text and in base64."""
        found = self._found.reshape(6, _HEADERS)
        pieces = np.empty((3, _HEADERS), np.int64)
        for what in range(2):
            pieces[:2] = found[2 * what : 2 * what + 2]
            flat = pieces.reshape(-1)
            bytes_kinds(block.buf, flat, 0, _HEADERS, 2 * _HEADERS, count)
            for is_coded in (False, True):
                self._fields[2 * what + is_coded].add(block.buf, flat, 0, _HEADERS, count, is_coded)

    def made(self) -> Lists:
        """Return the column."""
        fields = {name: field.made() for name, field in zip(HEADER_FIELDS, self._fields, strict=True)}
        return Lists(np.concatenate(self._offsets), fields)


def _grown(array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """Return an array with at least `needed` items, the first `used` of them the same."""
    if needed <= len(array):
        return array
    larger = np.zeros(max(needed, 2 * len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger
