"""Batches and records as the columns of their declared tables, made once for every way out.

A block is one chunk's batches, or one block of decoded records. Its numbers are int64 cells with validity bits as in
Arrow; keys, values and headers stay in `buf`, and their column has where they begin. The next block uses the same
cells, which are filled when they are asked for: Arrow's columns are made of the kernel's tables directly.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.findings import Finding
from kafkalog.kafka.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL, Batch, CellTable
from kafkalog.kafka.compression import CODECS
from kafkalog.kernel import buffers
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel import records as kernel_records
from kafkalog.kernel.buffers import as_table
from kafkalog.kernel.columns import Filling, bytes_kinds, fill, take
from kafkalog.kernel.plans import (
    BASE64,
    BIT,
    BITS,
    CELL,
    CELLS,
    COLUMN_CELLS,
    DELTA,
    HOLDS,
    MISSING,
    NEVER,
    NO_HORIZON,
    NO_MESSAGE,
    NOTHING,
    OF_BATCH,
    OF_MESSAGE,
    OF_ROW,
    OLD,
    PLAN_CELLS,
    SCRATCH_COLUMNS,
    SINCE_2,
    TIMES,
    UNKNOWN,
)
from kafkalog.segments.decoded import RecordBlock, headers_of
from kafkalog.segments.selection import Picks, Shares
from kafkalog.tables import Table
from kafkalog.tables.dump_tables import BATCHES, OF_LOG, OUTCOME_CAUSES, OUTCOMES, RECORDS
from kafkalog.tables.dump_tables import CONTROL as CONTROL_TABLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kafkalog.folds.fates import BatchFates, Fates
    from kafkalog.kafka.internal_text import ControlText

__all__ = [
    "BATCH",
    "BATCH_VALUES",
    "BYTES",
    "MOST_TEXT",
    "RECORD",
    "BatchBlocks",
    "Block",
    "BlockColumn",
    "BlockLayout",
    "Chosen",
    "ControlBlocks",
    "Kind",
    "RecordBlocks",
    "Rows",
    "Tables",
]


# What each column of the tables ``batches`` and ``records`` is made of, written once, by its name.
#
# A value is a rule over a column of the kernel's tables (``kernel.columns``). The order of the columns is that of
# their declaration in ``tables.dump``.


class CellValue(NamedTuple):
    """A column's value: what `rule` makes of a cell of `column`, null where `absent` says so.

    `words` are the words for the numbers.
    """

    column: int
    rule: int = CELL
    mask: int = -1
    absent: int = NEVER
    words: tuple[str, ...] = ()


_UNUSED_BITS: Final = 0xFF80

_NUMBERED: Final = (*CODECS, *(str(number) for number in range(len(CODECS), CODEC_MASK + 1)))

_TIMESTAMP_TYPES: Final = ("none", "create_time", "log_append_time")

# Of a batch, by the kernel's table of headers.
BATCH: Final[dict[str, CellValue]] = {
    "position": CellValue(buffers.POSITION),
    "size_bytes": CellValue(buffers.SIZE),
    "base_offset": CellValue(buffers.BASE_OFFSET, absent=UNKNOWN),
    "last_offset": CellValue(buffers.LAST_OFFSET),
    "last_offset_delta": CellValue(buffers.BASE_OFFSET, DELTA, absent=UNKNOWN),
    "count": CellValue(buffers.COUNT, absent=UNKNOWN),
    "magic": CellValue(buffers.MAGIC),
    "crc": CellValue(buffers.CRC),
    "crc_holds": CellValue(buffers.VALID, HOLDS),
    "attributes": CellValue(buffers.ATTRIBUTES),
    "codec": CellValue(buffers.ATTRIBUTES, BITS, CODEC_MASK, words=_NUMBERED),
    "timestamp_type": CellValue(buffers.ATTRIBUTES, TIMES, LOG_APPEND_TIME, words=_TIMESTAMP_TYPES),
    "is_transactional": CellValue(buffers.ATTRIBUTES, BIT, TRANSACTIONAL),
    "is_control": CellValue(buffers.ATTRIBUTES, BIT, CONTROL),
    "has_delete_horizon": CellValue(buffers.ATTRIBUTES, BIT, DELETE_HORIZON),
    "unused_attribute_bits": CellValue(buffers.ATTRIBUTES, SINCE_2, _UNUSED_BITS),
    "base_timestamp_ms": CellValue(buffers.BASE_TIMESTAMP, absent=OLD),
    "delete_horizon_ms": CellValue(buffers.BASE_TIMESTAMP, absent=NO_HORIZON),
    "max_timestamp_ms": CellValue(buffers.MAX_TIMESTAMP),
    "producer_id": CellValue(buffers.PRODUCER_ID),
    "producer_epoch": CellValue(buffers.PRODUCER_EPOCH),
    "base_sequence": CellValue(buffers.BASE_SEQUENCE),
    "last_sequence": CellValue(buffers.LAST_SEQUENCE),
    "partition_leader_epoch": CellValue(buffers.LEADER_EPOCH),
}

# Of a record, by the kernel's table of records.
RECORD: Final[dict[str, CellValue]] = {
    "offset": CellValue(buffers.OFFSET),
    "timestamp_ms": CellValue(buffers.TIMESTAMP),
    "sequence": CellValue(buffers.SEQUENCE),
    "size_bytes": CellValue(buffers.RECORD_SIZE),
    "key_size": CellValue(buffers.KEY_SIZE),
    "value_size": CellValue(buffers.VALUE_SIZE),
    "headers_count": CellValue(buffers.HEADERS_COUNT),
}

# Of a record's batch; for a message inside a wrapper of magic 0 or 1, of the wrapper.
BATCH_VALUES: Final[dict[str, CellValue]] = {
    **{
        name: BATCH[name]
        for name in ("timestamp_type", "producer_id", "producer_epoch", "is_transactional", "is_control", "magic")
    },
    "batch_position": BATCH["position"],
    "batch_crc_holds": BATCH["crc_holds"],
}

# Of the message of magic 0 or 1 that a record is, inside a wrapper or alone; the batch of a record of magic 2.
MESSAGE: Final[dict[str, CellValue]] = {
    "message_crc": CellValue(buffers.CRC, absent=NO_MESSAGE),
    "message_crc_holds": CellValue(buffers.VALID, HOLDS, absent=NO_MESSAGE),
}

# Of a record's bytes: where they begin and how many there are.
BYTES: Final[dict[str, tuple[int, int]]] = {
    "key": (buffers.KEY_START, buffers.KEY_SIZE),
    "value": (buffers.VALUE_START, buffers.VALUE_SIZE),
}


class Kind(IntEnum):
    """What the cells of a column are."""

    FILE = 0  # none: the file's name in every row
    NUMBER = 1
    BOOL = 2
    WORD = 3
    TEXT = 4  # three runs of cells: starts, sizes, kinds
    BASE64 = 5  # the same
    HEADERS = 6  # two runs: starts, counts
    JSON = 7  # as of text; its bytes are JSON


class BlockColumn(NamedTuple):
    """A column: its first cell is number `at`, its first validity bit number `bit`, below 0 if no cell is null.

    In the kernel's tables it is `value` of what `source` says, or bytes whose start and size, or headers whose start
    and number, are the columns `piece` of the rows' own table.
    """

    name: str
    kind: Kind
    at: int = 0
    bit: int = -1
    words: tuple[str, ...] = ()
    source: int = OF_ROW
    value: CellValue | None = None
    piece: tuple[int, int] | None = None


class BlockStep(NamedTuple):
    """Cells of a block that are filled from the kernel's tables."""

    source: int
    value: CellValue
    at: int
    bit: int = -1


