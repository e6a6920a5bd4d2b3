"""The steps of transactional ids as columns of the table ``transitions``: what each record shows beside others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.format.kernel import NONE
from kafkalog.format.listed_partitions import listed_partitions
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.format.state_columns import TOMBSTONE, StateColumns
from kafkalog.format.text_columns import TextColumn
from kafkalog.log.column_blocks import AnyColumns, Marked, Worded
from kafkalog.log.moment import Moment
from kafkalog.quantities import FIRST_MS, LAST_MS
from kafkalog.tables.internal import DECIDED_BY, STEPS, TRANSITION_STATES
from kafkalog.txn.coordinator import Coordinator

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["last_steps", "state_number", "transition_columns"]

_S: Final = TransactionState
_STATES: Final = np.array([TRANSITION_STATES.index("tombstone"), *(TRANSITION_STATES.index(one.word) for one in _S)])
_STEP: Final = {word: number for number, word in enumerate(STEPS)}
_BY: Final = {word: number for number, word in enumerate(DECIDED_BY)}
_NOBODY: Final = -1
_NAMED: Final = {
    _S.PREPARE_COMMIT: "commit-decided",
    _S.PREPARE_ABORT: "abort-decided",
    _S.COMPLETE_COMMIT: "committed",
    _S.COMPLETE_ABORT: "aborted",
    TOMBSTONE: "forgotten",
}
_EXTREMES: Final = np.iinfo(np.int64)


def state_number(word: str) -> int:
    """Return the number in the column of states for a word of the table's."""
    return TOMBSTONE if word == "tombstone" else int(_S[word.upper()])


def transition_columns(
    coordinator: Coordinator, wanted: NDArray[np.bool_], until: int | None, *, spaced: bool
) -> Iterator[AnyColumns]:
    """Yield the steps of the `wanted` records, ids in order.

    With a time, `until`, a step took that long, not to the next one. JSON is as of ``listed_partitions``.
    """
    logs = TextColumn.of(coordinator.logs)
    partitions = np.array(coordinator.partitions, np.int64)
    for every, found in coordinator.by_name():
        is_wanted = wanted[every]
        rows = every[is_wanted]
        states = found if len(rows) == len(every) else coordinator.states.take(rows)
        if len(rows):
            of = coordinator.of_log[rows]
            yield _columns(coordinator, rows, states, until, (logs.take(of), partitions[of]), spaced=spaced)


def last_steps(coordinator: Coordinator, moment: Moment) -> NDArray[np.bool_]:
    """Say which records are the last of their id at a moment."""
    states = coordinator.states
    rows = np.flatnonzero(moment.hold(states.offset, states.timestamp))
    ids = states.transactional_id[rows]
    found = np.zeros(len(states), np.bool_)
    found[rows[np.append(ids[1:] != ids[:-1], True)[: len(rows)]]] = True
    return found


def _columns(
    coordinator: Coordinator, rows: NDArray[np.int64], states: StateColumns, until: int | None,
    where: tuple[TextColumn, NDArray[np.int64]], *, spaced: bool,
) -> AnyColumns:  # fmt: skip
    is_there = states.state != TOMBSTONE
    around = _Around(coordinator, coordinator.said_first(rows))
    after = np.minimum(rows + 1, len(coordinator.states) - 1)
    decided_by = around.decided_by()
    times = coordinator.times(rows)

    def there(column: NDArray[Any]) -> Marked:
        return Marked(column, is_there)

    ids = coordinator.states.transactional_id
    ends = coordinator.times(after) if until is None else np.full(len(rows), until)
    has_end = (after > rows) & (ids[after] == ids[rows]) if until is None else np.ones(len(rows), np.bool_)
    is_known = has_end & _plausible(times) & _plausible(ends)
    fenced = around.follows & ((states.state == _S.EMPTY) | np.isin(decided_by, [_BY["timeout"], _BY["takeover"]]))
    log, partition = where
    return {
        "transactional_id": TextColumn.packed(states.ids, states.transactional_id),
        "timestamp_ms": Marked(times),
        "state": Worded(_STATES[states.state.astype(np.intp) - TOMBSTONE], TRANSITION_STATES),
        "step": Worded(around.steps(), STEPS),
        "duration_ms": np.subtract(ends, times, out=np.full(len(rows), NONE), where=is_known),
        "producer_id": there(states.producer_id),
        "producer_epoch": there(states.producer_epoch),
        "previous_producer_id": Marked(*around.replaced()),
        "next_producer_id": Marked(states.next_producer_id, states.next_producer_id != -1),
        "decided_by": Worded(decided_by, DECIDED_BY),
        "fenced_epoch": np.where(fenced, around.before("producer_epoch"), NONE),
        "transaction_version": there(states.client_transaction_version),
        "partitions": listed_partitions(states, spaced=spaced),
        "start_timestamp_ms": there(states.start_timestamp),
        "timeout_ms": there(states.timeout_ms),
        "log": log,
        "partition": partition,
        "offset": Marked(states.offset),
    }


