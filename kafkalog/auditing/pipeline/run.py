"""A whole audit: directories to clusters, and the stages one after the other, on any executor."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from kafkalog import few_of_many
from kafkalog.auditing.partition import SegmentScan
from kafkalog.auditing.pipeline.executors import Executor, Scanned, executor_for
from kafkalog.auditing.pipeline.kept_scans import KeptScans
from kafkalog.auditing.pipeline.places import LogPlace, logs_of
from kafkalog.auditing.pipeline.stages import surround
from kafkalog.auditing.topics import CommittedGroups
from kafkalog.auditing.transactions import (
    Audit,
    AuditOptions,
    ClusterAudit,
    Contradictions,
    LogAudit,
    Surroundings,
    may_lack_its_end,
)
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.moving import lost_directories

__all__ = ["audit", "run_stages"]

ScannedT = TypeVar("ScannedT", bound=Scanned)
JudgedT = TypeVar("JudgedT")


@contextmanager
def run_stages(
    clusters: Sequence[Cluster], logs: Sequence[LogPlace], executor: Executor[ScannedT, JudgedT], options: AuditOptions
) -> Iterator[tuple[dict[int, Surroundings], JudgedT]]:
    """Run the stages on the `logs` of `clusters`: scan, surround, judge, across partitions.

    Gives the surroundings of each cluster, by its number, and the executor's judgement, which lasts as long as the
    context. That the inputs are of one moment is checked before it is used; which open transactions are only counted
    is known before any is judged.
    """
    with executor.scan(logs, executor.kept.known(clusters, logs, options.limits)) as scanned:
        states: dict[int, list[tuple[LogPlace, Sequence[SegmentScan]]]] = {}
        cut = set()
        # Asked for once: with Spark each question is a job.
        for log, scans in scanned.of_logs([log for log in logs if log.directory.topic == STATE_TOPIC]):
            states.setdefault(log.cluster, []).append((log, scans))
            if may_lack_its_end(scans):
                cut.add(log.directory.log)
        around = {
            number: surround(cluster, states.get(number, ()), scanned.clock(number), options)
            for number, cluster in enumerate(clusters)
        }
        if options.snapshot:
            _believe(clusters, logs, scanned, around, cut)
        _limit(logs, scanned, around)
        with executor.judge(logs, scanned, around) as judged:
            yield around, judged


def _believe(
    clusters: Sequence[Cluster], logs: Sequence[LogPlace], scanned: ScannedT, around: Mapping[int, Surroundings],
    cut: Collection[str],
) -> None:  # fmt: skip
    """Look for what inputs of one moment can't have; where there is some, say so and go on as without that word.

    `cut` are the logs of the state topic that may lack their ends.
    """
    nodes = {node.path: node for cluster in clusters for node in cluster.nodes}
    places = [replace(log, node=_with_checkpoints(nodes[log.node.path], log)) for log in logs]
    first: dict[int, Finding] = {}
    count: Counter[int] = Counter()
    found_by = {number: Contradictions(one, cut) for number, one in around.items()}
    for cluster, finding, many in scanned.contradictions(places, found_by):
        first.setdefault(cluster, finding)
        count[cluster] += many
    for cluster, finding in first.items():
        counted = f". {count[cluster] - 1} more like it" if count[cluster] > 1 else ""
        around[cluster].contradicted(clusters[cluster].nodes, finding._replace(message=finding.message + counted))


def _with_checkpoints(node: LogDirectory, log: LogPlace) -> LogDirectory:
    """Return a log's node with what its checkpoints say of that log alone: it goes to a task."""
    key = log.directory.topic, log.directory.partition
    known = {kind: {key: offsets[key]} for kind, offsets in node.all_checkpoints.items() if key in offsets}
    return replace(log.node, all_checkpoints=known)


def _limit(logs: Sequence[LogPlace], scanned: Scanned, around: Mapping[int, Surroundings]) -> None:
    """Say which open transactions are only counted where a run may have too many, or a log that is shared out."""
    at_most = scanned.opened()
    shared = (at_most[log.number] for log in logs if log.shares > 1)
    if at_most.total() <= few_of_many.IN_A_RUN and max(shared, default=0) <= few_of_many.IN_A_LOG:
        return

    def place(log: LogPlace) -> tuple[str, int, int, str]:
        return log.directory.topic, log.directory.partition, log.cluster, log.directory.log

    found = dict(few_of_many.only_counted(scanned.open_offsets(sorted(logs, key=place))))
    for one in around.values():
        one.only_counted = found


def audit(
    paths: Sequence[str | os.PathLike[str]], options: AuditOptions | None = None,
    only: Callable[[PartitionDirectory], bool] = lambda _: True, kept: KeptScans | None = None,
) -> Audit:  # fmt: skip
    """Audit log directories, or partitions' directories alone; clusters are audited side by side.

    `only` says which partitions are read, `kept` which scans are kept and taken.
    """
    options = options or AuditOptions()
    clusters, refused = open_clusters(paths)
    wanted = (log for log in logs_of(clusters, share_bytes=None) if only(log.directory))
    logs = [log if log.number == number else replace(log, number=number) for number, log in enumerate(wanted)]
    audits = []
    executor = executor_for(logs, options.limits, options.jobs, kept or KeptScans())
    with run_stages(clusters, logs, executor, options) as (around, judged):
        in_cluster: dict[int, list[LogAudit]] = {}
        for log in logs:
            in_cluster.setdefault(log.cluster, []).append(judged.logs[log.number])
        for number, cluster in enumerate(clusters):
            of_cluster = in_cluster.get(number, [])
            findings = [*around[number].findings, *judged.findings.get(number, ())]
            coordinator = around[number].coordinator
            groups = CommittedGroups(cluster.nodes, options.limits)
            findings += groups.told([log.partition for log in of_cluster])
            findings += lost_directories(cluster.nodes)  # once all is read
            metadata, now = around[number].metadata, around[number].now
            audits.append(
                ClusterAudit(
                    cluster.cluster_id, cluster.nodes, of_cluster, coordinator, findings, metadata, now, groups
                )
            )
    return Audit(audits, refused, reused=judged.scanned.reused, sha256=judged.scanned.sha256)
