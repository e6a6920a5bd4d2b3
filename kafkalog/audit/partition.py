"""One partition: its segments' scans joined, its offsets, its gaps with their causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.audit.gap_causes import Gap, classify
from kafkalog.audit.scan import SegmentScan
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity
from kafkalog.format.index import AbortedTransaction
from kafkalog.format.layout import RECORD_BATCH
from kafkalog.format.snapshot import ProducerState
from kafkalog.log.files import open_source
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.readers import read_aborted_transactions, read_snapshot
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns, Packed
from kafkalog.txn.fold import Break, Fold, Stretch
from kafkalog.txn.sequences import judge
from kafkalog.txn.stable import last_stable_offset

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PartitionAudit", "join"]

# Topics whose producers are coordinators: their sequences mean nothing.
_COORDINATORS: Final = frozenset(
    {"__consumer_offsets", "__share_group_state", "__transaction_state", "__cluster_metadata"}
)
_EXPIRATION_MS: Final = 86_400_000  # producer.id.expiration.ms by default


@dataclass(slots=True)
class PartitionAudit:
    """What a partition's files say on their own. Offsets are log offsets; `transactions` are rows of extents.

    `findings` are about the log, `of_producers` about single producers in it. `txn_entries` are those of the
    ``.txnindex`` files that can be read, by their segments' base offsets.
    """

    directory: PartitionDirectory
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    transactions: Packed
    producers: Columns
    breaks: list[Break]
    gaps: list[Gap]
    batches: int
    records: int
    control_records: int
    newest: int
    newest_broker: int
    damaged: list[tuple[str, int, int, int | None]]
    cleaned_to: int
    epochs: list[tuple[int, int]]
    has_transactions: bool
    oldest: int
    findings: list[Finding] = field(default_factory=list)
    of_producers: list[Finding] = field(default_factory=list)
    txn_entries: dict[int, list[AbortedTransaction]] = field(default_factory=dict)
    _places: tuple[NDArray[np.int64], NDArray[np.intp]] | None = None

    def of_producer(self, producer_id: int) -> Columns:
        """Return a producer's transactions in log order."""
        if self._places is None:
            producers = self.transactions["producer_id"]
            order = np.argsort(producers, kind="stable")
            self._places = (producers[order], order)
        producers, order = self._places
        low, high = np.searchsorted(producers, [producer_id, producer_id + 1])
        return self.transactions.take(order[low:high])


def join(directory: PartitionDirectory, scans: Sequence[SegmentScan]) -> PartitionAudit:
    """Join the scans of a partition's segments, which are in the order of their offsets and are used up."""
    _place_damage(scans)
    if directory.running and scans:
        _excuse_torn_tail(scans[-1])
    findings = [finding for scan in scans for finding in scan.findings]
    whole = _joined(_seed(directory, findings.append), [scan.stretch for scan in scans])
    bases = [segment.base_offset for segment in directory.segments]
    log_start = max(directory.checkpoints.get("log_start", 0), bases[0] if bases else 0)
    ends = [scan.stretch.last_offset + 1 for scan in scans if scan.stretch.last_offset is not None]
    log_end = max([log_start if not bases else bases[-1], *ends[-1:]])
    audit = PartitionAudit(
        directory,
        log_start,
        log_end,
        last_stable_offset(log_start, log_end, whole.opened["first_offset"].tolist()),
        whole.extents,
        whole.producers,
        sorted(whole.breaks, key=lambda found: found.first_offset),
        [],
        sum(scan.stretch.batches for scan in scans),
        sum(scan.stretch.records for scan in scans),
        sum(scan.stretch.control_records for scan in scans),
        max((scan.stretch.newest for scan in scans), default=-1),
        max((scan.stretch.newest_broker for scan in scans), default=-1),
        [(scan.segment.path, *extent) for scan in scans for extent in scan.damaged],
        _cleaned_to(directory, scans, log_end),
        _epochs(scans),
        any(scan.transactions for scan in scans),
        min((scan.oldest for scan in scans if scan.oldest >= 0), default=-1),
        findings,
    )
    audit.gaps = _gaps(audit, scans)
    if directory.topic not in _COORDINATORS:
        _judge_sequences(audit)
    _meet(audit, scans)
    return audit


