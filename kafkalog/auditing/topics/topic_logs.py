"""The logs of one internal topic among the inputs: of each partition the replica that its broker would use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from kafkalog.auditing.partition import PartitionAudit, ReadLog, SegmentScan, reach, read_log
from kafkalog.auditing.topics.metadata_log import cluster_metadata
from kafkalog.auditing.topics.placement import disks_not_given
from kafkalog.columns.sorted_rows import last_of_each
from kafkalog.files.limits import Limits
from kafkalog.files.names import STATE_TOPIC
from kafkalog.files.processes import Each
from kafkalog.findings import Finding
from kafkalog.folds.fold import Fold
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.moving import lost_directories
from kafkalog.segments.moment import Moment
from kafkalog.unread import is_not_read

__all__ = ["TopicLog", "clusters_of", "lost_inputs", "moment_among", "places_of", "topic_logs", "transactional_ids"]

PathLike = str | os.PathLike[str]
Report = Callable[[Finding], object]


class TopicLog(NamedTuple):
    """A log with the number of its cluster among the inputs, its node and its segments' scans."""

    cluster: int
    node: LogDirectory
    partition: PartitionAudit
    scans: list[SegmentScan]


def clusters_of(paths: Sequence[PathLike], report: Report, limits: Limits | None = None) -> list[Cluster]:
    """List the inputs by cluster; report what can't be read or was not given, and the findings about directories."""
    clusters, refused = open_clusters(paths)
    for finding in refused:
        report(finding)
    for cluster in clusters:
        missing = list(disks_not_given(cluster.nodes, cluster_metadata(cluster.nodes, limits)))
        for finding in chain(missing, *(node.findings for node in cluster.nodes)):
            report(finding)
    return clusters


def topic_logs(
    clusters: Sequence[Cluster], topic: str, limits: Limits, report: Report, *, optional: bool = False, each: Each = map
) -> list[TopicLog]:
    """Read a topic's logs, in the order of their partitions.

    Where several nodes have a partition, the replica whose leader epochs reach furthest is taken, then the longest.
    A topic without logs is reported unless it is `optional`. With an `each` of several processes the scans come with
    the records of the state topic alone.
    """
    replicas: dict[tuple[int, int], list[TopicLog]] = {}
    places = places_of(clusters, topic)
    read = each(partial(_read, limits=limits, is_whole=each is map), [directory for *_, directory in places])
    for (number, node, directory), found in zip(places, read, strict=True):
        replicas.setdefault((number, directory.partition), []).append(TopicLog(number, node, *found))
    if clusters and not replicas and not optional:
        nodes = (node for cluster in clusters for node in cluster.nodes if not node.is_remote_alone)
        paths = ", ".join(node.path for node in nodes)
        report(Finding.of("topic-missing", paths, f"no partition of {topic} is here", topic=topic))
    chosen = []
    for _, logs in sorted(replicas.items()):
        chosen.append(max(logs, key=lambda log: reach(log.partition)))
        for log in logs:
            for finding in log.partition.findings:
                if log is chosen[-1] or is_not_read(finding):  # it might have reached further
                    report(finding)
    return chosen


def transactional_ids(clusters: Sequence[Cluster], limits: Limits, report: Report) -> dict[tuple[int, int], str]:
    """Return the transactional ids of producers by the coordinator's records; of several records the newest one's.

    They are by the number of the cluster and the producer id.
    """
    names: dict[tuple[int, int], str] = {}
    for log in topic_logs(clusters, STATE_TOPIC, limits, report, optional=True):
        for scan in log.scans:
            states = scan.states
            producers, last = last_of_each(states["producer_id"])
            ids = states["transactional_id"][last]
            named = zip(producers.tolist(), ids.tolist(), strict=True)
            names |= {(log.cluster, producer): states.ids[number] for producer, number in named if producer >= 0}
    return names


def lost_inputs(clusters: Sequence[Cluster]) -> Iterator[Finding]:
    """Yield the findings of ``lost_directories`` about all inputs, once all that was wanted was read."""
    return lost_directories(node for cluster in clusters for node in cluster.nodes)


def places_of(clusters: Sequence[Cluster], topic: str) -> list[tuple[int, LogDirectory, PartitionDirectory]]:
    """Return where a topic's partitions are: the cluster's number, the node, and the partition's directory."""
    return [
        (number, node, directory)
        for number, cluster in enumerate(clusters)
        for node, directory in cluster.wanted()
        if directory.topic == topic
    ]


def _read(directory: PartitionDirectory, limits: Limits, *, is_whole: bool) -> ReadLog:
    """Read one log. No gap is judged here, so the topic's policies are not needed."""
    found = read_log(directory, (), limits)
    if is_whole:
        return found
    nothing = Fold().result()
    scans = [replace(scan, folded=nothing, damaged=(), findings=[]) for scan in found.scans if len(scan.states)]
    return found._replace(scans=scans)


def moment_among(moment: Moment | None, logs: Sequence[TopicLog]) -> Moment:
    """Return a moment of these logs; None stands for their ends. Raises UnsupportedError as ``Moment.among`` does."""
    if moment is None or not logs:
        return Moment()
    newest = max(log.partition.newest_broker for log in logs)
    return moment.among(newest, max(log.partition.log_end_offset for log in logs), logs[0].partition.directory.topic)
