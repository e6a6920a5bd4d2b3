"""What an audit found: clusters, each with its logs, its coordinator's records and its findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.auditing.topics import CommittedGroups, Metadata
from kafkalog.auditing.transactions.atomicity import unidentified
from kafkalog.auditing.transactions.judging import LogAudit
from kafkalog.columns.sorted_rows import among, groups
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.state_records import TOMBSTONE
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment
from kafkalog.narrowing import EVERYTHING, Narrowing, matches, nothing_matches
from kafkalog.quantities import iso
from kafkalog.unread import is_not_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Audit",
    "ClusterAudit",
    "Reused",
    "narrowed",
]


# Which segments an audit scanned itself, and which it took as earlier scans found them.


@dataclass(frozen=True, slots=True)
class Reused:
    """Counts segments: `scanned` by this run, by an earlier run of the same audit that it `resumed`, by older audits.

    The scans of the latter are since `oldest_ms`, -1 without any; `hashed` says that the files' SHA-256 were compared.
    """

    scanned: int = 0
    resumed: int = 0
    taken: int = 0
    oldest_ms: int = -1
    hashed: bool = False

    def with_scan(self, scanned_ms: int, begun_ms: int) -> Reused:
        """Count one more segment, whose scan is of a time; -1 is now. The audit itself was begun at `begun_ms`."""
        if scanned_ms < 0:
            return Reused(self.scanned + 1, self.resumed, self.taken, self.oldest_ms, self.hashed)
        if scanned_ms >= begun_ms:
            return replace(self, resumed=self.resumed + 1)
        oldest = scanned_ms if self.oldest_ms < 0 else min(self.oldest_ms, scanned_ms)
        return replace(self, taken=self.taken + 1, oldest_ms=oldest)

    def joined(self, other: Reused) -> Reused:
        """Count the segments of both; this one says whether they were hashed."""
        oldest = [one.oldest_ms for one in (self, other) if one.oldest_ms >= 0]
        counted = (self.scanned + other.scanned, self.resumed + other.resumed, self.taken + other.taken)
        return Reused(*counted, min(oldest, default=-1), self.hashed)

    @property
    def segments(self) -> int:
        """Return the number of all segments."""
        return self.scanned + self.resumed + self.taken

    def words(self) -> str:
        """Say what was not read, and what is therefore not seen; empty where all was read."""
        if not self.taken:
            return ""
        which = f"{self.segments - self.taken:,} of {self.segments:,} segments were scanned"
        if self.hashed:
            return f"{which}; the SHA-256 of the others is that of earlier scans, since {iso(self.oldest_ms)}"
        return f"{which}; damage since {iso(self.oldest_ms)} in the others is not seen"

    def row(self) -> dict[str, Any]:
        """Return it for verdict.json."""
        return {
            "segments": self.segments,
            "scanned": self.scanned,
            "resumed": self.resumed,
            "taken": self.taken,
            "oldest_scan_ms": None if self.oldest_ms < 0 else self.oldest_ms,
        }


@dataclass(frozen=True, slots=True)
class ClusterAudit:
    """The audit of one cluster; `findings` are those about no single log, `metadata` is None without a metadata log.

    `now` is the time (ms) that decides what is overdue: the newest that a broker wrote, if no other was given. `groups`
    are those that committed offsets.
    """

    cluster_id: str | None
    nodes: list[LogDirectory]
    logs: list[LogAudit]
    coordinator: Coordinator
    findings: list[Finding]
    metadata: Metadata | None = None
    now: int = -1
    groups: CommittedGroups = field(default_factory=CommittedGroups)


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found in all inputs, or in those that a narrowing left.

    `refused` are inputs that could not be read at all. `reused` says which segments were scanned for it,
    `sha256` are the checksums of those whose bytes were all read.
    """

    clusters: list[ClusterAudit]
    refused: list[Finding] = field(default_factory=list)
    narrowing: Narrowing = EVERYTHING
    reused: Reused = field(default_factory=Reused)
    sha256: dict[Segment, str | None] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """Yield every finding: of inputs, then cluster by cluster, log by log."""
        yield from self.refused
        for cluster in self.clusters:
            for node in cluster.nodes:
                yield from node.findings
            yield from cluster.findings
            for log in cluster.logs:
                yield from log.findings


# An audit narrowed to some logs, producers or ids: its rows, findings, totals and verdict are about these alone.


def narrowed(audit: Audit, narrowing: Narrowing) -> Audit:
    """Return what an audit found about the chosen logs, producers and ids. Raises NothingMatchesError for none."""
    if not narrowing or not audit.clusters:
        return audit
    _refuse_nothing(audit, narrowing)
    clusters = [_of_cluster(cluster, narrowing) for cluster in audit.clusters]
    return replace(audit, clusters=clusters, narrowing=narrowing)


def _refuse_nothing(audit: Audit, narrowing: Narrowing) -> None:
    """Raise NothingMatchesError if a part of the narrowing, after those before it, leaves nothing."""
    places = {(log.partition.directory.topic, log.partition.directory.partition) for log in _logs(audit)}
    narrowing.refuse_nothing(places)
    names = {name for cluster in audit.clusters for name in cluster.coordinator.states.ids}
    if narrowing.transactional_ids and not any(matches(name, narrowing.transactional_ids) for name in names):
        raise nothing_matches("transactional id", narrowing.transactional_ids, names)
    known = {*_producers(_chosen(_logs(audit), narrowing)), *_recorded(audit.clusters, narrowing)}
    if narrowing.producer_ids and known.isdisjoint(narrowing.producer_ids):
        raise nothing_matches("producer", narrowing.producer_ids, known)


