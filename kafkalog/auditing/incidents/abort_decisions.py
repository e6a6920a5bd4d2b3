"""Why the coordinator aborted transactions: the reason of each decision, as columns; some are shown, others counted.

The coordinator does not write why it aborts. A takeover and a timeout raise the epoch; so does every end under
transaction.version 2. A timeout is as old as the timeout allows. After a takeover the new producer's epoch follows
at once: its request waits for the abort.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.transactions import MANY_NAMES
from kafkalog.columns.placed import distinct
from kafkalog.kafka.transaction_state import TransactionState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.columns.texts import TextColumn
    from kafkalog.folds.coordinator import Coordinator
    from kafkalog.kafka.state_records import StateColumns

__all__ = ["MANY_IDS", "AbortCrowd", "AbortDecisions", "Reason"]

MANY_IDS: Final = MANY_NAMES  # transactional ids of one reason; more become one incident
_AT_ONCE_MS: Final = 2_000  # a client asks again for its epoch within a second
_FIRST: Final = 20  # decisions of an incident that are shown: those that its events name,
_NEWEST: Final = 980  # and the newest: their data is shown, too
_LATEST: Final = 2**61  # ms
_CAUSES: Final = ("client", "timeout", "takeover")
_CLIENT, _TIMEOUT, _TAKEOVER = range(len(_CAUSES))
_S: Final = TransactionState


class Reason(NamedTuple):
    """Why a transaction was aborted; with `has_successor` the second record after it is the new producer's."""

    cause: str
    certainty: str
    has_successor: bool


class AbortCrowd(NamedTuple):
    """Decisions to abort of one incident that are not shown: how many, whose (names, producer ids), and where.

    Names and producer ids are distinct, and as many as the decisions may be: both are columns.
    """

    number: int
    possible: bool
    names: TextColumn
    producers: NDArray[np.int64]
    partitions: frozenset[tuple[str, int]]


class AbortDecisions:
    """The decisions to abort transactions that had begun: which records are `shown`, and `crowds` of the others.

    Crowds are by cause and transactional id, or by cause and None where all ids are one incident. `reasons` are those
    of the records that are shown, by log and offset.
    """

    def __init__(self, coordinator: Coordinator, now: int) -> None:
        states = coordinator.states
        rows = np.flatnonzero(_follow(states, _S.PREPARE_ABORT))
        causes, possible, successor = _reasons(coordinator, rows, now)
        self.crowds: dict[tuple[str, str | None], AbortCrowd] = {}
        chosen = np.ones(len(rows), bool)
        for (cause, name), group in _groups(states, rows, causes):
            by_time = group[np.argsort(states.last_update_timestamp[rows[group]], kind="stable")]
            rest = by_time[_FIRST : len(by_time) - _NEWEST]
            chosen[rest] = False
            ids = distinct(states.transactional_id[rows[rest]])
            _, listed = states.listed(rows[rest])
            places = np.unique(np.stack([states.listed_topic[listed], states.listed_partition[listed]]), axis=1)
            self.crowds[cause, name] = AbortCrowd(
                len(rest),
                bool(possible[rest].any()),
                states.ids.take(ids),
                distinct(states.producer_id[rows[rest]]),
                frozenset((states.topics[topic], number) for topic, number in places.T.tolist()),
            )
        self.shown = rows[chosen]
        logs = [coordinator.logs[log] for log in coordinator.of_log[self.shown].tolist()]
        columns = (states.offset[self.shown], causes[chosen], possible[chosen], successor[chosen])
        self.reasons = {
            (log, offset): Reason(_CAUSES[cause], "possible" if unsure else "proved", follows)
            for log, offset, cause, unsure, follows in zip(logs, *(one.tolist() for one in columns), strict=True)
        }


def _groups(
    states: StateColumns, rows: NDArray[np.intp], causes: NDArray[np.intp]
) -> list[tuple[tuple[str, str | None], NDArray[np.intp]]]:
    """Return the decisions of each incident that has more than are shown."""
    found: list[tuple[tuple[str, str | None], NDArray[np.intp]]] = []
    for number, cause in enumerate(_CAUSES):
        group = np.flatnonzero(causes == number)
        if len(group) <= _FIRST + _NEWEST:
            continue
        ids, of_id, counts = np.unique(states.transactional_id[rows[group]], return_inverse=True, return_counts=True)
        if len(ids) > MANY_IDS:
            found.append(((cause, None), group))
            continue
        many = np.flatnonzero(counts > _FIRST + _NEWEST).tolist()
        found += [((cause, states.ids[int(ids[one])]), group[of_id == one]) for one in many]
    return found


def _reasons(
    coordinator: Coordinator, rows: NDArray[np.intp], now: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the number of each decision's cause, whether that is only possible, and whether a new producer follows."""
    states, after = coordinator.states, coordinator.after(rows)
    second = coordinator.after(after)
    has_second = (second > after) & (states.transactional_id[second] == states.transactional_id[rows])
    updated = np.clip(states.last_update_timestamp, -_LATEST, _LATEST)
    started = np.clip(states.start_timestamp[rows], -_LATEST, _LATEST)
    same_epoch = states.producer_epoch[rows] == states.producer_epoch[rows - 1]
    too_old = updated[rows] - started >= states.timeout_ms[rows - 1]
    follows = has_second & (states.state[second] == _S.EMPTY)
    at_once = follows & (updated[second] - updated[after] <= _AT_ONCE_MS)
    others = ~same_epoch & ~too_old
    takeover = others & (at_once if _raises_epochs(states) else True)
    is_last = others & ~takeover & ~has_second & (now <= updated[rows] + _AT_ONCE_MS)
    causes = np.select([same_epoch, too_old, takeover], [_CLIENT, _TIMEOUT, _TAKEOVER], _CLIENT)
    possible = is_last | (takeover & _raises_epochs(states))
    return causes, possible, takeover & follows


def _follow(states: StateColumns, state: TransactionState) -> NDArray[np.bool_]:
    """Say which records are of a state, after Ongoing of the same id."""
    found: NDArray[np.bool_] = states.state == state
    found[:1] = False
    found[1:] &= (states.transactional_id[1:] == states.transactional_id[:-1]) & (states.state[:-1] == _S.ONGOING)
    return found


def _raises_epochs(states: StateColumns) -> bool:
    """Say whether a commit of an id raised its epoch, which only transaction.version 2 does."""
    rows = np.flatnonzero(_follow(states, _S.PREPARE_COMMIT))
    return bool((states.producer_epoch[rows] > states.producer_epoch[rows - 1]).any())
