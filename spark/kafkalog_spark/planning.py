"""Plans a read of the data source: lists paths, reads the coordinator's records, packs tasks."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql.datasource import InputPartition

from kafkalog.auditing.partition import PartitionAudit, read_log, scan_segment
from kafkalog.auditing.pipeline import LogPlace, SegmentPlace, logs_of, segments_of
from kafkalog.auditing.topics import cluster_metadata, policies
from kafkalog.auditing.transactions import StateLog, Surroundings
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.clusters import Cluster, open_clusters
from kafkalog.log.logdir import LogDirectory, PartitionDirectory
from kafkalog.log.names import METADATA_TOPIC, STATE_TOPIC
from kafkalog.log.processes import packed_tasks
from kafkalog.log.rows import finding_rows
from kafkalog.log.storage import expand
from kafkalog.log.storage_options import set_storage_options
from kafkalog.txn.fold import FoldedLog
from kafkalog_spark.request import Request

__all__ = ["Task", "log_tasks", "open_all", "segment_tasks"]


@dataclass
class Task(InputPartition):
    """A task's share: segments, or partitions with all their logs; `around` is by cluster, packed. `rows` are given."""

    pieces: list[SegmentPlace] = field(default_factory=list)
    groups: list[list[LogPlace]] = field(default_factory=list)
    around: dict[int, bytes] = field(default_factory=dict)
    rows: list[tuple[Any, ...]] = field(default_factory=list)


def open_all(request: Request, *, strict: bool) -> tuple[list[Cluster], list[str]]:
    """List the paths, patterns expanded, without the partitions that are not requested.

    Raises UnreadableError if `strict` is set and a path can't be listed, or none where these are to be ignored.
    """
    set_storage_options(request.storage)
    paths = [path for pattern in request.paths for path in expand(pattern)]
    clusters, unreadable = open_clusters(paths)
    if strict and unreadable and not (request.ignore_missing and clusters):
        hint = " (the option ignoreMissing leaves out such paths)" if clusters else ""
        raise UnreadableError("; ".join(unreadable) + hint)
    return clusters, unreadable


def segment_tasks(request: Request, clusters: Sequence[Cluster]) -> list[Task]:
    """Distribute segments to tasks, except segments without any requested offset."""
    logs = [replace(log, directory=_trimmed(log.directory, request)) for log in _wanted(request, clusters)]
    tasks: dict[int, Task] = {}
    for piece in segments_of(logs, request.split_bytes):
        tasks.setdefault(piece.task, Task()).pieces.append(piece)
    return list(tasks.values())


def log_tasks(request: Request, clusters: Sequence[Cluster], unreadable: Iterable[str]) -> list[Task]:
    """Distribute partitions to tasks, each with all its replicas; the first task has the findings of the planning."""
    around: dict[int, Surroundings] = {}
    told: list[Finding] = [Finding.of("file-unreadable", _path_of(line), line) for line in unreadable]
    rows = list(finding_rows(told))
    for number, cluster in enumerate(clusters):
        around[number] = _surroundings(cluster, request)
        for node in cluster.nodes:
            rows += finding_rows(node.findings, node.node_id)
        rows += finding_rows(around[number].findings)
        around[number].findings = []
    packed = {number: zlib.compress(pickle.dumps(one), 1) for number, one in around.items()}
    groups: dict[int, list[LogPlace]] = {}
    for log in _wanted(request, clusters):
        groups.setdefault(log.group, []).append(log)
    sizes = {group: sum(log.directory.size for log in logs) for group, logs in groups.items()}
    tasks: dict[int, Task] = {}
    for group, number in packed_tasks(sizes, request.split_bytes).items():
        task = tasks.setdefault(number, Task())
        task.groups.append(
            [replace(log, node=replace(log.node, identity=log.node.identity.elsewhere())) for log in groups[group]]
        )
        for log in groups[group]:
            task.around[log.cluster] = packed[log.cluster]
    return [Task(rows=rows), *tasks.values()]


def _path_of(line: str) -> str:
    return line.partition(": ")[0]


def _wanted(request: Request, clusters: Sequence[Cluster]) -> Iterator[LogPlace]:
    return (log for log in logs_of(clusters, None) if request.wants(log.directory))


def _trimmed(directory: PartitionDirectory, request: Request) -> PartitionDirectory:
    first, last = request.selection.first_offset, request.selection.last_offset
    segments = directory.segments
    ends = [*(segment.base_offset for segment in segments), 2**63][1:]  # none where there is no segment
    kept = [
        segment
        for segment, end in zip(segments, ends, strict=True)
        if (last is None or segment.base_offset <= last) and (first is None or first < end)
    ]
    return replace(directory, segments=tuple(kept))


def _surroundings(cluster: Cluster, request: Request) -> Surroundings:
    """Read the records of the coordinator and of the metadata log, within the limit."""
    states = [(node, directory) for node, directory in cluster.wanted() if directory.topic == STATE_TOPIC]
    others = [directory for _, directory in cluster.wanted() if directory.topic == METADATA_TOPIC]
    told: list[Finding] = []
    left = request.state_bytes - sum(directory.size for _, directory in states)
    if left < 0:
        told.append(_not_read(cluster, STATE_TOPIC, request))
        states, left = [], request.state_bytes
    nodes: list[LogDirectory] = cluster.nodes
    if sum(directory.size for directory in others) > left:
        told.append(_not_read(cluster, METADATA_TOPIC, request))
        nodes, others = [_without_metadata(node) for node in nodes], []
    logs: list[StateLog] = []
    metadata = cluster_metadata(nodes, request.options.limits)
    for node, directory in states:
        read = read_log(directory, policies(metadata, directory.topic), request.options.limits)
        logs.append(StateLog.of(node, *read))
    # A controller writes to the metadata log all the time, so its newest time shows when the copy was made.
    clocks: list[PartitionAudit | FoldedLog] = [log.partition for log in logs]
    limits = request.options.limits
    clocks += [
        scan_segment(directory, segment, limits).stretch for directory in others for segment in directory.segments
    ]
    newest = max((clock.newest for clock in clocks), default=-1)
    newest_broker = max((clock.newest_broker for clock in clocks), default=-1)
    around = Surroundings.of(nodes, metadata, logs, newest, newest_broker, request.options)
    around.findings += told
    return around


def _without_metadata(node: LogDirectory) -> LogDirectory:
    return replace(node, partitions=[one for one in node.partitions if one.topic != METADATA_TOPIC])


def _not_read(cluster: Cluster, topic: str, request: Request) -> Finding:
    sizes = sum(directory.size for _, directory in cluster.wanted() if directory.topic == topic)
    message = f"{topic} has {sizes} bytes, more than stateBytes ({request.state_bytes}): it was not read"
    return Finding.of("state-not-read", cluster.nodes[0].path, message, needed=request.state_bytes, found=sizes)
