"""A second reading of what an audit could not prove: of a live directory it shows what ended and what hangs.

Only the partitions with such transactions are read again, and the coordinator's. Where a directory's logs grew between
the readings, a broker writes there, and every file of it is read as it is now. What was open in both readings, with the
same batches, was appended before the state partitions were read again: nothing about it is missing any more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import (
    Audit,
    AuditOptions,
    ClusterAudit,
    Deadlines,
    LogAudit,
    Verdict,
    producer_findings,
)
from kafkalog.log.names import STATE_TOPIC
from kafkalog.quantities import at_newest
from kafkalog.txn import extents

__all__ = ["confirmed"]

_OF_VERDICTS: Final = frozenset(
    {"transaction-hanging", "transaction-undecided", "transaction-pending", "transaction-overdue"}
)
_SURE: Final = ("proved", "damage-between")  # a second reading adds nothing
_Row = tuple[int, int, int]


def confirmed(
    found: Audit, paths: Sequence[str | os.PathLike[str]], options: AuditOptions, seconds: float
) -> Audit:  # fmt: skip
    """Read again, after some `seconds`, the partitions of an audit in which an open transaction is not proved."""
    doubtful = {
        log.partition.directory.log
        for cluster in found.clusters
        for log in cluster.logs
        if any(verdict.certainty not in _SURE for _, verdict in _open(log).values())
    }
    if not doubtful:
        return found
    time.sleep(seconds)
    again, sure = (
        _by_cluster(
            audit(paths, chosen, only=lambda directory: directory.topic == STATE_TOPIC or directory.log in doubtful)
        )
        for chosen in (options, replace(options, snapshot=True))
    )
    clusters = []
    for old in found.clusters:
        new, certain = again.get(_key(old)), sure.get(_key(old))
        both = new is not None and certain is not None
        clusters.append(_merged(old, new, certain, doubtful, options) if both and new and certain else old)
    return replace(found, clusters=clusters)


def _key(cluster: ClusterAudit) -> str:
    return cluster.cluster_id or cluster.nodes[0].path


def _by_cluster(found: Audit) -> dict[str, ClusterAudit]:
    return {_key(cluster): cluster for cluster in found.clusters}


def _by_log(cluster: ClusterAudit) -> dict[str, LogAudit]:
    return {log.partition.directory.log: log for log in cluster.logs}


def _open(log: LogAudit) -> dict[_Row, tuple[int, Verdict]]:
    """Return the numbers of open transactions and the verdicts on them, by producer, first and last offset."""
    return {
        (row["producer_id"], row["first_offset"], row["last_offset"]): (number, verdict)
        for number, (row, verdict) in zip(sorted(log.verdicts.special), log.verdicts.judged(), strict=True)
        if row["marker_type"] == extents.OPEN
    }


def _merged(
    old: ClusterAudit, new: ClusterAudit, certain: ClusterAudit, doubtful: set[str], options: AuditOptions
) -> ClusterAudit:
    """Put the newer reading of the doubtful logs in the place of the older one."""
    newest, surest = _by_log(new), _by_log(certain)
    live = {
        log.node.path
        for log in old.logs
        if (later := newest.get(log.partition.directory.log)) is not None
        and later.partition.log_end_offset > log.partition.log_end_offset
    }
    coordinated = {log.node.path for log in old.logs if log.partition.directory.topic == STATE_TOPIC} <= live
    logs = []
    for log in old.logs:
        name = log.partition.directory.log
        if name not in doubtful or name not in newest:
            logs.append(log)
            continue
        later = newest[name]
        if coordinated and log.node.path in live and name in surest:
            _prove(log, later, surest[name], new, options)
        logs.append(later)
    return replace(old, logs=logs, coordinator=new.coordinator)


def _prove(log: LogAudit, later: LogAudit, sure: LogAudit, cluster: ClusterAudit, options: AuditOptions) -> None:
    """Take the verdicts of one moment on what is open in all readings, unchanged."""
    known, certain = _open(log), _open(sure)
    for row, (number, verdict) in _open(later).items():
        if row in known and row in certain and verdict.certainty not in _SURE:
            later.verdicts.special[number] = certain[row][1]
    if later.judged.spoken_for:
        return  # another replica's findings are about these transactions
    coordinator = cluster.coordinator
    now = at_newest(options.now, max([later.partition.newest_broker, *coordinator.newest.values()]))
    deadlines = Deadlines(now, 0, options.max_timeout_ms)
    leaders = {(finding.code, finding.offset): finding.leader for finding in later.findings}
    fresh = producer_findings(later.partition, later.verdicts, coordinator, deadlines)
    kept = [finding for finding in later.findings if finding.code not in _OF_VERDICTS]
    later.findings = kept + [
        finding._replace(leader=leaders.get((finding.code, finding.offset)))
        for finding in fresh
        if finding.code in _OF_VERDICTS
    ]
