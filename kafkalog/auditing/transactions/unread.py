"""The places of a log where bytes can't be read: a marker may have been lost there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import DamagedExtents, PartitionAudit
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UnreadBytes"]


_NOWHERE: Final = np.empty(0, np.int64)


class UnreadBytes:
    """The offsets after which a log has damaged bytes, and those from which on offsets are missing through damage."""

    def __init__(self, audit: PartitionAudit) -> None:
        self._after = self._missing = _NOWHERE
        self._at_start = False
        self._log_end = audit.log_end_offset
        if audit.damaged:
            after = DamagedExtents.of(audit.damaged).spans()[:, 2]
            self._after = np.sort(after[after != NONE])
            self._at_start = bool((after == NONE).any())
        if audit.gaps:
            self._missing = np.sort(audit.gaps.first[audit.gaps.of_kind("damage")])

    def __bool__(self) -> bool:
        """Say whether there is such a place, or bytes before the first offset."""
        return self._at_start or bool(len(self._after)) or bool(len(self._missing))

    def reach(self, rows: Columns) -> NDArray[np.bool_]:
        """Say which rows with data have such a place between their first batch and their marker, or are open."""
        first, has_data = rows["first_offset"], rows["first_offset"] != NONE
        marker = np.where(rows["marker_type"] == extents.OPEN, 2**63 - 1, rows["marker_offset"])
        found: NDArray[np.bool_] = has_data & self._between(first, marker)
        return found

    def are_inside(self, rows: Columns) -> NDArray[np.bool_]:
        """Say whether there is such a place between each first batch and its marker, or the log's end."""
        first, has_data = rows["first_offset"], rows["first_offset"] != NONE
        marker = np.where(rows["marker_type"] == extents.OPEN, self._log_end, rows["marker_offset"])
        inside: NDArray[np.bool_] = self._between(first, marker) | (self._at_start & (rows["batches"] == 0))
        inside &= has_data
        return inside

    def _between(self, first: NDArray[np.int64], marker: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not len(self._after) and not len(self._missing):
            return np.zeros(len(first), bool)
        unread = np.searchsorted(self._after, first) < np.searchsorted(self._after, marker)
        missing = np.searchsorted(self._missing, first, "right") < np.searchsorted(self._missing, marker)
        found: NDArray[np.bool_] = unread | missing
        return found
