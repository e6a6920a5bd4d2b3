"""A whole audit: directories to clusters, segments to scans, scans to partitions, partitions to verdicts and rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from kafkalog.audit.atomicity import Judged, across_partitions, against_coordinator, unidentified
from kafkalog.audit.findings import partition_findings
from kafkalog.audit.groups import OFFSETS_TOPIC, pending_offsets
from kafkalog.audit.partition import PartitionAudit, join
from kafkalog.audit.replicas import replica_forks, state_differences
from kafkalog.audit.scan import SegmentScan, scan_segment
from kafkalog.audit.verdicts import Context, Verdicts
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format.internal import Internal, internal_record
from kafkalog.format.message import MalformedError
from kafkalog.format.records.transaction_state import state_record
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, Segment, open_log_directory
from kafkalog.log.names import FileKind, parse_name
from kafkalog.log.readers import records
from kafkalog.txn.coordinator import Coordinator, Decision, Entry, illegal_transitions

__all__ = ["Audit", "Cluster", "LogAudit", "Options", "audit"]

_STATE_TOPIC: Final = "__transaction_state"
_METADATA_TOPIC: Final = "__cluster_metadata"
_TASK_BYTES: Final = 32 << 20
_POOL_BYTES: Final = 64 << 20  # below, starting processes costs more than they save


@dataclass(frozen=True, slots=True)
class Options:
    """What an audit is told from outside; times in ms.

    `snapshot`: the inputs are of one moment. `now` is what overdue is measured against, by default the newest time that
    a broker wrote.
    """

    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    snapshot: bool = False
    copy_ms: int = 600_000
    now: int | None = None
    max_timeout_ms: int = 900_000
    state_partitions: int | None = None


@dataclass(slots=True)
class LogAudit:
    """A partition's audit with the verdicts on its transactions."""

    node: LogDirectory
    partition: PartitionAudit
    verdicts: Verdicts
    findings: list[Finding] = field(default_factory=list)
    unidentified: int = 0  # ended transactions whose other partitions nothing tells