class _Around:
    """Records with those before and after them of the same id; none of them only says again what another one said.

    `follows` says which have a record before that is no tombstone.
    """

    def __init__(self, coordinator: Coordinator, rows: NDArray[np.int64]) -> None:
        self._states = states = coordinator.states
        self._rows = rows
        self._before, after = np.maximum(rows - 1, 0), coordinator.after(rows)
        self._second = coordinator.after(after)
        ids = states.transactional_id
        self._has_before = (rows > 0) & (ids[self._before] == ids[rows])
        self._has_second = (self._second > after) & (ids[self._second] == ids[rows])
        self.follows: NDArray[np.bool_] = self._has_before & (states.state[self._before] != TOMBSTONE)

    def now(self, name: str) -> NDArray[np.int64]:
        """Return a column of the records."""
        found: NDArray[np.int64] = getattr(self._states, name)[self._rows].astype(np.int64)
        return found

    def before(self, name: str) -> NDArray[np.int64]:
        """Return a column of the records before."""
        found: NDArray[np.int64] = getattr(self._states, name)[self._before].astype(np.int64)
        return found

    def steps(self) -> NDArray[np.int64]:
        """Say what happened, by `STEPS`."""
        state = self.now("state")
        goes_on = self._has_before & (self.before("state") == _S.ONGOING)
        is_known = self.follows | (self.now("producer_epoch") > 0)  # an epoch above 0 shows that there was one once
        found = np.full(len(state), _STEP["never-written"])
        for number, word in _NAMED.items():
            found[state == number] = _STEP[word]
        for number, is_later, words in (
            (_S.EMPTY, is_known, ("created", "initialized")),
            (_S.ONGOING, goes_on, ("begun", "partitions-added")),
        ):
            first, later = (_STEP[word] for word in words)
            found = np.where(state == number, np.where(is_later, later, first), found)
        return found

    def decided_by(self) -> NDArray[np.int64]:
        """Say who decided a Prepare record, by `DECIDED_BY`; nobody for others, and where the record before is gone."""
        state, epoch, old_epoch = self.now("state"), self.now("producer_epoch"), self.before("producer_epoch")
        # A fenced producer can't continue with its new epoch.
        goes_on = self._has_second & (self._states.state[self._second] == _S.ONGOING)
        goes_on &= self._states.producer_epoch[self._second] == epoch
        is_producers = (self.before("state") != _S.ONGOING) | (epoch == old_epoch) | goes_on
        is_takeover = (self.now("client_transaction_version") < 2) | (epoch > old_epoch + 1)
        who = np.where(is_takeover, _BY["takeover"], _BY["producer-or-takeover"])
        who = np.where(self._is_overdue(), _BY["timeout"], who)
        who = np.where(is_producers, _BY["producer"], who)
        who = np.where((state == _S.PREPARE_ABORT) & self.follows, who, _NOBODY)
        return np.where(state == _S.PREPARE_COMMIT, _BY["producer"], who)  # nobody else commits

    def _is_overdue(self) -> NDArray[np.bool_]:
        """Say which were written when the transaction's timeout had passed."""
        start, timeout = self.now("start_timestamp"), self.now("timeout_ms")
        is_beyond = (timeout > 0) & (start > _EXTREMES.max - np.maximum(timeout, 0))
        is_before = (timeout < 0) & (start < _EXTREMES.min - np.minimum(timeout, 0))
        sure = np.where(is_beyond | is_before, 0, start) + timeout
        found: NDArray[np.bool_] = is_before | (~is_beyond & (self.now("last_update_timestamp") >= sure))
        return found

    def replaced(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the producer id that each record replaces with another one, and whether it does."""
        new, old, said = self.now("producer_id"), self.before("producer_id"), self.now("previous_producer_id")
        is_other = self.follows & (old != new)
        found = np.where(is_other, old, said)
        return found, (self.now("state") != TOMBSTONE) & (is_other | ((said != -1) & (said != new)))


def _plausible(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (times >= FIRST_MS) & (times < LAST_MS)
    return found
