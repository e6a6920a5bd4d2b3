"""Rules for a batch whose CRC matches: its header fields, its records and its control records must fit together.

Every leader follows these rules (DefaultRecordBatch, LogValidator): a batch that breaks one was written by something
else, or was changed and given a new CRC. A breach that brokers were seen to store as a client sent it is a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.verification.strict import StrictDecoder
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, TRANSACTIONAL, Batch
from kafkalog.format.compression import CODECS
from kafkalog.format.layout import RECORD_BATCH
from kafkalog.log.chunk import Chunk
from kafkalog.log.names import METADATA_TOPIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

__all__ = ["HEADER_CODES", "check_headers", "check_records"]

_LAST_YEAR: Final = 253_402_300_799_999  # the end of the year 9999, in ms
_DECODING: Final = slice(kernel.SECTION_START, kernel.ERROR_POSITION + 1)


class _Heads:
    """A chunk's headers as columns; `current` are those of magic 2 whose CRC matches."""

    def __init__(self, chunk: Chunk, topic: str | None, *, records: bool) -> None:
        heads = chunk.heads
        cells = heads.numpy()
        self.size, self.base, self.last = cells[kernel.SIZE], cells[kernel.BASE_OFFSET], cells[kernel.LAST_OFFSET]
        self.leader_epoch, self.count = cells[kernel.LEADER_EPOCH], cells[kernel.COUNT]
        self.magic, self.attributes = cells[kernel.MAGIC], cells[kernel.ATTRIBUTES]
        self.valid = cells[kernel.VALID] != 0
        self.current = self.valid & (self.magic > 1)
        self.old = self.valid & (self.magic < 2)
        self.delta = self.last - self.base  # wraps as the sum did
        self.codec = self.attributes & CODEC_MASK
        self.control = self.current & (self.attributes & CONTROL != 0)
        self.transactional = self.current & (self.attributes & TRANSACTIONAL != 0)
        self.marker = self.control & self.transactional
        self.producer, self.epoch = cells[kernel.PRODUCER_ID], cells[kernel.PRODUCER_EPOCH]
        self.sequence = cells[kernel.BASE_SEQUENCE]
        self.base_timestamp, self.newest = cells[kernel.BASE_TIMESTAMP], cells[kernel.MAX_TIMESTAMP]
        self.undecoded = self.valid & (not records)  # else the decoder reports codec and count
        self.no_metadata = topic not in (None, METADATA_TOPIC)

    def unused(self) -> Mask:
        """Say which batches have attribute bits that mean nothing."""
        bits = np.where(self.magic > 1, 0xFF80, np.where(self.magic == 1, 0xF0, 0xF8))
        found: Mask = self.valid & (self.attributes & bits != 0)
        return found


