"""Whether a transactional record was committed or aborted: the fold's transactions by producer and offset."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.log.moment import Moment
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns, Packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ABORTED", "COMMITTED", "PENDING", "STATES", "UNKNOWN", "Fates"]

COMMITTED: Final = "committed"
ABORTED: Final = "aborted"
PENDING: Final = "pending"
STATES: Final = (COMMITTED, ABORTED, PENDING, None)  # by the numbers of `Fates.states`
UNKNOWN: Final = STATES.index(None)  # damage hides the transaction
_COLUMNS: Final = ("producer_id", "first_offset", "last_offset", "marker_type", "marker_offset", "marker_timestamp")
_NUMBERS: Final = {
    extents.COMMIT: STATES.index(COMMITTED),
    extents.ABORT: STATES.index(ABORTED),
    extents.OPEN: STATES.index(PENDING),
}


class Fates:
    """A log's transactions with data that ended in one of some states, sorted by producer and first offset."""

    def __init__(self, transactions: Packed, states: Container[str] = (COMMITTED, ABORTED, PENDING)) -> None:
        kept = [kind for kind, number in _NUMBERS.items() if STATES[number] in states]
        parts = [
            rows.take((rows["first_offset"] != NONE) & np.isin(rows["marker_type"], kept))
            for rows in transactions.blocks(*_COLUMNS)
        ]
        rows = Columns.concat(parts, _COLUMNS)
        rows = rows.take(np.lexsort((rows["first_offset"], rows["producer_id"])))
        self.producers, producer = np.unique(rows["producer_id"], return_inverse=True)
        self._firsts, first = np.unique(rows["first_offset"], return_inverse=True)
        self._places = producer * (len(self._firsts) + 1) + first + 1
        self._producer = rows["producer_id"]
        self._last = rows["last_offset"]
        self._state = np.zeros(len(rows), np.int8)
        for kind, number in _NUMBERS.items():
            self._state[rows["marker_type"] == kind] = number
        self.marker_offset = rows["marker_offset"]
        self._marker_timestamp = rows["marker_timestamp"]

    def __len__(self) -> int:
        return len(self._last)

    def rows(self, producer_ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return which transactions producers' records belong to; -1 where no transaction of theirs has the offset."""
        if not len(self):
            return np.full(len(offsets), -1)
        producer = np.minimum(np.searchsorted(self.producers, producer_ids), len(self.producers) - 1)
        place = producer * (len(self._firsts) + 1) + np.searchsorted(self._firsts, offsets, "right")
        found = np.searchsorted(self._places, place, "right") - 1
        is_in = (found >= 0) & (self._producer[found] == producer_ids) & (offsets <= self._last[found])
        return np.where(is_in, found, -1)

    def states(self, rows: NDArray[np.intp], moment: Moment | None = None) -> NDArray[np.int8]:
        """Return the states of records in these transactions at a moment, as numbers of `STATES`.

        Before its marker a transaction is pending; where there is none, the state is unknown.
        """
        if not len(self):
            return np.full(len(rows), UNKNOWN, np.int8)
        states = self._state[rows]
        if moment is not None:
            is_later = np.zeros(len(rows), np.bool_)
            for limit, of in ((moment.offset, self.marker_offset), (moment.timestamp, self._marker_timestamp)):
                if limit is not None:
                    is_later |= of[rows] > limit
            states = np.where(is_later, np.int8(STATES.index(PENDING)), states)
        found: NDArray[Any] = np.where(rows < 0, np.int8(UNKNOWN), states)
        return found
