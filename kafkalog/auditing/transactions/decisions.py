"""A log's transactions compared with what the coordinator decided, where its records survive.

Each decision has one marker in each partition that it lists. Data that an administrator aborted after that marker is
not held to the decision; an ABORT of what the coordinator decided to abort agrees with it, whoever wrote it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import numpy as np

from kafkalog.auditing.partition import LostOffsets, PartitionAudit, located
from kafkalog.auditing.transactions.atomicity import AtomicityCheck, differs
from kafkalog.auditing.transactions.own_markers import Answered, OwnMarkers, is_sole, kept_by
from kafkalog.auditing.transactions.verdicts import Context
from kafkalog.findings import Finding, Severity
from kafkalog.log.names import STATE_TOPIC
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Decision

__all__ = ["against_coordinator"]

_CLOCKS_MS: Final = 60_000  # how far the clocks of brokers may be apart


def against_coordinator(
    audit: PartitionAudit, own_markers: OwnMarkers, context: Context, *, spoken_for: bool = False
) -> AtomicityCheck:
    """Compare a log's transactions with what the coordinator decided for the very same ones.

    A marker that is missing is only reported of the replica that speaks for the partition: others may end earlier.
    """
    found = own_markers.answered
    judged = AtomicityCheck(audit, [], _identified(found), set(), spoken_for)
    answered = _compare(judged, found, context, LostOffsets(audit.gaps))
    if spoken_for or not _must_have_markers(audit):
        return judged
    elsewhere: dict[int, _Elsewhere] = {}
    for number in np.flatnonzero(found.own < 0).tolist():
        decision = found.decisions[number]
        if number in answered or not decision.committed:
            continue  # what was aborted and is lost, nobody misses
        known = _lacks_marker(audit, decision, context)
        if known is None:
            continue
        producer = decision.producer_id
        if producer not in elsewhere:
            elsewhere[producer] = _Elsewhere(audit.of_producer(producer))
        if decision not in elsewhere[producer]:
            judged.findings.append(_missing(audit, decision, *known, context.replicas))
    return judged


def _identified(found: Answered) -> set[int]:
    """Return the markers of the rows that are decisions' own, where the data has the decision's epoch."""
    numbers = np.flatnonzero(found.own >= 0)
    rows = found.rows.take(found.own[numbers])
    epochs = [found.decisions[number].data_epoch for number in numbers.tolist()]
    certain = (
        (rows["first_offset"] != NONE)
        & (rows["epoch_changes"] == 0)
        & (rows["last_epoch"] == np.array([-1 if epoch is None else epoch for epoch in epochs], np.int64))
    )
    return set(rows["marker_offset"][certain].tolist())


def _compare(judged: AtomicityCheck, found: Answered, context: Context, lost: LostOffsets) -> set[int]:
    """Compare data that a foreign marker ended with its decision; return the decisions so answered.

    It belongs to the decision's transaction up to the decision's own marker. Where the log has lost that one, it is the
    data up to the first marker after the decision.
    """
    answered: set[int] = set()
    foreign = found.held >= 0
    foreign[found.own[found.own >= 0]] = False
    places = np.flatnonzero(foreign)
    own = found.own[found.held[places]]
    places = places[(own < 0) | (places < own)]
    for place, row in zip(places.tolist(), found.rows.take(places), strict=True):
        number = int(found.held[place])
        decision = found.decisions[number]
        if number in answered:
            continue
        if found.own[number] < 0:
            if not _in_time(row, decision, context) or _own_may_be_lost(judged.audit, found, place, decision, lost):
                continue
            if row["marker_timestamp"] >= decision.decided:
                answered.add(number)
        judged.identified.add(row["marker_offset"])
        if decision.committed != (row["marker_type"] == extents.COMMIT):
            judged.broken.add(row["marker_offset"])
            judged.findings.append(_broken(judged.audit, row, decision))
    return answered


def _in_time(row: dict[str, int], decision: Decision, context: Context) -> bool:
    """Say whether data of a decision's epoch is its transaction's for certain, whatever marker ended it."""
    if is_sole(decision):
        return True
    if decision.until is None:  # the marker may be of a transaction that is not in this copy of the state topic
        return context.one_moment or row["marker_timestamp"] < decision.known_until
    return row["marker_timestamp"] < decision.until


def _own_may_be_lost(audit: PartitionAudit, found: Answered, place: int, decision: Decision, lost: LostOffsets) -> bool:
    """Say whether the decision's own marker may have been before this row: where offsets are missing, or trimmed."""
    first, before = int(found.rows["first_offset"][place]), found.before(place)
    if before is None:
        return lost.end_before(first) > 0 or (audit.log_start_offset > 0 and not 0 <= audit.oldest < decision.started)
    return lost.end_before(first) > int(found.rows["marker_offset"][before])


