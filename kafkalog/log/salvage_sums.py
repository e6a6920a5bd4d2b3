"""What a salvage copied of a segment and what it left out, added up."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from kafkalog.log.salvage import SalvagedStretches
from kafkalog.tables.salvage import REASONS

__all__ = ["SalvageSums"]

_PREALLOCATED: Final = REASONS.index("tail-preallocated")


class SalvageSums:
    """The sums so far; `last` is the last offset that was copied, at first the one before the segment."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.batches = 0  # that were copied
        self.size = 0  # their bytes
        self.left: Counter[str] = Counter()  # bytes left out, by reason
        self.holes: list[int] = []  # the last offset before each place where something was left out
        self.lost_tail = False  # is something left out after all that was copied

    def add(self, part: SalvagedStretches) -> None:
        """Add the stretches that follow."""
        made, taken = part.stretches, part.taken
        self.batches += int(made.batches[taken].sum())
        self.size += int(made.sizes[taken].sum())
        reasons, firsts = np.unique(made.reasons[~taken], return_index=True)
        for reason in reasons[np.argsort(firsts)].tolist():
            self.left[REASONS[reason]] += int(made.sizes[~taken & (made.reasons == reason)].sum())
        copied = np.maximum.accumulate(np.where(taken, np.arange(len(taken)), -1))  # the newest one, of each
        before = np.where(copied < 0, self.last, made.last_offsets[copied])
        is_lost = ~taken & (made.reasons != _PREALLOCATED)
        holes = before[is_lost]
        is_other = np.ones(len(holes), bool)
        is_other[1:] = holes[1:] != holes[:-1]
        if len(holes) and self.holes:
            is_other[0] = holes[0] != self.holes[-1]
        self.holes += holes[is_other].tolist()
        self.lost_tail = bool(is_lost[copied[-1] + 1 :].any()) or (self.lost_tail and copied[-1] < 0)
        self.last = int(before[-1])