def _logs(audit: Audit) -> Iterator[LogAudit]:
    return (log for cluster in audit.clusters for log in cluster.logs)


def _chosen(logs: Iterable[LogAudit], narrowing: Narrowing) -> Iterator[LogAudit]:
    return (log for log in logs if _is_meant(log.partition.directory, narrowing))


def _is_meant(directory: PartitionDirectory, narrowing: Narrowing) -> bool:
    return narrowing.log(directory.topic, directory.partition)


def _producers(logs: Iterable[LogAudit]) -> Iterator[int]:
    """Yield the producers that have batches or markers in logs."""
    for log in logs:
        yield from np.unique(log.partition.producers["producer_id"]).tolist()
        yield from np.unique(log.verdicts.rows["producer_id"]).tolist()


def _recorded(clusters: Iterable[ClusterAudit], narrowing: Narrowing) -> Iterator[int]:
    """Yield the producers that the coordinator's records name, of the chosen ids."""
    for cluster in clusters:
        states = cluster.coordinator.states
        rows = _of_ids(cluster.coordinator, narrowing)[states["transactional_id"]] & (states["state"] != TOMBSTONE)
        yield from np.unique(states["producer_id"][rows]).tolist()


def _of_ids(coordinator: Coordinator, narrowing: Narrowing) -> NDArray[np.bool_]:
    """Say which ids are chosen by their names."""
    ids = coordinator.states.ids
    return np.fromiter((matches(name, narrowing.transactional_ids) for name in ids), bool, len(ids))


def _of_cluster(cluster: ClusterAudit, narrowing: Narrowing) -> ClusterAudit:
    logs = list(_chosen(cluster.logs, narrowing))
    producers: set[int] | None = None
    if narrowing.of_producers:
        producers = set(_recorded([cluster], narrowing))
        if not narrowing.transactional_ids:
            producers |= set(_producers(logs))
        if narrowing.producer_ids:
            producers &= set(narrowing.producer_ids)
        found = (_of_producers(log, np.array(sorted(producers), np.int64)) for log in logs)
        logs = [log for log in found if len(log.verdicts.rows) or len(log.partition.producers)]

    def is_kept(finding: Finding) -> bool:
        counts = concerns(narrowing, finding)
        return counts and (producers is None or finding.producer_id in producers or _may_be_about_all(finding))

    logs = [replace(log, findings=[*filter(is_kept, log.findings)]) for log in logs]
    nodes = [replace(node, findings=[*filter(is_kept, node.findings)]) for node in cluster.nodes]
    here = np.array(list(_producers(logs)), np.int64)
    return replace(
        cluster, nodes=nodes, logs=logs, findings=[*filter(is_kept, cluster.findings)],
        coordinator=coordinator_of(cluster.coordinator, narrowing, producers, here),
    )  # fmt: skip


def concerns(narrowing: Narrowing, finding: Finding) -> bool:
    """Say whether a finding counts where some logs are meant; what could not be read may be about all logs."""
    return _may_be_about_all(finding) or not narrowing.of_logs or narrowing.log(finding.topic, finding.partition)


def _may_be_about_all(finding: Finding) -> bool:
    return finding.topic is None and is_not_read(finding)


def _of_producers(log: LogAudit, producers: NDArray[np.int64]) -> LogAudit:
    """Return a log's audit about some producers alone; where the log begins and ends stays as it is."""
    verdicts = log.verdicts.of_producers(producers)
    partition = log.partition
    rows = partition.producers.where(lambda rows: among(rows["producer_id"], producers))
    partition = partition._replace(
        transactions=verdicts.rows, producers=rows, batches=int(rows["batches"].sum()),
        records=int(rows["records"].sum()),
        control_records=int((~fold.is_open(verdicts.rows)).sum()),
    )  # fmt: skip
    judged = log.judged._replace(audit=partition)
    return replace(log, partition=partition, verdicts=verdicts, judged=judged, unidentified=unidentified(judged))


def coordinator_of(
    coordinator: Coordinator, narrowing: Narrowing, producers: set[int] | None, wrote_here: NDArray[np.int64]
) -> Coordinator:
    """Return the records of the chosen ids: those that are named, and of these that listed or wrote to the logs.

    `wrote_here` are the producers in the chosen logs.
    """
    states, meant = coordinator.states, _of_ids(coordinator, narrowing)
    if producers is not None:
        has_one = np.zeros(len(meant), bool)
        has_one[states["transactional_id"][np.isin(states["producer_id"], list(producers))]] = True
        meant &= has_one
    if narrowing.of_logs:
        touches = np.zeros(len(meant), bool)
        wrote = coordinator.names_of(wrote_here)
        touches[wrote[wrote >= 0]] = True
        rows, listed = states.listed_by(np.arange(len(states)))
        topics, partitions = states.listed["topic"][listed], states.listed["partition"][listed]
        for some in groups(topics, partitions):
            if narrowing.log(states.topics[int(topics[some[0]])], int(partitions[some[0]])):
                touches[states["transactional_id"][rows[some]]] = True
        meant &= touches
    return coordinator.of_ids(np.flatnonzero(meant))
