"""A whole audit: directories to clusters, segments to scans, scans to partitions, partitions to verdicts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from kafkalog.audit.partition import PartitionAudit, SegmentScan, join, scan_segment
from kafkalog.audit.topics import cluster_metadata, policies
from kafkalog.audit.transactions import (
    Audit,
    AuditOptions,
    ClusterAudit,
    LogAudit,
    StateLog,
    Surroundings,
    across_partitions,
    judge,
)
from kafkalog.log.chunk import Limits
from kafkalog.log.clusters import Cluster, open_clusters
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, Segment
from kafkalog.log.names import STATE_TOPIC

__all__ = ["audit"]

_TASK_BYTES: Final = 32 << 20
_POOL_BYTES: Final = 64 << 20  # below, starting processes costs more than they save


def audit(paths: Sequence[str | os.PathLike[str]], options: AuditOptions | None = None) -> Audit:
    """Audit log directories, or partitions' directories alone; clusters are audited side by side."""
    clusters, unreadable = open_clusters(paths)
    return Audit([_audit_cluster(cluster, options or AuditOptions()) for cluster in clusters], unreadable)


def _audit_cluster(cluster: Cluster, options: AuditOptions) -> ClusterAudit:
    wanted = cluster.wanted()
    metadata = cluster_metadata(cluster.nodes, options.limits)
    scans = _scan_all([(directory, segment) for _, directory in wanted for segment in directory.segments], options)
    partitions: list[PartitionAudit] = []
    states: list[StateLog] = []
    for node, directory in wanted:
        of_log = [scans.pop(segment.path) for segment in directory.segments]
        partitions.append(join(directory, of_log, policies(metadata, directory.topic)))
        if directory.topic == STATE_TOPIC:
            states.append(StateLog.of(node, partitions[-1], of_log))
    newest = max((partition.newest for partition in partitions), default=-1)
    newest_broker = max((partition.newest_broker for partition in partitions), default=-1)
    around = Surroundings.of(cluster.nodes, metadata, states, newest, newest_broker, options)
    replicas: dict[tuple[str, int], list[tuple[LogDirectory, PartitionAudit]]] = {}
    for (node, directory), partition in zip(wanted, partitions, strict=True):
        replicas.setdefault((directory.topic, directory.partition), []).append((node, partition))
    findings = [*around.findings]
    of_directory: dict[str, LogAudit] = {}
    for logs in replicas.values():
        judgement = judge(logs, around)
        findings += judgement.findings
        of_directory |= {log.partition.directory.log: log for log in judgement.logs}
    audits = [of_directory[directory.log] for _, directory in wanted]
    findings += across_partitions([log.judged for log in audits])
    return ClusterAudit(cluster.cluster_id, cluster.nodes, audits, around.coordinator, findings)


_Task = list[tuple[PartitionDirectory, Segment]]


def _scan_all(segments: _Task, options: AuditOptions) -> dict[str, SegmentScan]:
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
