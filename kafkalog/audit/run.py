"""A whole audit: directories to clusters, segments to scans, scans to partitions, partitions to verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from kafkalog.audit.atomicity import across_partitions
from kafkalog.audit.judge import LogAudit, judge
from kafkalog.audit.left_over import put_aside
from kafkalog.audit.partition import PartitionAudit, join
from kafkalog.audit.scan import STATE_TOPIC, SegmentScan, scan_segment
from kafkalog.audit.surroundings import Options, StateLog, Surroundings
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, Segment, open_log_directory
from kafkalog.log.names import local_path
from kafkalog.txn.coordinator import Coordinator

__all__ = ["Audit", "Cluster", "LogAudit", "Options", "audit", "open_clusters"]

_TASK_BYTES: Final = 32 << 20
_POOL_BYTES: Final = 64 << 20  # below, starting processes costs more than they save


@dataclass(slots=True)
class Cluster:
    """The logs of one cluster, and its coordinator's word."""

    cluster_id: str | None
    nodes: list[LogDirectory]
    logs: list[LogAudit] = field(default_factory=list)
    coordinator: Coordinator = field(default_factory=Coordinator)
    findings: list[Finding] = field(default_factory=list)

    def wanted(self) -> list[tuple[LogDirectory, PartitionDirectory]]:
        """Return the logs that are audited, node by node."""
        return [(node, directory) for node in self.nodes for directory in node.partitions if not directory.suffix]


@dataclass(slots=True)
class Audit:
    """What was found in all inputs; `unreadable` are those that could not be read at all."""

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


def open_clusters(paths: Sequence[str | os.PathLike[str]]) -> tuple[list[Cluster], list[str]]:
    """List log directories, or partitions' directories alone, by cluster; and what could not be read.

    Directories of one node are one broker, those of other nodes of the cluster hold replicas. One named twice is read
    once.
    """
    unreadable = []
    by_cluster: dict[str, Cluster] = {}
    met: set[str] = set()
    for path in paths:
        place = os.path.realpath(local_path(os.fspath(path)))
        if place in met:
            continue
        met.add(place)
        try:
            node = open_log_directory(path)
        except UnreadableError as error:
            unreadable.append(str(error))
            continue
        key = node.cluster_id or f"\0{node.path}"
        by_cluster.setdefault(key, Cluster(node.cluster_id, [])).nodes.append(node)
        for directory in node.partitions:
            if directory.suffix:
                node.findings.append(put_aside(directory))
    return list(by_cluster.values()), unreadable


def audit(paths: Sequence[str | os.PathLike[str]], options: Options | None = None) -> Audit:
    """Audit log directories, or partitions' directories alone; clusters are audited side by side."""
    clusters, unreadable = open_clusters(paths)
    for cluster in clusters:
        _audit_cluster(cluster, options or Options())
    return Audit(clusters, unreadable)


def _audit_cluster(cluster: Cluster, options: Options) -> None:
    wanted = cluster.wanted()
    scans = _scan_all([(directory, segment) for _, directory in wanted for segment in directory.segments], options)
    partitions: list[PartitionAudit] = []
    states: list[StateLog] = []
    for node, directory in wanted:
        of_log = [scans.pop(segment.path) for segment in directory.segments]
        partitions.append(join(directory, of_log))
        if directory.topic == STATE_TOPIC:
            states.append(StateLog.of(node, partitions[-1], of_log))
    newest = max((partition.newest for partition in partitions), default=-1)
    newest_broker = max((partition.newest_broker for partition in partitions), default=-1)
    around = Surroundings.of(cluster.nodes, states, newest, newest_broker, options)
    cluster.coordinator = around.coordinator
    cluster.findings += around.findings
    replicas: dict[tuple[str, int], list[tuple[LogDirectory, PartitionAudit]]] = {}
    for (node, directory), partition in zip(wanted, partitions, strict=True):
        replicas.setdefault((directory.topic, directory.partition), []).append((node, partition))
    of_directory: dict[str, LogAudit] = {}
    for logs in replicas.values():
        judgement = judge(logs, around)
        cluster.findings += judgement.findings
        of_directory |= {log.partition.directory.log: log for log in judgement.logs}
    cluster.logs = [of_directory[directory.log] for _, directory in wanted]
    cluster.findings += across_partitions([log.judged for log in cluster.logs])


_Task = list[tuple[PartitionDirectory, Segment]]


def _scan_all(segments: _Task, options: Options) -> dict[str, SegmentScan]:
    """Scan every segment, in parallel processes where that pays."""
    if options.jobs == 1 or sum(segment.size for _, segment in segments) < _POOL_BYTES:
        return {scan.segment.path: scan for scan in _scan_some(segments, options.limits)}
    tasks = _tasks(segments)
    with ProcessPoolExecutor(options.jobs) as pool:
        done = pool.map(_scan_some, tasks, [options.limits] * len(tasks))
        return {scan.segment.path: scan for scans in done for scan in scans}


def _tasks(segments: _Task) -> list[_Task]:
    """Put segments together, big ones first and alone, so that a task is worth sending."""
    tasks: list[_Task] = [[]]
    size = 0
    for directory, segment in sorted(segments, key=lambda one: -one[1].size):
        if size + segment.size > _TASK_BYTES and tasks[-1]:
            tasks.append([])
            size = 0
        tasks[-1].append((directory, segment))
        size += segment.size
    return tasks


def _scan_some(segments: _Task, limits: Limits) -> list[SegmentScan]:
    return [scan_segment(directory, segment, limits) for directory, segment in segments]
