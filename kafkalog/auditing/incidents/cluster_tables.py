"""What incidents are made of: an audit's or a verification's declared tables, and nothing else.

An audit in this process, one on Spark, and one that was written to files have the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.incidents.abort_decisions import AbortDecisions, AbortReason, OfCause
from kafkalog.auditing.incidents.incident import Incident, Row, Subject
from kafkalog.auditing.incidents.lost_ranges import LostRanges
from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics import CommittedGroups, Metadata, leadership_rows
from kafkalog.auditing.transactions import (
    LEADERLESS,
    NEWEST_ABORTED,
    ClusterAudit,
    LogSummary,
    coordinator_rows,
    notable_rows,
    partition_row,
)
from kafkalog.catalogue import codes_with
from kafkalog.catalogue.code import Trait
from kafkalog.few_of_many import grouped
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, STATE_TOPIC
from kafkalog.findings import Severity
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.narrowing import EVERYTHING, Narrowing
from kafkalog.segments.file_rows import finding_rows
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import COORDINATOR, FINDINGS, GAPS, NOTABLE, PARTITIONS
from kafkalog.tables.metadata_tables import LEADERSHIP
from kafkalog.tables.verify_tables import LOGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ClusterRows",
    "ClusterTables",
    "Leadership",
    "is_lost",
    "needed",
    "tables_of_audit",
    "tables_of_files",
    "tables_of_rows",
]


class TableRow(Mapping[str, Any]):
    """A row of a table by its columns' names: a third of a dict, as there may be some 100,000 of a table."""

    __slots__ = ("_cells", "_places")

    def __init__(self, places: Mapping[str, int], cells: tuple[Any, ...]) -> None:
        self._places = places
        self._cells = cells

    def __getitem__(self, name: str) -> Any:
        return self._cells[self._places[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._cells)


# The rows of ``leadership`` of some partitions, made when they are asked for, as controllers change them often.


class Leadership(Mapping[TopicPartition, list[Row]]):
    """The rows of these partitions, oldest first, by topic and number; `log` is the metadata log's directory."""

    def __init__(self, metadata: Metadata, log: str, places: Collection[TopicPartition]) -> None:
        self._metadata = metadata
        self._log = log
        topics = ((metadata.topic_of(topic_id), number) for topic_id, number in metadata.partitions)
        known = (TopicPartition(topic.name, number) for topic, number in topics if topic is not None)
        self._places = dict.fromkeys(place for place in known if place in places)

    def __getitem__(self, place: TopicPartition) -> list[Row]:
        if place not in self._places:
            raise KeyError(place)
        rows = leadership_rows(self._metadata, self._log, *place)
        return _named(LEADERSHIP, rows)

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass(slots=True)
class ClusterTables:
    """What the tables of one cluster say.

    `findings` are rows of that table; rows of ``partitions`` are in `logs` by their log, in `replicas` by partition;
    `transactions` are rows of ``notable`` by their log. Of the coordinator's records, `steps` are those of the ids that
    `transactions` and `findings` are about, `aborts` the decisions to abort that are shown, and `aborted` counts those
    of a cause of which some are not. Partitions that are `cut` may have more aborted transactions than `transactions`
    has: if that `is_whole`, only ones that their producers aborted. `gaps` are those
    that are not legal, `leadership` rows of that table of the partitions that a finding is about, and of the state
    topic's, oldest first. `groups` are those that committed offsets. `directories` are those
    that were given.
    """

    cluster_id: str | None = None
    directories: tuple[str, ...] = ()
    findings: list[Row] = field(default_factory=list)
    logs: dict[str, Row] = field(default_factory=dict)
    transactions: dict[str, list[Row]] = field(default_factory=dict)
    steps: dict[str, list[Row]] = field(default_factory=dict)
    coordinator: Coordinator = field(default_factory=Coordinator)
    _decisions: dict[tuple[int, str, str], list[Row]] | None = None
    _by_begin: dict[tuple[object, ...], Row] | None = None
    aborts: list[tuple[AbortReason, Row, Row | None]] = field(default_factory=list)  # with what the new producer got
    aborted: dict[str, OfCause] = field(default_factory=dict)
    cut: set[TopicPartition] = field(default_factory=set)
    is_whole: bool = False
    gaps: dict[TopicPartition, LostRanges] = field(default_factory=dict)
    leadership: Mapping[TopicPartition, list[Row]] = field(default_factory=dict)
    replicas: dict[TopicPartition, list[Row]] = field(default_factory=dict)
    groups: CommittedGroups = field(default_factory=CommittedGroups)
    stateless: dict[TopicPartition, list[str]] = field(
        default_factory=dict
    )  # by the leaderless partition with their state
    state_newest: Mapping[int, int] = field(default_factory=dict)  # of each state partition its newest record (ms)
    narrowing: Narrowing = EVERYTHING  # the logs that the question is about
    now: int = -1  # the time that decides what is overdue: by default the newest that a broker wrote

    def incident(
        self, kind: str, cause: str, subject: Subject, findings: Collection[Row],
        certainty: str | None = None, worst: Severity = Severity.ERROR,
    ) -> Incident:  # fmt: skip
        """Make the incident of some findings of this cluster, as `Incident.of` does."""
        return Incident.of(
            kind, cause, subject, findings, self.cluster_id, self.directories, certainty=certainty, worst=worst
        )

    def node_of(self, log: str | None) -> str | None:
        """Return the broker that a log was copied from, None where its directory does not say it."""
        node: str | None = self.logs.get(log or "", {}).get("node_id")
        return node

    def ids_of(self, producers: Iterable[int]) -> dict[int, str | None]:
        """Return the transactional id of each producer, None where the coordinator's records name none."""
        wanted = np.array(list(producers), np.int64)
        ids, numbers = self.coordinator.states.ids, self.coordinator.names_of(wanted).tolist()
        return {one: None if at < 0 else ids[at] for one, at in zip(wanted.tolist(), numbers, strict=True)}

    def coordinated(self, place: TopicPartition) -> Sequence[str]:
        """Return whom a leaderless partition of an internal topic coordinates: transactional ids or groups."""
        return (
            self.groups.coordinated(place.partition) if place.topic == OFFSETS_TOPIC else self.stateless.get(place, ())
        )

    def transaction_of(self, finding: Row) -> Row | None:
        """Return the row of the transaction that a finding is about, None where none begins at its offset."""
        if self._by_begin is None:
            rows = (row for of_log in self.transactions.values() for row in of_log)
            self._by_begin = {(row["log"], row["producer_id"], row["first_offset"]): row for row in rows}
        return self._by_begin.get((finding["log"], finding["producer_id"], finding["offset"]))

    def decisions(self, finding: Row, state: str) -> list[Row]:
        """Return the decisions of this state of a finding's producer that list its partition, oldest first."""
        if self._decisions is None:  # few audits have a finding that asks
            self._decisions = {}
            for step in (step for steps in self.steps.values() for step in steps if step["state"] in _PREPARED):
                for place in step["partitions"] or ():
                    self._decisions.setdefault((step["producer_id"], step["state"], place), []).append(step)
        return self._decisions.get((finding["producer_id"], state, str(TopicPartition.of(finding))), [])


def tables_of_audit(cluster: ClusterAudit, narrowing: Narrowing = EVERYTHING) -> ClusterTables:
    """Return what the audit of one cluster knows, or a part of it."""
    findings = [row for node in cluster.nodes for row in finding_rows(node.findings, node.node_id)]
    findings += finding_rows(cluster.findings)
    logs: list[tuple[Any, ...]] = []
    aborts = AbortDecisions(cluster.coordinator, cluster.now)
    for log in cluster.logs:
        findings += finding_rows(log.findings, log.node.node_id)
        logs.append(partition_row(LogSummary.of(log)))
    rows = ClusterRows(findings, logs, notable_rows(cluster.logs, aborts.of_others))
    tables = tables_of_rows(
        cluster.cluster_id, rows, cluster.coordinator, cluster.metadata, cluster.nodes, cluster.now, aborts
    )  # fmt: skip
    _take_partitions(tables, (log.partition for log in cluster.logs))
    tables.groups, tables.narrowing = cluster.groups, narrowing
    return tables


class ClusterRows(NamedTuple):
    """Rows of one cluster: findings, logs, notable transactions, and gaps in which records are lost."""

    findings: Iterable[tuple[Any, ...]]
    logs: Iterable[tuple[Any, ...]]
    notable: Iterable[tuple[Any, ...]]
    gaps: Iterable[tuple[Any, ...]] = ()


def tables_of_rows(
    cluster_id: str | None, rows: ClusterRows, coordinator: Coordinator, metadata: Metadata | None,
    nodes: Sequence[LogDirectory], now: int, aborts: AbortDecisions | None = None,
) -> ClusterTables:  # fmt: skip
    """Put one cluster's tables together.

    With `aborts` the notable rows have all that these decisions ended, else only each log's newest.
    """
    tables = ClusterTables(cluster_id, tuple(node.path for node in nodes), _explained(rows.findings), now=now)
    _take_logs(tables, _named(PARTITIONS, rows.logs))
    _take_gaps(tables, rows.gaps)
    tables.transactions = grouped(sorted(_named(NOTABLE, rows.notable), key=_begins), lambda row: str(row["log"]))
    forked = {row["log"] for row in tables.findings if row["code"] == "replicas-fork"}
    of_others = frozenset(() if aborts is None else aborts.of_others.tolist())
    for log in tables.transactions.keys() - forked:
        tables.transactions[log] = _without_old(tables.transactions[log], of_others, tables.cut)
    found = filter(None, map(tables.transaction_of, tables.findings))
    names = {row["transactional_id"] for row in found} - {None}
    producers = {row["producer_id"] for row in tables.findings} - {None}
    tables.is_whole = aborts is not None
    aborts = aborts or AbortDecisions(coordinator, now)
    tables.aborted = aborts.of_cause
    shown = coordinator.of_records(_records(coordinator, names, producers, aborts.shown))
    for name, of_id in groupby(_rows(COORDINATOR, coordinator_rows(shown)), key=lambda row: row["transactional_id"]):
        steps = list(of_id)
        tables.aborts += _aborts(steps, aborts.reasons)
        if name in names or not producers.isdisjoint(step["producer_id"] for step in steps):
            tables.steps[name] = steps
    _take_leadership(tables, metadata, nodes)
    tables.state_newest = coordinator.newest
    tables.groups = CommittedGroups(nodes)
    leaderless = (TopicPartition.of(row) for row in tables.findings if row["code"] == LEADERLESS)
    tables.coordinator = coordinator
    tables.stateless = {one: coordinator.ids_in(one.partition) for one in leaderless if one.topic == STATE_TOPIC}
    return tables


def _places_of(tables: ClusterTables) -> set[TopicPartition]:
    return {TopicPartition.of(row) for row in tables.findings if row["topic"] is not None}


def _take_leadership(tables: ClusterTables, metadata: Metadata | None, nodes: Sequence[LogDirectory]) -> None:
    """Take who led the partitions that findings are about, and those of the coordinators of what they tell of."""
    if metadata is None:
        return
    places = _places_of(tables) | {
        TopicPartition.of_log(step["log"]) for some in tables.steps.values() for step in some[-1:]
    }
    homes = (one.log for node in nodes for one in node.partitions if one.topic == METADATA_TOPIC)
    tables.leadership = Leadership(metadata, next(homes, ""), places)


def _begins(row: Row) -> tuple[str, int]:
    return row["log"], row["marker_offset"] if row["first_offset"] is None else row["first_offset"]


def _without_old(rows: list[Row], of_others: Collection[int], cut: set[TopicPartition]) -> list[Row]:
    """Return a log's rows with the newest of those that only were aborted: shares of a log have some of their own.

    Those that `of_others` names stay, too. A partition that has more than the newest may be `cut`.
    """
    markers = sorted(row["marker_offset"] for row in rows if row["state"] == "aborted")
    oldest = markers[-NEWEST_ABORTED] if len(markers) > NEWEST_ABORTED else -1
    if len(markers) >= NEWEST_ABORTED:
        cut.add(TopicPartition.of(rows[0]))
    return [
        row
        for row in rows
        if row["state"] != "aborted"
        or row["cause"]
        or row["marker_offset"] >= oldest
        or row["producer_id"] << 16 | row["marker_epoch"] & 0xFFFF in of_others
    ]


def tables_of_files(
    cluster_id: str | None, findings: Iterable[tuple[Any, ...]], logs: Iterable[tuple[Any, ...]],
    partitions: Iterable[PartitionAudit],
    clusters: Sequence[tuple[Sequence[LogDirectory], Metadata | None, CommittedGroups]],
) -> ClusterTables:  # fmt: skip
    """Return what a verification knows: rows of its ``findings`` and ``logs``, the gaps of its logs, who led them."""
    directories = tuple(node.path for nodes, *_ in clusters for node in nodes)
    tables = ClusterTables(cluster_id, directories, _explained(findings))
    _take_logs(tables, _named(LOGS, logs))
    _take_partitions(tables, partitions)
    if len(clusters) == 1:  # else a partition's name is not one partition
        ((nodes, metadata, tables.groups),) = clusters
        _take_leadership(tables, metadata, nodes)
    return tables


def _take_logs(tables: ClusterTables, rows: Iterable[Row]) -> None:
    for row in rows:
        tables.logs[row["log"]] = row
        tables.replicas.setdefault(TopicPartition.of(row), []).append(row)


def is_lost(gap: tuple[Any, ...]) -> bool:
    """Say whether a row of ``gaps`` is of offsets that something may have lost."""
    return bool(gap[_KIND] != "legal")


_KIND: Final = GAPS.names.index("kind")


def _take_gaps(tables: ClusterTables, gaps: Iterable[tuple[Any, ...]]) -> None:
    for (log, topic, partition), some in grouped(map(_OF_GAP, gaps), lambda gap: gap[:3]).items():
        first, last = np.array([gap[3:5] for gap in some], np.int64).T
        unreadable = np.array([gap[5] == "unreadable-bytes" for gap in some])
        tables.gaps.setdefault(TopicPartition(topic, partition), LostRanges()).add(log, first, last, unreadable)


_OF_GAP: Final = itemgetter(
    *map(GAPS.names.index, ("log", "topic", "partition", "first_offset", "last_offset", "cause"))
)


def _take_partitions(tables: ClusterTables, partitions: Iterable[PartitionAudit]) -> None:
    """Take the gaps of logs as the columns that they are."""
    for partition in partitions:
        directory, gaps = partition.directory, partition.gaps
        lost = gaps.chosen(~gaps.of_kind("legal"))
        if lost:
            of_place = tables.gaps.setdefault(TopicPartition(directory.topic, directory.partition), LostRanges())
            of_place.add(directory.log, lost.first, lost.last, lost.of_cause("unreadable-bytes"))


def needed(finding: tuple[Any, ...]) -> bool:
    """Say whether incidents need a row of ``findings``: those above a note, and of the notes those with a story."""
    return finding[_SEVERITY] != "note" or finding[_CODE] in _NOTES


_SEVERITY: Final = FINDINGS.names.index("severity")

_CODE: Final = FINDINGS.names.index("code")

_NOTES: Final = codes_with(Trait.TOLD_AS_NOTE)


def _explained(findings: Iterable[tuple[Any, ...]]) -> list[Row]:
    """Return the rows that incidents need, in an order that does not depend on who made them."""
    return sorted(_named(FINDINGS, filter(needed, findings)), key=_place)


def _place(row: Row) -> tuple[str, str, int, str]:
    return row["log"] or "", row["code"], -1 if row["offset"] is None else row["offset"], row["id"]


def _named(table: Table, rows: Iterable[tuple[Any, ...]]) -> list[Row]:
    return list(_rows(table, rows))


def _rows(table: Table, rows: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    places = {name: place for place, name in enumerate(table.names)}
    return (TableRow(places, cells) for cells in rows)


_PREPARED: Final = ("prepare_commit", "prepare_abort")


def _aborts(
    steps: list[Row], reasons: Mapping[tuple[str, int], AbortReason]
) -> Iterator[tuple[AbortReason, Row, Row | None]]:  # fmt: skip
    """Yield an id's decisions to abort that are shown, with their reasons and what a new producer got."""
    for number, step in enumerate(steps):
        reason = reasons.get((step["log"], step["offset"]))
        if reason is not None:
            yield reason, step, next(iter(steps[number + 2 :]), None) if reason.has_successor else None


def _records(
    coordinator: Coordinator, names: Collection[str], producers: Collection[int], aborted: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the records of these ids and of ids of these producers, and of others those around decisions to abort.

    What only says again what the record before said is left out.
    """
    states = coordinator.states
    ids = states["transactional_id"]
    if not len(ids):
        return np.empty(0, np.intp)
    meant = np.zeros(len(states.ids), bool)
    named = states.ids.find_texts(names)
    meant[named[named >= 0]] = True
    meant[ids[np.isin(states["producer_id"], list(producers))]] = True
    after = coordinator.after(aborted)
    around = np.concatenate([aborted - 1, aborted, after, coordinator.after(after)])
    return np.setdiff1d(np.append(np.flatnonzero(meant[ids]), around), coordinator.again)
