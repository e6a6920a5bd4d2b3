"""Rows of a segment as Arrow: only the columns that are asked for are made, their bytes copied once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.errors import UnsupportedError
from kafkalog.findings import Finding
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import columns as kernel_columns
from kafkalog.kernel.buffers import HEADER_COLUMNS, as_table
from kafkalog.kernel.columns import Filling, fill
from kafkalog.kernel.plans import (
    BY_BIT,
    CELL,
    CODED,
    CODED_COUNT,
    CODED_END,
    COLUMN_CELLS,
    COLUMN_HAS,
    GATHER_CELLS,
    NEVER,
    OF_ROW,
    PLAN_CELLS,
    ROWS,
    SAME,
    SCRATCH_COLUMNS,
    TEXT,
    TEXT_COUNT,
    TEXT_END,
)
from kafkalog.segments.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.file_rows import BlockShape, segment_rows
from kafkalog.segments.selection import Selection
from kafkalog.tables import Table
from kafkalog.tables.arrow import MOST_BYTES, ArrowBatches, Cells, Lists, Strings
from kafkalog.tables.declared import HEADER_FIELDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch, Schema

__all__ = [
    "ARROW_BATCHES",
    "ARROW_ROOM",
    "BATCH_BYTES",
    "ROOM",
    "ArrowRows",
    "Headers",
    "Texts",
    "all_null",
    "all_same",
    "constant",
    "segment_as_arrow",
]


# Strings and headers of an Arrow batch while they grow.


ROOM: Final = 1 << 15  # rows of a batch at most

_LISTED: Final = 1 << 12  # headers at once

_ALIGNED: Final = 64

_LEAST_GROWN: Final = 1 << 20  # bytes that a column of strings has room for once it has grown

_KINDS: Final = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}

Bytes = bytes | bytearray | memoryview


@lru_cache(maxsize=64)
def constant(width: int, value: int) -> NDArray[np.uint8]:
    """Return a buffer of `ROOM` numbers of so many bytes that all have this value, of bits for 0."""
    if not width:
        return np.full(-(-ROOM // 8), 255 if value else 0, np.uint8)
    return np.full(ROOM + 1, value, _KINDS[width]).view(np.uint8)


@lru_cache(maxsize=64)
def all_null(rows: int) -> Strings:
    """Return a column of strings that are all null, of `ROOM` rows at most."""
    return Strings(constant(4, 0).view(np.int32)[: rows + 1], constant(0, 0)[:0], constant(0, 0), again=True)


def _room(size: int) -> NDArray[np.uint8]:
    """Return room for `size` bytes, whatever they are; Arrow wants multiples of 64."""
    return np.empty(-(-size // _ALIGNED) * _ALIGNED, np.uint8)


def _offsets(count: int) -> NDArray[np.int32]:
    """Return room for so many offsets."""
    return _room(4 * count).view(np.int32)


class Texts:
    """Bytes as two columns: what is UTF-8 as text, anything else in base64."""

    def __init__(self, room: int) -> None:
        self.wanted = 0
        self.room = self._first_room = room
        self.state = np.zeros(GATHER_CELLS, np.int64)
        self.begin()

    def begin(self) -> None:
        """Begin a batch, with as much room as the last one needed."""
        rows, *hints = (self.state[ROWS : CODED_END + 1] * 9 // 8).tolist()
        self.room = self._first_room or rows
        self.state = np.zeros(GATHER_CELLS, np.int64)
        self.offsets = _offsets(2 * self.room + 2)
        self.offsets[0] = 0
        self.valid = _room(2 * (-(-self.room // 8)))
        self.text, self.coded = map(_room, hints)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return int(self.state[TEXT_END] + self.state[CODED_END])

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.state[ROWS])

    def add(self, buf: Bytes, cells: Any, starts: int, sizes: int, count: int) -> None:
        """Add pieces of `buf`, whose starts and sizes are runs of cells."""
        if self.rows + count > self.room:
            self._reserve(self.rows + count)
        done = 0
        while True:
            done += kernel_columns.gather(
                buf,
                cells,
                starts + done,
                sizes + done,
                count - done,
                self,
            )
            if done == count:
                return
            self._grow(int(cells[sizes + done]))

    def _grow(self, size: int) -> None:
        """Make room for a piece of that size."""
        end, coded_end = self.state[TEXT_END : CODED_END + 1].tolist()
        if self.wanted & TEXT and end + size > len(self.text):
            self.text = self._larger(self.text, end, end + size)
        else:
            self.coded = self._larger(self.coded, coded_end, coded_end + (size + 2) // 3 * 4)

    def _larger(self, data: NDArray[np.uint8], used: int, needed: int) -> NDArray[np.uint8]:
        """Return room for `needed` bytes, the first `used` of them the same.

        Raises UnsupportedError beyond 2 GiB.
        """
        if needed > MOST_BYTES:
            raise UnsupportedError(f"a column of strings holds at most {MOST_BYTES} bytes; one row has {needed}")
        larger = _room(min(max(needed, 2 * used, _LEAST_GROWN), MOST_BYTES))
        larger[:used] = data[:used]
        return larger

    def _reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        room = max(rows, 2 * self.room)
        offsets = _offsets(2 * room + 2)
        valid = _room(2 * (-(-room // 8)))
        for part in range(2):
            old, new = part * (self.room + 1), part * (room + 1)
            offsets[new : new + self.rows + 1] = self.offsets[old : old + self.rows + 1]
            old, new = part * (-(-self.room // 8)), part * (-(-room // 8))
            bits = -(-self.rows // 8)
            valid[new : new + bits] = self.valid[old : old + bits]
        self.offsets, self.valid, self.room = offsets, valid, room

    def made(self, *, is_coded: bool) -> Strings:
        """Return one of the two columns."""
        rows = self.rows
        present = int(self.state[CODED_COUNT if is_coded else TEXT_COUNT])
        if not present:
            if rows <= ROOM:
                return all_null(rows)
            return Strings(np.zeros(rows + 1, np.int32), constant(0, 0)[:0], np.zeros(-(-rows // 8), np.uint8))
        end = int(self.state[CODED_END if is_coded else TEXT_END])
        data = (self.coded if is_coded else self.text)[:end]
        at, bit = (self.room + 1, -(-self.room // 8)) if is_coded else (0, 0)
        valid = None if present == rows else self.valid[bit : bit + -(-rows // 8)]
        return Strings(self.offsets[at : at + rows + 1], data, valid)


class Headers:
    """Headers as lists of structures: nothing is written before the first record that has one."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._fields = (Texts(0), Texts(0))
        for field in self._fields:
            field.wanted = TEXT | CODED
        self._found = np.empty((HEADER_COLUMNS, 0), np.int64)
        self.begin()

    def begin(self) -> None:
        """Begin a batch."""
        self._rows = 0
        self._offsets = _offsets(self._room + 1)
        self._offsets[0] = 0
        for field in self._fields:
            field.begin()

    @property
    def size(self) -> int:
        """How many bytes they take, with their offsets."""
        return sum(field.size + 8 * field.rows for field in self._fields)

    def add(self, buf: Bytes, cells: Any, starts: int, counts: int, count: int) -> None:
        """Add the headers of records: where they begin and how many they are is in runs of cells."""
        if kernel_columns.list_ends(cells, counts, count, self._offsets, self._rows):
            self._list(buf, cells, starts, counts, count)
        self._rows += count

    def _list(self, buf: Bytes, cells: Any, starts: int, counts: int, count: int) -> None:
        if not self._found.size:
            self._found = np.empty((HEADER_COLUMNS, _LISTED), np.int64)
        found, row, position, left = self._found, 0, -1, 0
        while row < count:
            row, position, left, listed = kernel_columns.headers(
                buf, cells, starts, counts, row, count, position, left, found
            )
            for part, field in enumerate(self._fields):
                field.add(buf, found.reshape(-1), 2 * part * _LISTED, (2 * part + 1) * _LISTED, listed)

    def made(self) -> Lists:
        """Return the column."""
        fields = (field.made(is_coded=is_coded) for field in self._fields for is_coded in (False, True))
        has_some = self._fields[0].rows > 0
        offsets = self._offsets if has_some else constant(4, 0).view(np.int32)
        return Lists(offsets[: self._rows + 1], dict(zip(HEADER_FIELDS, fields, strict=True)))


