"""Transactions as extents: a fold over batches that also joins what other folds gave.

A transactional data batch is an extent of one batch; a marker is an extent of none that ends the one before it. Reading
a segment, joining segments and joining the tasks of a cluster are one function, ``collapse``. It is associative, not
commutative: stretches may be joined in any grouping, never in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.txn.columns import NONE, Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ABORT", "COLUMNS", "COMMIT", "OPEN", "adopt", "collapse"]

OPEN, ABORT, COMMIT = -1, 0, 1  # marker types

# How a run of rows becomes one: by its first or last row that has data, by its last row, or by what all rows give.
_HOW: Final[dict[str, str]] = {
    "log_id": "last",
    "producer_id": "last",
    "first_offset": "first data",
    "last_offset": "last data",
    "batches": "sum",
    "records": "sum",
    "size": "sum",
    "min_timestamp": "min",
    "max_timestamp": "max",
    "first_epoch": "first data",
    "last_epoch": "last data",
    "first_sequence": "first data",
    "last_sequence": "last data",
    "segment": "first data",  # base offset of the file that the first batch lies in, and where
    "position": "first data",
    "marker_type": "last",
    "marker_offset": "last",
    "marker_epoch": "last",
    "coordinator_epoch": "last",
    "marker_timestamp": "last",
    "marker_segment": "last",
    "marker_position": "last",
}
COLUMNS: Final = tuple(_HOW)


def collapse(extents: Columns) -> Columns:
    """Join neighbouring extents of each producer in each log into one row per transaction.

    A row ends where its producer's marker stands or its epoch changes; a row without a marker is still open at the end
    of what was read. `extents` must be in log order within each (log, producer); so are the rows that come out, sorted
    by log and producer. ``collapse(a + b) == collapse(collapse(a) + collapse(b))``. Cost: one stable sort, no Python
    per row.
    """
    if not len(extents):
        return extents
    rows = extents.take(_stable_order(extents["log_id"], extents["producer_id"]))
    log, producer = rows["log_id"], rows["producer_id"]
    has_data = rows["first_offset"] != NONE
    begins = np.ones(len(rows), bool)
    begins[1:] = (log[1:] != log[:-1]) | (producer[1:] != producer[:-1]) | (rows["marker_type"][:-1] != OPEN)
    both = has_data[1:] & has_data[:-1]
    begins[1:] |= both & (rows["first_epoch"][1:] != rows["last_epoch"][:-1])
    return _reduce(rows, np.flatnonzero(begins), has_data)


def _stable_order(log: NDArray[np.int64], producer: NDArray[np.int64]) -> NDArray[np.intp]:
    order = np.argsort(producer, kind="stable")
    return order[np.argsort(log[order], kind="stable")] if len(log) and log.min() != log.max() else order


def _reduce(rows: Columns, starts: NDArray[np.intp], has_data: NDArray[np.bool_]) -> Columns:
    ends = np.append(starts[1:], len(rows)) - 1
    if len(starts) == len(rows):
        return rows
    places = np.arange(len(rows))
    first = np.minimum.reduceat(np.where(has_data, places, len(rows)), starts)
    last = np.maximum.reduceat(np.where(has_data, places, -1), starts)
    # A run without data is a bare marker, one row: whichever of its rows is taken, it is that.
    picks = {"first data": np.where(first < len(rows), first, ends), "last data": np.where(last >= 0, last, ends)}
    ufuncs = {"sum": np.add, "min": np.minimum, "max": np.maximum}
    out = {}
    for name, how in _HOW.items():
        column = rows[name]
        if how == "last":
            out[name] = column[ends]
        elif how in picks:
            out[name] = column[picks[how]]
        else:
            out[name] = ufuncs[how].reduceat(column, starts)
    return Columns(out)


def adopt(rows: Columns) -> Columns:
    """Give late data to the marker that ended it too: the last pass, over final rows.

    A row without a marker that another row of the same producer and log follows holds data of an older epoch, which the
    following transaction's marker ends as well. They become one row, with ``adopted`` set.
    """
    if not len(rows):
        return rows.with_columns(adopted=np.empty(0, np.int64))
    same = np.zeros(len(rows), bool)
    same[1:] = (
        (rows["log_id"][1:] == rows["log_id"][:-1])
        & (rows["producer_id"][1:] == rows["producer_id"][:-1])
        & (rows["marker_type"][:-1] == OPEN)
    )
    starts = np.flatnonzero(~same)
    merged = _reduce(rows, starts, rows["first_offset"] != NONE)
    counts = np.diff(np.append(starts, len(rows)))
    return merged.with_columns(adopted=(counts > 1).astype(np.int64))
