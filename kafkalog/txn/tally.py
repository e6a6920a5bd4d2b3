"""What the transactions of a log have in common, counted once: most logs have nothing else to look for."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kafkalog.txn.columns import NONE, Packed
from kafkalog.txn.loops import COMMIT, OPEN

__all__ = ["Tally", "tally"]

_LOOKED_AT: Final = (
    "first_offset", "batches", "epoch_changes", "last_epoch", "marker_type", "marker_epoch", "coordinator_epoch",
)  # fmt: skip


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
    committed = aborted = sole = 0
    is_plain = in_order = True
    epoch: int | None = None
    for some in rows.blocks(*_LOOKED_AT):
        kind, last, marker = some["marker_type"], some["last_epoch"], some["marker_epoch"]
        has_data, of_one = some["first_offset"] != NONE, some["epoch_changes"] == 0
        is_ended = has_data & (kind != OPEN)
        ended = int(np.count_nonzero(is_ended))
        commits = int(np.count_nonzero(is_ended & (kind == COMMIT)))
        committed += commits
        aborted += ended - commits
        is_whole = ended == len(some)
        is_plain = is_plain and is_whole and bool(of_one.all()) and bool(some["batches"].all())
        of_own = is_ended & of_one & (marker > last)
        sole += int(np.count_nonzero(of_own))
        epochs = some["coordinator_epoch"]
        epoch = int(epochs[0]) if epoch is None else epoch
        in_order = in_order and is_whole and not (marker < last).any() and bool((epochs == epoch).all())
    return Tally(committed, aborted, sole, is_plain, in_order)