def _joined(seed: Columns, stretches: Sequence[Stretch]) -> Stretch:
    """Join stretches behind transactions that were open before them; one alone is what it is."""
    if len(stretches) == 1 and not len(seed):
        return stretches[0]
    fold = Fold()
    fold.extents(seed)
    for stretch in stretches:
        fold.stretch(stretch)
    return fold.result()


def _place_damage(scans: Sequence[SegmentScan]) -> None:
    """Say of damage at a segment's begin what stands before it; zeros behind any segment but the last are damage."""
    last: int | None = None
    for number, scan in enumerate(scans):
        if scan.zero_tail is not None:
            position, length = scan.zero_tail.position or 0, scan.zero_tail.length or 0
            if number < len(scans) - 1:
                scan.damaged.append((position, length, scan.stretch.last_offset))
                message = f"{length} zero bytes to the end of a segment that is not the last"
                zeros = Finding.of("bytes-zero", scan.segment.path, message, position=position, length=length)
                scan.findings.append(zeros)
            else:
                scan.findings.append(scan.zero_tail)
            scan.zero_tail = None
        scan.damaged = [(at, size, last if before is None else before) for at, size, before in scan.damaged]
        last = last if scan.stretch.last_offset is None else scan.stretch.last_offset


def _excuse_torn_tail(active: SegmentScan) -> None:
    """Take the batch that a broker was writing for a note and no damage: its offset goes on with the log."""
    for number, finding in enumerate(active.findings):
        if finding.code == "batch-truncated" and _goes_on(active, finding.position or 0):
            active.findings[number] = finding._replace(severity=Severity.NOTE)
            active.damaged = [extent for extent in active.damaged if extent[0] != finding.position]


def _goes_on(scan: SegmentScan, position: int) -> bool:
    """Say whether what is there of a batch's header has the next offset and a magic that exists."""
    last = scan.stretch.last_offset
    wanted = (scan.segment.base_offset if last is None else last + 1).to_bytes(8, "big")
    try:
        source = open_source(scan.segment.path, max_bytes=scan.segment.size)
    except UnreadableError:  # it vanished since
        return False
    with closing(source):
        head = source.read(position, RECORD_BATCH.position("magic") + 1)
    return wanted.startswith(head[:8]) and head[RECORD_BATCH.position("magic") :] in (b"", b"\0", b"\1", b"\2")


def _epochs(scans: Sequence[SegmentScan]) -> list[tuple[int, int]]:
    """Return the leader epochs of a log's batches, each with its first offset."""
    joined: list[tuple[int, int]] = []
    for epoch, first in (pair for scan in scans for pair in scan.stretch.leader_epochs):
        if not joined or joined[-1][0] != epoch:
            joined.append((epoch, first))
    return joined


def _seed(directory: PartitionDirectory, report: Callable[[Finding], object]) -> Columns:
    """Return the transactions that were open where the log begins, by the snapshot taken there."""
    if not directory.segments or directory.segments[0].base_offset == 0:
        return Columns.empty(extents.COLUMNS)
    path = directory.snapshots.get(directory.segments[0].base_offset)
    if path is None:
        return Columns.empty(extents.COLUMNS)
    try:
        wrong: list[Finding] = []
        states = read_snapshot(path, on_finding=wrong.append)
    except UnreadableError as error:
        report(Finding.of("file-unreadable", path, str(error)))
        return Columns.empty(extents.COLUMNS)
    for finding in wrong:
        report(finding)
    if wrong:  # a broker throws it away
        return Columns.empty(extents.COLUMNS)
    opened = [state for state in states if state.current_txn_first_offset >= 0]
    return Columns({name: np.array([_seeded(state, name) for state in opened], np.int64) for name in extents.COLUMNS})


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
        "epoch_changes": 0,
        "marker_type": extents.OPEN,
    }
    return int(values.get(name, NONE))


