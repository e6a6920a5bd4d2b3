"""The records of a segment of an internal topic, a block at a time, as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.files.limits import Limits
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CONTROL, TRANSACTIONAL, Batch, CellTable, Record
from kafkalog.kafka.internal_block import DOUBT, TYPE, VERSION, InternalBlock, with_protocol
from kafkalog.kafka.internal_records import InternalRecord, UnknownTypeError, internal_record
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MalformedError, escaped_text
from kafkalog.kafka.message_json import plain
from kafkalog.kafka.message_program import Program, ReadField
from kafkalog.kernel import buffers
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel.buffers import Bytes
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.decoded import RecordBlock, record_cells
from kafkalog.segments.segment import possible_chunks
from kafkalog.tables.internal_tables import INTERNAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "TOPICS",
    "InternalRecords",
    "Part",
    "Written",
    "internal_blocks",
    "internal_findings",
    "internal_row",
    "read_internal",
]


# Records of internal topics: their contents, as rows, and what is wrong with them.


TOPICS: Final = {
    STATE_TOPIC: Internal.TRANSACTION_LOG,
    OFFSETS_TOPIC: Internal.OFFSETS,
    SHARE_TOPIC: Internal.SHARE_GROUP_STATE,
    METADATA_TOPIC: Internal.CLUSTER_METADATA,
    "__remote_log_metadata": Internal.REMOTE_LOG_METADATA,
}


class Written(NamedTuple):
    """A record of an internal topic: where it is, facts of its batch, and its content.

    `content` is None if its type or version is not known; `type` is the type's number, `kind` its name if it is known,
    `version` the value's version, None in a tombstone.
    """

    file: str
    offset: int
    timestamp: int
    leader_epoch: int
    transactional: bool
    producer_id: int
    type: int
    content: InternalRecord | None
    kind: str | None = None
    version: int | None = None


def read_internal(file: str, batch: Batch, record: Record, internal: Internal) -> Iterator[Written | Finding]:
    """Yield the content of a record of an internal topic, unless it can't be read, and what is wrong with it."""
    where = (
        file, record.offset, record.timestamp, batch.partition_leader_epoch, batch.is_transactional, batch.producer_id,
    )  # fmt: skip
    try:
        read = internal_record(internal, record.key, record.value)
    except UnknownTypeError as error:
        yield Written(*where, error.number, None, error.name or None, error.version)
        yield _finding("internal-record-unknown", file, batch, record, str(error))
    except MalformedError as error:
        yield _finding("internal-record-malformed", file, batch, record, str(error))
    else:
        yield Written(*where, read.type, read, read.name, read.version)
        for remark in read.remarks:
            yield _finding("internal-record-odd", file, batch, record, f"{read.name}: {remark}")


def internal_findings(file: str, batch: Batch, record: Record, internal: Internal) -> list[Finding]:
    """Return what is wrong with a record that should be one of `internal`."""
    return [item for item in read_internal(file, batch, record, internal) if isinstance(item, Finding)]


def internal_row(record: Written, topic: str, log: str, partition: int | None) -> tuple[Any, ...]:
    """Make a row of the table ``internal``."""
    content = record.content
    key = value = None
    if content is not None:
        key, value = content.key, content.value
        if value is not None and content.name == "GroupMetadata":
            value = with_protocol(value)
    return INTERNAL.of(
        log=log,
        topic=topic,
        partition=partition,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        type=record.type,
        kind=record.kind,
        version=record.version,
        key=plain(key),
        value=plain(value),
        tombstone=content is not None and value is None,
        unknown=content is None,
        transactional=record.transactional,
        producer_id=record.producer_id,
    )


def _finding(code: str, file: str, batch: Batch, record: Record, message: str) -> Finding:
    return Finding.of(
        code,
        file,
        f"the record at offset {record.offset}: {message}",
        position=batch.position,
        length=batch.size,
        offset=record.offset,
    )


_ROOM: Final = 4192  # records at once: a block costs many calls of NumPy


class Part(NamedTuple):
    """The records of a block that one program read: their rows in the block, and in the program's table."""

    program: Program
    of: NDArray[Any]
    rows: NDArray[Any]


