"""The last stable offset, and what a read_committed consumer gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Aborted", "last_stable_offset", "visible_ranges"]


def last_stable_offset(log_start: int, log_end: int, open_first_offsets: Iterable[int]) -> int:
    """Return the first offset of the oldest open transaction, otherwise the log's end; never below the log's start.

    It is what a broker answers once all replicas have caught up (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    return max(log_start, min(open_first_offsets, default=log_end))


class Aborted:
    """The aborted transactions of a log, given by their producers, first offsets and markers' offsets."""

    def __init__(self, producer_ids: NDArray[np.int64], first: NDArray[np.int64], marker: NDArray[np.int64]) -> None:
        self._producers, numbers = np.unique(producer_ids, return_inverse=True)
        self._firsts = np.sort(first)
        keys = self._keys(numbers, first)
        order = np.argsort(keys)
        self._sorted, self._numbers, self._markers = keys[order], numbers[order], marker[order]

    def _keys(self, numbers: NDArray[np.intp], offsets: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return a key that sorts by producer, then by offset: an offset counts the transactions begun up to it."""
        return numbers * (len(self._firsts) + 1) + np.searchsorted(self._firsts, offsets, "right")

    def hides(self, producer_ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which transactional batches, by producer and first offset, are in an aborted transaction."""
        if not len(self._sorted):
            return np.zeros(len(offsets), bool)
        numbers = np.minimum(np.searchsorted(self._producers, producer_ids), len(self._producers) - 1)
        at = np.searchsorted(self._sorted, self._keys(numbers, offsets), "right") - 1
        hidden: NDArray[np.bool_] = (
            (self._producers[numbers] == producer_ids)
            & (at >= 0)
            & (self._numbers[at] == numbers)
            & (offsets <= self._markers[at])
        )
        return hidden


def visible_ranges(
    pieces: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]], start: int, stop: int
) -> Iterator[tuple[int, int]]:
    """Join the batches that a read_committed consumer gets to ranges of offsets in [`start`, `stop`).

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
