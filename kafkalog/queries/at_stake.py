"""The records that incidents are about, and those that only one replica has."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from kafkalog.auditing.incidents import Incident, incidents_asked, incidents_of_audit, rows_of_audit
from kafkalog.auditing.partition import fork_of, reach
from kafkalog.auditing.transactions import Audit, LogAudit
from kafkalog.errors import UnsupportedError
from kafkalog.few_of_many import grouped
from kafkalog.folds import fold
from kafkalog.narrowing import Narrowing
from kafkalog.queries.given_file import GivenFile, GivenLogs
from kafkalog.queries.given_logs import fates_of, segments_with
from kafkalog.segments.selection import Selection
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.incident_tables import INCIDENTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.log_dirs.log_directory import PartitionDirectory

__all__ = ["files_at_stake", "incidents_named"]

_Spans = tuple[tuple[int, int], ...]


def files_at_stake(given: GivenLogs, narrowing: Narrowing, incident: str | None) -> list[GivenFile]:
    """Return the files with the records of incidents, or without any those that only one replica has.

    Raises UnsupportedError where no directories were given, NothingMatchesError if there is no such incident.
    """
    if given.audit is None:
        raise UnsupportedError("the records of incidents, and those that are lost, need directories")
    files = files_lost(given) if incident is None else files_of_incidents(given.audit, incident)
    return [one for one in files if one.fates is not None and narrowing.log(one.fates.topic, one.fates.partition)]


def incidents_named(audit: Audit, wanted: str) -> list[Incident]:
    """Return the incidents of a list of ids and of numbers on the screen. Raises NothingMatchesError."""
    incidents = {one.id: one for one in incidents_of_audit(audit)}
    rows = (dict(zip(INCIDENTS.names, one.row(), strict=True)) for one in incidents.values())
    return [incidents[row["id"]] for row in incidents_asked(rows, wanted)]


def files_of_incidents(audit: Audit, wanted: str) -> list[GivenFile]:
    """Return the files with the records that incidents are about: of their transactions, or at their offsets.

    Of lost records these are the copies that are left, and the transactions that the loss left open. Raises
    NothingMatchesError if there is no such incident, UnsupportedError where of one log both are meant.
    """
    asked = incidents_named(audit, wanted)
    logs = {log.partition.directory.log: log for cluster in audit.clusters for log in cluster.logs}
    findings = _by_incident(audit, asked, logs)
    transactions: dict[str, list[NDArray[np.intp]]] = {}
    spans: dict[str, list[tuple[int, int]]] = {}
    copies = {one.log for incident in asked for one in incident.kept_in}
    for incident in asked:
        kept = {one.log for one in incident.kept_in}
        for one in incident.kept_in:
            spans.setdefault(one.log, []).append((one.first_offset, one.last_offset))
        of_logs = {name: some for name, some in findings[incident.id].items() if name not in kept}
        for name, some in of_logs.items():
            if len(rows := _transactions(logs[name], some)):
                transactions.setdefault(name, []).append(rows)
            elif not kept:
                spans.setdefault(name, []).extend((int(str(one["offset"])), _last(one)) for one in some)
        for log in logs.values() if not (kept or of_logs) else ():
            if len(rows := _aborted(incident, log)):
                transactions.setdefault(log.partition.directory.log, []).append(rows)
    if both := sorted(transactions.keys() & spans.keys()):
        raise UnsupportedError(
            f"{both[0]}: some of these incidents are about transactions in it, others about offsets: take one at a time"
        )
    files = list(_of_copies((logs[name], tuple(some)) for name, some in spans.items() if name in copies))
    ids: dict[int, tuple[str, ...]] = {}
    for name in sorted((transactions.keys() | spans.keys()) - copies):
        log, fates = logs[name], fates_of(logs[name], ids)
        if name in spans:
            files += _of_spans(log, tuple(spans[name]), ids)
        else:
            extents = fold.spans(log.verdicts.rows.take(np.unique(np.concatenate(transactions[name]))))
            files += (GivenFile(path, fates, extents=extents) for path in _paths(log.partition.directory))
    return files


def _by_incident(
    audit: Audit, asked: Iterable[Incident], logs: Container[str]
) -> dict[str, dict[str, list[dict[str, object]]]]:
    """Return the findings of incidents that are about offsets, by the incident's id and by their logs."""
    owner = {finding: incident.id for incident in asked for finding in incident.findings}
    found: dict[str, dict[str, list[dict[str, object]]]] = {incident.id: {} for incident in asked}
    for row in rows_of_audit(audit, FINDINGS.name):
        finding = dict(zip(FINDINGS.names, row, strict=True))
        if finding["id"] in owner and finding["log"] in logs and finding["offset"] is not None:
            found[owner[finding["id"]]].setdefault(str(finding["log"]), []).append(finding)
    return found


