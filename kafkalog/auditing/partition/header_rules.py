"""Rules for the headers of batches whose CRC matches, which no leader's batches break; each rule is a code.

An audit follows those that bear on what consumers get, and a verification all.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.kafka.batch import Batch
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk

__all__ = ["HEADER_CODES", "check_headers"]

_broken: Final = array("q")  # the rules that each batch of a chunk breaks; used again for the next chunk

# The words for each of the kernel's rules.
_WORDS: Final[dict[str, Callable[[Batch], str]]] = {
    "last-offset-delta-negative": lambda b: f"its last offset {b.last_offset} is below its first offset",
    "offset-overflow": lambda b: f"its offsets from {b.base_offset} on exceed the largest possible offset",
    "records-count-above-offsets": lambda b: (
        f"its header counts {b.records_count} records, but its last offset is {b.last_offset}"
    ),
    "records-end-early": lambda b: (
        f"its header counts {b.records_count} records, more than can be in its {b.size} bytes"
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

HEADER_CODES: Final = buffers.RULES

_ABOVE: Final = "records-count-above-offsets"


def check_headers(chunk: Chunk, topic: str | None, *, records: bool) -> Iterator[Finding]:
    """Yield what is wrong with the headers of a chunk's batches; `records` says that their records are read as well.

    `topic` is None where it is not known.
    """
    if not chunk.heads.count:
        return
    heads, controls = chunk.heads, topic in (None, METADATA_TOPIC)
    if len(_broken) < heads.count:
        _broken.frombytes(bytes(8 * (heads.count - len(_broken))))
    if not headers.broken_rules(heads.cells, heads.count, records, controls, _broken):
        return
    rules = np.array(_broken[: heads.count], np.int64)
    for number, code in enumerate(buffers.RULES):
        for row in np.flatnonzero(rules >> number & 1).tolist():
            batch = Batch.of(heads, row)
            first = batch.last_offset if batch.base_offset is None else batch.base_offset
            text = f"the batch at offset {first}: {_WORDS[code](batch)}"
            is_told = code == _ABOVE and _may_hold(batch)
            needed, counted = (batch.last_offset - first + 1, batch.records_count) if is_told else (None, None)
            yield Finding.of(
                code, chunk.file, text, position=batch.position, length=batch.size, offset=first, needed=needed,
                found=counted,
            )  # fmt: skip


def _may_hold(batch: Batch) -> bool:
    """Say whether a batch's bytes, decompressed as far as any codec can, have room for the records that it counts."""
    size = (batch.size - buffers.BATCH_OVERHEAD) * (1 if batch.codec == "none" else buffers.MOST_EXPANSION)
    return (batch.records_count or 0) * buffers.SMALLEST_RECORD <= size
