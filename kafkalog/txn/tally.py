"""What the transactions of a log have in common, counted once: most logs have nothing else to look for."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.txn.columns import Packed
from kafkalog.txn.loops import TALLY_COLUMNS, tallied

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


def tally(rows: Packed) -> Tally:
    """Return the counts of a log's transactions, made once for the same rows."""
    return rows.known(_counted)


def _counted(rows: Packed) -> Tally:
    found = Tally(0, 0, 0, is_plain=True, in_order=True)
    epochs = set()
    for some in rows.blocks(*TALLY_COLUMNS):
        flat = some.flat(TALLY_COLUMNS)
        committed, aborted, sole, is_plain, in_order = tallied(flat, len(some))
        epochs.add(flat[_EPOCH * len(some)])
        found = Tally(
            found.committed + committed, found.aborted + aborted, found.sole + sole, found.is_plain and is_plain,
            found.in_order and in_order and len(epochs) == 1,
        )  # fmt: skip
    return found
