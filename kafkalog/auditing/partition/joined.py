"""One partition: its segments' scans joined, its offsets, its gaps with their causes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.auditing.partition.cleaning import cleaned_to_of
from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.gaps import NO_GAPS, Evidence, classify, missing_offsets
from kafkalog.auditing.partition.log_rules import broken_sequences, late_beginnings
from kafkalog.auditing.partition.neighbours import Neighbours, WrongFields
from kafkalog.auditing.partition.scan import DamagedBytes, LogName, SegmentScan
from kafkalog.auditing.partition.timestamp_units import unit_findings
from kafkalog.columns.table import NONE, Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.opening import open_source
from kafkalog.findings import Finding, Severity
from kafkalog.folds import fold as folds_fold
from kafkalog.folds.fold import MARKER_COLUMNS, Fold, FoldedLog
from kafkalog.folds.shares import Share
from kafkalog.folds.stable import last_stable_offset
from kafkalog.kafka.index import AbortedTransaction
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.kafka.snapshot import ProducerState
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.segments.readers import read_aborted_transactions, read_snapshot
from kafkalog.segments.repeated_findings import counted
from kafkalog.settle import Reason, lowered
from kafkalog.tables.audit_tables import SEGMENTS
from kafkalog.unread import not_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["findings_and_damage", "join", "open_at_start", "open_offsets", "segment_row"]


# Bytes of a log that are no whole batch, placed between the offsets around them.


def findings_and_damage(scans: Sequence[SegmentScan], *, running: bool) -> tuple[list[Finding], list[DamagedBytes]]:
    """Return the findings of a partition's segments, and their damage with the offsets before it across segments.

    Zeros up to the end of a segment are damage unless it is the last one. The batch that a `running` broker was writing
    at the log's end is a note and no damage.
    """
    findings: list[Finding] = []
    damaged: list[DamagedBytes] = []
    last: int | None = None
    for number, scan in enumerate(scans):
        is_active = number == len(scans) - 1
        torn = {finding.position for finding in _torn(scan)} if is_active and running else set()
        findings += [
            lowered(found, Reason.BEING_WRITTEN)
            if found.code == "batch-truncated" and found.position in torn
            else found
            for found in scan.findings
        ]
        damaged += (
            extent if extent.last_offset is not None else extent._replace(last_offset=last)
            for extent in scan.damaged
            if extent.position not in torn
        )
        if scan.zero_tail is not None:
            if is_active:
                findings.append(scan.zero_tail)
            else:
                zeros = _zeros(scan, scan.zero_tail)
                findings.append(zeros)
                before = last if scan.folded.last_offset is None else scan.folded.last_offset
                damaged.append(DamagedBytes(zeros.file, zeros.position or 0, zeros.length or 0, before))
        last = last if scan.folded.last_offset is None else scan.folded.last_offset
    return findings, damaged


def _zeros(scan: SegmentScan, tail: Finding) -> Finding:
    message = f"{tail.length} zero bytes at the end of a segment that is not the last one"
    return Finding.of("bytes-zero", scan.segment.path, message, position=tail.position, length=tail.length)


def _torn(active: SegmentScan) -> Iterator[Finding]:
    """Yield the batch that a broker was writing: its offset continues the log."""
    for finding in active.findings:
        if finding.code == "batch-truncated" and _goes_on(active, finding.position or 0):
            yield finding


def _goes_on(scan: SegmentScan, position: int) -> bool:
    """Say whether the written part of a batch's header has the next offset and a magic that exists."""
    last = scan.folded.last_offset
    after = scan.segment.base_offset if last is None else last + 1
    if after < 0:  # no offset of a broker's
        return False
    try:
        source = open_source(scan.segment.path, max_bytes=scan.segment.size)
    except UnreadableError:  # it vanished since
        return False
    with closing(source):
        head = source.read_bytes(position, RECORD_BATCH.position("magic") + 1)
    goes_on = after.to_bytes(8, "big").startswith(head[:8])
    return goes_on and head[RECORD_BATCH.position("magic") :] in (b"", b"\0", b"\1", b"\2")


# The transactions that were open where a log begins, by the producer snapshot taken there.


