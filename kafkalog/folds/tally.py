"""What the transactions of a log have in common, counted once: most logs have nothing else to look for."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.columns.named import Columns
from kafkalog.kernel.fold import TALLY_COLUMNS, tallied

__all__ = ["Tally", "tally"]

_EPOCH: Final = TALLY_COLUMNS.index("coordinator_epoch")


class Tally(NamedTuple):
    """Counts of a log's transactions; `committed` and `aborted` are those with data.

    `sole` were ended by a marker whose epoch no other transaction of the producer has. `is_plain` says that each has
    data of one epoch and its begin, and a marker; `in_order` that no marker has an older epoch than its data and all
    are of one coordinator's epoch.
    """

    committed: int
    aborted: int
    sole: int
    is_plain: bool
    in_order: bool


def tally(rows: Columns) -> Tally:
    """Return the counts of a log's transactions, made once for the same rows."""
    return rows.known(_counted)


def _counted(rows: Columns) -> Tally:
    committed = aborted = sole = 0
    are_plain = are_in_order = True
    epochs = set()
    for some in rows.blocks(*TALLY_COLUMNS):
        number, flat = len(some), some.flat(TALLY_COLUMNS)
        commits, aborts, alone, is_plain, in_order = tallied(flat, number)
        committed, aborted, sole = committed + commits, aborted + aborts, sole + alone
        are_plain, are_in_order = are_plain and is_plain, are_in_order and in_order
        epochs.add(flat[_EPOCH * number])
    return Tally(committed, aborted, sole, is_plain=are_plain, in_order=are_in_order and len(epochs) < 2)
