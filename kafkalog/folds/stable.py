"""The last stable offset, and what a read_committed consumer gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from kafkalog.columns.sorted_rows import Spans
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import ends
from kafkalog.kafka.batch import CONTROL
from kafkalog.kernel import buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Extents", "is_data", "last_stable_offset", "visible_ranges"]


def last_stable_offset(log_start: int, log_end: int, open_first_offsets: Iterable[int]) -> int:
    """Return the first offset of the oldest open transaction, otherwise the log's end; never below the log's start.

    It is what a broker answers once all replicas have caught up (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    return max(log_start, min(open_first_offsets, default=log_end))


class Extents:
    """Transactions of a log by their producers, from their first offsets to those of their markers."""

    def __init__(self, producer_ids: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        self._spans = Spans(producer_ids, first)
        self._lasts = last[self._spans.order]

    @classmethod
    def of(cls, rows: Columns) -> Extents:
        """Take the transactions of a fold; one without data begins where its marker is."""
        first = rows["first_offset"]
        return cls(rows["producer_id"], np.where(first == NONE, rows["marker_offset"], first), ends(rows))

    def find(self, producer_ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the number of the transaction that each batch is in, by producer and first offset, -1 for none."""
        at = self._spans.last(producer_ids, offsets)
        if not len(self._lasts):
            return at
        return np.where((at >= 0) & (offsets <= self._lasts[at]), self._spans.order[at], -1)


def is_data(cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which batches of a table of headers have records for consumers: whole ones that are not control batches."""
    control = (cells[buffers.ATTRIBUTES] & CONTROL != 0) & (cells[buffers.MAGIC] > 1)
    whole = (cells[buffers.VALID] != 0) & (cells[buffers.COUNT] != 0) & (cells[buffers.BASE_OFFSET] != NONE)
    found: NDArray[np.bool_] = whole & ~control
    return found


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