class Tables(NamedTuple):
    """The kernel's tables that rows are made of: of the rows, their batches, and their messages of magic 0 or 1.

    `outer` is the row of all their batches, below 0 if each row has its own.
    """

    rows: CellTable
    batches: CellTable
    messages: CellTable
    outer: int = -1


class Block:
    """Rows of a declared table, as the columns that were asked for.

    It is no ``Columns``: it lays cells out as the kernel's writer of lines and Arrow's buffers need them, once for all
    the rows of a file, which are never taken, joined or kept.

    Cells of a run are ``cells[at:at + count]``, and the next run of a column begins `room` later. `weight` is where the
    runs of the rows' sizes and numbers of headers begin, below 0 if no column has bytes.
    """

    __slots__ = (
        *("_cells", "_plan", "_scratch", "_size", "_state", "_valid", "buf", "columns", "count", "file", "is_filled"),
        *("room", "table", "tables", "weight"),
    )  # fmt: skip

    def __init__(
        self,
        table: Table,
        file: str,
        columns: Sequence[BlockColumn],
        room: int,
        runs: int,
        steps: Sequence[BlockStep] = (),
    ) -> None:
        self.table = table
        self.file = file
        self.columns = tuple(columns)
        self.room = room
        self._cells = array("q")
        self._size = room * runs
        self._valid = bytearray((room * sum(column.bit >= 0 for column in columns) + 7) // 8)
        self._plan = array(
            "q", [cell for step in steps for cell in (step.source, *step.value[:4], 8, 8 * step.at, step.bit)]
        )
        self._state = array("q", [CELLS, 0, 0] * len(steps))
        self._scratch = CellTable(SCRATCH_COLUMNS, 0)
        self.weight = -1
        self.count = 0
        self.buf: bytes | bytearray | memoryview = b""
        self.tables: Tables | None = None
        self.is_filled = True

    def take(self, tables: Tables, count: int, buf: bytes | bytearray | memoryview = b"") -> Block:
        """Make the first `count` rows of these tables the block's."""
        self.tables = tables
        self.count = count
        self.buf = buf
        self.is_filled = False
        return self

    def freeze(self) -> None:
        """Fill the cells now, and forget the tables: they will change."""
        _ = self.cells
        self.tables = None

    @property
    def cells(self) -> array[int]:
        """The cells of all columns; a block that only becomes Arrow needs none."""
        if len(self._cells) < self._size:
            self._cells = array("q", bytes(8 * self._size))
        if not self.is_filled:
            self._fill()
        return self._cells

    @property
    def valid(self) -> bytearray:
        """The validity bits of all columns that have some."""
        if not self.is_filled:
            _ = self.cells
        return self._valid

    def _fill(self) -> None:
        self.is_filled = True
        tables, cells = self.tables, self._cells
        if tables is None or not self.count:
            return
        if self._scratch.capacity < self.count:
            self._scratch = CellTable(SCRATCH_COLUMNS, max(self.count, self.room))
        if self._plan:
            filling = Filling(
                as_table(self._plan, PLAN_CELLS),
                as_table(self._state, COLUMN_CELLS),
                self._scratch.cells,
                self._valid,
                memoryview(cells).cast("B"),
                self._valid,
            )
            fill(filling, tables, 0, self.count, 0)
        for column in self.columns:
            if column.kind in (Kind.TEXT, Kind.BASE64) and column.piece is not None:
                at = column.at
                bytes_kinds(self.buf, cells, at, at + self.room, at + 2 * self.room, self.count)

    def rows(self, start: int, stop: int, most: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield rows as Python values, in the order of the columns.

        With `most`, a key or value has only about that many of its first bytes, and a record so many of its headers.
        """
        if not self.columns:
            return iter([()] * (stop - start))
        return zip(*(self.column(column, start, stop, most) for column in self.columns), strict=True)

    def column(self, column: BlockColumn, start: int, stop: int, most: int | None = None) -> Iterator[Any]:
        """Yield a column's values."""
        if column.kind is Kind.FILE:
            return iter([self.file] * (stop - start))
        if column.kind in (Kind.NUMBER, Kind.BOOL, Kind.WORD):
            return iter(self._numbers(column, start, stop))
        return (self._value(column, row, most) for row in range(start, stop))

    def numbers(self, column: BlockColumn, start: int, stop: int) -> NDArray[np.int64]:
        """Return the cells of a column of numbers or words, of the rows that have a value."""
        import numpy as np

        cells = np.frombuffer(self.cells, np.int64)[column.at + start : column.at + stop]
        if column.bit < 0:
            return cells
        first, last = column.bit + start, column.bit + stop
        bits = np.unpackbits(np.frombuffer(self.valid, np.uint8)[first >> 3 : (last + 7) >> 3], bitorder="little")
        held: NDArray[np.int64] = cells[bits[first & 7 :][: stop - start] == 1]
        return held

    def _numbers(self, column: BlockColumn, start: int, stop: int) -> Iterable[Any]:
        """Return the values of a column that has one cell for each."""
        cells: Iterable[Any] = self.cells[column.at + start : column.at + stop]
        if column.bit >= 0:
            valid, bits = self.valid, range(column.bit + start, column.bit + stop)
            cells = [cell if valid[bit >> 3] >> (bit & 7) & 1 else None for bit, cell in zip(bits, cells, strict=True)]
        if column.kind is Kind.BOOL:
            return [None if cell is None else bool(cell) for cell in cells]
        if column.kind is Kind.WORD:
            return [None if cell is None else column.words[cell] for cell in cells]
        return cells

    def _value(self, column: BlockColumn, row: int, most: int | None) -> Any:
        bit, at = column.bit + row, column.at + row
        if column.bit >= 0 and not self.valid[bit >> 3] & 1 << (bit & 7):
            return None
        cell = self.cells[at]
        match column.kind:
            case Kind.HEADERS:
                count = self.cells[at + self.room]
                if most is not None:
                    count = min(count, most)
                return [_header(*header) for header in headers_of(self.buf, cell, count, most)]
            case Kind.JSON:
                import json  # only for the rows of a decoder

                size = self.cells[at + self.room]
                return None if size < 0 else json.loads(bytes(self.buf[cell : cell + size]))
            case Kind.TEXT | Kind.BASE64:
                size, what = self.cells[at + self.room], self.cells[at + 2 * self.room]
                if what == NOTHING or (what == BASE64) is not (column.kind is Kind.BASE64):
                    return None
                is_cut = most is not None and size > most
                data = bytes(self.buf[cell : cell + (most if most is not None and is_cut else size)])
                return base64.b64encode(data).decode() if what == BASE64 else data.decode(errors="ignore")
            case _:
                return cell


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a block, one after the other."""

    block: Block
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def first(self, count: int) -> Rows:
        """Return only the first `count`."""
        return Rows(self.block, self.start, self.start + count)


def _header(key: bytes, value: bytes | None) -> dict[str, str | None]:
    return {**_texts("key", key), **_texts("value", value)}


def _texts(name: str, data: bytes | None) -> dict[str, str | None]:
    coded = f"{name}_base64"
    if data is None:
        return {name: None, coded: None}
    try:
        return {name: data.decode(), coded: None}
    except UnicodeDecodeError:
        return {name: None, coded: base64.b64encode(data).decode()}


# Makes the blocks of the tables ``batches`` and ``records``: which cells a column has, and what they are made of.


_HEADERS: Final = (buffers.HEADERS_START, buffers.HEADERS_COUNT)


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

    def values(self, source: int, of: Mapping[str, CellValue], names: Sequence[str]) -> None:
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
        self._steps += [BlockStep(OF_ROW, CellValue(column), at + i * self._room) for i, column in enumerate(columns)]
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
            chosen = self._table = CellTable(len(table.cells), table.capacity)
        take(table.cells, picks.rows, picks.count, chosen.cells)
        return chosen


class FateCells:
    """The columns `OF_LOG` as cells after those that the kernel writes: of batches, and of records by their batches."""

    def __init__(self, fates: Fates, first: int, share: Shares | None) -> None:
        self._fates = fates
        self._first = first
        self._share = share

    def values(self) -> dict[str, CellValue]:
        """Return what each column is made of, by its name."""
        fates, share = self._fates, self._share
        words = {
            "topic": (fates.topic or "",),
            "partition": (),
            "log": (fates.log or "",),
            "transactional_id": fates.ids or ("",),  # a column without words would be one of numbers
            "outcome": OUTCOMES,
            "outcome_cause": OUTCOME_CAUSES,
            "visible": (),
            "replicas": ("",) if share is None else share.words,
        }
        return {name: CellValue(self._first + at, absent=MISSING, words=words[name]) for at, name in enumerate(OF_LOG)}

    def fill(
        self, table: CellTable, found: BatchFates, shown: NDArray[np.int64], of: NDArray[np.int64] | slice,
        sets: NDArray[np.int64] | int,
    ) -> None:  # fmt: skip
        """Write the cells of a table's rows; `of` is the batch of each, `sets` those of its replicas."""
        fates, cells = self._fates, table.numpy()
        names = (fates.topic, fates.log)
        topic, log = (buffers.NONE if name is None else 0 for name in names)
        partition = buffers.NONE if fates.partition is None else fates.partition
        columns: tuple[NDArray[np.int64] | int, ...] = (
            topic, partition, log, found.name[of], found.outcome[of], found.cause[of], shown, sets,
        )  # fmt: skip
        for at, column in enumerate(columns, self._first):
            cells[at] = column


class BatchBlocks:
    """Makes blocks of the table ``batches`` with the named columns; those of `OF_LOG` need `fates`."""

    def __init__(
        self, file: str, names: Sequence[str], room: int, fates: Fates | None = None, share: Shares | None = None
    ) -> None:  # fmt: skip
        layout = BlockLayout(BATCHES, file, room)
        layout.values(OF_ROW, BATCH, names)
        self._fates = fates
        self._share = share if "replicas" in names else None
        self._cells = None if fates is None else FateCells(fates, len(buffers.BATCH_COLUMNS), self._share)
        if self._cells is not None:
            layout.values(OF_ROW, self._cells.values(), names)
        self._block = layout.block(names)
        self._chosen = Chosen()

    def of(self, heads: CellTable, picks: Picks, found: BatchFates | None = None) -> Block:
        """Make these rows of the kernel's table a block, the same one for every call; `found` is of all its rows."""
        if self._cells is not None and self._fates is not None and found is not None:
            heads = heads.widened(len(OF_LOG))
            shown = self._fates.visible(found.shown, heads.numpy()[buffers.LAST_OFFSET])
            sets = buffers.NONE if self._share is None else self._share.of_batches(heads)
            self._cells.fill(heads, found, shown, slice(None), sets)
        rows = self._chosen.of(heads, picks)
        return self._block.take(Tables(rows, rows, rows), picks.count)


class RecordBlocks:
    """Makes blocks of the table ``records`` with the named columns; those of `OF_LOG` need `fates`."""

    def __init__(
        self, file: str, names: Sequence[str], room: int, fates: Fates | None = None, share: Shares | None = None
    ) -> None:  # fmt: skip
        layout = BlockLayout(RECORDS, file, room)
        layout.values(OF_ROW, RECORD, names)
        self._fates = fates
        self._share = share if "replicas" in names else None
        self._cells = None if fates is None else FateCells(fates, len(buffers.RECORD_COLUMNS), self._share)
        if self._cells is not None:
            layout.values(OF_ROW, self._cells.values(), names)
        layout.values(OF_BATCH, BATCH_VALUES, names)
        layout.values(OF_MESSAGE, MESSAGE, names)
        has_bytes = "headers" in names
        for name, piece in BYTES.items():
            coded = f"{name}_base64"
            if name in names or coded in names:
                at = layout.cells(*piece)
                layout.run()  # what they are
                layout.columns[name] = BlockColumn(name, Kind.TEXT, at, piece=piece)
                layout.columns[coded] = BlockColumn(coded, Kind.BASE64, at, piece=piece)
                has_bytes = True
        if "headers" in names:
            layout.columns["headers"] = BlockColumn("headers", Kind.HEADERS, layout.cells(*_HEADERS), piece=_HEADERS)
        weight = layout.cells(buffers.RECORD_SIZE, buffers.HEADERS_COUNT) if has_bytes else -1
        self._block = layout.block(names)
        self._block.weight = weight
        self._chosen = Chosen()

    def of(self, chunk_heads: CellTable, records: RecordBlock, picks: Picks, found: BatchFates | None = None) -> Block:
        """Make these of the decoded records a block, the same one for every call.

        `chunk_heads` are the batches of their chunk, `found` what became of these.
        """
        if self._cells is not None and self._fates is not None and found is not None:
            cells = records.recs.numpy()
            of = cells[buffers.BATCH]
            if records.outer is not None:
                of = of * 0 + records.outer
            shown = self._fates.visible(found.shown[of], cells[buffers.OFFSET], records.passed())
            sets = buffers.NONE if self._share is None else self._share.of_records(records)
            self._cells.fill(records.recs, found, shown, of, sets)
        rows = self._chosen.of(records.recs, picks)
        outer = -1 if records.outer is None else records.outer
        return self._block.take(Tables(rows, chunk_heads, records.heads, outer), picks.count, records.buf)


# Control records as columns of the table ``control``; the messages of KRaft's are JSON.


_OF_RECORD: Final = {name: RECORD[name] for name in ("offset", "timestamp_ms")}

_OF_BATCH: Final = {
    "producer_id": BATCH["producer_id"],
    "producer_epoch": BATCH["producer_epoch"],
    "partition_leader_epoch": BATCH["partition_leader_epoch"],
    "batch_position": BATCH["position"],
}

# In the order in which ``records.controls`` lists them after the record's number.
_TYPES: Final = next(
    column.words for column in CONTROL_TABLE.columns if column.name == "type"
)  # by number, but for the last

_UNKNOWN: Final = len(_TYPES) - 1

MOST_TEXT: Final = 1 << 21  # bytes of messages whose text is made at once


class ControlBlocks:
    """Makes blocks of the table ``control`` with the named columns.

    JSON is in ASCII without blanks, or, `spaced`, as Arrow's columns have it.
    """

    def __init__(self, file: str, names: Sequence[str], room: int, *, spaced: bool) -> None:
        self._file = file
        self._dialect = ops.SPACED_JSON if spaced else ops.ASCII_JSON
        layout = BlockLayout(CONTROL_TABLE, file, room)
        layout.values(OF_ROW, _OF_RECORD, CONTROL_TABLE.names)
        layout.values(OF_BATCH, _OF_BATCH, CONTROL_TABLE.names)
        self._type, self._number, self._version, self._epoch = (
            layout.number(name, words, is_nullable=is_nullable)
            for name, words, is_nullable in (
                ("type", _TYPES, False), ("type_number", (), False), ("version", (), False),
                ("coordinator_epoch", (), True),
            )
        )  # fmt: skip
        self._data = layout.columns["data"] = BlockColumn("data", Kind.JSON, layout.run(3))
        weight = layout.run(2)
        self._block = layout.block(CONTROL_TABLE.names)
        self._block.columns = tuple(layout.columns[name] for name in names)
        self._block.weight = weight
        self._block.valid[:] = b"\xff" * len(self._block.valid)
        self._text: ControlText | None = None
        self._without_epoch: list[int] = []  # rows whose validity bits are cleared
        self._found = CellTable(buffers.CONTROL_COLUMNS, room)
        self._chosen = Chosen()

    def of(self, heads: CellTable, records: RecordBlock, picks: Picks) -> Iterator[Rows | Finding]:
        """Yield the control records among these as rows, and what is wrong with them; the next block is the same one.

        `heads` are the batches of their chunk.
        """
        block, recs = self._block, records.recs
        if self._found.capacity < len(picks.rows):
            self._found = CellTable(buffers.CONTROL_COLUMNS, len(picks.rows))
        found = self._found
        count = kernel_records.controls(
            records.buf, records.heads.cells, recs.cells, picks.rows, picks.count, found.cells
        )
        found.count = count
        block.count = 0
        if not count:
            return
        block.take(
            Tables(
                self._chosen.of(recs, Picks(found.column(buffers.CONTROL_RECORD), count)), records.heads, records.heads
            ),
            count,
        )
        block.freeze()  # the kernel's tables do not have all of it
        self._fill(found)
        done = 0
        for others, stop in self._parts(recs, found):
            for row, finding in self._others(heads, records, found, others) if others else ():
                if row > done:
                    yield Rows(block, done, row)
                done = row + 1
                yield finding
            if stop > done:
                yield Rows(block, done, stop)
                done = stop

    def _parts(self, recs: CellTable, found: CellTable) -> Iterator[tuple[list[int], int]]:
        """Yield the rows that end no transaction in parts, each with the row where it stops: their text is bounded."""
        others: list[int] = []
        size = 0
        for row in range(self._block.count):
            if found.cell(buffers.CONTROL_TYPE, row) < 0:
                others.append(row)
                size += recs.cell(buffers.VALUE_SIZE, found.cell(buffers.CONTROL_RECORD, row))
                if size > MOST_TEXT:
                    yield others, row + 1
                    others, size = [], 0
        yield others, self._block.count

    def _fill(self, found: CellTable) -> None:
        """Write the columns as if all were the ends of transactions."""
        block, room, count = self._block, self._block.room, self._block.count
        cells = block.cells
        for which, at in (
            (buffers.CONTROL_TYPE, self._type.at), (buffers.CONTROL_TYPE, self._number.at),
            (buffers.CONTROL_VERSION, self._version.at), (buffers.CONTROL_EPOCH, self._epoch.at),
        ):  # fmt: skip
            memoryview(cells)[at : at + count] = found.column(which)
        none, zero = array("q", [-1]) * count, array("q", bytes(8 * count))
        for at, value in ((self._data.at + room, none), (self._data.at + 2 * room, zero), (block.weight, zero)):
            cells[at : at + count] = value
        for row in self._without_epoch:
            block.valid[(self._epoch.bit + row) >> 3] |= 1 << ((self._epoch.bit + row) & 7)
        self._without_epoch.clear()

    def _others(
        self, heads: CellTable, records: RecordBlock, found: CellTable, rows: Sequence[int]
    ) -> list[tuple[int, Finding]]:
        """Correct what these rows have, which end no transaction; return those that are malformed."""
        # Only KRaft's logs need these.
        from kafkalog.kafka.control import control_record
        from kafkalog.kafka.internal_text import ControlText
        from kafkalog.kafka.message import MalformedError
        from kafkalog.kafka.message_json import JSON_ENCODERS, plain
        from kafkalog.segments.readers import control_finding

        if self._text is None:
            self._text = ControlText(self._dialect)
        block, room, text = self._block, self._block.room, self._text
        kraft, slow = [], []
        for row in rows:
            if found.cell(buffers.CONTROL_TYPE, row) == buffers.NO_END:
                number = found.cell(buffers.CONTROL_EPOCH, row)
                self._set(row, number, found.cell(buffers.CONTROL_VERSION, row))
                kraft.append((row, found.cell(buffers.CONTROL_RECORD, row), number))
            else:
                slow.append(row)
        cells = memoryview(block.cells)
        starts, sizes, kinds = (cells[self._data.at + at * room :][:room] for at in range(3))
        slow += text.write_values(records.buf, records.recs, kraft, starts, sizes)
        wrong = []
        for row in sorted(slow):
            batch = Batch.of(heads, records.recs.cell(buffers.BATCH, found.cell(buffers.CONTROL_RECORD, row)))
            record = records.record(found.cell(buffers.CONTROL_RECORD, row), batch.position)
            try:
                control = control_record(record.key, record.value)
            except MalformedError as error:
                wrong.append((row, control_finding(self._file, batch, record, error)))
            else:
                starts[row], sizes[row] = text.put(JSON_ENCODERS[self._dialect](plain(control.data)))
        for row in rows:
            kinds[row] = sizes[row] >= 0
            cells[block.weight + row] = max(sizes[row], 0)
        block.buf = text.content
        return wrong

    def _set(self, row: int, number: int, version: int) -> None:
        """Write the type and the version of a row that ends no transaction."""
        cells = self._block.cells
        cells[self._type.at + row] = number if 0 <= number < _UNKNOWN else _UNKNOWN
        cells[self._number.at + row] = number
        cells[self._version.at + row] = version
        bit = self._epoch.bit + row
        self._block.valid[bit >> 3] &= 255 ^ 1 << (bit & 7)
        self._without_epoch.append(row)
