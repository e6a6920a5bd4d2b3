"""A second reading of what an audit could not prove: of a live directory it shows what ended and what hangs.

Only the partitions with such transactions are read again, and the coordinator's. Both readings are judged by the same
functions; what the two show together is that a log and the coordinator went on and a transaction did not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import Audit, AuditOptions, ClusterAudit, LogAudit, Verdict, producer_findings
from kafkalog.log.names import STATE_TOPIC
from kafkalog.txn import extents
from kafkalog.txn.coordinator import Coordinator

__all__ = ["confirmed"]

_OF_VERDICTS: Final = frozenset(
    {"transaction-hanging", "transaction-undecided", "transaction-pending", "transaction-overdue"}
)
_SURE: Final = ("proved", "damage-between")  # a second reading adds nothing


def confirmed(
    found: Audit, paths: Sequence[str | os.PathLike[str]], options: AuditOptions, seconds: float
) -> Audit:  # fmt: skip
    """Read again, after some `seconds`, the partitions of an audit in which an open transaction is not proved."""
    doubtful = {
        log.partition.directory.log
        for cluster in found.clusters
        for log in cluster.logs
        if any(verdict.certainty not in _SURE for verdict in _open(log).values())
    }
    if not doubtful:
        return found
    time.sleep(seconds)
    again = audit(
        paths, options, only=lambda directory: directory.topic == STATE_TOPIC or directory.log in doubtful
    )  # fmt: skip
    newer = {cluster.cluster_id or cluster.nodes[0].path: cluster for cluster in again.clusters}
    clusters = [
        _merged(cluster, newer.get(cluster.cluster_id or cluster.nodes[0].path), doubtful, options)
        for cluster in found.clusters
    ]
    return replace(found, clusters=clusters)


def _open(log: LogAudit) -> dict[tuple[int, int, int], Verdict]:
    """Return the verdicts on open transactions by producer, first and last offset."""
    return {
        (row["producer_id"], row["first_offset"], row["last_offset"]): verdict
        for row, verdict in log.verdicts.judged()
        if row["marker_type"] == extents.OPEN
    }


def _merged(
    old: ClusterAudit, new: ClusterAudit | None, doubtful: set[str], options: AuditOptions
) -> ClusterAudit:  # fmt: skip
    """Put the newer reading of the doubtful logs in the place of the older one."""
    if new is None:
        return old
    newest = {log.partition.directory.log: log for log in new.logs}
    logs = []
    for log in old.logs:
        later = newest.get(log.partition.directory.log) if log.partition.directory.log in doubtful else None
        if later is not None:
            _prove(log, later, old.coordinator, new.coordinator, options)
        logs.append(later or log)
    return replace(old, logs=logs, coordinator=new.coordinator)


def _prove(
    log: LogAudit, later: LogAudit, before: Coordinator, after: Coordinator, options: AuditOptions
) -> None:  # fmt: skip
    """Take as proved what hangs in both readings, unchanged, although its log and the coordinator went on."""
    if later.partition.log_end_offset <= log.partition.log_end_offset:
        return
    known, proved = _open(log), False
    for number, (row, verdict) in zip(sorted(later.verdicts.special), later.verdicts.judged(), strict=True):
        was = known.get((row["producer_id"], row["first_offset"], row["last_offset"]))
        if was is None or verdict.certainty in _SURE or (was.state, verdict.state) != ("hanging", "hanging"):
            continue
        if was.entry == verdict.entry and _went_on(verdict, before, after):
            later.verdicts.special[number] = verdict._replace(certainty="proved")
            proved = True
    if proved:
        now = max([later.partition.newest_broker, *after.newest.values()]) if options.now is None else options.now
        fresh = producer_findings(later.partition, later.verdicts, after, now, options.max_timeout_ms)
        leaders = {(finding.code, finding.offset): finding.leader for finding in later.findings}
        later.findings = [finding for finding in later.findings if finding.code not in _OF_VERDICTS] + [
            finding._replace(leader=leaders.get((finding.code, finding.offset)))
            for finding in fresh
            if finding.code in _OF_VERDICTS
        ]


def _went_on(verdict: Verdict, before: Coordinator, after: Coordinator) -> bool:
    """Say whether the coordinator wrote between the readings: of a known id, in its partition of the state topic."""
    numbers = after.newest if verdict.entry is None else [verdict.entry.partition]
    return bool(numbers) and all(after.newest.get(number, -1) > before.newest.get(number, -1) for number in numbers)
