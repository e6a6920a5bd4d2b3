"""Sequences: each producer's batch against its batch before (ProducerAppendInfo's rules, formats of magic 2).

Found over the batch columns before they collapse; what a stretch begins and ends with is kept for the seams.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kafkalog.txn.columns import Columns

__all__ = ["BREAKS", "Sequences"]

_MASK: Final = 2**31 - 1
_KEPT: Final = (
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "base_offset",
    "last_offset",
    "position",
)
# What can be wrong between two batches of a producer.
BREAKS: Final = ("hole", "overlap", "epoch-decreasing", "epoch-not-from-zero")
HOLE, OVERLAP, EPOCH_DECREASING, NOT_FROM_ZERO = range(4)


@dataclass(slots=True)
class Sequences:
    """The breaks of a stretch, and each producer's first and last batch in it.

    A break is (producer id, kind, offset before, offset, sequence needed, sequence found).
    """

    breaks: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    firsts: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # epoch, first sequence, offset
    lasts: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # epoch, last sequence, last offset

    def add(self, data: Columns) -> None:
        """Take in data batches that come behind those so far."""
        rows = Columns({name: data[name] for name in _KEPT})
        rows = rows.take(rows["base_sequence"] >= 0)
        if not len(rows):
            return
        rows = rows.take(np.argsort(rows["producer_id"], kind="stable"))
        producer, epoch = rows["producer_id"], rows["producer_epoch"]
        same = producer[1:] == producer[:-1]
        needed = (rows["last_sequence"][:-1] + 1) & _MASK
        found = rows["base_sequence"][1:]
        wrong = same & np.where(
            epoch[1:] == epoch[:-1], found != needed, (epoch[1:] < epoch[:-1]) | (found != 0)
        )  # fmt: skip
        for i in np.flatnonzero(wrong).tolist():
            self._judge(
                int(producer[i]),
                (int(epoch[i]), int(rows["last_sequence"][i]), int(rows["last_offset"][i])),
                (int(epoch[i + 1]), int(found[i]), int(rows["base_offset"][i + 1])),
            )
        starts = np.flatnonzero(np.append(True, ~same))
        ends = np.append(starts[1:], len(rows)) - 1
        firsts = {
            int(producer[i]): (int(epoch[i]), int(rows["base_sequence"][i]), int(rows["base_offset"][i]))
            for i in starts
        }
        lasts = {
            int(producer[i]): (int(epoch[i]), int(rows["last_sequence"][i]), int(rows["last_offset"][i])) for i in ends
        }
        self._meet(firsts)
        self.firsts = {**firsts, **self.firsts}
        self.lasts.update(lasts)

    def join(self, later: Sequences) -> None:
        """Take in what a later stretch found."""
        self._meet(later.firsts)
        self.breaks += later.breaks
        self.firsts = {**later.firsts, **self.firsts}
        self.lasts.update(later.lasts)

    def _meet(self, firsts: dict[int, tuple[int, int, int]]) -> None:
        for producer, first in firsts.items():
            if producer in self.lasts:
                self._judge(producer, self.lasts[producer], first)

    def _judge(self, producer: int, before: tuple[int, int, int], after: tuple[int, int, int]) -> None:
        (epoch, last, last_offset), (new_epoch, first, offset) = before, after
        needed = (last + 1) & _MASK
        if new_epoch == epoch:
            if first == needed:
                return
            kind = HOLE if 0 < (first - needed) & _MASK < 2**30 else OVERLAP
        elif new_epoch < epoch:
            kind = EPOCH_DECREASING
        elif first == 0:
            return
        else:
            kind, needed = NOT_FROM_ZERO, 0
        self.breaks.append((producer, kind, last_offset, offset, needed, first))
