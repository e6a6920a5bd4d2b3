"""Sequences: each producer's batch compared with its previous batch (ProducerAppendInfo's rules, magic 2)."""

from __future__ import annotations

from typing import Final

from kafkalog.txn.fold import Break

__all__ = ["BREAKS", "judge"]

_MASK: Final = 2**31 - 1
# What can be wrong between two batches of a producer.
BREAKS: Final = ("hole", "overlap", "epoch-decreasing", "epoch-not-from-zero")


def judge(found: Break) -> tuple[str, int]:
    """Say what is wrong between two batches, one of BREAKS, and which sequence was needed."""
    needed = (found.last_sequence + 1) & _MASK
    if found.next_epoch == found.epoch:
        return ("hole" if (found.first_sequence - needed) & _MASK < 2**30 else "overlap"), needed
    return ("epoch-decreasing", needed) if found.next_epoch < found.epoch else ("epoch-not-from-zero", 0)
