"""What retention takes of a log at a time: UnifiedLog.deleteOldSegments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafkalog.auditing.space.segment_facts import SegmentFacts

__all__ = ["Due", "due_by_size", "due_by_time"]


class Due(NamedTuple):
    """The bytes of the first segments that go, how many these are, and whether the active one is among them."""

    bytes: int
    segments: int


def due_by_time(segments: Sequence[SegmentFacts], retention_ms: int, now: int, largest: Sequence[int]) -> Due:
    """Say what goes because its largest timestamp is older than a limit; the active segment may go, too.

    `largest` are the segments' largest timestamps. Segments go from the log's start on, up to the first that stays.
    """
    taken = count = 0
    if retention_ms >= 0:
        for one, newest in zip(segments, largest, strict=True):
            known = newest if newest >= 0 else one.modified
            if now - known <= retention_ms or (one is segments[-1] and not one.segment.size):
                break
            taken += one.segment.size
            count += 1
    return Due(taken, count)


def due_by_size(segments: Sequence[SegmentFacts], retention_bytes: int) -> Due:
    """Say what goes because the rest still is at least a limit."""
    taken = count = 0
    if retention_bytes >= 0:
        over = sum(one.segment.size for one in segments) - retention_bytes
        for one in segments:
            if over - one.segment.size < 0 or (one is segments[-1] and not one.segment.size):
                break
            over -= one.segment.size
            taken += one.segment.size
            count += 1
    return Due(taken, count)