@dataclass(slots=True)
class Cluster:
    """The logs of one cluster, and its coordinator's word."""

    cluster_id: str | None
    nodes: list[LogDirectory]
    logs: list[LogAudit] = field(default_factory=list)
    coordinator: Coordinator = field(default_factory=Coordinator)
    decisions: dict[int, list[Decision]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class Audit:
    """What was found in all inputs."""

    clusters: list[Cluster]
    unreadable: list[str] = field(default_factory=list)

    def findings(self) -> Iterator[Finding]:
        """Yield every finding, cluster by cluster, log by log."""
        for cluster in self.clusters:
            for node in cluster.nodes:
                yield from node.findings
            yield from cluster.findings
            for log in cluster.logs:
                yield from log.findings


def audit(paths: Sequence[str | os.PathLike[str]], options: Options | None = None) -> Audit:
    """Audit log directories, or partitions' directories alone.

    Directories of one node are one broker, those of other nodes of the cluster hold replicas; clusters are audited side
    by side. What can't be read at all is listed in ``unreadable``.
    """
    options = options or Options()
    result = Audit([])
    by_cluster: dict[str, Cluster] = {}
    for path in paths:
        try:
            node = open_log_directory(path)
        except UnreadableError as error:
            result.unreadable.append(str(error))
            continue
        key = node.cluster_id or f"\0{node.path}"
        cluster = by_cluster.setdefault(key, Cluster(node.cluster_id, []))
        cluster.nodes.append(node)
    for cluster in by_cluster.values():
        _audit_cluster(cluster, options)
        result.clusters.append(cluster)
    return result


def _audit_cluster(cluster: Cluster, options: Options) -> None:
    wanted: list[tuple[LogDirectory, PartitionDirectory]] = []
    for node in cluster.nodes:
        for directory in node.partitions:
            if directory.suffix:
                node.findings.append(
                    Finding.of(
                        "directory-put-aside", directory.log, f"{directory.suffix}: not audited", log=directory.log
                    )
                )
            else:
                wanted.append((node, directory))
    scans = _scan_all([segment for _, directory in wanted for segment in directory.segments], options)
    for node, directory in wanted:
        partition = join(directory, [scans[segment.path] for segment in directory.segments])
        cluster.logs.append(LogAudit(node, partition, Verdicts.none()))
    _read_coordinator(cluster, options)
    cluster.findings += replica_forks([log.partition for log in cluster.logs])
    newest = max((log.partition.newest for log in cluster.logs), default=-1)
    states = [log for log in cluster.logs if log.partition.directory.topic == _STATE_TOPIC]
    state_clean = all(log.node.clean_shutdown for log in states)
    state_cleaned = any(log.partition.cleaned_to >= 0 or log.partition.log_start_offset > 0 for log in states)
    now = options.now
    if now is None:
        now = max(
            [*cluster.coordinator.newest.values(), *(log.partition.newest_broker for log in cluster.logs)], default=-1
        )
    replicas: dict[tuple[str, int], list[PartitionAudit]] = {}
    for log in cluster.logs:
        directory = log.partition.directory
        replicas.setdefault((directory.topic, directory.partition), []).append(log.partition)
    listings: dict[tuple[str, int], dict[int, list[Decision]]] = {}  # decisions by partition and producer
    for producer, decisions in cluster.decisions.items():
        for decision in decisions:
            for topic_partition in decision.partitions:
                listings.setdefault(topic_partition, {}).setdefault(producer, []).append(decision)
    judged: list[Judged] = []
    for log in cluster.logs:
        directory = log.partition.directory
        others = replicas[directory.topic, directory.partition]
        context = Context(
            cluster.coordinator, cluster.decisions, options.snapshot or (log.node.clean_shutdown and state_clean),
            newest, options.copy_ms, state_cleaned, tuple(other for other in others if other is not log.partition),
            len({node.node_id for node in cluster.nodes}) > 1,
        )  # fmt: skip
        log.verdicts = Verdicts.of(log.partition, context)
        if directory.topic == OFFSETS_TOPIC:
            log.partition.findings += pending_offsets(directory, log.verdicts, options.limits)
        log.findings = partition_findings(log.partition, log.verdicts, now, options.max_timeout_ms)
        listing = listings.get((directory.topic, directory.partition), {})
        judged.append(against_coordinator(log.partition, log.verdicts, listing, context))
    cluster.findings += across_partitions(judged)
    for log, found in zip(cluster.logs, judged, strict=True):
        log.findings += found.findings
        log.unidentified = unidentified(found)


def _scan_all(segments: Sequence[Segment], options: Options) -> dict[str, SegmentScan]:
    """Scan every segment, in parallel processes where that pays."""
    if options.jobs == 1 or sum(segment.size for segment in segments) < _POOL_BYTES:
        return {segment.path: scan_segment(segment, options.limits) for segment in segments}
    tasks = _tasks(segments)
    with ProcessPoolExecutor(options.jobs) as pool:
        done = pool.map(_scan_some, tasks, [options.limits] * len(tasks))
        return {scan.segment.path: scan for scans in done for scan in scans}


def _tasks(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Put segments together, big ones first and alone, so that a task is worth sending."""
    tasks: list[list[Segment]] = [[]]
    size = 0
    for segment in sorted(segments, key=lambda segment: -segment.size):
        if size + segment.size > _TASK_BYTES and tasks[-1]:
            tasks.append([])
            size = 0
        tasks[-1].append(segment)
        size += segment.size
    return tasks


def _scan_some(segments: list[Segment], limits: Limits) -> list[SegmentScan]:
    return [scan_segment(segment, limits) for segment in segments]


def _read_coordinator(cluster: Cluster, options: Options) -> None:
    coordinator = cluster.coordinator
    replicas: dict[int, list[LogAudit]] = {}
    for log in cluster.logs:
        if log.partition.directory.topic == _STATE_TOPIC:
            replicas.setdefault(log.partition.directory.partition, []).append(log)
    for number, logs in sorted(replicas.items()):
        # The replica whose leader epochs reach furthest is what the coordinator goes by, then the longest.
        chosen = max(logs, key=_reach)
        coordinator.known.add(number)
        entries = list(_entries(chosen.partition, cluster.findings, options.limits))
        coordinator.add(entries)
        for other in logs:
            if other is not chosen:
                cluster.findings += state_differences(entries, list(_entries(other.partition, [], options.limits)))
    for name, entries in coordinator.timelines.items():
        cleaned = next(
            log.partition.cleaned_to for log in cluster.logs if log.partition.directory.log == entries[0].log
        )
        for before, after in illegal_transitions(entries, cleaned):
            old, new = before.record.state, after.record.state
            cluster.findings.append(
                Finding.of(
                    "state-transition-illegal",
                    after.log,
                    f"{name}: {new.word if new else 'tombstone'} at offset {after.offset} follows"
                    f" {old.word if old else 'tombstone'} at {before.offset}",
                    log=after.log,
                    topic=_STATE_TOPIC,
                    partition=after.partition,
                    offset=after.offset,
                )
            )
    coordinator.total = _state_partitions(cluster) or options.state_partitions
    if coordinator.total is None and coordinator.known:
        coordinator.total = max(coordinator.known) + 1
        cluster.findings.append(
            Finding.of(
                "state-partitions-guessed",
                cluster.nodes[0].path,
                f"no metadata log tells how many partitions {_STATE_TOPIC} has: taken to be {coordinator.total}, the"
                " highest seen and one; --transaction-state-partitions says otherwise",
            )
        )
    for decision in coordinator.decisions():
        cluster.decisions.setdefault(decision.producer_id, []).append(decision)


def _reach(log: LogAudit) -> tuple[int, int]:
    epochs = [epoch for epoch, _ in (*log.partition.directory.leader_epochs, *log.partition.epochs)]
    return (max(epochs, default=-1), log.partition.log_end_offset)


def _entries(partition: PartitionAudit, findings: list[Finding], limits: Limits) -> Iterator[Entry]:
    directory = partition.directory
    for segment in directory.segments:
        try:
            for record in records(segment.path, limits=limits, on_finding=lambda _: None):  # the scan told them
                try:
                    state = state_record(record.key, record.value)
                except MalformedError as error:
                    findings.append(
                        Finding.of(
                            "state-record-malformed",
                            segment.path,
                            f"the record at offset {record.offset}: {error}",
                            position=record.position,
                            offset=record.offset,
                            log=directory.log,
                        )
                    )
                    continue
                if state is not None:
                    yield Entry(directory.log, directory.partition, record.offset, record.timestamp, state)
        except UnreadableError as error:
            findings.append(Finding.of("file-unreadable", segment.path, str(error), log=directory.log))


def _state_partitions(cluster: Cluster) -> int | None:
    """Return how many partitions the state topic has, by the metadata log; None where it does not tell."""
    ids: set[str] = set()
    partitions: dict[str, set[int]] = {}
    for log in cluster.logs:
        directory = log.partition.directory
        if directory.topic != _METADATA_TOPIC:
            continue
        for value in _metadata_values(directory):
            try:
                record = internal_record(Internal.CLUSTER_METADATA, None, value)
            except MalformedError:  # a frame of the preview's; it tells nothing
                continue
            fields = record.value or {}
            if record.name == "TopicRecord" and fields["name"] == _STATE_TOPIC:
                ids.add(fields["topicId"])
            elif record.name == "PartitionRecord":
                partitions.setdefault(fields["topicId"], set()).add(fields["partitionId"])
    found = [max(partitions[topic_id]) + 1 for topic_id in ids if partitions.get(topic_id)]
    return max(found, default=None)


def _metadata_values(directory: PartitionDirectory) -> Iterable[bytes | None]:
    try:
        names = os.listdir(directory.log)
    except OSError:
        return
    for name in sorted(names):
        parsed = parse_name(name)
        if parsed.removed or parsed.kind not in (FileKind.LOG, FileKind.KRAFT_SNAPSHOT):
            continue
        try:
            for record in records(os.path.join(directory.log, name), on_finding=lambda _: None):
                if record.key is None:
                    yield record.value
        except UnreadableError:
            continue
