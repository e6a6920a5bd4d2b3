"""A log's transactions compared with what the coordinator decided, where its records survive.

Each decision has one marker in each partition that it lists. Data that an administrator aborted after that marker is
not held to the decision; an ABORT of what the coordinator decided to abort agrees with it, whoever wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import LostOffsets, PartitionAudit, located
from kafkalog.auditing.transactions.atomicity import AtomicityCheck, differs
from kafkalog.auditing.transactions.ended_rows import ReplicaMarkers, is_sole
from kafkalog.auditing.transactions.own_markers import Answered, OwnMarkers
from kafkalog.auditing.transactions.verdict_facts import Context
from kafkalog.certainty import NEVER, Inputs, certainty_of, cut
from kafkalog.columns.sorted_rows import SortedRows, among, distinct
from kafkalog.columns.table import NONE, Columns
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.quantities import CLOCKS_MS
from kafkalog.settle import Reason, lowered

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["against_coordinator"]

_NONE: Final = np.empty(0, np.int64)
# How far a log must go on past a completed decision, the farthest first, and what then still makes its marker no loss.
_LACKS: Final = (None, Reason.COPY_MAY_EXPLAIN, Reason.MAY_BE_THERE)


def against_coordinator(
    audit: PartitionAudit, own_markers: OwnMarkers, context: Context, *, spoken_for: bool = False
) -> AtomicityCheck:
    """Compare a log's transactions with what the coordinator decided for the very same ones.

    A marker that is missing is only reported of the replica that speaks for the partition: others may end earlier.
    """
    if not own_markers:  # of most partitions, which cost as little as possible
        return AtomicityCheck(audit, [], _NONE, _NONE, spoken_for)
    findings: list[Finding] = []
    identified, broken = [_NONE], [_NONE]
    for found in own_markers.answered():
        compared = _Compared(audit, found, context)
        findings += compared.findings
        if not spoken_for and _must_have_markers(audit):
            findings += _missing(audit, found, compared.answered, context)
        identified += [_identified(found), np.array(compared.identified, np.int64)]
        broken.append(np.array(compared.broken, np.int64))
    every, broken_ones = (distinct(np.concatenate(parts)) for parts in (identified, broken))
    return AtomicityCheck(audit, findings, every, broken_ones, spoken_for)


def _identified(found: Answered) -> NDArray[np.int64]:
    """Return the markers of the rows that are decisions' own, where the data has the decision's epoch."""
    decisions = found.decisions.take(found.decisions["own"] >= 0)
    rows, epochs = found.rows.take(decisions["own"]), decisions["data_epoch"]
    certain = (
        fold.has_data(rows)
        & (rows["older_records"] == NONE)
        & (rows["last_epoch"] == np.where(epochs == NONE, -1, epochs))
    )
    offsets: NDArray[np.int64] = rows["marker_offset"][certain]
    return offsets


class _Compared:
    """Data that a foreign marker ended compared with its decision, and the decisions that are so `answered`.

    It belongs to the decision's transaction up to the decision's own marker. Where the log has lost that one, it is the
    data up to the first marker after the decision.
    """

    def __init__(self, audit: PartitionAudit, found: Answered, context: Context) -> None:
        self.findings: list[Finding] = []
        self.identified: list[int] = []
        self.broken: list[int] = []
        self.answered = np.zeros(len(found.decisions), bool)
        self._audit = audit
        self._found = found
        self._lost = LostOffsets(audit.gaps)
        own, held = found.decisions["own"], found.rows["held"]
        foreign = held >= 0
        foreign[own[own >= 0]] = False
        places = np.flatnonzero(foreign)
        of_each = own[held[places]]
        places = places[(of_each < 0) | (places < of_each)]
        rows, decisions = found.rows.take(places), found.decisions.take(held[places])
        sole = is_sole(decisions)
        certain = (decisions["own"] >= 0) | sole | _in_time(rows, decisions, context)
        about = (places[certain].tolist(), rows.take(certain), decisions.take(certain), sole[certain].tolist())
        for place, row, decision, is_alone in zip(*about, strict=True):
            self._compare(place, row, decision, sole=is_alone)

    def _compare(self, place: int, row: dict[str, int], decision: dict[str, int], *, sole: bool) -> None:
        number = row["held"]
        if self.answered[number]:
            return
        if decision["own"] < 0:
            if self._own_may_be_lost(place, decision):
                return
            self.answered[number] = row["marker_timestamp"] >= decision["decided"]
        self.identified.append(row["marker_offset"])
        if decision["committed"] != (row["marker_type"] == fold.COMMIT):
            self.broken.append(row["marker_offset"])
            name = self._found.ids[decision["transactional_id"]]
            self.findings.append(_broken(self._audit, row, decision, name, sole=sole))

    def _own_may_be_lost(self, place: int, decision: dict[str, int]) -> bool:
        """Say whether the decision's own marker may have been before this row: where offsets are missing, trimmed."""
        rows, audit = self._found.rows, self._audit
        lost, before = self._lost.end_before(int(rows["first_offset"][place])), self._found.before(place)
        if before is None:
            return lost > 0 or (audit.log_start_offset > 0 and not 0 <= audit.oldest < decision["started"])
        return lost > int(rows["marker_offset"][before])


def _in_time(rows: Columns, decisions: Columns, context: Context) -> NDArray[np.bool_]:
    """Say whether data of a decision's epoch is its transaction's for certain, whatever marker ended it."""
    times, until = rows["marker_timestamp"], decisions["until"]
    # Without a next transaction the marker may be of one that is not in this copy of the state topic.
    known = (times < decisions["known_until"]) | context.inputs.are_of_one_moment
    in_time: NDArray[np.bool_] = np.where(until == NONE, known, times < until)
    return in_time


