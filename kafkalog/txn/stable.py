"""The last stable offset, and what a read_committed consumer gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Aborted", "last_stable_offset", "visible_ranges"]


def last_stable_offset(log_start: int, log_end: int, open_first_offsets: Iterable[int]) -> int:
    """Return the first offset of the oldest open transaction, else the log's end; never below the log's start.

    It is what a broker answers once all replicas have caught up (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    return max(log_start, min(open_first_offsets, default=log_end))


class Aborted:
    """The aborted transactions of a log: by producer, first offsets and the markers' offsets, both rising."""

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def add(self, producer_ids: NDArray[np.int64], first: NDArray[np.int64], marker: NDArray[np.int64]) -> None:
        """Take in transactions, those of one producer in log order."""
        for producer in np.unique(producer_ids).tolist():
            its = producer_ids == producer
            before = self._ranges.get(producer, (first[:0], marker[:0]))
            self._ranges[producer] = (np.append(before[0], first[its]), np.append(before[1], marker[its]))

    def hides(self, producer_ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which transactional batches, by producer and first offset, lie in one."""
        hidden = np.zeros(len(offsets), bool)
        for producer in np.unique(producer_ids).tolist():
            if producer in self._ranges:
                first, marker = self._ranges[producer]
                its = np.flatnonzero(producer_ids == producer)
                at = np.searchsorted(first, offsets[its], "right") - 1
                hidden[its] = (at >= 0) & (offsets[its] <= marker[at])
        return hidden


def visible_ranges(
    pieces: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]], start: int, stop: int
) -> Iterator[tuple[int, int]]:
    """Join the batches that a read_committed consumer is given to ranges of offsets in [`start`, `stop`).

    `pieces` are first and last offsets of batches in log order.
    """
    low: int | None = None
    high = -1
    for all_first, all_last in pieces:
        wanted = (all_last >= start) & (all_first < stop)
        first, last = np.maximum(all_first[wanted], start), np.minimum(all_last[wanted], stop - 1)
        if not len(first):
            continue
        begins = np.flatnonzero(np.append(True, first[1:] != last[:-1] + 1))
        ends = np.append(begins[1:], len(first)) - 1
        for one, other in zip(first[begins].tolist(), last[ends].tolist(), strict=True):
            if low is not None and one != high + 1:
                yield low, high
            low = one if low is None or one != high + 1 else low
            high = other
    if low is not None:
        yield low, high
