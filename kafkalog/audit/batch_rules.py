"""What a batch whose checksum holds says of itself, held against itself: header fields, records, control records.

The rules are those that every leader holds to (DefaultRecordBatch, LogValidator): a batch that breaks one was written
by something else, or changed and signed again. What brokers were seen to store as a client sent it is a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL, Batch
from kafkalog.format.compression import CODECS
from kafkalog.format.control import control_record
from kafkalog.format.message import MalformedError
from kafkalog.log.chunk import Chunk
from kafkalog.log.readers import control_finding
from kafkalog.log.records import RecordBlock

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Message = Callable[[Batch], str]

__all__ = ["check_headers", "check_records"]

_HEADER: Final = 61
_METADATA: Final = "__cluster_metadata"
_LAST_YEAR: Final = 253_402_300_799_999  # the end of the year 9999, in ms
_DECODING: Final = slice(kernel.SECTION_START, kernel.ERROR_POSITION + 1)


class _Heads:
    """A chunk's headers as columns."""

    def __init__(self, chunk: Chunk) -> None:
        heads = chunk.heads
        cells = np.frombuffer(heads.cells, np.int64).reshape(-1, heads.capacity)[:, : heads.count]
        self.cells = cells
        self.size, self.base, self.last = cells[kernel.SIZE], cells[kernel.BASE_OFFSET], cells[kernel.LAST_OFFSET]
        self.magic, self.attributes = cells[kernel.MAGIC], cells[kernel.ATTRIBUTES]
        self.count = cells[kernel.COUNT]
        self.valid = cells[kernel.VALID] != 0
        self.current = self.valid & (self.magic > 1)
        self.delta = self.last - self.base  # wraps as the sum did
        self.codec = self.attributes & CODEC_MASK
        self.control = self.current & (self.attributes & CONTROL != 0)
        self.transactional = self.current & (self.attributes & TRANSACTIONAL != 0)


def check_headers(chunk: Chunk, topic: str | None, *, records: bool) -> Iterator[Finding]:
    """Yield what is wrong with the headers of a chunk's batches; `records` says that their records are read, too.

    `topic` is None where it is not known.
    """
    if not chunk.heads.count:
        return
    heads = _Heads(chunk)
    for code, broken, message in _header_rules(heads, topic, records=records):
        for row in np.flatnonzero(broken).tolist():
            batch = Batch.of(chunk.heads, row)
            yield _of(code, chunk, batch, message(batch))


def _of(code: str, chunk: Chunk, batch: Batch, message: str) -> Finding:
    first = batch.last_offset if batch.base_offset is None else batch.base_offset
    text = f"the batch at offset {first}: {message}"
    return Finding.of(code, chunk.file, text, position=batch.position, length=batch.size, offset=first)


def _header_rules(heads: _Heads, topic: str | None, *, records: bool) -> Iterator[tuple[str, Mask, Message]]:
    cells, current = heads.cells, heads.current
    producer, epoch, sequence = cells[kernel.PRODUCER_ID], cells[kernel.PRODUCER_EPOCH], cells[kernel.BASE_SEQUENCE]
    base_timestamp, newest = cells[kernel.BASE_TIMESTAMP], cells[kernel.MAX_TIMESTAMP]
    yield (
        "last-offset-delta-wrong", current & ((heads.delta < 0) | (heads.last < heads.base)),
        lambda batch: f"its last offset {batch.last_offset} is below its first",
    )  # fmt: skip
    negative = heads.count < 0 if not records else np.zeros_like(current)
    yield (
        "count-impossible", current & (heads.delta >= 0) & ((heads.count > heads.delta + 1) | negative),
        lambda batch: f"it counts {batch.records_count} records in offsets up to {batch.last_offset}",
    )  # fmt: skip
    emptied = current & (heads.count == 0)
    yield (
        "empty-batch-odd", emptied & ((heads.size != _HEADER) | (heads.codec != 0)),
        lambda batch: f"it holds no record, and yet {batch.size} bytes or codec {batch.codec}",
    )  # fmt: skip
    yield (
        "producer-fields-odd",
        current & ((producer < -1) | (epoch < -1) | (sequence < -1) | ((producer >= 0) & (epoch < 0))
                   | ((producer >= 0) & ~heads.control & (sequence < 0))),
        lambda batch: f"producer {batch.producer_id}, epoch {batch.producer_epoch}, sequence {batch.base_sequence}",
    )  # fmt: skip
    yield (
        "transaction-without-producer", heads.transactional & (producer < 0),
        lambda batch: f"part of a transaction of producer {batch.producer_id}",
    )  # fmt: skip
    marker = heads.control & heads.transactional
    yield (
        "control-batch-odd",
        marker & ((heads.count > 1) | (heads.codec != 0) | (sequence != -1))
        | (heads.control & ~heads.transactional if topic not in (None, _METADATA) else np.zeros_like(current)),
        lambda batch: "a control batch that is no marker" if not batch.is_transactional else (
            f"a marker of {batch.records_count} records, codec {batch.codec}, sequence {batch.base_sequence}"
        ),
    )  # fmt: skip
    old = heads.valid & (heads.magic < 2)
    unknown = heads.valid & (heads.codec >= len(CODECS)) if not records else np.zeros_like(current)
    yield (
        "codec-unknown", unknown | (old & (heads.codec == CODECS.index("zstd"))),
        lambda batch: f"codec {batch.codec} in a batch of magic {batch.magic}",
    )  # fmt: skip
    unused = np.where(heads.magic > 1, 0xFF80, np.where(heads.magic == 1, 0xF0, 0xF8))
    yield (
        "attributes-unused", heads.valid & (heads.attributes & unused != 0),
        lambda batch: f"attributes {batch.attributes & 0xFFFF:#06x} have bits that mean nothing",
    )  # fmt: skip
    yield (
        "delete-horizon-odd", current & (heads.attributes & DELETE_HORIZON != 0) & (base_timestamp < 0),
        lambda batch: f"a delete horizon of {batch.base_timestamp}",
    )  # fmt: skip
    yield (
        "timestamp-odd", heads.valid & ((newest < -1) | (newest > _LAST_YEAR)),
        lambda batch: f"its newest timestamp is {batch.max_timestamp}",
    )  # fmt: skip