def open_at_start(directory: PartitionDirectory, report: Callable[[Finding], object]) -> Columns:
    """Return the transactions that were open where the log begins, by the snapshot taken there."""
    if not directory.segments or directory.segments[0].base_offset == 0:
        return Columns.empty(folds_fold.COLUMNS)
    path = directory.snapshots.get(directory.segments[0].base_offset)
    if path is None:
        return Columns.empty(folds_fold.COLUMNS)
    try:
        wrong: list[Finding] = []
        states = read_snapshot(path, on_finding=wrong.append)
    except UnreadableError as error:
        report(not_read(path, error))
        return Columns.empty(folds_fold.COLUMNS)
    for finding in wrong:
        report(finding)
    if wrong:  # a broker throws it away
        return Columns.empty(folds_fold.COLUMNS)
    opened = [state for state in states if state.current_txn_first_offset >= 0]
    return Columns(
        {name: np.array([_seeded(state, name) for state in opened], np.int64) for name in folds_fold.COLUMNS}
    )


def _seeded(state: ProducerState, name: str) -> int:
    values = {
        "log_id": 0,
        "producer_id": state.producer_id,
        "first_offset": state.current_txn_first_offset,
        "last_offset": max(state.last_offset, state.current_txn_first_offset),
        "batches": 0,
        "records": 0,
        "size": 0,
        "min_timestamp": NONE if state.timestamp < 0 else state.timestamp,
        "max_timestamp": state.timestamp,
        "first_epoch": state.producer_epoch,
        "last_epoch": state.producer_epoch,
        "marker_type": folds_fold.OPEN,
    }
    return int(values.get(name, NONE))


def join(
    directory: PartitionDirectory,
    scans: Sequence[SegmentScan],
    policies: Collection[str | None],
    share: Share = Share(),  # noqa: B008  # it is frozen
) -> PartitionAudit:
    """Join the scans of a partition's segments, which are in the order of their offsets.

    `policies` are the values of cleanup.policy that the topic had in its life, as far as the metadata log knows them:
    they decide which gaps are legal (see `gaps.classify`). An empty set says that nothing is known. The scans are those
    of a `share` of the producers.
    """
    reported: list[Finding] = []
    opened = _begun_before(directory, share, reported.append)
    of_segments, damaged = findings_and_damage(scans, running=directory.running)
    whole = _joined(opened, scans)
    first = whole.opened["first_offset"]
    bases = [segment.base_offset for segment in directory.segments]
    log_start = directory.log_start_offset
    ends = [scan.folded.last_offset + 1 for scan in scans if scan.folded.last_offset is not None]
    log_end = max([log_start if not bases else bases[-1], *ends[-1:]])
    entries = _txn_entries(directory, reported.append) if directory.txn_indexes else {}
    cleaned_to = cleaned_to_of(directory, scans, log_end)
    has_transactions = any(scan.transactions for scan in scans)
    gaps = NO_GAPS  # those that only a wrong base offset makes are none
    of_segments = [*of_segments, *_last_batches(directory, scans), *unit_findings(scans)]
    wrong = WrongFields(of_segments, directory)
    if missing := missing_offsets(scans).apart_from(wrong.of_offsets):
        aborted = [(entry.first_offset, entry.last_offset) for rows in entries.values() for entry in rows]
        evidence = Evidence(directory, log_start, cleaned_to, has_transactions, damaged, aborted)
        gaps = classify(missing, evidence, policies)
    facts = PartitionAudit(
        directory,
        log_start,
        log_end,
        last_stable_offset(
            # Brokers copy to a remote store only what is below the last stable offset.
            log_start,
            log_end,
            [int(first.min())] if len(first) and not directory.is_remote_alone else [],
        ),
        whole.extents,
        whole.producers,
        *_totals(scans),
        damaged,
        cleaned_to=cleaned_to,
        epochs=tuple(_epochs(scans)),
        has_transactions=has_transactions,
        breaks=tuple(sorted(whole.breaks, key=lambda found: found.first_offset)) if whole.breaks else (),
        gaps=gaps,
        findings=(*of_segments, *reported, *(_seams(scans) if len(scans) > 1 else ())),
        txn_entries=entries,
        others=Columns.concat([scan.folded.others for scan in scans], MARKER_COLUMNS),
        newest_of=tuple(-1 if scan.damaged or scan.zero_tail else scan.folded.newest for scan in scans),
    )
    of_producers = (*(broken_sequences(facts) if facts.breaks else ()), *late_beginnings(facts))
    return facts._replace(of_producers=tuple(counted(of_producers))) if of_producers else facts


def open_offsets(
    directory: PartitionDirectory,
    scans: Sequence[SegmentScan],
    share: Share = Share(),  # noqa: B008  # it is frozen
) -> NDArray[np.int64]:
    """Return the first offsets of a log's open transactions of a share of the producers, in order."""
    found = np.sort(_joined(_begun_before(directory, share, lambda _: None), scans).opened["first_offset"])
    return found.astype(np.int64)


