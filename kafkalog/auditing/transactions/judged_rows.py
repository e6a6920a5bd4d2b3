"""The verdicts on a log's transactions that do not follow from a marker alone, many rows at once.

Each is compared with the coordinator's records: how it ended or why it is open, its cause, and how certain that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of
from kafkalog.auditing.topics import Metadata, leaderless
from kafkalog.auditing.transactions.ended import EndedRows, SentMarkers
from kafkalog.auditing.transactions.kept_markers import KeptMarkers
from kafkalog.auditing.transactions.moments import KnownTimes, Moments, Read
from kafkalog.auditing.transactions.own_markers import OwnMarkers
from kafkalog.columns.named import NONE, Columns
from kafkalog.columns.placed import Placed, among
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.folds.tally import tally
from kafkalog.kafka.state_records import TOMBSTONE
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.tables.audit_tables import CAUSES, CERTAINTIES, STATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CAUSE", "CERTAINTY", "STATE", "Context", "JudgedRows", "UnreadBytes", "judged_rows"]


# The places of a log where bytes can't be read: a marker may have been lost there.


_NOWHERE: Final = np.empty(0, np.int64)


class UnreadBytes:
    """The offsets after which a log has damaged bytes, and those from which on offsets are missing through damage."""

    def __init__(self, audit: PartitionAudit) -> None:
        self._after = self._missing = _NOWHERE
        self._at_start = False
        self._log_end = audit.log_end_offset
        if audit.damaged:
            after = np.array([NONE if one.last_offset is None else one.last_offset for one in audit.damaged])
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
        marker = np.where(rows["marker_type"] == fold.OPEN, 2**63 - 1, rows["marker_offset"])
        found: NDArray[np.bool_] = has_data & self._between(first, marker)
        return found

    def are_inside(self, rows: Columns) -> NDArray[np.bool_]:
        """Say whether there is such a place between each first batch and its marker, or the log's end."""
        first, has_data = rows["first_offset"], rows["first_offset"] != NONE
        marker = np.where(rows["marker_type"] == fold.OPEN, self._log_end, rows["marker_offset"])
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


# The words of verdicts by their numbers.


STATE: Final = {word: number for number, word in enumerate(STATES)}

CAUSE: Final = {word: number for number, word in enumerate((None, *CAUSES))}

CERTAINTY: Final = {word: number for number, word in enumerate(CERTAINTIES)}


# What surrounds a log, as far as the verdicts on its transactions are based on it.


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds a log: the coordinator of its cluster, and whether the inputs are of one moment.

    `one_moment` says so for certain (a clean stop, or the user says so); else `newest_broker`, the newest time (ms)
    that a broker wrote in any input, `copy_ms` and `max_timeout_ms` decide whether a transaction is too old for its
    marker to have come during the copy. `own_markers` are the markers in the log that answer the decisions that list
    the partition. `state_cleaned` says whether records of the state topic are missing. `replicas` are the same
    partition's logs on other nodes, `several_nodes` says whether there are any: they stop one after the other.
    """

    coordinator: Coordinator
    one_moment: bool
    newest_broker: int
    copy_ms: int
    max_timeout_ms: int
    state_cleaned: bool
    own_markers: OwnMarkers
    replicas: tuple[PartitionAudit, ...] = ()
    several_nodes: bool = False
    metadata: Metadata | None = None


_S: Final = TransactionState

_LOOKED_AT: Final = ("first_offset", "batches", "older_records", "marker_type", "marker_offset")

_COLUMNS: Final = (
    *_LOOKED_AT, "producer_id", "last_epoch", "marker_epoch", "marker_timestamp", "min_timestamp", "max_timestamp",
)  # fmt: skip

_AT_ONCE: Final = 1 << 16  # rows that are judged together


class JudgedRows(NamedTuple):
    """The verdicts on the rows at some `places` of a log, a column each; they are in order.

    `state`, `cause` and `certainty` are numbers of words. `entry` is the coordinator's record that the verdict is based
    on, `decision` its newest Prepare record that lists the partition, `name` the transactional id: -1 for none.
    `recent` says that an open transaction is so young that a copy of a healthy broker may show it as hanging,
    `committed` that the last marker since the decision is a COMMIT.
    """

    places: NDArray[Any]
    state: NDArray[Any]
    cause: NDArray[Any]
    certainty: NDArray[Any]
    name: NDArray[Any]
    entry: NDArray[Any]
    decision: NDArray[Any]
    recent: NDArray[Any]
    committed: NDArray[Any]

    def take(self, rows: NDArray[Any] | slice) -> JudgedRows:
        """Return some of the verdicts."""
        return JudgedRows(*(column[rows] for column in self))


_TYPES: Final = ("i8", "i1", "i1", "i1", "i4", "i8", "i8", "?", "?")  # of the columns

_NO_ROWS: Final = JudgedRows(*(np.empty(0, kind) for kind in _TYPES))


def judged_rows(audit: PartitionAudit, context: Context) -> JudgedRows:
    """Judge a log's transactions that are open, or whose marker alone does not say all."""
    counts, unread = tally(audit.transactions), UnreadBytes(audit)
    if counts.is_plain and not unread and not (counts.aborted and _knows_decisions(context)):
        return _NO_ROWS  # most logs of a cluster, which cost as little as possible
    return _Judge(audit, context, unread).all()