class _Elsewhere:
    """The data of a producer that is reported otherwise: it is open, or it was ended with later data.

    A transaction whose marker is missing is then no finding of its own, unless the later marker's kind differs.
    """

    def __init__(self, rows: Columns) -> None:
        self._until: dict[tuple[int, bool], int] = {}  # by epoch and kind: the newest marker that ended such data
        for row in rows.take((rows["epoch_changes"] != 0) | (rows["marker_type"] == extents.OPEN)):
            is_open = row["marker_type"] == extents.OPEN
            for epoch in (row["first_epoch"], row["last_epoch"]):
                for committed in (True, False) if is_open else (row["marker_type"] == extents.COMMIT,):
                    time = sys.maxsize if is_open else row["marker_timestamp"]
                    self._until[epoch, committed] = max(time, self._until.get((epoch, committed), -1))

    def __contains__(self, decision: Decision) -> bool:
        if decision.data_epoch is None:
            return False
        return self._until.get((decision.data_epoch, decision.committed), -1) >= decision.started


def _must_have_markers(audit: PartitionAudit) -> bool:
    """Say whether nothing of a log was cleaned, trimmed or damaged: then a marker is missing only if it was lost."""
    return not (audit.log_start_offset or audit.cleaned_to >= 0 or audit.damaged or audit.gaps) and audit.oldest >= 0


def _lacks_marker(audit: PartitionAudit, decision: Decision, context: Context) -> tuple[str, Severity] | None:
    """Return how certain it is that the marker of a completed decision is missing in a log that must have it.

    Nothing is claimed where the marker may not have been copied yet, or where the partition is younger than the
    decision. When a transaction is completed, its markers were written: the log must go on past that time, by the clock
    of brokers. Producers' clocks may be fast: they prove nothing of a copy.
    """
    completed = decision.completed
    if completed < 0 or audit.oldest >= decision.started:
        return None
    if audit.newest_broker > completed or (context.one_moment and not context.several_nodes):
        return "proved", Severity.ERROR
    if context.one_moment and audit.newest > completed:
        return "proved", Severity.ERROR
    for after, severity in ((context.copy_ms, Severity.WARNING), (0, Severity.NOTE)):
        if audit.newest > completed + after + _CLOCKS_MS:
            return "unless-copied-while-running", severity
    return None


def _missing(
    audit: PartitionAudit, decision: Decision, certainty: str, severity: Severity, replicas: Sequence[PartitionAudit]
) -> Finding:
    finding = Finding.of(
        "atomicity-broken",
        audit.directory.log,
        f"The coordinator committed and completed a transaction of {decision.transactional_id} (record at offset"
        f" {decision.offset} of {STATE_TOPIC}). Its record lists this partition, but the log has no marker with epoch"
        f" {decision.epoch}.{kept_by(replicas, decision)}",
        offset=audit.log_end_offset,
        producer_id=decision.producer_id,
        needed="committed",
        found="no marker",
        certainty=certainty,
    )
    return located(finding._replace(severity=severity), audit.directory)


def _broken(audit: PartitionAudit, row: dict[str, int], decision: Decision) -> Finding:
    said = "committed" if decision.committed else "aborted"
    proof = f"the coordinator {said} the transaction (record at offset {decision.offset} of {STATE_TOPIC})"
    if is_sole(decision) and row["marker_epoch"] != decision.epoch:
        proof += f"; the coordinator's marker would have epoch {decision.epoch}, this one has {row['marker_epoch']}"
    return differs(audit.directory, row, f"transactional id {decision.transactional_id}", said, proof)