def _begun_before(directory: PartitionDirectory, share: Share, report: Callable[[Finding], object]) -> Columns:
    opened = open_at_start(directory, report)
    return opened if share.of_log else opened.take(share.has(opened["producer_id"]))


def _totals(scans: Sequence[SegmentScan]) -> tuple[int, int, int, int, int, int]:
    """Return the numbers of batches, records and control records, the newest times, and the first of a producer's."""
    batches = records = control_records = 0
    newest = newest_broker = oldest = -1
    for scan in scans:
        folded = scan.folded
        batches, records = batches + folded.batches, records + folded.records
        control_records += folded.control_records
        newest = max(newest, folded.newest)
        newest_broker = max(newest_broker, folded.newest_broker)
        if scan.oldest >= 0:
            oldest = scan.oldest if oldest < 0 else min(oldest, scan.oldest)
    return batches, records, control_records, newest, newest_broker, oldest


def _joined(seed: Columns, scans: Sequence[SegmentScan]) -> FoldedLog:
    """Join scans after transactions that were open before them; one alone needs no joining."""
    if len(scans) == 1 and not len(seed):
        return scans[0].folded
    fold = Fold()
    fold.extents(seed)
    for scan in scans:
        fold.follow(scan.folded)
    whole = fold.result()
    fold.close()
    return whole


def _epochs(scans: Sequence[SegmentScan]) -> list[tuple[int, int]]:
    """Return the leader epochs of a log's batches, each with its first offset."""
    joined: list[tuple[int, int]] = []
    for epoch, first in (pair for scan in scans for pair in scan.folded.leader_epochs):
        if not joined or joined[-1][0] != epoch:
            joined.append((epoch, first))
    return joined


def _txn_entries(
    directory: PartitionDirectory, report: Callable[[Finding], object]
) -> dict[int, list[AbortedTransaction]]:
    """Read the ``.txnindex`` files that can be read, by their segments' base offsets."""
    found = {}
    for segment in directory.segments:
        if segment.base_offset in directory.txn_indexes:  # created with the first abort only
            path = segment.file(".txnindex")
            try:
                found[segment.base_offset] = read_aborted_transactions(path, on_finding=report)
            except UnreadableError as error:
                report(not_read(path, error))
    return found


def _last_batches(directory: PartitionDirectory, scans: Sequence[SegmentScan]) -> Iterator[Finding]:
    """Compare each segment's last batch with the start of the next one, or with the end that a clean stop left."""
    ends = [after.segment.base_offset for after in scans[1:]]
    ends += [max(directory.snapshots, default=-1) if directory.clean_shutdown else -1]
    for scan, following in zip(scans, ends, strict=False):
        if scan.end and following >= 0:
            yield from Neighbours(scan.segment.path, end=scan.end).followed_by(following)


def _seams(scans: Sequence[SegmentScan]) -> Iterator[Finding]:
    """Compare each segment's end with the next one's start: offsets and leader epochs only rise."""
    whole = [scan for scan in scans if scan.folded.first_offset is not None]
    for before, after in pairwise(whole):
        last, first = before.folded.last_offset, after.folded.first_offset
        if last is not None and first is not None and first <= last:
            yield Finding.of(
                "offset-not-increasing",
                after.segment.path,
                f"the segment begins at offset {first}, but the segment before it ends at offset {last}",
                position=0,
                offset=first,
                needed=last + 1,
                found=first,
            )
        (old, _), (new, _) = before.folded.leader_epochs[-1], after.folded.leader_epochs[0]
        if 0 <= new < old:
            yield Finding.of(
                "leader-epoch-decreasing",
                after.segment.path,
                f"the segment begins in leader epoch {new}, but the segment before it ends in leader epoch {old}",
                position=0,
                offset=first,
                needed=old,
                found=new,
            )


# A segment as a row of the table ``segments``.


def segment_row(of: LogName, scan: SegmentScan) -> tuple[Any, ...]:
    """Make a row of one pass over a segment."""
    folded, findings = scan.folded, scan.findings
    return SEGMENTS.of(
        log=of.log,
        topic=of.topic,
        partition=of.partition,
        file=scan.segment.path,
        base_offset=scan.segment.base_offset,
        size_bytes=scan.segment.size,
        first_offset=folded.first_offset,
        last_offset=folded.last_offset,
        batches=folded.batches,
        records=folded.records,
        control_records=folded.control_records,
        transactions=scan.transactions,
        first_timestamp_ms=scan.oldest,
        last_timestamp_ms=folded.newest,
        damaged_bytes=sum(extent.length for extent in scan.damaged),
        findings=sum(finding.severity > Severity.NOTE for finding in findings),
    )
