"""Offset commits in transactions: which groups wait for which, and what was thrown away."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Final

from kafkalog.audit.verdicts import Verdicts
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format.message import MalformedError
from kafkalog.format.records.consumer_offsets import offset_commit_key
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.readers import segment_chunks
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE

__all__ = ["OFFSETS_TOPIC", "pending_offsets"]

OFFSETS_TOPIC: Final = "__consumer_offsets"

_Span = tuple[int, int, int]  # first offset, last offset, marker type


def pending_offsets(directory: PartitionDirectory, verdicts: Verdicts, limits: Limits) -> Iterator[Finding]:
    """Yield for each group and producer how many offset commits stand in open and in aborted transactions."""
    spans: dict[int, list[_Span]] = {}
    for rows in verdicts.rows.blocks():
        for found in rows.take((rows["marker_type"] != extents.COMMIT) & (rows["first_offset"] != NONE)):
            span = (found["first_offset"], found["last_offset"], found["marker_type"])
            spans.setdefault(found["producer_id"], []).append(span)
    if not spans:
        return
    counts: Counter[tuple[int, str, int]] = Counter()
    for segment in directory.segments:
        try:
            for chunk in segment_chunks(segment.path, limits=limits, max_bytes=segment.size):
                producers = chunk.heads.column(kernel.PRODUCER_ID)
                for row, producer in enumerate(producers):
                    if producer not in spans or chunk.heads.cell(kernel.ATTRIBUTES, row) & 48 != 16:
                        chunk.skip(row)
                for block in chunk.records():
                    for number in range(block.recs.count):
                        record = block.record(number)
                        producer = producers[block.recs.cell(kernel.BATCH, number)]
                        marker = _marker_of(spans[producer], record.offset)
                        if marker is not None and (group := _group(record.key)) is not None:
                            counts[producer, group, marker] += 1
        except UnreadableError:  # the scan has told
            continue
    for (producer, group, marker), count in sorted(counts.items()):
        code = "offsets-pending" if marker == extents.OPEN else "offsets-aborted"
        what = "in an open transaction" if marker == extents.OPEN else "in aborted transactions"
        yield Finding.of(
            code,
            directory.log,
            f"{count} offset commit{'s' * (count > 1)} of group {group} by producer {producer} {what}",
            producer_id=producer,
            found=count,
        )


def _marker_of(spans: list[_Span], offset: int) -> int | None:
    """Return the marker type of the transaction that an offset lies in; transactions are sorted and apart."""
    at = bisect_right(spans, (offset, 2**63, 2)) - 1
    return spans[at][2] if at >= 0 and offset <= spans[at][1] else None


def _group(key: bytes | None) -> str | None:
    try:
        found = offset_commit_key(key)
    except MalformedError:
        return None
    return None if found is None else found.group
