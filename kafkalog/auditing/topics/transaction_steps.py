"""The life of each transactional id, step by step, from the transaction coordinator's records."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commits import Names, WantedNames
from kafkalog.auditing.topics.internal import WHOLE, InternalView, RowForm, blocks_again, held_by, until
from kafkalog.auditing.topics.topic_logs import clusters_of, lost_inputs, moment_among, places_of, topic_logs
from kafkalog.columns.sorted_rows import group_ends
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.files.limits import Limits
from kafkalog.files.names import STATE_TOPIC
from kafkalog.files.processes import each_of, job_count
from kafkalog.findings import Finding
from kafkalog.folds.coordinator import Coordinator, StateRows
from kafkalog.kafka.state_records import TOMBSTONE, StateColumns, listed_partitions
from kafkalog.kafka.transaction_state import NO_TIMEOUT, TransactionState
from kafkalog.kernel.buffers import NONE
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.quantities import all_plausible
from kafkalog.segments.blocks import Rows
from kafkalog.segments.column_blocks import ColumnBlock
from kafkalog.segments.moment import Moment
from kafkalog.tables.arrow import Numbers
from kafkalog.tables.declared import Table
from kafkalog.tables.internal_tables import DECIDED_BY, INTERNAL, STEPS, TRANSITION_STATES, TRANSITIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WantedSteps", "last_steps", "transition_columns", "transition_rows"]


# The steps of transactional ids as columns of the table ``transitions``: what each record shows beside others.


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
) -> Iterator[Columns]:
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
    rows = np.flatnonzero(moment.hold(states["offset"], states["timestamp"]))
    found = np.zeros(len(states), np.bool_)
    found[rows[group_ends(states["transactional_id"][rows])]] = True
    return found


def _columns(
    coordinator: Coordinator, rows: NDArray[np.int64], states: StateColumns, until: int | None,
    where: tuple[TextColumn, NDArray[np.int64]], *, spaced: bool,
) -> Columns:  # fmt: skip
    is_there = states["state"] != TOMBSTONE
    around = _Around(coordinator, coordinator.said_first(rows))
    after = np.minimum(rows + 1, len(coordinator.states) - 1)
    decided_by = around.decided_by()
    times = coordinator.times(rows)

    def there(column: NDArray[Any]) -> Numbers:
        return Numbers(column, is_there)

    ids = coordinator.states["transactional_id"]
    ends = coordinator.times(after) if until is None else np.full(len(rows), until)
    has_end = (after > rows) & (ids[after] == ids[rows]) if until is None else np.ones(len(rows), np.bool_)
    is_known = has_end & all_plausible(times) & all_plausible(ends)
    fenced = around.follows & ((states["state"] == _S.EMPTY) | np.isin(decided_by, [_BY["timeout"], _BY["takeover"]]))
    log, partition = where
    return Columns(
        {
            "transactional_id": states.ids.gather(states["transactional_id"]),
            "timestamp_ms": Numbers(times),
            "state": Numbers.worded(_STATES[states["state"].astype(np.intp) - TOMBSTONE], TRANSITION_STATES),
            "step": Numbers.worded(around.steps(), STEPS),
            "duration_ms": np.subtract(ends, times, out=np.full(len(rows), NONE), where=is_known),
            "producer_id": there(states["producer_id"]),
            "producer_epoch": there(states["producer_epoch"]),
            "previous_producer_id": Numbers(*around.replaced()),
            "next_producer_id": Numbers(states["next_producer_id"], states["next_producer_id"] != -1),
            "decided_by": Numbers.worded(decided_by, DECIDED_BY),
            "fenced_epoch": np.where(fenced, around.before("producer_epoch"), NONE),
            "transaction_version": there(states["client_transaction_version"]),
            "partitions": listed_partitions(states, spaced=spaced),
            "start_timestamp_ms": there(states["start_timestamp"]),
            "timeout_ms": there(states["timeout_ms"]),
            "log": log,
            "partition": partition,
            "offset": Numbers(states["offset"]),
        }
    )


class _Around:
    """Records with those before and after them of the same id; none of them only says again what another one said.

    `follows` says which have a record before that is no tombstone.
    """

    def __init__(self, coordinator: Coordinator, rows: NDArray[np.int64]) -> None:
        self._states = states = coordinator.states
        self._rows = rows
        self._before, after = np.maximum(rows - 1, 0), coordinator.after(rows)
        self._second = coordinator.after(after)
        ids = states["transactional_id"]
        self._has_before = (rows > 0) & (ids[self._before] == ids[rows])
        self._has_second = (self._second > after) & (ids[self._second] == ids[rows])
        self.follows: NDArray[np.bool_] = self._has_before & (states["state"][self._before] != TOMBSTONE)

    def now(self, name: str) -> NDArray[np.int64]:
        """Return a column of the records."""
        found: NDArray[np.int64] = self._states[name][self._rows].astype(np.int64)
        return found

    def before(self, name: str) -> NDArray[np.int64]:
        """Return a column of the records before."""
        found: NDArray[np.int64] = self._states[name][self._before].astype(np.int64)
        return found

    def steps(self) -> NDArray[np.int64]:
        """Say what happened, by `STEPS`."""
        state = self.now("state")
        goes_on = self._has_before & (self.before("state") == _S.ONGOING)
        is_known = self.follows | (self.now("producer_epoch") > 0)  # an epoch above 0 shows that there was one once
        is_empty, is_ongoing = state == _S.EMPTY, state == _S.ONGOING
        rules = [
            (is_empty & is_known, "initialized"),
            (is_empty, "created"),
            (is_ongoing & goes_on, "partitions-added"),
            (is_ongoing, "begun"),
            *((state == number, word) for number, word in _NAMED.items()),
        ]
        holds, words = zip(*rules, strict=True)
        return np.select(holds, [_STEP[word] for word in words], _STEP["never-written"])

    def decided_by(self) -> NDArray[np.int64]:
        """Say who decided a Prepare record, by `DECIDED_BY`; nobody for others, and where the record before is gone."""
        state, epoch, old_epoch = self.now("state"), self.now("producer_epoch"), self.before("producer_epoch")
        # Under transaction.version 2 a producer goes on with the new epoch of its own abort, and of one by its timeout.
        goes_on = self._has_second & (self._states["state"][self._second] == _S.ONGOING)
        goes_on &= self._states["producer_epoch"][self._second] == epoch
        is_producers = (self.before("state") != _S.ONGOING) | (epoch == old_epoch)
        is_takeover = (self.now("client_transaction_version") < 2) | (epoch > old_epoch + 1)
        rules = [  # the first one that holds
            (state == _S.PREPARE_COMMIT, _BY["producer"]),  # nobody else commits
            ((state != _S.PREPARE_ABORT) | ~self.follows, _NOBODY),
            (is_producers, _BY["producer"]),
            (self._is_overdue(), _BY["timeout"]),
            (goes_on, _BY["producer"]),
            (is_takeover, _BY["takeover"]),
        ]
        holds, who = zip(*rules, strict=True)
        return np.select(holds, who, _BY["producer-or-takeover"])

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


class WantedSteps(NamedTuple):
    """Which steps are asked for: those that lead to `states`, words of the table; none for all.

    `prepared` means the last steps of two-phase commits that wait for their owner.
    """

    states: Collection[str] = ()
    prepared: bool = False


EVERY_STEP: Final = WantedSteps()


def transition_rows(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    tables: Container[str] = (TRANSITIONS.name,), ids: Collection[str] = (), jobs: int | None = 1,
    form: RowForm = WHOLE, wanted: WantedSteps = EVERY_STEP,
) -> Iterator[tuple[Table, tuple[Any, ...]] | Rows | Finding]:  # fmt: skip
    """Yield each step of each transactional id as a row, ids in order, and every finding.

    With a moment, only the step that each id was in then; `wanted` says which of the steps. `tables` may name
    ``internal``, too: the records. Rows come many at once, in their `form`. `ids` are names or patterns of those that
    are wanted. `jobs` processes read, as in ``job_count``. Raises NothingMatchesError after the findings if no id of
    those is known.
    """
    findings: list[Finding] = []
    report = findings.append
    clusters: dict[int, list[StateRows]] = {}
    limits = limits or Limits()
    found = clusters_of(paths, report, limits)
    size = sum(directory.size for *_, directory in places_of(found, STATE_TOPIC))
    with each_of(job_count(jobs, size)) as each:
        logs = topic_logs(found, STATE_TOPIC, limits, report, each=each)
    moment = None if moment is None else moment_among(moment, logs)
    for log in logs:
        directory = log.partition.directory
        rows = StateColumns.concat([scan.states for scan in log.scans])
        clusters.setdefault(log.cluster, []).append(StateRows(directory.log, directory.partition, rows))
    yield from findings
    coordinators = [Coordinator(rows_of_logs) for rows_of_logs in clusters.values()]
    if ids:
        known = [name for coordinator in coordinators for name in coordinator.states.ids]
        if not any(matches(name, ids) for name in known):
            raise nothing_matches("transactional id", ids, known)
    for directory in (log.partition.directory for log in logs if INTERNAL.name in tables):
        yield from _records(directory, limits, moment, ids, form)
    yield from lost_inputs(found)
    if moment is not None:
        held_by(moment, (log.partition.directory for log in logs), limits)
    if TRANSITIONS.name not in tables:
        return
    block = ColumnBlock(TRANSITIONS, form.names_of(TRANSITIONS))
    until = moment.timestamp if moment is not None and isinstance(moment.timestamp, int) else None
    for coordinator in coordinators:
        chosen = _wanted(coordinator, moment, ids, wanted)
        for columns in transition_columns(coordinator, chosen, until, spaced=form.spaced):
            yield from block.items(columns)


def _wanted(
    coordinator: Coordinator, moment: Moment | None, ids: Collection[str], wanted: WantedSteps
) -> NDArray[np.bool_]:
    """Say which records have a step that is wanted."""
    rows, states = coordinator.states, wanted.states
    if wanted.prepared:
        moment = moment or Moment()
    found = np.ones(len(rows), np.bool_) if moment is None else last_steps(coordinator, moment)
    if ids:
        found &= np.array([matches(name, ids) for name in rows.ids], np.bool_)[rows["transactional_id"]]
    if states:
        found &= np.isin(rows["state"], [state_number(word) for word in states])
    if wanted.prepared:
        found &= (rows["state"] == _S.ONGOING) & (rows["timeout_ms"] == NO_TIMEOUT)
    return found


def _records(
    directory: PartitionDirectory, limits: Limits, moment: Moment | None, ids: Collection[str], form: RowForm
) -> Iterator[Rows | Finding]:
    """Yield the records of a log as rows; their findings are reported with the steps."""
    view, names = InternalView(directory, form), Names()
    wanted = WantedNames(names, ids)
    unreadable: list[Finding] = []
    for records in blocks_again(directory, limits, unreadable):
        rows = np.flatnonzero(until(moment, records) & (records.is_read | (not wanted.narrow)))
        if wanted.narrow:
            parts = records.keys(set(records.type[rows].tolist()), rows)
            starts, sizes = (records.field(parts, "transactionalId", number)[rows] for number in range(2))
            rows = rows[wanted.of(names.numbers(records, starts, sizes))]
        yield from (some for some, _ in view.of(records, rows))
    yield from unreadable
