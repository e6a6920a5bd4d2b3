"""Why the coordinator aborted transactions: the reason of each decision, as columns; the first ones are shown.

The coordinator does not write why it aborts. A takeover and a timeout raise the epoch; so does every end under
transaction.version 2. A timeout is as old as the timeout allows. After a takeover the new producer's epoch follows
at once: its request waits for the abort.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog import few_of_many
from kafkalog.auditing.transactions import decision_keys
from kafkalog.certainty import Doubt, certainty_of, cut
from kafkalog.columns.sorted_rows import distinct
from kafkalog.kafka.transaction_state import TransactionState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.folds.coordinator import Coordinator
    from kafkalog.kafka.state_records import StateColumns

__all__ = ["AbortDecisions", "AbortReason", "OfCause"]

_AT_ONCE_MS: Final = 2_000  # a client asks again for its epoch within a second
_CAUSES: Final = ("client", "timeout", "takeover")
_CLIENT, _TIMEOUT, _TAKEOVER = range(len(_CAUSES))
_S: Final = TransactionState


class AbortReason(NamedTuple):
    """Why a transaction was aborted; with `has_successor` the second record after it is the new producer's."""

    cause: str
    certainty: str
    has_successor: bool


class OfCause(NamedTuple):
    """All decisions to abort of a cause of which not all are shown: how many, whose, and the time of the last (ms)."""

    number: int
    transactional_ids: int
    producers: int
    until: int
    is_possible: bool


class AbortDecisions:
    """The decisions to abort transactions that had begun: which records are `shown`, the first of each cause by time.

    `of_cause` counts all of a cause that has more. `of_others` are the keys of those that the producer did not ask for
    itself (`decision_keys`), in order. `reasons` are those of the records shown, by log and offset.
    """

    def __init__(self, coordinator: Coordinator, now: int) -> None:
        states = coordinator.states
        rows = np.flatnonzero(_follow(states, _S.PREPARE_ABORT))
        causes, possible, successor = _reasons(coordinator, rows, now)
        self.of_cause: dict[str, OfCause] = {}
        chosen = np.ones(len(rows), bool)
        for number, cause in enumerate(_CAUSES):
            group = np.flatnonzero(causes == number)
            _, others = few_of_many.split(states["last_update_timestamp"][rows[group]])
            chosen[group[others]] = False
            if len(others):
                of_group = rows[group]
                ids, producers = (distinct(states[name][of_group]) for name in ("transactional_id", "producer_id"))
                until = int(states["last_update_timestamp"][of_group].max())
                self.of_cause[cause] = OfCause(len(group), len(ids), len(producers), until, bool(possible[group].any()))
        self.shown = rows[chosen]
        by_others = self.shown[causes[chosen] != _CLIENT]
        keys = decision_keys(states["producer_id"][by_others], states["producer_epoch"][by_others])
        self.of_others = distinct(keys)
        logs = [coordinator.logs[log] for log in coordinator.of_log[self.shown].tolist()]
        columns = (states["offset"][self.shown], causes[chosen], possible[chosen], successor[chosen])
        self.reasons = {
            (log, offset): AbortReason(
                _CAUSES[cause], certainty_of(Doubt.NOT_WRITTEN_DOWN if unsure else None), follows
            )
            for log, offset, cause, unsure, follows in zip(logs, *(one.tolist() for one in columns), strict=True)
        }


def _reasons(
    coordinator: Coordinator, rows: NDArray[np.intp], now: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the number of each decision's cause, whether that is only possible, and whether a new producer follows."""
    states, after = coordinator.states, coordinator.after(rows)
    second = coordinator.after(after)
    has_second = (second > after) & (states["transactional_id"][second] == states["transactional_id"][rows])
    updated = cut(states["last_update_timestamp"])
    started = cut(states["start_timestamp"][rows])
    same_epoch = states["producer_epoch"][rows] == states["producer_epoch"][rows - 1]
    too_old = updated[rows] - started >= states["timeout_ms"][rows - 1]
    follows = has_second & (states["state"][second] == _S.EMPTY)
    at_once = follows & (updated[second] - updated[after] <= _AT_ONCE_MS)
    others = ~same_epoch & ~too_old
    takeover = others & (at_once if _raises_epochs(states) else True)
    is_last = others & ~takeover & ~has_second & (now <= updated[rows] + _AT_ONCE_MS)
    causes = np.select([same_epoch, too_old, takeover], [_CLIENT, _TIMEOUT, _TAKEOVER], _CLIENT)
    possible = is_last | (takeover & _raises_epochs(states))
    return causes, possible, takeover & follows


def _follow(states: StateColumns, state: TransactionState) -> NDArray[np.bool_]:
    """Say which records are of a state, after Ongoing of the same id."""
    found: NDArray[np.bool_] = states["state"] == state
    found[:1] = False
    ids = states["transactional_id"]
    found[1:] &= (ids[1:] == ids[:-1]) & (states["state"][:-1] == _S.ONGOING)
    return found


def _raises_epochs(states: StateColumns) -> bool:
    """Say whether a commit of an id raised its epoch, which only transaction.version 2 does."""
    rows = np.flatnonzero(_follow(states, _S.PREPARE_COMMIT))
    return bool((states["producer_epoch"][rows] > states["producer_epoch"][rows - 1]).any())