def _knows_decisions(context: Context) -> bool:
    """Say whether an ABORT marker that no decision explains is another's than the coordinator's."""
    return not context.state_cleaned and context.coordinator.complete


class _Judge:
    """A log, what surrounds it, and what is looked up in it for many rows."""

    def __init__(self, audit: PartitionAudit, context: Context, unread: UnreadBytes) -> None:
        self.audit = audit
        self.context = context
        self.coordinator = context.coordinator
        self.moments, self.unread = Moments(audit), unread
        self._knows_decisions = _knows_decisions(context)

    def all(self) -> JudgedRows:
        transactions, start, chosen = self.audit.transactions, 0, [np.empty(0, np.int64)]
        for rows in transactions.blocks(*_LOOKED_AT):
            chosen.append(start + np.flatnonzero(self._chosen(rows)))
            start += len(rows)
        places = np.concatenate(chosen)
        if not len(places):
            return _NO_ROWS
        who = transactions.take(places, "producer_id", "marker_type")
        self.sent = SentMarkers(self.audit, who["producer_id"][who["marker_type"] == fold.OPEN])
        parts: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in _TYPES]
        for first in range(0, len(places), _AT_ONCE):
            some = places[first : first + _AT_ONCE]
            for part, column, kind in zip(parts, self._judged(some), _TYPES, strict=True):
                part.append(column.astype(kind))
        return JudgedRows(*map(np.concatenate, parts))

    def _chosen(self, rows: Columns) -> NDArray[np.bool_]:
        """Say which rows have, or may have, a verdict that does not follow from the marker alone."""
        has_data = rows["first_offset"] != NONE
        chosen: NDArray[np.bool_] = rows["marker_type"] == fold.OPEN
        chosen |= (rows["older_records"] != NONE) | (has_data & (rows["batches"] == 0))
        if self._knows_decisions:
            foreign = ~among(rows["marker_offset"], self.context.own_markers.offsets)
            chosen |= (rows["marker_type"] == fold.ABORT) & has_data & foreign
        chosen |= self.unread.reach(rows)
        return chosen

    def _judged(self, places: NDArray[np.int64]) -> JudgedRows:
        rows = self.audit.transactions.take(places, *_COLUMNS)
        names = self.coordinator.names_of(rows["producer_id"])
        is_open = rows["marker_type"] == fold.OPEN
        found = JudgedRows(places, *(np.full(len(rows), missing) for missing in (0, 0, 0, 0, -1, -1, False, False)))
        found.name[:] = names
        of_inside = np.where(self.unread.are_inside(rows), CERTAINTY["damage-between"], CERTAINTY["proved"])
        found.certainty[:] = of_inside
        ended = ~is_open
        found.state[ended] = np.where(rows["marker_type"] == fold.COMMIT, STATE["committed"], STATE["aborted"])[ended]
        found.cause[ended] = self._causes_of_ended(rows, names)[ended]
        if is_open.any():
            opened = self._opened(found.take(is_open), rows.take(is_open))
            for column, of_open in zip(found, opened, strict=True):
                column[is_open] = of_open
        return found

    def _causes_of_ended(self, rows: Columns, names: NDArray[np.int64]) -> NDArray[np.int64]:
        nobody_decided = np.zeros(len(rows), bool)
        if self._knows_decisions:
            # Records from after the copy can't be about a marker whose epoch the coordinator has left.
            last = self.coordinator.last_of(rows["producer_id"])
            epochs = _cells(self.coordinator.states.producer_epoch, last)
            all_known = (last >= 0) & (epochs > rows["marker_epoch"]) | self.context.one_moment
            all_known |= self.coordinator.go_on_past(names, rows["marker_timestamp"])
            nobody_decided = all_known & ~among(rows["marker_offset"], self.context.own_markers.offsets)
        return np.select(
            [
                rows["first_offset"] == NONE, rows["older_records"] != NONE,
                (rows["marker_type"] == fold.ABORT) & nobody_decided, rows["batches"] == 0,
            ],
            [
                CAUSE[word]
                for word in ("marker-without-data", "late-data-adopted", "administrator-abort", "begins-before-log")
            ],
            CAUSE[None],
        )  # fmt: skip

    def _opened(self, found: JudgedRows, rows: Columns) -> JudgedRows:
        """Judge transactions that no marker ended."""
        producers, states = rows["producer_id"], self.coordinator.states
        state, cause, entry = self._by_last_record(rows, found.name)
        name = np.where(entry >= 0, _cells(states.transactional_id, entry), found.name)
        decision = self.context.own_markers.newest(producers)
        decided = self.coordinator.decisions(decision[decision >= 0])
        sent, committed = np.zeros((2, len(rows)), bool)
        sent[decision >= 0], committed[decision >= 0] = self.sent.since(
            producers[decision >= 0], decided["epoch"], decided["decided"]
        )
        known = self._known(rows, name, entry, decision, sent)
        certainty = np.where(known.proved, CERTAINTY["proved"], CERTAINTY["unless-copied-while-running"])
        certainty = np.where(found.certainty == CERTAINTY["proved"], certainty, found.certainty)
        hangs = state == STATE["hanging"]
        early = hangs & (certainty == CERTAINTY["unless-copied-while-running"]) & known.too_early
        why = np.where(sent, CAUSE["data-after-marker"], CAUSE["marker-missing"])
        why = np.where(decision < 0, CAUSE["partition-not-registered"], why)
        # What was decided of the data counts, whatever the coordinator has forgotten or begun since.
        is_its = (decision >= 0) & ~sent
        is_its[decision >= 0] &= (decided["data_epoch"] == NONE) | (
            decided["data_epoch"] == rows["last_epoch"][decision >= 0]
        )
        cause = np.where(hangs & (is_its | (cause == CAUSE[None])), why, cause)
        state = np.where(early, STATE["undecided"], state)
        cause = np.where(early, CAUSE["copied-while-running"], cause)
        cause = np.where((rows["batches"] == 0) & (cause == CAUSE[None]), CAUSE["begins-before-log"], cause)
        recent = known.recent
        for number, elsewhere in self._ended_elsewhere(rows, hangs | (state == STATE["undecided"])):
            state[number], cause[number], certainty[number] = elsewhere, CAUSE["replica-behind"], CERTAINTY["proved"]
            recent[number] = False
        return JudgedRows(found.places, state, cause, certainty, name, entry, decision, recent, committed)

    def _by_last_record(
        self, rows: Columns, names: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Apply the table of verdicts: return state, cause, and the record that they are based on."""
        directory, states = self.audit.directory, self.coordinator.states
        last = self.coordinator.last_of(rows["producer_id"])
        is_named = (last < 0) & (names >= 0)
        entry = last.copy()
        entry[is_named] = self.coordinator.last_records(names[is_named])
        is_last = last >= 0
        listed = np.zeros(len(rows), bool)
        listed[is_last] = self.coordinator.list_partition(last[is_last], directory.topic, directory.partition)
        says, epochs = _cells(states.state, entry), _cells(states.producer_epoch, entry)
        updated = _cells(states.last_update_timestamp, entry)
        ongoing, commits, aborts = (
            is_last & (says == one) for one in (_S.ONGOING, _S.PREPARE_COMMIT, _S.PREPARE_ABORT)
        )
        newer = ongoing & (epochs > rows["last_epoch"])
        pending = (commits | aborts) & listed
        pending[pending] = ~self.sent.since(rows["producer_id"][pending], epochs[pending], updated[pending])[0]
        unknown = (last < 0) & ~is_named
        is_whole = self.coordinator.complete
        unregistered = (ongoing | commits | aborts) & ~listed & ~newer
        state = np.select(
            [unknown, newer | unregistered, ongoing, pending & commits, pending],
            [
                STATE["hanging" if is_whole else "undecided"], STATE["hanging"], STATE["ongoing"],
                STATE["commit-pending"], STATE["abort-pending"],
            ],
            STATE["hanging"],
        )  # fmt: skip
        cause = np.select(
            [unknown, is_named & (says == TOMBSTONE), is_named, newer, unregistered],
            [
                CAUSE["producer-unknown" if is_whole else "state-partition-missing"], CAUSE["id-expired"],
                CAUSE["producer-replaced"], CAUSE["superseded-epoch"], CAUSE["partition-not-registered"],
            ],
            CAUSE[None],
        )  # fmt: skip
        return state, cause, entry

    def _known(
        self, rows: Columns, names: NDArray[np.int64], entry: NDArray[np.int64], decision: NDArray[np.int64],
        sent: NDArray[np.bool_],
    ) -> KnownTimes:  # fmt: skip
        """Say how certain it is that no marker ends open transactions."""
        context, states = self.context, self.coordinator.states
        if context.one_moment:
            return KnownTimes(np.ones(len(rows), bool), np.zeros(len(rows), bool), np.zeros(len(rows), bool))
        is_said, is_decided = entry >= 0, decision >= 0
        decided = np.where(is_decided, _cells(states.last_update_timestamp, decision), -1)
        times = (_cells(column, entry) for column in (states.timestamp, states.last_update_timestamp))
        said = np.where(is_said, np.maximum(*times), -1)
        latest = np.maximum(said, decided)
        # Where no record is missing, only a decision that lists the partition sends a marker.
        is_due = is_decided & ~sent | context.state_cleaned
        read = Read(
            context.newest_broker, self.coordinator.read_until(names), latest, np.where(is_due, latest, -1), decided,
            context.copy_ms, context.max_timeout_ms,
        )  # fmt: skip
        known = self.moments.known(rows, read)
        never = np.flatnonzero(is_decided & ~sent)
        never = never[self._never_come(decision[never])]
        known.proved[never] = True
        known.too_early[never] = known.recent[never] = False
        return known

    def _never_come(self, decisions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of which decisions a marker that is missing never comes: the partition had no leader, or lost it."""
        metadata, directory = self.context.metadata, self.audit.directory
        never = np.zeros(len(decisions), bool)
        if metadata is None and not self.context.replicas:
            return never
        decided = self.coordinator.decisions(decisions)
        if metadata is not None:
            for number in np.flatnonzero(decided["completed"] >= 0).tolist():
                since, until = (int(decided[name][number]) for name in ("decided", "completed"))
                never[number] = leaderless(metadata, directory.topic, directory.partition, since, until)
        return never | KeptMarkers.of(self.context.replicas, decided).cut_off(self.audit)

    def _ended_elsewhere(self, rows: Columns, asked: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """Yield what rows wait for here where another replica, which continues this one, has their markers."""
        left = asked.copy()
        for other in self.context.replicas:
            is_behind = other.log_end_offset <= self.audit.log_end_offset
            if is_behind or fork_of(self.audit, other) is not None or not left.any():
                continue
            ended = EndedRows(other, rows["producer_id"][left]).rows
            ended = ended.take(ended["marker_offset"] >= self.audit.log_end_offset)
            if not len(ended):
                continue
            placed = Placed((ended["producer_id"], ended["first_offset"]), np.arange(len(ended)))
            group = placed.groups(rows["producer_id"], rows["first_offset"])
            at = placed.first(group, np.zeros(len(rows), np.int64))
            for number in np.flatnonzero(left & placed.holds(at, group)).tolist():
                left[number] = False
                is_commit = ended["marker_type"][placed.order[at[number]]] == fold.COMMIT
                yield number, STATE["commit-pending" if is_commit else "abort-pending"]


def _cells(column: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the cells of a column at some rows; any cell for a row of -1."""
    return column[rows] if len(column) else np.zeros(len(rows), np.int64)
