"""Rows of a segment as Arrow, made from the columns of ``log.blocks``.

Of bytes, only the columns that are asked for are copied, once.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.findings import Finding
from kafkalog.format import gathering
from kafkalog.format.columns import bytes_kinds
from kafkalog.format.internal import Internal
from kafkalog.log.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.readers import warn
from kafkalog.log.rows import segment_rows
from kafkalog.log.segment import segment_chunks
from kafkalog.log.selection import Selection
from kafkalog.tables import Table
from kafkalog.tables.arrow import Lists, Numbers, Strings, arrow_batch, arrow_table, chosen_schema
from kafkalog.tables.column import HEADER_FIELDS
from kafkalog.tables.dump import BATCHES, RECORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import ArrowTable, RecordBatch, Schema

__all__ = ["ARROW_ROOM", "ArrowRows", "batch_table", "record_table", "segment_as_arrow"]

ARROW_ROOM: Final = 1 << 13  # records in a block: a block costs some calls for each column
_ROWS: Final = 1 << 14  # of a batch, approximately
_BYTES: Final = 32 << 20  # of strings: with more, a batch has fewer rows
_HEADERS: Final = 1 << 12  # listed at once


def batch_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    limits: Limits | None = None,
    on_finding: Callable[[Finding], object] | None = None,
) -> ArrowTable:
    """Return the batches of a segment or KRaft snapshot as the Arrow table ``batches`` of ``kafkalog schema``.

    Columns of few different words are dictionaries. Only the named columns are made. Needs pyarrow. Raises
    UnreadableError if the file can't be opened or read, KeyError for a column that the table does not have.
    """
    return _table(BATCHES, path, columns, limits, on_finding)


def record_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    limits: Limits | None = None,
    on_finding: Callable[[Finding], object] | None = None,
) -> ArrowTable:
    """Return the records of a segment or KRaft snapshot as the Arrow table ``records`` of ``kafkalog schema``.

    Columns of few different words are dictionaries. Only the named columns are made. Needs pyarrow. Raises
    UnreadableError if the file can't be opened or read, KeyError for a column that the table does not have.
    """
    return _table(RECORDS, path, columns, limits, on_finding)


def _table(
    table: Table,
    path: str | os.PathLike[str],
    columns: Sequence[str] | None,
    limits: Limits | None,
    on_finding: Callable[[Finding], object] | None,
) -> ArrowTable:
    file = os.fspath(path)
    schema = chosen_schema(table, table.names if columns is None else columns, coded=True)
    chunks = segment_chunks(file, limits=limits)
    return arrow_table(segment_as_arrow(file, chunks, table, schema, Selection(), on_finding or warn), schema)


def segment_as_arrow(
    file: str,
    chunks: Iterable[Chunk],
    table: Table,
    schema: Schema,
    selection: Selection,
    on_finding: Callable[[Finding], object] | None = None,
    internal: Internal | None = None,
) -> Iterator[RecordBatch]:
    """Yield the selected rows of a segment's batches or records, or of its records as those of an internal topic.

    They have the columns of the schema.
    """
    made = ArrowRows(schema, (file,))
    wanted = {table.name: schema.names}
    for item in segment_rows(file, chunks, wanted, selection, internal, room=ARROW_ROOM, spaced=True):
        if isinstance(item, Rows):
            yield from made.add(item)
        elif on_finding is not None and isinstance(item, Finding):
            on_finding(item)
    yield from made.last()


class ArrowRows:
    """Collects rows of blocks of one table until they make a batch; `files` are all files that they may come from."""

    def __init__(self, schema: Schema, files: Sequence[str]) -> None:
        self._schema = schema
        self._names = list(files)
        self._files = tuple(name.encode("utf-8", "backslashreplace").decode() for name in files)
        self._begin()

    def _begin(self) -> None:
        self._count = 0
        self._columns: dict[str, _Column] = {}

    def add(self, rows: Rows) -> Iterator[RecordBatch]:
        """Keep rows of a block, and yield a batch if there are enough."""
        block = rows.block
        for column in block.columns:
            kept = self._columns.get(column.name)
            if kept is None:
                kept = self._columns[column.name] = self._column(column)
            kept.add(block, column, rows.start, rows.stop)
        self._count += len(rows)
        if self._count >= _ROWS or sum(column.size for column in self._columns.values()) >= _BYTES:
            yield from self.last()

    def last(self) -> Iterator[RecordBatch]:
        """Yield the rows so far."""
        if self._count:
            yield arrow_batch(lambda name: self._columns[name].made(), self._schema)
            self._begin()

    def _column(self, column: BlockColumn) -> _Column:
        if column.kind is Kind.FILE:
            return _File(self._names, self._files)
        if column.kind in (Kind.TEXT, Kind.BASE64, Kind.JSON):
            return _Strings()
        return _Lists() if column.kind is Kind.HEADERS else _Cells()


class _Column(ABC):
    """A column that grows; `size` is how many bytes its strings take."""

    size = 0

    @abstractmethod
    def add(self, block: Block, column: BlockColumn, start: int, stop: int) -> None:
        """Add rows of a block."""

    @abstractmethod
    def made(self) -> Numbers | Strings | Lists:
        """Return the whole column."""


class _File(_Column):
    """The names of files, as numbers."""

    def __init__(self, names: list[str], shown: tuple[str, ...]) -> None:
        self._names = names
        self._shown = shown
        self._parts: list[NDArray[np.int32]] = []

    def add(self, block: Block, column: BlockColumn, start: int, stop: int) -> None:
        assert column.kind is Kind.FILE
        self._parts.append(np.full(stop - start, self._names.index(block.file), np.int32))

    def made(self) -> Numbers:
        return Numbers(np.concatenate(self._parts), words=self._shown)


class _Cells(_Column):
    """Numbers, words and booleans."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.int64]] = []
        self._absent: list[NDArray[np.bool_]] = []
        self._words: tuple[str, ...] = ()  # of all blocks; those of another file may differ
        self._shown: tuple[str, ...] = ()
        self._first = 0
        self._is_bool = False

    def add(self, block: Block, column: BlockColumn, start: int, stop: int) -> None:
        cells = np.frombuffer(block.cells, np.int64)
        self._parts.append(cells[column.at + start : column.at + stop].copy())
        if column.words != self._shown:
            self._shown, self._first = column.words, len(self._words)
            self._words += tuple(word.encode("utf-8", "backslashreplace").decode() for word in column.words)
        self._parts[-1] += self._first
        self._is_bool = column.kind is Kind.BOOL
        if column.bit >= 0:
            first, last = column.bit + start, column.bit + stop
            bits = np.unpackbits(np.frombuffer(block.valid, np.uint8)[first // 8 : last // 8 + 1], bitorder="little")
            self._absent.append(bits[first % 8 : first % 8 + stop - start] == 0)

    def made(self) -> Numbers:
        cells = np.concatenate(self._parts)
        absent = np.concatenate(self._absent) if self._absent else None
        return Numbers(cells != 0 if self._is_bool else cells, absent, self._words)


class _Strings(_Column):
    """Keys or values, as text or in base64."""

    def __init__(self) -> None:
        self.rows = self.size = 0
        self._offsets = np.zeros(1 << 12, np.int32)
        self._data = np.empty(0, np.uint8)
        self._valid = np.zeros(1 << 9, np.uint8)

    def add(self, block: Block, column: BlockColumn, start: int, stop: int) -> None:
        self.gather(block.buf, block.cells, column.at + start, block.room, stop - start, column.kind is Kind.BASE64)

    def gather(
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
        return Strings(self._offsets[: self.rows + 1], self._data[: self.size], self._valid)


class _Lists(_Column):
    """Headers."""

    def __init__(self) -> None:
        self._offsets: list[NDArray[np.int32]] = [np.zeros(1, np.int32)]
        self._fields = [_Strings() for _ in HEADER_FIELDS]
        self._found = np.empty(0, np.int64)

    def add(self, block: Block, column: BlockColumn, start: int, stop: int) -> None:
        at = column.at
        cells = np.frombuffer(block.cells, np.int64)
        counts = cells[at + block.room + start : at + block.room + stop]
        self._offsets.append((self._offsets[-1][-1] + np.cumsum(counts)).astype(np.int32))
        if not counts.any():
            return
        if not len(self._found):
            self._found = np.empty(6 * _HEADERS, np.int64)
        row, position, left = start, -1, 0
        while row < stop:
            row, position, left, count = gathering.headers(
                block.buf, block.cells, at, at + block.room, row, stop, position, left, self._found, _HEADERS
            )
            self._list(block, count)
            self.size = sum(field.size + 4 * field.rows for field in self._fields)

    def _list(self, block: Block, count: int) -> None:
        """Add listed headers: keys, then values, each as text and in base64."""
        found = self._found.reshape(6, _HEADERS)
        pieces = np.empty((3, _HEADERS), np.int64)
        for what in range(2):
            pieces[:2] = found[2 * what : 2 * what + 2]
            flat = pieces.reshape(-1)
            bytes_kinds(block.buf, flat, 0, _HEADERS, 2 * _HEADERS, count)
            for is_coded in (False, True):
                self._fields[2 * what + is_coded].gather(block.buf, flat, 0, _HEADERS, count, is_coded)

    def made(self) -> Lists:
        fields = {name: field.made() for name, field in zip(HEADER_FIELDS, self._fields, strict=True)}
        return Lists(np.concatenate(self._offsets), fields)


def _grown(array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """Return an array with at least `needed` items, the first `used` of them the same."""
    if needed <= len(array):
        return array
    larger = np.zeros(max(needed, 2 * len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger
