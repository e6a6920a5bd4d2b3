"""The last stable offset, and what a read_committed consumer gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from kafkalog.columns.sorted_rows import joined_ranges
from kafkalog.columns.table import NONE
from kafkalog.kafka.batch import CONTROL
from kafkalog.kernel import buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_data", "last_stable_offset", "visible_ranges"]


def last_stable_offset(log_start: int, log_end: int, open_first_offsets: Iterable[int]) -> int:
    """Return the first offset of the oldest open transaction, otherwise the log's end; never below the log's start.

    It is what a broker answers once all replicas have caught up (UnifiedLog.fetchLastStableOffsetMetadata).
    """
    return max(log_start, min(open_first_offsets, default=log_end))


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

    Below UnifiedLog's last stable offset, which bounds a fetch with read_committed (KIP-98).
    """
    low: int | None = None
    high = -1
    for all_first, all_last in pieces:
        wanted = (all_last >= start) & (all_first < stop)
        first, last = np.maximum(all_first[wanted], start), np.minimum(all_last[wanted], stop - 1)
        for one, after in zip(*(ends.tolist() for ends in joined_ranges(first, last + 1)), strict=True):
            if low is not None and one != high + 1:
                yield low, high
            low = one if low is None or one != high + 1 else low
            high = after - 1
    if low is not None:
        yield low, high
