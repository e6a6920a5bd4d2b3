"""The offsets that are missing in a log, and the offset below which some are missing."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

import numpy as np

from kafkalog.auditing.partition.gaps import Gaps

__all__ = ["LostOffsets"]


class LostOffsets:
    """Gaps, to be asked many times."""

    def __init__(self, gaps: Gaps) -> None:
        order = np.argsort(gaps.first, kind="stable")
        self._firsts = array("q", gaps.first[order].tobytes())
        self._ends = array("q", np.maximum.accumulate(gaps.last[order] + 1).tobytes())

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._firsts, offset) - 1
        return at >= 0 and offset < self._ends[at]

    def end_before(self, offset: int) -> int:
        """Return the end of the last gap that begins before an offset, 0 where there is none."""
        at = bisect_left(self._firsts, offset) - 1
        return self._ends[at] if at >= 0 else 0