def check_records(chunk: Chunk, *, exact_times: bool = True) -> Iterator[Finding]:
    """Decode every record of a chunk and yield what is wrong with them; the chunk can be decoded again afterwards.

    `exact_times` is for topics whose batches' newest timestamps must be their records'.
    """
    heads = chunk.heads
    if not heads.count:
        return
    decoding = np.frombuffer(heads.cells, np.int64).reshape(-1, heads.capacity)[_DECODING, : heads.count]
    before = decoding.copy()
    seen = _Seen(heads.count)
    for block in chunk.records():
        yield from block.findings
        seen.block(block)
        yield from _control_records(chunk, block)
        yield from _inner_checksums(chunk, block)
    decoding[:] = before
    yield from seen.findings(chunk, exact_times=exact_times)


class _Seen:
    """What the records of a chunk's batches come to, batch by batch."""

    def __init__(self, rows: int) -> None:
        none = np.iinfo(np.int64)
        self.newest = np.full(rows, none.min)
        self.first = np.full(rows, none.max)
        self.last = np.full(rows, none.min)
        self.unordered = np.zeros(rows, bool)
        self.decoded = np.zeros(rows, np.int64)

    def block(self, block: RecordBlock) -> None:
        """Take in some thousand records; a batch may go on in the next block."""
        recs = block.recs
        if not recs.count:
            return
        cells = np.frombuffer(recs.cells, np.int64).reshape(-1, recs.capacity)[:, : recs.count]
        rows = cells[kernel.BATCH] if block.outer is None else np.full(recs.count, block.outer)
        offsets = cells[kernel.OFFSET]
        begins = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
        firsts = rows[begins]
        ends = np.r_[begins[1:], recs.count] - 1
        self.unordered[firsts] |= offsets[begins] <= self.last[firsts]
        falls = (rows[1:] == rows[:-1]) & (offsets[1:] <= offsets[:-1])
        self.unordered[rows[1:][falls]] = True
        self.newest[firsts] = np.maximum(self.newest[firsts], np.maximum.reduceat(cells[kernel.TIMESTAMP], begins))
        self.first[firsts] = np.minimum(self.first[firsts], np.minimum.reduceat(offsets, begins))
        self.last[firsts] = np.maximum(self.last[firsts], np.maximum.reduceat(offsets, begins))
        self.decoded[firsts] += ends - begins + 1

    def findings(self, chunk: Chunk, *, exact_times: bool) -> Iterator[Finding]:
        """Hold the records against their batches' headers."""
        heads = _Heads(chunk)
        some = heads.valid & (self.decoded > 0)
        outside = some & ((self.first < heads.base) | (self.last > heads.last)) & (heads.base != kernel.NONE)
        for row in np.flatnonzero(outside).tolist():
            batch = Batch.of(chunk.heads, row)
            message = f"its records lie at {self.first[row]} to {self.last[row]}, it ends at {batch.last_offset}"
            yield _of("record-offset-outside", chunk, batch, message)
        for row in np.flatnonzero(some & self.unordered).tolist():
            yield _of("record-offsets-unordered", chunk, Batch.of(chunk.heads, row), "its records' offsets do not rise")
        create_time = (heads.magic > 0) & (heads.attributes & LOG_APPEND_TIME == 0)
        complete = self.decoded == heads.count
        stated = heads.cells[kernel.MAX_TIMESTAMP]
        wrong = some & create_time & complete & (self.newest != stated) if exact_times else np.zeros_like(some)
        for row in np.flatnonzero(wrong).tolist():
            batch = Batch.of(chunk.heads, row)
            message = f"it says its newest timestamp is {batch.max_timestamp}, its records' is {self.newest[row]}"
            yield _of("max-timestamp-wrong", chunk, batch, message)


def _control_records(chunk: Chunk, block: RecordBlock) -> Iterator[Finding]:
    """Decode the control records that are no transaction markers; the fold reads those."""
    attributes = np.array(block.heads.column(kernel.ATTRIBUTES))
    wanted = (attributes & (CONTROL | TRANSACTIONAL) == CONTROL) & (np.array(block.heads.column(kernel.MAGIC)) > 1)
    if not wanted.any():
        return
    for number in range(block.recs.count):
        row = block.recs.cell(kernel.BATCH, number)
        if wanted[row]:
            record = block.record(number)
            try:
                control_record(record.key, record.value)
            except MalformedError as error:
                yield control_finding(chunk.file, Batch.of(block.heads, row), record, str(error))


def _inner_checksums(chunk: Chunk, block: RecordBlock) -> Iterator[Finding]:
    """Tell of messages inside a wrapper whose own checksums don't hold; nobody looks at those after the leader did."""
    if block.outer is None or not block.recs.count:
        return
    valid = block.heads.column(kernel.VALID)
    batch = Batch.of(chunk.heads, block.outer)
    for number in range(block.recs.count):
        if not valid[block.recs.cell(kernel.BATCH, number)]:
            offset = block.recs.cell(kernel.OFFSET, number)
            yield _of("message-crc-mismatch", chunk, batch, f"the message at offset {offset} in it fails its checksum")
