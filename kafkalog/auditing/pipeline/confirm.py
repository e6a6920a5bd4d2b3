"""A second reading of what an audit could not prove: of a live directory it shows what ended and what hangs.

Only the partitions with such transactions are read again, and the coordinator's. Where a directory's logs grew between
the readings, a broker writes there, and every file of it is read as it is now. What was open in both readings, with the
same batches, was appended before the state partitions were read again: nothing about it is missing any more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.topics import LeadersAt
from kafkalog.auditing.transactions import (
    OF_VERDICTS,
    Audit,
    AuditOptions,
    ClusterAudit,
    Deadlines,
    LogAudit,
    findings_of_transactions,
)
from kafkalog.certainty import UNLESS_COPIED
from kafkalog.columns.table import Columns
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.quantities import at_newest
from kafkalog.tables.audit_tables import CERTAINTIES
from kafkalog.unread import is_not_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["confirmed"]

_UNSURE: Final = CERTAINTIES.index(UNLESS_COPIED)  # a second reading adds nothing to the others
_NONE: Final = np.empty(0, np.intp)
_WHO: Final = ("producer_id", "first_offset", "last_offset")


def confirmed(
    found: Audit, paths: Sequence[str | os.PathLike[str]], options: AuditOptions, seconds: float
) -> Audit:  # fmt: skip
    """Read again, after some `seconds`, the partitions of an audit in which an open transaction is not proved."""
    doubtful = {
        log.partition.directory.log
        for cluster in found.clusters
        for log in cluster.logs
        if (_open(log)["certainty"] == _UNSURE).any()
    }
    if not doubtful:
        return found
    time.sleep(seconds)
    readings = [
        audit(paths, chosen, only=lambda directory: directory.topic == STATE_TOPIC or directory.log in doubtful)
        for chosen in (options, replace(options, snapshot=False, again=True))
    ]
    again, sure = map(_by_cluster, readings)
    clusters = []
    for old in found.clusters:
        new, certain = again.get(_key(old)), sure.get(_key(old))
        both = new is not None and certain is not None
        clusters.append(_merged(old, new, certain, doubtful, options) if both and new and certain else old)
    lost = [one for reading in readings for one in reading.refused]
    merged = replace(found, clusters=clusters, refused=list(dict.fromkeys([*found.refused, *lost])))
    told = {finding.file for finding in _unread(merged)}
    unread = {finding.file: finding for reading in readings for finding in _unread(reading) if finding.file not in told}
    clusters[0] = replace(clusters[0], findings=[*clusters[0].findings, *unread.values()])
    return merged


def _unread(found: Audit) -> Iterator[Finding]:
    """Return what an audit says that it could not read."""
    return (finding for finding in found.findings() if is_not_read(finding))


def _key(cluster: ClusterAudit) -> str:
    return cluster.nodes[0].path


def _by_cluster(found: Audit) -> dict[str, ClusterAudit]:
    return {_key(cluster): cluster for cluster in found.clusters}


def _by_log(cluster: ClusterAudit) -> dict[str, LogAudit]:
    return {log.partition.directory.log: log for log in cluster.logs}


def _open(log: LogAudit) -> Columns:
    """Return the open transactions of a log: who and where they are, their numbers among what is judged."""
    judged = log.verdicts.judged
    rows = log.verdicts.rows.take(judged["place"], *_WHO, "marker_type")
    more = {"number": np.arange(len(judged)), "certainty": judged["certainty"]}
    return rows.with_columns(more).take(fold.is_open(rows), *_WHO, *more)


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
    """Take the verdicts of one moment on what is open in all readings, unchanged.

    All else that is said of it is what `later` knows, whose words of the coordinator are the same.
    """
    known, certain, now_open = set(_open(log).tuples(*_WHO)), _open(sure), _open(later)
    places = dict(zip(certain.tuples(*_WHO), certain["number"].tolist(), strict=True))
    unsure = now_open.take(now_open["certainty"] == _UNSURE)
    pairs = [
        (number, places[row])
        for row, number in zip(unsure.tuples(*_WHO), unsure["number"].tolist(), strict=True)
        if row in known and row in places
    ]
    mine, theirs = (np.array(numbers, np.intp) for numbers in zip(*pairs, strict=True)) if pairs else (_NONE, _NONE)
    unchanged = (_words(later, mine) == _words(sure, theirs)).all(axis=0)
    mine, theirs = mine[unchanged], theirs[unchanged]
    judged = later.verdicts.judged
    proved = {name: judged[name].copy() for name in ("state", "cause", "certainty", "recent", "committed")}
    for name, cells in proved.items():
        cells[mine] = sure.verdicts.judged[name][theirs]
    later.verdicts.judged = judged.with_columns(proved)
    if later.judged.spoken_for:
        return  # another replica's findings are about these transactions
    coordinator = cluster.coordinator
    now = at_newest(options.now, max([later.partition.newest_broker, *coordinator.newest.values()]))
    deadlines = Deadlines(now, 0, options.max_timeout_ms)
    leaders = LeadersAt(later.partition, cluster.metadata)
    directory = later.partition.directory
    replicas = [
        one.partition
        for one in cluster.logs
        if one is not later and (one.partition.directory.topic, one.partition.directory.partition)
        == (directory.topic, directory.partition)
    ]  # fmt: skip
    newest = findings_of_transactions(later.partition, later.verdicts, deadlines, replicas, leaders)
    later.findings = [one for one in later.findings if one.code not in OF_VERDICTS]
    later.findings += (one for one in newest if one.code in OF_VERDICTS)


def _words(log: LogAudit, numbers: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the offsets of what the coordinator said last, and what it decided, about some transactions; -1 for no."""
    offsets = np.append(log.verdicts.coordinator.states["offset"], -1)
    judged = log.verdicts.judged
    return np.stack([offsets[judged[name][numbers]] for name in ("entry", "decision")])