class InternalRecords:
    """One block's records; the next block uses the same buffers.

    `count` rows have a place in the log, facts of their batch, which is one of `heads`, a `type`, and say whether key
    and value could be read.
    """

    def __init__(
        self, file: str, internal: Internal, reader: InternalBlock, heads: CellTable, block: RecordBlock
    ) -> None:
        self.file = file
        self.block = block
        self._internal = internal
        self._reader = reader
        self.heads = heads
        reader.read_records(block.buf, block.recs)
        self.count = block.recs.count
        facts, keys, values, recs = (table.numpy() for table in (reader.facts, reader.keys, reader.values, block.recs))
        self.type = facts[TYPE]
        self.version = facts[VERSION]
        self.offset = recs[buffers.OFFSET]
        self.timestamp = recs[buffers.TIMESTAMP]
        self.key_start, self.key_size = recs[buffers.KEY_START], recs[buffers.KEY_SIZE]
        self.value_start, self.value_size = recs[buffers.VALUE_START], recs[buffers.VALUE_SIZE]
        self._doubt = facts[DOUBT]
        self._key_row, self._value_row = keys[ops.M_ROW], values[ops.M_ROW]
        self._batch = recs[buffers.BATCH] if block.outer is None else np.full(self.count, block.outer)

    @property
    def buf(self) -> Bytes:
        """Return the bytes that positions are in."""
        return self.block.buf

    @property
    def is_tombstone(self) -> NDArray[np.bool_]:
        """Say which values are null."""
        found: NDArray[np.bool_] = self.value_size < 0
        return found

    @property
    def is_doubtful(self) -> NDArray[np.bool_]:
        """Say which records must be read one by one: something may be wrong with them."""
        found: NDArray[np.bool_] = self._doubt != 0
        return found

    @property
    def is_read(self) -> NDArray[np.bool_]:
        """Say which records of a topic with keys could be read, tombstones among them."""
        found: NDArray[np.bool_] = (self._key_row >= 0) & ((self._value_row >= 0) | (self.value_size < 0))
        return found

    def of_batches(self, column: int) -> NDArray[np.int64]:
        """Return a column of the batches' headers, for each record."""
        found: NDArray[np.int64] = self.heads.numpy()[column][self._batch]
        return found

    @property
    def is_transactional(self) -> NDArray[np.bool_]:
        """Say which records are part of a transaction."""
        attributes, magic = self.of_batches(buffers.ATTRIBUTES), self.of_batches(buffers.MAGIC)
        found: NDArray[np.bool_] = (attributes & TRANSACTIONAL != 0) & (magic > 1)
        return found

    def keys(self, types: Collection[int], rows: NDArray[Any]) -> list[Part]:
        """Return the parts of these rows, which ascend and whose keys could be read, by their types."""
        kinds = self._reader.kinds
        return [
            part
            for number in types
            if number in kinds and (key := kinds[number].key) is not None
            for part in self._part(key, rows, self.type[rows] == number, self._key_row)
        ]

    def values(self, types: Collection[int], rows: NDArray[Any]) -> list[Part]:
        """Return the parts of these rows, which ascend, whose values could be read, by their types and versions."""
        kinds = self._reader.kinds
        found: list[Part] = []
        for number in types:
            for version, program in enumerate(kinds[number].values if number in kinds else ()):
                if self._reader.tables.rows(program.table):
                    is_one = (self.type[rows] == number) & (self.version[rows] == version)
                    found += self._part(program, rows, is_one, self._value_row)
        return found

    @staticmethod
    def _part(
        program: Program, rows: NDArray[Any], is_one: NDArray[np.bool_], places: NDArray[np.int64]
    ) -> Iterator[Part]:
        of = rows if is_one.all() else rows[is_one]
        at = places[of]
        if len(at) and at.min() < 0:
            of, at = of[at >= 0], at[at >= 0]
        if len(of):
            yield Part(program, of, at)

    def field(self, parts: Collection[Part], name: str, number: int = 0, absent: int = -1) -> NDArray[np.int64]:
        """Return the `number`-th column of a field for each record of the block; `absent` where no part has it."""
        found = np.full(self.count, absent, np.int64)
        for program, of, rows in parts:
            for one in program.structure.fields:
                if one.name == name:
                    column = self._reader.tables.column(program.table, one.column + number)
                    found[of] = np.frombuffer(column, np.int64)[rows]
        return found

    def cells(self, part: Part, field: ReadField, number: int = 0) -> NDArray[np.int64]:
        """Return the `number`-th column of a field for each record of a part."""
        column = self._reader.tables.column(part.program.table, field.column + number)
        found: NDArray[np.int64] = np.frombuffer(column, np.int64)[part.rows]
        return found

    def elements(self, field: ReadField) -> memoryview:
        """Return the elements of all arrays of a field; its columns say where those of a record begin, and how many."""
        assert isinstance(field.of, ReadField)
        return self._reader.tables.column(field.child, field.of.column)

    def written(self, rows: NDArray[Any] | None = None) -> Iterator[Written | Finding]:
        """Yield what records say, all or those of these rows, and what is wrong with each."""
        return (item for _, item in self.numbered(rows))

    def numbered(self, rows: NDArray[Any] | None = None) -> Iterator[tuple[int, Written | Finding]]:
        """Yield the same with the rows' numbers."""
        rows = np.arange(self.count) if rows is None else rows
        columns = (
            self.offset, self.timestamp, self.of_batches(buffers.LEADER_EPOCH), self.is_transactional,
            self.of_batches(buffers.PRODUCER_ID), self.type, self.version, self._key_row, self._value_row,
            self.value_size, self._doubt,
        )  # fmt: skip
        lists = (column[rows].tolist() for column in columns)
        for number, offset, timestamp, epoch, is_part, producer, kind, version, key, value, size, doubt in zip(
            rows.tolist(), *lists, strict=True
        ):
            if doubt:
                batch = Batch.of(self.heads, int(self._batch[number]))
                found = read_internal(self.file, batch, self.block.record(number), self._internal)
                yield from ((number, item) for item in found)
            else:
                content = self._content(kind, version, key, -1 if size < 0 else value)
                yield number, Written(
                    self.file, offset, timestamp, epoch, is_part, producer, kind, content, content.name, content.version
                )  # fmt: skip

    def _content(self, number: int, version: int, key_row: int, value_row: int) -> InternalRecord:
        """Return a record in no doubt as values; a row below 0 is none."""
        kind, key, values = self._reader.kinds[number]
        tables = self._reader.tables
        fields = None if key is None else tables.values(key.structure, key_row, escaped_text)
        if value_row < 0:
            return InternalRecord(number, kind.name, fields, None, None, ())
        value = tables.values(values[version].structure, value_row, escaped_text)
        return InternalRecord(number, kind.name, fields, version, value, ())

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the records."""
        doubts = np.flatnonzero(self._doubt)
        yield from (item for item in self.written(doubts) if isinstance(item, Finding))


def internal_blocks(
    file: str, internal: Internal, limits: Limits | None = None, max_bytes: int | None = None,
    transactions_of: NDArray[np.int64] | None = None,
) -> Iterator[InternalRecords | Finding]:  # fmt: skip
    """Yield the records of a segment of an internal topic without control records, and what is wrong with its bytes.

    With `transactions_of`, only those that these producers wrote in transactions. Findings about the records
    themselves are those of ``InternalRecords.findings``. Raises UnreadableError where the file can't be opened or read.
    """
    reader, cells = InternalBlock(internal), record_cells(_ROOM)
    for chunk in possible_chunks(file, limits=limits, max_bytes=max_bytes, room=_ROOM):
        _leave_out(chunk, transactions_of)
        for block in chunk.records(cells):
            if block.recs.count:
                yield InternalRecords(file, internal, reader, chunk.heads, block)
            yield from block.findings
        yield from chunk.findings


def _leave_out(chunk: Chunk, transactions_of: NDArray[np.int64] | None) -> None:
    """Leave control batches out of a chunk's records, and others than those of producers' transactions."""
    heads = chunk.heads.numpy()
    attributes, is_old = heads[buffers.ATTRIBUTES], heads[buffers.MAGIC] < 2
    is_left_out = (attributes & CONTROL != 0) & ~is_old
    if transactions_of is not None:
        is_left_out |= (attributes & TRANSACTIONAL == 0) | ~np.isin(heads[buffers.PRODUCER_ID], transactions_of)
    heads[buffers.SECTION_START][is_left_out] = -1
