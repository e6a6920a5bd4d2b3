"""When a transaction is overdue: the coordinator, or a marker, is later than it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.transactions.judged_rows import CAUSE, JudgedRows
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.transaction_state import NO_TIMEOUT, TransactionState

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Deadlines"]

_SCAN_MS: Final = 10_000  # how often the coordinator looks for timeouts
_LATEST: Final = 2**62  # ms


class Deadlines(NamedTuple):
    """What decides when a transaction is overdue; times in ms.

    The inputs show the moment `now` where they are of one moment (`copy_ms` is 0). Of a copy the state partition may
    have been copied first, so that what was decided since is not in it.
    """

    now: int
    copy_ms: int
    max_timeout_ms: int

    def passed(self, judged: JudgedRows, coordinator: Coordinator) -> NDArray[np.bool_]:
        """Say for which transactions the coordinator, or a marker, is later than it may be."""
        passed: NDArray[np.bool_] = (judged.entry >= 0) & (judged.cause != CAUSE["replica-behind"])
        states, entry = coordinator.states, judged.entry[passed]
        now = np.full(len(entry), self.now)
        if self.copy_ms:
            now = np.minimum(now, np.maximum(coordinator.newest_of(entry), self.now - self.copy_ms))
        started, updated = (
            np.clip(column[entry], -_LATEST, _LATEST)
            for column in (states["start_timestamp"], states["last_update_timestamp"])
        )
        timeout = states["timeout_ms"][entry].astype(np.int64)
        timeout[timeout == NO_TIMEOUT] = self.max_timeout_ms  # no coordinator ends it: consumers have waited that long
        overdue = now > started + timeout + _SCAN_MS
        ongoing = states["state"][entry] == TransactionState.ONGOING
        passed[passed] = np.where(ongoing, overdue, now > updated + self.max_timeout_ms)
        return passed
