"""Transactions as extents: rows that ``collapse`` joins, however they were cut."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkalog.txn.columns import Columns
from kafkalog.txn.fold import Fold
from kafkalog.txn.loops import ABORT, COMMIT, EXTENT_COLUMNS, OPEN

__all__ = ["ABORT", "COLUMNS", "COMMIT", "OPEN", "collapse"]

COLUMNS: Final = EXTENT_COLUMNS


def collapse(extents: Columns) -> Columns:
    """Join neighbouring extents of each producer in each log into one row per transaction.

    A row ends at its producer's marker; a row without a marker is still open at the end of what was read. Data of an
    older epoch that the next transaction's marker ended too is part of that transaction, and counts in its
    ``older_records``. `extents` must be in log order within each (log, producer); so is the result, sorted by log and
    producer. ``collapse(a + b) == collapse(collapse(a) + collapse(b))``.
    """
    fold = Fold()
    fold.extents(extents)
    rows = Columns.concat(list(fold.result().extents.blocks()), COLUMNS)
    return rows.take(np.lexsort((rows["producer_id"], rows["log_id"])))
