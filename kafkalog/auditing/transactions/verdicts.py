"""Verdicts: each transaction in a log compared with the coordinator's records, its cause, and how certain that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics import Metadata, leaderless
from kafkalog.auditing.transactions.moments import Known, Moments, Read
from kafkalog.auditing.transactions.own_markers import OwnMarkers, cut_off
from kafkalog.auditing.transactions.unread import UnreadBytes
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns, Packed
from kafkalog.txn.coordinator import Coordinator, Decision, Entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Context", "Verdict", "Verdicts", "Words", "markers_since"]

_PENDING: Final = {
    TransactionState.PREPARE_COMMIT: "commit-pending",
    TransactionState.PREPARE_ABORT: "abort-pending",
}


class Verdict(NamedTuple):
    """How a transaction ended in a log; `entry` is the coordinator's record that the verdict is based on.

    `recent` says that an open transaction is so young that a copy of a healthy broker may show it as hanging.
    """

    state: str
    transactional_id: str | None
    cause: str | None
    certainty: str
    entry: Entry | None
    decision: Decision | None
    recent: bool = False


class Words(NamedTuple):
    """The verdicts on some rows, a column each: text or None."""

    transactional_id: NDArray[np.object_]
    state: NDArray[np.object_]
    certainty: NDArray[np.object_]
    cause: NDArray[np.object_]


def _texts(values: list[str | None]) -> NDArray[np.object_]:
    return np.array([*values, None], object)[:-1]  # or an empty list would have no type


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


class Verdicts:
    """The verdicts on all rows of a log. Most follow from the marker alone; the others are judged one by one."""

    def __init__(self, rows: Packed, coordinator: Coordinator) -> None:
        self.rows = rows
        self.special: dict[int, Verdict] = {}
        self.name_of = coordinator.name_of
        self._counts: Counter[str] | None = None

    @classmethod
    def of(cls, audit: PartitionAudit, context: Context) -> Verdicts:
        """Judge a log's transactions."""
        verdicts = cls(audit.transactions, context.coordinator)
        moments, unread = Moments(audit), UnreadBytes(audit)
        start = 0
        for rows in audit.transactions.blocks(*_LOOKED_AT):
            places = start + np.flatnonzero(_chosen(rows, context, unread))
            for number, row in zip(places.tolist(), audit.transactions.take(places), strict=True):
                verdicts.special[number] = _judge(audit, row, context, moments, unread)
            start += len(rows)
        return verdicts

    def in_order(self) -> Iterator[tuple[Columns, Words]]:
        """Yield all rows with their verdicts, by first offset, a bare marker's its own; some thousand at a time."""
        first, marker = self.rows["first_offset"], self.rows["marker_offset"]
        order = np.argsort(np.where(first == NONE, marker, first), kind="stable")
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            rows = self.rows.take(places)
            yield rows, self._words(places, rows)

    def unsettled(self) -> tuple[Columns, Words]:
        """Return the rows that are neither committed nor aborted, with their verdicts."""
        numbers = sorted(number for number, found in self.special.items() if found.state not in _DECIDED)
        return self.of_places(np.array(numbers, np.intp))

    def of_places(self, places: NDArray[np.intp]) -> tuple[Columns, Words]:
        """Return some rows, by their numbers, with their verdicts."""
        rows = self.rows.take(places)
        return rows, self._words(places, rows)

    def of_producers(self, producers: NDArray[np.int64]) -> Verdicts:
        """Return the verdicts on the rows of some producers."""
        kept, places, start = Packed(self.rows.names), [np.empty(0, np.intp)], 0
        for rows in self.rows.blocks():
            meant = np.isin(rows["producer_id"], producers)
            kept.append(rows.take(meant))
            places.append(start + np.flatnonzero(meant))
            start += len(rows)
        numbers = {old: new for new, old in enumerate(np.concatenate(places).tolist())}
        found = copy(self)
        found.rows, found._counts = kept, None
        found.special = {numbers[old]: verdict for old, verdict in self.special.items() if old in numbers}
        return found

    def _words(self, places: NDArray[np.intp], rows: Columns) -> Words:
        """Return the words of rows: most follow from their markers, some from their own verdicts."""
        producers, of_row = np.unique(rows["producer_id"], return_inverse=True)
        names = _texts([self.name_of(producer_id) for producer_id in producers.tolist()])
        states = _texts([_ENDED.get(kind) for kind in range(3)])[rows["marker_type"]]
        causes = _texts([None, "marker-without-data"])[(rows["first_offset"] == NONE).astype(np.intp)]
        words = Words(names[of_row], states, np.full(len(rows), "proved", object), causes)
        for at in np.flatnonzero(np.isin(places, self._special_places())).tolist():
            found = self.special[int(places[at])]
            words.transactional_id[at], words.state[at] = found.transactional_id, found.state
            words.certainty[at], words.cause[at] = found.certainty, found.cause
        return words

    def _special_places(self) -> NDArray[np.intp]:
        return np.fromiter(self.special, np.intp, len(self.special))

    def judged(self) -> Iterator[tuple[dict[str, int], Verdict]]:
        """Yield the rows whose verdict does not follow from the marker alone."""
        numbers = sorted(self.special)
        for number, row in zip(numbers, self.rows.take(np.array(numbers, np.intp)), strict=True):
            yield row, self.special[number]

    def counts(self) -> Counter[str]:
        """Count transactions with data by state."""
        if self._counts is None:
            self._counts = Counter(verdict.state for verdict in self.special.values() if verdict.state not in _DECIDED)
            for rows in self.rows.blocks("first_offset", "marker_type"):
                has_data = rows["first_offset"] != NONE
                for marker_type, state in _ENDED.items():
                    self._counts[state] += int((has_data & (rows["marker_type"] == marker_type)).sum())
        return +self._counts


