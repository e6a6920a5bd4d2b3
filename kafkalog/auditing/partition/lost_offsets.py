"""The offsets that are missing in a log, and the offset below which some are missing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from kafkalog.auditing.partition.gaps import Gap

__all__ = ["LostOffsets"]


class LostOffsets:
    """Gaps, to be asked many times."""

    def __init__(self, gaps: Iterable[Gap]) -> None:
        ordered = sorted((gap.first_offset, gap.last_offset) for gap in gaps)
        self._firsts = [first for first, _ in ordered]
        self._ends = list(accumulate((last + 1 for _, last in ordered), max))

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._firsts, offset) - 1
        return at >= 0 and offset < self._ends[at]

    def end_before(self, offset: int) -> int:
        """Return the end of the last gap that begins before an offset, 0 where there is none."""
        at = bisect_left(self._firsts, offset) - 1
        return self._ends[at] if at >= 0 else 0
