"""Whether a transactional record was committed or aborted: the fold's transactions by producer and offset."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container
from typing import Final, NamedTuple

import numpy as np

from kafkalog.log.moment import Moment
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Packed

__all__ = ["ABORTED", "COMMITTED", "PENDING", "Fate", "Fates"]

COMMITTED: Final = "committed"
ABORTED: Final = "aborted"
PENDING: Final = "pending"
_COLUMNS: Final = ("producer_id", "first_offset", "last_offset", "marker_type", "marker_offset", "marker_timestamp")
_WORDS: Final = {extents.COMMIT: COMMITTED, extents.ABORT: ABORTED}


class Fate(NamedTuple):
    """How a record's transaction ended, and by which marker; an open one has none."""

    state: str
    marker_offset: int | None
    marker_timestamp: int | None

    def at(self, moment: Moment) -> str:
        """Return the state at a moment: before its marker a transaction is pending."""
        if self.marker_offset is None or self.marker_timestamp is None:
            return self.state
        return self.state if moment.holds(self.marker_offset, self.marker_timestamp) else PENDING


class Fates:
    """A log's transactions with data that ended in one of some states, by producer."""

    def __init__(self, transactions: Packed, states: Container[str] = (COMMITTED, ABORTED, PENDING)) -> None:
        self._of: dict[int, list[tuple[int, int, Fate]]] = {}
        kept = [kind for kind in (extents.OPEN, *_WORDS) if _WORDS.get(kind, PENDING) in states]
        for rows in transactions.blocks(*_COLUMNS):
            for row in rows.take((rows["first_offset"] != NONE) & np.isin(rows["marker_type"], kept)):
                ended = row["marker_type"] in _WORDS
                fate = Fate(
                    _WORDS.get(row["marker_type"], PENDING),
                    row["marker_offset"] if ended else None,
                    row["marker_timestamp"] if ended else None,
                )
                self._of.setdefault(row["producer_id"], []).append((row["first_offset"], row["last_offset"], fate))
        for spans in self._of.values():
            spans.sort(key=lambda span: span[0])

    @property
    def producers(self) -> Container[int]:
        """Return the producers that have such transactions."""
        return self._of.keys()

    def of(self, producer_id: int, offset: int) -> Fate | None:
        """Return the fate of a producer's record; None where no transaction of that producer covers the offset."""
        spans = self._of.get(producer_id, [])
        at = bisect_right(spans, offset, key=lambda span: span[0]) - 1
        return spans[at][2] if at >= 0 and offset <= spans[at][1] else None