def _aborted(incident: Incident, log: LogAudit) -> NDArray[np.intp]:
    """Return the aborted transactions of an incident's producers in a log: nothing is wrong with it."""
    rows = log.verdicts.rows
    if _place(log) not in incident.partitions:
        return np.zeros(0, np.intp)
    producers = np.array(sorted(incident.producer_ids), np.int64)
    return np.flatnonzero(
        np.isin(rows["producer_id"], producers) & fold.has_data(rows) & (rows["marker_type"] == fold.ABORT)
    )


def _last(finding: dict[str, object]) -> int:
    last = finding["last_offset"]
    return int(str(finding["offset"] if last is None else last))


def _transactions(log: LogAudit, findings: Iterable[dict[str, object]]) -> NDArray[np.intp]:
    """Return the transactions of a log that findings are about: none where they are about no producer."""
    asked = [
        (int(str(one["producer_id"])), int(str(one["offset"]))) for one in findings if one["producer_id"] is not None
    ]
    if not asked:
        return np.zeros(0, np.intp)
    producers, offsets = (np.array(cells, np.int64) for cells in zip(*asked, strict=True))
    at = fold.spans(log.verdicts.rows).find_rows(producers, offsets)
    return at[at >= 0]


def files_lost(given: GivenLogs) -> list[GivenFile]:
    """Return the files with records that the log that counts does not have: of replicas with another history or longer.

    Of each log only what consumers were given, or would have been.
    """
    copies: list[tuple[LogAudit, _Spans]] = []
    for cluster in given.audit.clusters if given.audit is not None else ():
        ends = {_place(log): log.partition.log_end_offset for log in cluster.logs if not log.judged.spoken_for}
        for log in cluster.logs:
            first = log.fork if log.fork is not None else ends[_place(log)]
            if log.judged.spoken_for and first < log.partition.log_end_offset:
                copies.append((log, ((first, log.partition.log_end_offset - 1),)))
    return list(_of_copies(copies))


def _of_copies(copies: Iterable[tuple[LogAudit, _Spans]]) -> Iterator[GivenFile]:
    """Yield the files of copies with these offsets; what several of one history have is of that which goes furthest.

    Copies that fork have other records at the same offsets: those of both.
    """
    ids: dict[int, tuple[str, ...]] = {}
    for _, of_one in sorted(grouped(copies, lambda copy: _place(copy[0])).items()):
        given: list[tuple[LogAudit, _Spans]] = []
        for log, spans in sorted(of_one, key=lambda one: reach(one[0].partition), reverse=True):
            left = spans
            for other, its in given:
                fork = fork_of(log.partition, other.partition)
                for low, high in its:
                    left = _without(left, low, high if fork is None else min(high, fork[0] - 1))
            if left:
                given.append((log, left))
                yield from _of_spans(log, left, ids)


def _without(spans: _Spans, low: int, high: int) -> _Spans:
    """Return spans of offsets without those from `low` to `high`."""
    parts = (
        ((first, min(last, low - 1)) for first, last in spans),
        ((max(first, high + 1), last) for first, last in spans),
    )
    return spans if low > high else tuple(sorted((first, last) for first, last in chain(*parts) if first <= last))


def _of_spans(log: LogAudit, spans: _Spans, ids: dict[int, tuple[str, ...]]) -> Iterator[GivenFile]:
    fates = fates_of(log, ids)
    within = Selection(min(low for low, _ in spans), max(high for _, high in spans))
    if any(low < 0 for low, _ in spans):  # no segment begins there, and any may have such a batch
        within = Selection()
    for segment in segments_with(log.partition.directory, within):
        yield GivenFile(segment.path, fates, spans=spans, outcomes=frozenset(("committed", "not-transactional")))


def _place(log: LogAudit) -> tuple[str, int]:
    return log.partition.directory.topic, log.partition.directory.partition


def _paths(directory: PartitionDirectory) -> list[str]:
    return [segment.path for segment in directory.segments]