_LOOKED_AT: Final = ("first_offset", "batches", "epoch_changes", "marker_type", "marker_offset")


def _chosen(rows: Columns, context: Context, unread: UnreadBytes) -> NDArray[np.bool_]:
    """Say which rows have, or may have, a verdict that does not follow from the marker alone."""
    has_data = rows["first_offset"] != NONE
    chosen: NDArray[np.bool_] = rows["marker_type"] == extents.OPEN
    chosen |= (rows["epoch_changes"] != 0) | (has_data & (rows["batches"] == 0))
    if not context.state_cleaned and context.coordinator.complete:
        foreign = ~np.isin(rows["marker_offset"], context.own_markers.offsets)
        chosen |= (rows["marker_type"] == extents.ABORT) & has_data & foreign
    chosen |= unread.reach(rows)
    return chosen


_ENDED: Final = {extents.COMMIT: "committed", extents.ABORT: "aborted"}
_DECIDED: Final = tuple(_ENDED.values())
_AT_ONCE: Final = 4096  # rows that get their words together


def _judge(
    audit: PartitionAudit, row: dict[str, int], context: Context, moments: Moments, unread: UnreadBytes
) -> Verdict:
    known_as = context.coordinator.name_of(row["producer_id"])
    if row["marker_type"] != extents.OPEN:
        cause = _cause_of_ended(row, context)
        certainty = "damage-between" if unread.is_inside(row) else "proved"
        return Verdict(_ENDED[row["marker_type"]], known_as, cause, certainty, None, None)
    state, cause, entry = _open(audit, row, context, known_as)
    name = entry.record.transactional_id if entry is not None else known_as
    decision = context.own_markers.newest(row["producer_id"])
    if state in ("hanging", "undecided") and (ended := _ended_elsewhere(audit, row, context)) is not None:
        return Verdict(ended, name, "replica-behind", "proved", entry, decision)
    known = _known(audit, row, context, moments, name, entry, decision)
    certainty = "damage-between" if unread.is_inside(row) else known.certainty
    if state == "hanging" and certainty == "unless-copied-while-running" and known.too_early:
        state, cause = "undecided", "copied-while-running"
    elif state == "hanging" and cause is None:
        cause = _why_hanging(audit, row, decision)
    if row["batches"] == 0 and cause is None:
        cause = "begins-before-log"
    return Verdict(state, name, cause, certainty, entry, decision, known.recent)


def _known(
    audit: PartitionAudit, row: dict[str, int], context: Context, moments: Moments, name: str | None,
    entry: Entry | None, decision: Decision | None,
) -> Known:  # fmt: skip
    """Say how certain it is that no marker ends an open transaction."""
    if context.one_moment:
        return Known("proved", too_early=False, recent=False)
    decided = -1 if decision is None else decision.decided
    said = -1 if entry is None else max(entry.timestamp, entry.record.last_update_timestamp)
    sent = decision is None or bool(len(markers_since(audit, row, decision.epoch, decided)))
    if (
        decision is not None
        and not sent
        and (_without_leader(audit, decision, context) or cut_off(audit, context.replicas, decision))
    ):
        return Known("proved", too_early=False, recent=False)
    # Where no record is missing, only a decision that lists the partition sends a marker.
    due = -1 if sent and not context.state_cleaned else max(said, decided)
    read = Read(
        context.newest_broker, context.coordinator.read_until(name), max(said, decided), due, decided,
        context.copy_ms, context.max_timeout_ms,
    )  # fmt: skip
    return moments.known(row, read)