_RULES: Final[dict[str, tuple[Callable[[_Heads], Mask], Callable[[Batch], str]]]] = {
    "last-offset-delta-negative": (
        lambda h: h.current & (h.delta < 0),
        lambda b: f"its last offset {b.last_offset} is below its first offset",
    ),
    "offset-overflow": (
        lambda h: h.current & (h.delta >= 0) & (h.last < h.base),
        lambda b: f"its offsets from {b.base_offset} on exceed the largest possible offset",
    ),
    "records-count-above-offsets": (
        lambda h: h.current & (h.delta >= 0) & (h.last >= h.base) & (h.count > h.delta + 1),
        lambda b: f"its header counts {b.records_count} records, but its last offset is {b.last_offset}",
    ),
    "records-count-negative": (
        lambda h: h.undecoded & h.current & (h.count < 0),
        lambda b: f"its header counts {b.records_count} records",
    ),
    "empty-batch-odd": (
        lambda h: h.current & (h.count == 0) & ((h.size != RECORD_BATCH.size) | (h.codec != 0)),
        lambda b: f"it has no record, but it has {b.size} bytes and codec {b.codec}",
    ),
    "leader-epoch-below-none": (
        lambda h: h.current & (h.leader_epoch < -1),
        lambda b: f"its leader epoch is {b.partition_leader_epoch}",
    ),
    "producer-id-below-none": (
        lambda h: h.current & (h.producer < -1),
        lambda b: f"its producer id is {b.producer_id}",
    ),
    "producer-id-missing": (
        lambda h: h.current & (h.producer == -1) & (h.epoch >= 0),
        lambda b: f"it has no producer id, but the producer epoch {b.producer_epoch}",
    ),
    "producer-epoch-missing": (
        lambda h: h.current & (h.producer >= 0) & (h.epoch < 0),
        lambda b: f"it is of producer {b.producer_id}, but its producer epoch is {b.producer_epoch}",
    ),
    "sequence-missing": (
        lambda h: h.current & (h.producer >= 0) & ~h.control & (h.sequence < 0),
        lambda b: f"it has data of producer {b.producer_id}, but its sequence is {b.base_sequence}",
    ),
    "transaction-without-producer": (
        lambda h: h.transactional & (h.producer < 0),
        lambda b: f"it is transactional, but its producer id is {b.producer_id}",
    ),
    "control-batch-odd": (
        lambda h: h.control & ~h.transactional & h.no_metadata,
        lambda b: f"it is a control batch of {b.records_count} records, but not a marker",
    ),
    "control-batch-sequence": (
        lambda h: h.control & (h.sequence >= 0),
        lambda b: f"it has control records, but its sequence is {b.base_sequence}",
    ),
    "control-batch-compressed": (
        lambda h: h.control & (h.codec != 0) & (h.count > 0),
        lambda b: f"it has control records, but is compressed with {b.codec}",
    ),
    "marker-count": (
        lambda h: h.marker & (h.count > 1),
        lambda b: f"it is a marker, but has {b.records_count} records",
    ),
    "codec-unknown": (
        lambda h: h.undecoded & (h.codec >= len(CODECS)),
        lambda b: f"its codec is {b.codec}, which Kafka does not have",
    ),
    "codec-not-of-magic": (
        lambda h: h.old & (h.codec == CODECS.index("zstd")),
        lambda b: f"its codec is {b.codec}, which messages of magic {b.magic} cannot have",
    ),
    "attributes-unused": (
        lambda h: h.unused(),
        lambda b: f"its attributes {b.attributes & 0xFFFF:#06x} have bits that mean nothing",
    ),
    "delete-horizon-odd": (
        lambda h: h.current & (h.attributes & DELETE_HORIZON != 0) & (h.base_timestamp < 0),
        lambda b: f"its delete horizon is {b.base_timestamp}",
    ),
    "timestamp-odd": (
        lambda h: h.valid & ((h.newest < -1) | (h.newest > _LAST_YEAR)),
        lambda b: f"its newest timestamp is {b.max_timestamp}",
    ),
}
HEADER_CODES: Final = tuple(_RULES)


def check_headers(chunk: Chunk, topic: str | None, *, records: bool) -> Iterator[Finding]:
    """Yield what is wrong with the headers of a chunk's batches; `records` says that their records are read as well.

    `topic` is None where it is not known.
    """
    if not chunk.heads.count:
        return
    heads = _Heads(chunk, topic, records=records)
    for code, (broken, words) in _RULES.items():
        for row in np.flatnonzero(broken(heads)).tolist():
            batch = Batch.of(chunk.heads, row)
            first = batch.last_offset if batch.base_offset is None else batch.base_offset
            text = f"the batch at offset {first}: {words(batch)}"
            yield Finding.of(code, chunk.file, text, position=batch.position, length=batch.size, offset=first)


def check_records(chunk: Chunk) -> Iterator[Finding]:
    """Decode every record of a chunk and yield what is wrong with them; the chunk can be decoded again afterwards."""
    heads = chunk.heads
    if not heads.count:
        return
    decoding = heads.numpy()[_DECODING]
    before = decoding.copy()
    for block in StrictDecoder(chunk.file, heads, chunk.limits.max_decompressed_bytes).blocks(chunk.buf):
        yield from block.findings
    decoding[:] = before
