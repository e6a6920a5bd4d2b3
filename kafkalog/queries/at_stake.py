"""The records that an incident is about, and those that only one replica has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from kafkalog.auditing.incidents import Incident, incidents_of_audit, rows_of_audit, worst_first
from kafkalog.auditing.partition import fork_of, reach
from kafkalog.auditing.transactions import Audit, LogAudit
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.columns.sorted_rows import Spans
from kafkalog.errors import UnsupportedError
from kafkalog.few_of_many import grouped
from kafkalog.folds import fold
from kafkalog.narrowing import Narrowing, nothing_matches
from kafkalog.queries.given_file import GivenFile, GivenLogs
from kafkalog.queries.given_logs import fates_of, segments_with
from kafkalog.segments.selection import Selection
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.incident_tables import INCIDENTS

if TYPE_CHECKING:
    from kafkalog.log_dirs.log_directory import PartitionDirectory

__all__ = ["files_at_stake", "incident_asked"]

_Spans = tuple[tuple[int, int], ...]


def files_at_stake(given: GivenLogs, narrowing: Narrowing, incident: str | None) -> list[GivenFile]:
    """Return the files with the records of an incident, or without one those that only one replica has.

    Raises UnsupportedError where no directories were given, NothingMatchesError if there is no such incident.
    """
    if given.audit is None:
        raise UnsupportedError("the records of incidents, and those that are lost, need directories")
    files = files_lost(given) if incident is None else files_of_incident(given.audit, incident)
    return [one for one in files if one.fates is not None and narrowing.log(one.fates.topic, one.fates.partition)]


def incident_asked(audit: Audit, wanted: str) -> Incident:
    """Return the incident with an id, or with the number that the screen gives it. Raises NothingMatchesError."""
    incidents = {one.id: one for one in incidents_of_audit(audit)}
    rows = [dict(zip(INCIDENTS.names, one.row(), strict=True)) for one in incidents.values()]
    shown = [row["id"] for row in worst_first(row for row in rows if row["kind"] not in INFORMATIVE)]
    number = int(wanted) if wanted.isdecimal() and len(wanted) < 9 else 0
    found = incidents.get(shown[number - 1] if 0 < number <= len(shown) else wanted)
    if found is None:
        raise nothing_matches("incident", [wanted], incidents)
    return found


def files_of_incident(audit: Audit, wanted: str) -> list[GivenFile]:
    """Return the files with the records that an incident is about: of its transactions, or at its offsets.

    Of lost records these are the copies that are left, and the transactions that the loss left open. Raises
    NothingMatchesError if there is no such incident.
    """
    found = incident_asked(audit, wanted)
    logs = {log.partition.directory.log: log for cluster in audit.clusters for log in cluster.logs}
    if found.kept_in:
        spans: dict[str, list[tuple[int, int]]] = {}
        for one in found.kept_in:
            spans.setdefault(one.log, []).append((one.first_offset, one.last_offset))
        copies = list(_of_copies((logs[log], tuple(of_log)) for log, of_log in spans.items()))
        others = {name: log for name, log in logs.items() if name not in spans}
        return copies + list(_of_findings(audit, found, others, of_producers=True))
    return list(_of_findings(audit, found, logs)) or list(_aborted(found, logs.values()))


def _aborted(incident: Incident, logs: Iterable[LogAudit]) -> Iterator[GivenFile]:
    """Yield the files with the aborted transactions of an incident's producers: nothing is wrong with their logs."""
    ids: dict[int, tuple[str, ...]] = {}
    producers = np.array(sorted(incident.producer_ids), np.int64)
    for log in logs:
        directory, rows = log.partition.directory, log.verdicts.rows
        if _place(log) not in incident.partitions:
            continue
        its = np.flatnonzero(
            np.isin(rows["producer_id"], producers) & fold.has_data(rows) & (rows["marker_type"] == fold.ABORT)
        )
        if len(its):
            extents = Spans(*(rows[name][its] for name in ("producer_id", "first_offset", "marker_offset")))
            fates = fates_of(log, ids)
            yield from (GivenFile(path, fates, extents=extents) for path in _paths(directory))


def _of_findings(
    audit: Audit, incident: Incident, logs: dict[str, LogAudit], *, of_producers: bool = False
) -> Iterator[GivenFile]:
    """Yield the files with what the findings are about; `of_producers` leaves out those that are about no producer."""
    wanted = set(incident.findings)
    by_log: dict[str, list[dict[str, object]]] = {}
    for row in rows_of_audit(audit, FINDINGS.name):
        finding = dict(zip(FINDINGS.names, row, strict=True))
        if finding["id"] in wanted and finding["log"] in logs and finding["offset"] is not None:
            by_log.setdefault(str(finding["log"]), []).append(finding)
    ids: dict[int, tuple[str, ...]] = {}
    for name, findings in sorted(by_log.items()):
        log = logs[name]
        extents = _extents(log, [one for one in findings if one["producer_id"] is not None])
        if extents is not None:
            fates = fates_of(log, ids)
            yield from (GivenFile(path, fates, extents=extents) for path in _paths(log.partition.directory))
        elif not of_producers:
            spans = tuple((int(str(one["offset"])), _last(one)) for one in findings)
            yield from _of_spans(log, spans, ids)


def _last(finding: dict[str, object]) -> int:
    last = finding["last_offset"]
    return int(str(finding["offset"] if last is None else last))


def _extents(log: LogAudit, findings: Iterable[dict[str, object]]) -> Spans | None:
    """Return the transactions that findings are about, None where they are about none."""
    rows = log.verdicts.rows
    every = fold.spans(rows)
    asked = [(int(str(one["producer_id"])), int(str(one["offset"]))) for one in findings]
    if not asked:
        return None
    producers, offsets = (np.array(cells, np.int64) for cells in zip(*asked, strict=True))
    at = np.unique(every.find_rows(producers, offsets))
    at = at[at >= 0]
    return fold.spans(rows.take(at)) if len(at) else None


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
