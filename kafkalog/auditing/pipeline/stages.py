"""The stages of an audit, each a function of the results of the one before; executors know nothing else of an audit.

scan: segments, one by one. surround: a cluster's state topic and metadata log. judge: the logs of one partition.
across: partitions compared with each other, by the transactions whose marker's epoch is their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafkalog.auditing.partition import ReadAgain, SegmentScan, of_one_moment, steady_findings
from kafkalog.auditing.pipeline.places import LogPlace
from kafkalog.auditing.topics import Metadata, cluster_metadata, policies, settle_misfits
from kafkalog.auditing.transactions import (
    AuditOptions,
    Judgement,
    StateLog,
    Surroundings,
    judge_replicas,
    key_outcomes,
)
from kafkalog.findings import Finding
from kafkalog.folds.shares import Share
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.quantities import LAST_MS
from kafkalog.unread import is_not_read

__all__ = ["Clock", "judge_partition", "keys_of_partition", "surround"]


class Clock(NamedTuple):
    """The newest time in a cluster's logs, and the newest that a broker wrote (ms); -1 where there is none."""

    newest: int = -1
    newest_broker: int = -1

    def with_scan(self, newest: int, newest_broker: int) -> Clock:
        """Return the clock after one more segment; times after 2040 are a wrong clock's, and pass no deadline."""
        newest, newest_broker = (time if time < LAST_MS else -1 for time in (newest, newest_broker))
        return Clock(max(self.newest, newest), max(self.newest_broker, newest_broker))


def surround(
    cluster: Cluster, states: Iterable[tuple[LogPlace, Sequence[SegmentScan]]], clock: Clock, options: AuditOptions
) -> Surroundings:
    """Make the surroundings of a cluster's logs; `states` are the logs of its state topic with their scans."""
    told: list[Finding] = []
    metadata = cluster_metadata(cluster.nodes, options.limits, told.append)
    settle_misfits(cluster.nodes, metadata)
    logs = []
    for log, scans in states:
        state = of_one_moment(log.node, log.directory, scans, _policies(log, metadata), options.limits)
        logs.append(StateLog.of(log.node, state.partition, state.scans))
    around = Surroundings.of(cluster.nodes, metadata, logs, clock.newest, clock.newest_broker, options)
    around.findings += [finding for finding in told if is_not_read(finding)]
    return around


def judge_partition(
    logs: Sequence[LogPlace],
    scans: Mapping[int, Sequence[SegmentScan]],
    around: Surroundings,
    share: Share = Share(),  # noqa: B008  # it is frozen
    of_keys: Sequence[Finding] = (),
) -> Judgement:
    """Join the logs of one partition and judge them; `scans` are by the logs' numbers, of this share of producers.

    A log whose files moved since it was listed is read again. Of one that moves on, only what all readings show is
    reported. Of logs that are shared out, `of_keys` are what ``keys_of_partition`` says of them.
    """
    found = _read(logs, scans, around, share)
    replicas = [(log.node, one.partition) for log, one in zip(logs, found, strict=True)]
    judged = judge_replicas(replicas, around, share, of_keys)
    for number, one in enumerate(found):
        if one.moved is not None:
            earlier = [
                judge_replicas(
                    [*replicas[:number], (logs[number].node, other), *replicas[number + 1 :]],
                    around,
                    share,
                    of_keys,
                )
                for other in one.earlier
            ]
            log = judged.logs[number]
            others = [other.logs[number].findings for other in earlier]
            log.findings = list(steady_findings(log.findings, others, one.partition.directory, one.moved))
    return judged


def keys_of_partition(
    logs: Sequence[LogPlace], scans: Mapping[int, Sequence[SegmentScan]], around: Surroundings
) -> list[Finding]:
    """Compare the newest records of the replicas of a partition that is shared out; the scans are the log's share."""
    found = _read(logs, scans, around, Share(logs[0].shares, logs[0].shares))
    return key_outcomes([(log.node, one.partition) for log, one in zip(logs, found, strict=True)], around)


def _read(
    logs: Sequence[LogPlace], scans: Mapping[int, Sequence[SegmentScan]], around: Surroundings, share: Share
) -> list[ReadAgain]:
    limits = around.options.limits
    return [
        of_one_moment(
            log.node, log.directory, scans[log.number], _policies(log, around.metadata), limits, share
        )
        for log in logs
    ]  # fmt: skip


def _policies(log: LogPlace, metadata: Metadata | None) -> set[str | None]:
    return policies(metadata, log.directory.topic)
