"""What each producer wrote: a reduction that transactions don't break, joined by the same function that makes it."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkalog.txn.columns import Columns

__all__ = ["COLUMNS", "collapse", "of_batches"]

_HOW: Final = {
    "producer_id": "last",
    "first_epoch": "first",
    "last_epoch": "last",
    "last_sequence": "last",
    "batches": "sum",
    "records": "sum",
    "first_offset": "first",
    "last_offset": "last",
    "first_timestamp": "min",
    "last_timestamp": "max",
}
COLUMNS: Final = tuple(_HOW)


def of_batches(data: Columns) -> Columns:
    """Reduce data batches, in log order, to a row for each producer."""
    return collapse(
        Columns(
            {
                "producer_id": data["producer_id"],
                "first_epoch": data["producer_epoch"],
                "last_epoch": data["producer_epoch"],
                "last_sequence": data["last_sequence"],
                "batches": np.ones(len(data), np.int64),
                "records": data["count"],
                "first_offset": data["base_offset"],
                "last_offset": data["last_offset"],
                "first_timestamp": data["max_timestamp"],
                "last_timestamp": data["max_timestamp"],
            }
        )
    )


def collapse(rows: Columns) -> Columns:
    """Join rows, in log order, to one for each producer."""
    if not len(rows):
        return rows
    rows = rows.take(np.argsort(rows["producer_id"], kind="stable"))
    starts = np.flatnonzero(np.diff(rows["producer_id"], prepend=rows["producer_id"][0] - 1))
    ends = np.append(starts[1:], len(rows)) - 1
    ufuncs = {"sum": np.add, "min": np.minimum, "max": np.maximum}
    return Columns(
        {
            name: rows[name][starts]
            if how == "first"
            else rows[name][ends]
            if how == "last"
            else ufuncs[how].reduceat(rows[name], starts)
            for name, how in _HOW.items()
        }
    )
