"""The last stable offset, and what a read_committed consumer gets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["last_stable_offset", "visible_ranges"]


def last_stable_offset(log_start: int, log_end: int, open_first_offsets: Iterable[int]) -> int:
    """Return the first offset of the oldest open transaction, else the log's end; never below the log's start.

    It is what a broker answers once all replicas have caught up (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    return max(log_start, min(open_first_offsets, default=log_end))


def visible_ranges(
    batches: Iterable[tuple[int, int, int, bool, bool]],
    aborted: Mapping[int, Sequence[tuple[int, int]]],
    start: int,
    stop: int,
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of offsets in [`start`, `stop`) that a read_committed consumer is given.

    `batches` are (first offset, last offset, producer id, transactional, control) in log order, `aborted` each
    producer's aborted transactions as (first offset, marker offset), sorted.
    """
    low: int | None = None
    high = -1
    for first, last, producer, transactional, control in batches:
        if last < start or first >= stop:
            continue
        hidden = control or (transactional and _inside(aborted.get(producer, ()), first))
        if hidden:
            if low is not None:
                yield low, high
            low = None
            continue
        if low is not None and first == high + 1:
            high = min(last, stop - 1)
            continue
        if low is not None:
            yield low, high
        low, high = max(first, start), min(last, stop - 1)
    if low is not None:
        yield low, high


def _inside(ranges: Sequence[tuple[int, int]], offset: int) -> bool:
    """Say whether an offset lies in one of these ranges, which are sorted and apart."""
    at = bisect_right(ranges, (offset, 2**63)) - 1
    return at >= 0 and offset <= ranges[at][1]