# The columns of an Arrow batch while they grow.
#
# Numbers are in one buffer that has room for all rows of the batch. A column whose rows all have one value is not
# written: its batches share a buffer of that value.


BATCH_BYTES: Final = 4 << 20  # of strings: with more, a batch has fewer rows

_NUMBERS: Final = (Kind.NUMBER, Kind.BOOL, Kind.WORD)

_TEXTS: Final = (Kind.TEXT, Kind.BASE64, Kind.JSON)

_CODED: Final = "_base64"  # ends the name of the column that has what is not UTF-8

_NO_BITS: Final = bytes(1)


class _Cells(NamedTuple):
    """A block's own cells in the form of a table of the kernel's."""

    cells: memoryview


class _OwnTables(NamedTuple):
    """A block's own cells in place of the kernel's tables."""

    rows: _Cells
    batches: _Cells
    messages: _Cells
    outer: int = -1

    @classmethod
    def of(cls, block: Block) -> _OwnTables:
        """Return them for a block; nothing holds the cells when the caller is done, so that the block can grow."""
        own = _Cells(as_table(block.cells, block.room))
        return cls(own, own, own)


class ArrowColumns:
    """Grows the columns of blocks of one table; `files` are the words for the numbers of files."""

    def __init__(self, columns: Sequence[BlockColumn], schema: Schema, files: tuple[str, ...]) -> None:
        self._files = files
        numbers = [column for column in columns if column.kind in _NUMBERS]
        self._widths = [_width(column, schema.field(column.name).type) for column in numbers]
        self._places: list[tuple[int, int]] = []
        self._state = np.zeros((len(self._widths), COLUMN_CELLS), np.int64)
        self._words = [column.words for column in numbers]
        self._numbers = {
            column.name: (number, tuple(word.encode("utf-8", "backslashreplace").decode() for word in column.words))
            for number, column in enumerate(numbers)
        }
        self._plans: dict[tuple[bool, int], memoryview] = {}
        self._scratch = np.empty((SCRATCH_COLUMNS, 0), np.int64)
        self._texts: dict[str, Texts] = {}
        self._headers: dict[str, Headers] = {}
        for column in columns:
            if column.kind in _TEXTS:
                texts = self._texts.setdefault(column.name.removesuffix(_CODED), Texts(ROOM))
                texts.wanted |= CODED if column.kind is Kind.BASE64 else TEXT
            elif column.kind is Kind.HEADERS:
                self._headers[column.name] = Headers(ROOM)
        self.begin()

    def suits(self, columns: Sequence[BlockColumn]) -> bool:
        """Say whether rows of a block with these columns can be added: their numbers mean the same words."""
        return self._words == [column.words for column in columns if column.kind in _NUMBERS]

    def begin(self) -> None:
        """Begin a batch."""
        self.rows = 0
        self._of_files: list[tuple[int, int]] = []
        # Those that were not written last: what is not touched takes no memory if it is together.
        order = np.argsort(self._state[:, COLUMN_HAS] == SAME, kind="stable").tolist()
        self._places, size = _laid_out(self._widths, order)
        self._plans.clear()
        self._state = np.zeros((len(self._widths), COLUMN_CELLS), np.int64)
        self._arena = _room(size)
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
        return self.rows == ROOM or self.size >= BATCH_BYTES

    def fitting(self, block: Block, start: int, stop: int) -> int:
        """Return how many of a block's rows from `start` on are added before their strings are too many bytes.

        A batch has at least one row, whatever it takes.
        """
        if len(block.buf) <= BATCH_BYTES or not (self._texts or self._headers):
            return stop - start
        sizes = np.frombuffer(block.cells, np.int64)[block.weight + start : block.weight + stop]
        fits = int(np.searchsorted(np.cumsum(sizes), BATCH_BYTES - self.size, "right"))
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
            cells: Any = block.cells if tables is None else tables.rows.flat
            first, second = column.at, column.at + block.room
            if tables is not None and column.piece is not None:
                first, second = (part * tables.rows.capacity for part in column.piece)
            grown = self._headers[name] if column.kind is Kind.HEADERS else self._texts[name]
            grown.add(block.buf, cells, first + start, second + start, count)
        self._of_files.append((file, count))
        self.rows += count

    def _fill(self, block: Block, start: int, count: int) -> None:
        """Write the numbers of rows."""
        if self._scratch.shape[1] < count:
            self._scratch = np.empty((SCRATCH_COLUMNS, max(count, block.room)), np.int64)
        tables = block.tables
        key = tables is not None, block.room
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(block)
        bits = block.valid if tables is None else _NO_BITS
        filling = Filling(plan, self._state, self._scratch, bits, self._arena, self._arena)
        fill(filling, _OwnTables.of(block) if tables is None else tables, start, count, self.rows)

    def _plan(self, block: Block) -> memoryview:
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
        return as_table(plan, PLAN_CELLS)

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
        state, value, mark = self._state[number].tolist()
        bits = -(-self.rows // 8)
        if state == SAME:
            return all_same(self.rows, width, None if mark else value, words)
        data = self._arena[at : at + (width * self.rows if width else bits)]
        return Cells(self.rows, data, self._arena[valid : valid + bits] if mark else None, words)

    def _made_files(self) -> Cells:
        files = {file for file, _ in self._of_files}
        if len(files) == 1:
            return all_same(self.rows, 4, files.pop(), self._files)
        numbers, counts = zip(*self._of_files, strict=True)
        return Cells(self.rows, np.repeat(np.array(numbers, np.int32), counts).view(np.uint8), None, self._files)


@lru_cache(maxsize=64)
def all_same(rows: int, width: int, value: int | None, words: tuple[str, ...]) -> Cells:
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


# Rows of blocks collected to Arrow's batches: the kernel writes each value once, where Arrow reads it.


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


# Records in a block and batches in a chunk, more than for text: each costs some calls for each column. A power of two
# would make the columns share cache lines.
ARROW_ROOM: Final = 12300

ARROW_BATCHES: Final = 8400


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
    for item in segment_rows(file, chunks, wanted, selection, internal, shape=BlockShape(ARROW_ROOM, spaced=True)):
        if isinstance(item, Rows):
            yield from made.add(item)
        elif on_finding is not None and isinstance(item, Finding):
            on_finding(item)
    yield from made.last()
