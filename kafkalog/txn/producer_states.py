"""Producers' states rebuilt from batches: the content of a ``.snapshot`` (ProducerStateManager), as a fold.

A row says how a stretch of log changes the state of one producer. A batch or a marker is a row, so that reading a
segment and joining stretches are one function, `collapse`. It is associative, not commutative.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.format import kernel
from kafkalog.format.batch import CONTROL, TRANSACTIONAL
from kafkalog.txn.columns import NONE, Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.format.batch import CellTable

__all__ = ["COLUMNS", "collapse", "events"]

# What only data sets is NONE if the stretch has no data, or if the epoch rose after it: a broker then forgets the
# batches of the epoch before. The same is true of what only a marker sets.
_DATA: Final = ("last_sequence", "last_offset", "offset_delta", "data_timestamp")
_MARKER: Final = ("coordinator_epoch", "marker_offset")
COLUMNS: Final = (
    "producer_id",
    "first_epoch",
    "producer_epoch",  # the last one
    "epoch_changes",
    *_DATA,
    *_MARKER,
    "first_offset",  # of the stretch's first row for the producer
    "newest_offset",  # of its last one
    "timestamp",  # of its last one
    "current_txn_first_offset",  # of the transaction that is open at the stretch's end, if it began in it
)
_TAKEN: Final = (
    kernel.PRODUCER_ID, kernel.PRODUCER_EPOCH, kernel.LAST_SEQUENCE, kernel.BASE_OFFSET, kernel.LAST_OFFSET,
    kernel.MAX_TIMESTAMP, kernel.ATTRIBUTES,
)  # fmt: skip


def events(heads: CellTable, types: array[int], coordinator_epochs: array[int]) -> Columns:
    """Make a row of each batch of a chunk that affects a producer's state and whose checksum matches.

    `types` and `coordinator_epochs` are those of the chunk's markers (``markers.read``).
    """
    table = heads.numpy()
    kinds = np.frombuffer(types, np.int64)[: heads.count]
    control = (table[kernel.ATTRIBUTES] & CONTROL) != 0
    wanted = (
        (table[kernel.VALID] != 0) & (table[kernel.MAGIC] > 1) & (table[kernel.PRODUCER_ID] >= 0)
        & (~control | (kinds >= 0))
    )  # fmt: skip
    rows = np.flatnonzero(wanted)
    producer, epoch, sequence, base, last, newest, attributes = (table[column][rows] for column in _TAKEN)
    marker = control[rows]
    absent = np.full(len(rows), NONE)
    transactional = (attributes & TRANSACTIONAL) != 0
    columns = {
        "producer_id": producer,
        "first_epoch": epoch,
        "producer_epoch": epoch,
        "epoch_changes": np.zeros(len(rows), np.int64),
        "last_sequence": sequence,
        "last_offset": last,
        "offset_delta": last - base,
        "data_timestamp": newest,
        "coordinator_epoch": absent,
        "marker_offset": absent,
        "first_offset": base,
        "newest_offset": last,
        "timestamp": newest,
        "current_txn_first_offset": np.where(transactional & ~marker, base, NONE),
    }
    if marker.any():
        columns |= {name: np.where(marker, NONE, columns[name]) for name in _DATA}
        columns["coordinator_epoch"] = np.where(marker, np.frombuffer(coordinator_epochs, np.int64)[rows], NONE)
        columns["marker_offset"] = np.where(marker, last, NONE)
    return Columns(columns)


def collapse(rows: Columns) -> Columns:
    """Join each producer's rows, which are in log order, to one; they come out sorted by producer.

    ``collapse(a + b) == collapse(collapse(a) + collapse(b))``.
    """
    if not len(rows):
        return Columns.empty(COLUMNS)
    rows = rows.take(np.argsort(rows["producer_id"], kind="stable"))
    producers = rows["producer_id"]
    count = len(rows)
    begins = np.append(True, producers[1:] != producers[:-1])
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], count) - 1
    raised = np.append(True, rows["first_epoch"][1:] != rows["producer_epoch"][:-1]) & ~begins
    changes = rows["epoch_changes"] + raised
    # A row whose epoch changed has only what comes after the change.
    epoch_from = _last(changes > 0, starts)
    data = _last(rows["last_offset"] != NONE, starts)
    data = np.where(data >= epoch_from, data, -1)
    marker = _last(rows["marker_offset"] != NONE, starts)
    opened = _first(rows["current_txn_first_offset"] != NONE, np.maximum(marker, starts), begins)
    joined = {
        "producer_id": producers[starts],
        "first_epoch": rows["first_epoch"][starts],
        "producer_epoch": rows["producer_epoch"][ends],
        "epoch_changes": np.add.reduceat(changes, starts),
        "first_offset": rows["first_offset"][starts],
        "newest_offset": rows["newest_offset"][ends],
        "timestamp": rows["timestamp"][ends],
        "current_txn_first_offset": _taken(rows["current_txn_first_offset"], opened),
    }
    joined |= {name: _taken(rows[name], data) for name in _DATA}
    joined |= {name: _taken(rows[name], marker) for name in _MARKER}
    return Columns({name: joined[name] for name in COLUMNS})


def _taken(column: NDArray[np.int64], places: NDArray[np.intp]) -> NDArray[np.int64]:
    return np.where(places < 0, NONE, column[places])


def _last(holds: NDArray[np.bool_], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return for each group, which begins at `starts`, its last row for which a condition is true, -1 for none."""
    return np.maximum.reduceat(np.where(holds, np.arange(len(holds)), -1), starts)


def _first(holds: NDArray[np.bool_], low: NDArray[np.intp], begins: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each group its first row from `low` on for which a condition is true, -1 for none."""
    starts = np.flatnonzero(begins)
    late = np.arange(len(holds)) >= low[np.cumsum(begins) - 1]
    none = len(holds)
    found = np.minimum.reduceat(np.where(holds & late, np.arange(len(holds)), none), starts)
    return np.where(found == none, -1, found)