def _cleaned_to(directory: PartitionDirectory, scans: Sequence[SegmentScan], log_end: int) -> int:
    """Return the offset below which the cleaner may have been: the end of the segment that holds its checkpoint.

    Where the checkpoint is missing and batches show that they were cleaned, it is the end of the last one that does.
    """
    bases = [scan.segment.base_offset for scan in scans]
    ends = [*bases[1:], log_end] if bases else []
    checkpoint = directory.checkpoints.get("cleaner", -1)
    reach = -1
    for scan, end in zip(scans, ends, strict=True):
        if scan.stretch.cleaned or scan.segment.base_offset < checkpoint:
            reach = end
    return reach


def _gaps(audit: PartitionAudit, scans: Sequence[SegmentScan]) -> list[Gap]:
    aborted = _aborted(audit)
    found: list[Gap] = []
    last: int | None = None
    for scan in scans:
        path, stretch = scan.segment.path, scan.stretch
        if stretch.first_offset is not None:
            if last is not None:
                missing = (last + 1, stretch.first_offset - 1)
            elif scan.damaged:
                missing = (scan.segment.base_offset, stretch.first_offset - 1)
            else:
                missing = (0, -1)
            if missing[0] <= missing[1]:
                found.append(classify(audit, *missing, path, stretch.first_position, aborted, at_seam=True))
            last = stretch.last_offset
        for row in stretch.gaps:
            inside = (row["first_offset"], row["last_offset"])
            found.append(classify(audit, *inside, path, row["position"], aborted, at_seam=False))
    return found


def _aborted(audit: PartitionAudit) -> list[tuple[int, int]]:
    """Return the ranges of aborted transactions that the .txnindex files tell of."""
    found = []
    for segment in audit.directory.segments:
        if segment.base_offset not in audit.directory.txn_indexes:  # created with the first abort only
            continue
        path = segment.path.removesuffix(".log") + ".txnindex"
        try:
            entries = read_aborted_transactions(path, on_finding=audit.findings.append)
        except UnreadableError:
            continue
        audit.txn_entries[segment.base_offset] = entries
        found += [(entry.first_offset, entry.last_offset) for entry in entries]
    return found


def _meet(audit: PartitionAudit, scans: Sequence[SegmentScan]) -> None:
    """Hold each segment's end against the next one's begin: offsets and leader epochs only rise."""
    whole = [scan for scan in scans if scan.stretch.first_offset is not None]
    for before, after in pairwise(whole):
        last, first = before.stretch.last_offset, after.stretch.first_offset
        if last is not None and first is not None and first <= last:
            audit.findings.append(
                Finding.of(
                    "offset-not-increasing",
                    after.segment.path,
                    f"the segment begins at offset {first}, the one before it ends at {last}",
                    position=0,
                    offset=first,
                    needed=last + 1,
                    found=first,
                )
            )
        (old, _), (new, _) = before.stretch.leader_epochs[-1], after.stretch.leader_epochs[0]
        if 0 <= new < old:
            audit.findings.append(
                Finding.of(
                    "leader-epoch-decreasing",
                    after.segment.path,
                    f"the segment begins in leader epoch {new}, the one before it ends in {old}",
                    position=0,
                    offset=first,
                    needed=old,
                    found=new,
                )
            )


def _judge_sequences(audit: PartitionAudit) -> None:
    """Tell of sequences that no leader would have accepted, where nothing excuses or explains them."""
    for found in audit.breaks:
        before, offset = found.last_offset, found.first_offset
        if before < audit.cleaned_to or offset <= audit.log_start_offset:
            continue
        if found.next_timestamp - found.last_timestamp > _EXPIRATION_MS:
            continue  # a leader has forgotten the producer: it may go on with any sequence
        if any(before < first <= offset for _, first in audit.epochs):
            continue  # a new leader knows what was replicated, no more
        kind, needed = judge(found)
        explained = any(before < gap.first_offset and gap.last_offset < offset for gap in audit.gaps)
        if kind == "hole" and explained:
            continue  # its batches are among what is missing, which is told
        audit.of_producers.append(
            Finding.of(
                "sequence-broken",
                audit.directory.log,
                f"producer {found.producer_id}: {kind} between offsets {before} and {offset}:"
                f" sequence {needed} needed, {found.first_sequence} there",
                offset=before,
                last_offset=offset,
                producer_id=found.producer_id,
                needed=needed,
                found=found.first_sequence,
            )
        )
