"""Rules for a batch whose CRC matches: its header fields, its records and its control records must fit together.

Every leader follows these rules (DefaultRecordBatch, LogValidator): a batch that breaks one was written by something
else, or was changed and given a new CRC. A breach that brokers were seen to store as a client sent it is a note.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from kafkalog.auditing.verification.strict import StrictDecoder
from kafkalog.findings import Finding
from kafkalog.format import header_oddities, kernel, record_oddities
from kafkalog.format.batch import Batch
from kafkalog.log.chunk import Chunk
from kafkalog.log.names import METADATA_TOPIC

__all__ = ["HEADER_CODES", "check_headers", "check_records"]

_DECODING: Final = slice(kernel.SECTION_START, kernel.ERROR_POSITION + 1)
_found: Final = array("q", bytes(8 * record_oddities.FOUND))
_broken: Final = array("q")  # the rules that each batch of a chunk breaks; used again for the next chunk


# The words for each of the kernel's rules.
_WORDS: Final[dict[str, Callable[[Batch], str]]] = {
    "last-offset-delta-negative": lambda b: f"its last offset {b.last_offset} is below its first offset",
    "offset-overflow": lambda b: f"its offsets from {b.base_offset} on exceed the largest possible offset",
    "records-count-above-offsets": lambda b: (
        f"its header counts {b.records_count} records, but its last offset is {b.last_offset}"
    ),
    "records-count-negative": lambda b: f"its header counts {b.records_count} records",
    "empty-batch-odd": lambda b: f"it has no record, but it has {b.size} bytes and codec {b.codec}",
    "leader-epoch-below-none": lambda b: f"its leader epoch is {b.partition_leader_epoch}",
    "producer-id-below-none": lambda b: f"its producer id is {b.producer_id}",
    "producer-id-missing": lambda b: f"it has no producer id, but the producer epoch {b.producer_epoch}",
    "producer-epoch-missing": lambda b: (
        f"it is of producer {b.producer_id}, but its producer epoch is {b.producer_epoch}"
    ),
    "sequence-missing": lambda b: f"it has data of producer {b.producer_id}, but its sequence is {b.base_sequence}",
    "transaction-without-producer": lambda b: f"it is transactional, but its producer id is {b.producer_id}",
    "control-batch-odd": lambda b: f"it is a control batch of {b.records_count} records, but not a marker",
    "control-batch-sequence": lambda b: f"it has control records, but its sequence is {b.base_sequence}",
    "control-batch-compressed": lambda b: f"it has control records, but is compressed with {b.codec}",
    "marker-count": lambda b: f"it is a marker, but has {b.records_count} records",
    "codec-unknown": lambda b: f"its codec is {b.codec}, which Kafka does not have",
    "codec-not-of-magic": lambda b: f"its codec is {b.codec}, which messages of magic {b.magic} cannot have",
    "attributes-unused": lambda b: f"its attributes {b.attributes & 0xFFFF:#06x} have bits that mean nothing",
    "delete-horizon-odd": lambda b: f"its delete horizon is {b.base_timestamp}",
    "timestamp-odd": lambda b: f"its newest timestamp is {b.max_timestamp}",
}
HEADER_CODES: Final = header_oddities.RULES


def check_headers(chunk: Chunk, topic: str | None, *, records: bool) -> Iterator[Finding]:
    """Yield what is wrong with the headers of a chunk's batches; `records` says that their records are read as well.

    `topic` is None where it is not known.
    """
    if not chunk.heads.count:
        return
    heads, controls = chunk.heads, topic in (None, METADATA_TOPIC)
    if len(_broken) < heads.count:
        _broken.frombytes(bytes(8 * (heads.count - len(_broken))))
    if not header_oddities.find(heads.cells, heads.capacity, heads.count, records, controls, _broken):
        return
    rules = np.array(_broken[: heads.count], np.int64)
    for number, code in enumerate(header_oddities.RULES):
        for row in np.flatnonzero(rules >> number & 1).tolist():
            batch = Batch.of(heads, row)
            first = batch.last_offset if batch.base_offset is None else batch.base_offset
            text = f"the batch at offset {first}: {_WORDS[code](batch)}"
            yield Finding.of(code, chunk.file, text, position=batch.position, length=batch.size, offset=first)


def _strict(chunk: Chunk) -> StrictDecoder:
    return StrictDecoder(chunk.file, chunk.heads, chunk.limits.max_decompressed_bytes, chunk.expansion)


def check_records(chunk: Chunk) -> Iterator[Finding]:
    """Look at every record of a chunk and yield what is wrong with them, in the order of their batches.

    The chunk can be decoded again afterwards.
    """
    heads = chunk.heads
    if not heads.count:
        return
    if record_oddities.in_order(chunk.buf, heads.cells, heads.capacity, heads.count, _found):
        return
    decoding = heads.numpy()[_DECODING]
    before = decoding.copy()
    found: list[Finding] = []
    for block in _strict(chunk).blocks(chunk.buf):
        found += block.findings
    decoding[:] = before
    yield from sorted(found, key=lambda finding: finding.position or 0)