def _must_have_markers(audit: PartitionAudit) -> bool:
    """Say whether nothing of a log was cleaned, trimmed or damaged: then a marker is missing only if it was lost."""
    return not (audit.log_start_offset or audit.cleaned_to >= 0 or audit.damaged or audit.gaps) and audit.oldest >= 0


def _missing(
    audit: PartitionAudit, found: Answered, answered: NDArray[np.bool_], context: Context
) -> list[Finding]:  # fmt: skip
    """Report the decisions to commit whose markers are missing; what was aborted and is lost, nobody misses."""
    decisions = found.decisions.take((found.decisions["own"] < 0) & ~answered & (found.decisions["committed"] != 0))
    decisions = decisions.take(~_elsewhere(audit, decisions))
    lacks = _lack_marker(audit, decisions, context)
    decisions, lacks = decisions.take(lacks >= 0), lacks[lacks >= 0]
    kept = ReplicaMarkers.of(context.replicas, decisions)
    return [
        _without_marker(
            audit, decision, found.ids[decision["transactional_id"]], kept.words(number, committed=True), _LACKS[lack]
        )
        for number, (decision, lack) in enumerate(zip(decisions, lacks.tolist(), strict=True))
    ]


def _elsewhere(audit: PartitionAudit, decisions: Columns) -> NDArray[np.bool_]:
    """Say of which decisions to commit the data is reported otherwise: open, or ended by a COMMIT with later data.

    A transaction whose marker is missing is then no finding of its own.
    """
    names = ("producer_id", "first_epoch", "last_epoch", "older_records", "marker_type", "marker_timestamp")
    producers = distinct(decisions["producer_id"])
    parts = [
        rows.take(
            (fold.is_open(rows) | ((rows["older_records"] != NONE) & (rows["marker_type"] == fold.COMMIT)))
            & among(rows["producer_id"], producers)
        )
        for rows in (audit.transactions.blocks(*names) if len(producers) else ())
    ]
    rows = Columns.concat(parts, names)
    if not len(rows):
        return np.zeros(len(decisions), bool)
    is_open = fold.is_open(rows)
    times = np.where(is_open, NEVER, cut(rows["marker_timestamp"]))
    two = rows["first_epoch"] != rows["last_epoch"]
    which, epochs, until = (
        np.concatenate([column, more[two]])
        for column, more in ((rows["producer_id"],) * 2, (rows["last_epoch"], rows["first_epoch"]), (times, times))
    )
    placed = SortedRows((which, epochs), until)
    known = decisions["data_epoch"] != NONE
    group = placed.groups(decisions["producer_id"], np.where(known, decisions["data_epoch"], -1))
    at = placed.first(group, cut(decisions["started"]))
    found: NDArray[np.bool_] = placed.holds(at, group) & known
    return found


def _lack_marker(audit: PartitionAudit, decisions: Columns, context: Context) -> NDArray[np.int64]:
    """Say which of `_LACKS` is true of completed decisions whose markers are missing in a log, -1 for none.

    Nothing is claimed where the marker may not have been copied yet, or where the partition is younger than the
    decision. When a transaction is completed, its markers were written: the log must go on past that time, by the clock
    of brokers. Producers' clocks may be fast: they prove nothing of a copy. Only after a clean stop a log has all that
    was written to it; one of a snapshot may lack its end.
    """
    completed = np.clip(decisions["completed"], -1, NEVER)
    proved, copy_ms = audit.newest_broker > completed, context.around.options.copy_ms
    if context.inputs.are_of_one_moment:
        whole_to = max(context.opened_ms, context.around.newest_broker - copy_ms)
        has_its_end = (context.inputs is Inputs.STOPPED) | (whole_to > completed)
        proved |= has_its_end & ((audit.newest > completed) | (not context.around.several_nodes))
    bad = np.select(
        [proved, audit.newest > completed + copy_ms + CLOCKS_MS, audit.newest > completed + CLOCKS_MS],
        range(len(_LACKS)),
        -1,
    )
    return np.where((completed < 0) | (audit.oldest >= decisions["started"]), -1, bad)


def _without_marker(
    audit: PartitionAudit, decision: dict[str, int], name: str, kept: str, reason: Reason | None
) -> Finding:
    finding = Finding.of(
        "atomicity-broken",
        audit.directory.log,
        f"The coordinator committed and completed a transaction of {name} (record at offset {decision['offset']} of"
        f" {STATE_TOPIC}). Its record lists this partition, but the log has no marker with epoch"
        f" {decision['epoch']}.{kept}",
        offset=audit.log_end_offset,
        producer_id=decision["producer_id"],
        needed="committed",
        found="no marker",
        certainty=certainty_of(),
    )
    return located(lowered(finding, reason), audit.directory)


def _broken(audit: PartitionAudit, row: dict[str, int], decision: dict[str, int], name: str, *, sole: bool) -> Finding:
    said = "committed" if decision["committed"] else "aborted"
    proof = f"the coordinator {said} the transaction (record at offset {decision['offset']} of {STATE_TOPIC})"
    if sole and row["marker_epoch"] != decision["epoch"]:
        proof += f"; the coordinator's marker would have epoch {decision['epoch']}, this one has {row['marker_epoch']}"
    return differs(audit.directory, row, f"transactional id {name}", said, proof)