def _without_leader(audit: PartitionAudit, decision: Decision, context: Context) -> bool:
    """Say whether the coordinator completed a decision while the partition had no leader to take the marker."""
    if decision.completed < 0 or context.metadata is None:
        return False
    topic, partition = audit.directory.topic, audit.directory.partition
    return leaderless(context.metadata, topic, partition, decision.decided, decision.completed)


def _cause_of_ended(row: dict[str, int], context: Context) -> str | None:
    if row["first_offset"] == NONE:
        return "marker-without-data"
    if row["epoch_changes"]:
        return "late-data-adopted"
    if row["marker_type"] == extents.ABORT and _nobody_decided(row, context):
        return "administrator-abort"
    return "begins-before-log" if row["batches"] == 0 else None


def _nobody_decided(row: dict[str, int], context: Context) -> bool:
    """Say whether all of the coordinator's records about an ABORT marker are available, and it is no decision's own.

    Records from after the copy can't be about a marker whose epoch the coordinator has left.
    """
    coordinator = context.coordinator
    if context.state_cleaned or not coordinator.complete:
        return False
    name, last = coordinator.name_of(row["producer_id"]), coordinator.last(row["producer_id"])
    all_known = (
        context.one_moment
        or (last is not None and last.record.producer_epoch > row["marker_epoch"])
        or coordinator.goes_on_past(name, row["marker_timestamp"])
    )
    return all_known and not context.own_markers.has(row["marker_offset"])


def _open(
    audit: PartitionAudit, row: dict[str, int], context: Context, name: str | None
) -> tuple[str, str | None, Entry | None]:
    """Apply the table of verdicts to a transaction that no marker ended."""
    coordinator = context.coordinator
    entry = coordinator.last(row["producer_id"])
    if entry is None:
        if name is None:
            if coordinator.complete:
                return "hanging", "producer-unknown", None
            return "undecided", "state-partition-missing", None
        last = coordinator.timelines[name][-1]
        return "hanging", "id-expired" if last.record.state is None else "producer-replaced", last
    record = entry.record
    listed = (audit.directory.topic, audit.directory.partition) in (record.partitions or ())
    if record.state is TransactionState.ONGOING:
        if record.producer_epoch > row["last_epoch"]:
            return "hanging", "superseded-epoch", entry
        return ("ongoing", None, entry) if listed else ("hanging", "partition-not-registered", entry)
    if record.state in _PENDING:
        if listed and not len(markers_since(audit, row, record.producer_epoch, record.last_update_timestamp)):
            return _PENDING[record.state], None, entry
        return "hanging", None if listed else "partition-not-registered", entry
    return "hanging", None, entry


def _ended_elsewhere(audit: PartitionAudit, row: dict[str, int], context: Context) -> str | None:
    """Return what a transaction waits for here where another replica, which continues this one, has its marker."""
    for other in context.replicas:
        if other.log_end_offset <= audit.log_end_offset or other.epochs[: len(audit.epochs)] != audit.epochs:
            continue
        for found in other.of_producer(row["producer_id"]):
            if found["first_offset"] == row["first_offset"] and found["marker_offset"] >= audit.log_end_offset:
                return "commit-pending" if found["marker_type"] == extents.COMMIT else "abort-pending"
    return None


def markers_since(audit: PartitionAudit, row: dict[str, int], epoch: int, decided: int) -> Columns:
    """Return the producer's transactions that a marker of this decision ended in the log."""
    rows = audit.of_producer(row["producer_id"])
    found = (
        (rows["marker_type"] != extents.OPEN) & (rows["marker_epoch"] == epoch) & (rows["marker_timestamp"] >= decided)
    )
    return rows.take(found)


def _why_hanging(audit: PartitionAudit, row: dict[str, int], decision: Decision | None) -> str:
    if decision is None:
        return "partition-not-registered"
    if len(markers_since(audit, row, decision.epoch, decision.decided)):
        return "data-after-marker"
    return "marker-missing"
