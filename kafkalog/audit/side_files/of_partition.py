"""A partition's side files held against its whole log: ``.txnindex``, ``.snapshot``, leader epochs, the log's end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

from kafkalog.audit.partition import LostOffsets, PartitionAudit
from kafkalog.audit.side_files.epoch_witness import epoch_faults, epoch_runs
from kafkalog.audit.side_files.kraft_snapshot import snapshot_offsets
from kafkalog.audit.side_files.rebuilt import SideFiles
from kafkalog.audit.side_files.snapshot_chain import SnapshotChain
from kafkalog.audit.side_files.txn_index_witness import Aborts, EntryFault, Reach
from kafkalog.errors import UnreadableError
from kafkalog.findings import Bytes, Finding, Severity, Where
from kafkalog.format.index import AbortedTransaction, aborted_transactions
from kafkalog.format.layout import ABORTED_TXN
from kafkalog.log.files import read_small
from kafkalog.log.names import METADATA_TOPIC
from kafkalog.log.storage import exists

__all__ = ["check_partition", "compare_partition"]


def compare_partition(audit: PartitionAudit, sides: Sequence[SideFiles]) -> Iterator[Finding]:
    """Yield what a partition's side files say that its log does not.

    `sides` are those of its segments in the order of their offsets, after their ``finish``.
    """
    damaged = LostOffsets(gap for gap in audit.gaps if gap.kind != "legal")
    partition = _Partition(audit, sides, LostOffsets(audit.gaps), damaged)
    yield from partition.orphans()
    partition.doubt_disorder()
    yield from partition.txn_indexes()
    yield from SnapshotChain(audit, sides).compare()
    yield from partition.leader_epochs()
    yield from partition.log_end()


def check_partition(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield what of this bears on an audit's verdicts, and needs no further read of a segment.

    That is what the ``.txnindex`` files say that are there, and who speaks of offsets behind the log's end.
    """
    sides = [SideFiles(audit.directory, segment) for segment in audit.directory.segments]
    if not sides:
        return
    torn = {extent.file for extent in audit.damaged}
    torn |= {finding.file for finding in audit.findings if finding.bytes is Bytes.SUSPECT}
    for side in sides:
        side.end = 0 if side.segment.path in torn else side.segment.size
    damaged = LostOffsets(gap for gap in audit.gaps if gap.kind != "legal")
    partition = _Partition(audit, sides, LostOffsets(audit.gaps), damaged)
    yield from partition.txn_indexes(missing=False)
    if not sides[-1].has_damaged_tail:  # else the damage has told why
        yield from partition.log_end()


@dataclass(frozen=True, slots=True)
class _Partition:
    audit: PartitionAudit
    sides: Sequence[SideFiles]
    lost: LostOffsets
    damaged: LostOffsets  # of these the ones that nothing legal explains

    def finding(self, code: str, file: str, message: str, **where: Unpack[Where]) -> Finding:
        directory = self.audit.directory
        finding = Finding.of(code, file, message, **where)
        return finding._replace(log=directory.log, topic=directory.topic, partition=directory.partition)

    def orphans(self) -> Iterator[Finding]:
        """Tell of index files whose segment is not there; in a gap or behind the end it is told there."""
        directory = self.audit.directory
        bases = [segment.base_offset for segment in directory.segments]
        for offset in directory.orphans:
            first = not bases or offset < bases[0]
            finding = self.finding(
                "segment-missing",
                os.path.join(directory.log, f"{offset:020}.log"),
                f"the indexes of a segment from offset {offset} on are here, the segment is not",
                offset=offset,
            )
            yield finding if first else finding._replace(severity=Severity.NOTE)

    def doubt_disorder(self) -> None:
        """Doubt the segments whose offsets are not those between their neighbours."""
        last = -1
        for side in self.sides:
            if side.first_offset is None or side.last_offset is None:
                continue
            if 0 <= side.first_offset <= last or 0 <= side.last_offset < side.segment.base_offset:
                side.votes += 2
            last = max(last, side.last_offset)

    def txn_indexes(self, *, missing: bool = True) -> Iterator[Finding]:
        """Hold each segment's ``.txnindex`` against the ABORT markers in it; with `missing` also where none is."""
        aborts = Aborts(self.audit.transactions)
        wrong: list[tuple[SideFiles, list[EntryFault]]] = []
        for number, side in enumerate(self.sides):
            high = self.sides[number + 1].segment.base_offset if number + 1 < len(self.sides) else 2**63 - 1
            path = side.stem + ".txnindex"
            base = side.segment.base_offset
            try:
                entries = self.txn_entries(path, base) if missing else self.audit.txn_entries.get(base)
            except UnreadableError as error:
                yield self.finding("file-unreadable", path, str(error))
                continue
            if entries is None:
                continue
            faults = aborts.faults(entries, base, high, self.reach(high))
            if faults:
                wrong.append((side, faults))
                side.votes += 1
        doubted = any(side.doubted for side in self.sides)
        for side, faults in wrong:
            # A broker that ran may have written entries after the copy was taken.
            late = side.is_last and not self.audit.directory.clean_shutdown and all(f.entry is None for f in faults)
            finding = self.of_entry(side.stem + ".txnindex", faults)
            yield finding._replace(severity=Severity.NOTE) if late or doubted else finding

    def txn_entries(self, path: str, base_offset: int) -> list[AbortedTransaction]:
        """Read a segment's ``.txnindex``, nothing where there is none. Raises UnreadableError."""
        return aborted_transactions(read_small(path)).rows if base_offset in self.audit.directory.txn_indexes else []

    def reach(self, high: int) -> Reach:
        """Return how far the log is not whole below an offset."""
        audit = self.audit
        begin = self.sides[0].segment.base_offset
        return Reach(
            lambda offset: offset in self.lost or offset >= audit.log_end_offset,
            max(begin, audit.cleaned_to, self.lost.end_before(high)),
            max(self.damaged.end_before(high), audit.log_start_offset if audit.log_start_offset > begin else 0),
        )

    def of_entry(self, path: str, faults: list[EntryFault]) -> Finding:
        """Make one finding of what is wrong with a ``.txnindex``."""
        fault = faults[0]
        gone = "" if exists(path) else "the file is missing: "
        more = f"; {len(faults) - 1} more are wrong" if len(faults) > 1 else ""
        return self.finding(
            "txn-index-mismatch",
            path,
            gone + fault.message + more,
            position=None if fault.entry is None else fault.entry * ABORTED_TXN.size,
            length=None if fault.entry is None else ABORTED_TXN.size,
            offset=fault.offset,
            needed=fault.needed,
            found=fault.found,
            producer_id=fault.producer_id,
        )

    def leader_epochs(self) -> Iterator[Finding]:
        """Hold the leader epochs' checkpoint against those of the batches."""
        audit, directory = self.audit, self.audit.directory
        path = os.path.join(directory.log, "leader-epoch-checkpoint")
        log_start = self.first_epoch_offset()
        runs = epoch_runs(self.sides, log_start)
        if not exists(path):
            if any(run.epoch >= 0 for run in runs):
                yield self.finding("side-file-missing", path, "there is no leader-epoch-checkpoint beside the segments")
            return
        if any(finding.code == "checkpoint-malformed" and finding.file == path for finding in audit.findings):
            return
        faults = epoch_faults(directory.leader_epochs, runs, log_start, audit.log_end_offset)
        if not faults:
            return
        fault = faults[0]
        more = f"; {len(faults) - 1} more entries are wrong" if len(faults) > 1 else ""
        finding = self.finding(
            "leader-epochs-mismatch", path, fault.message + more,
            offset=fault.offset, needed=fault.needed, found=fault.found,
        )  # fmt: skip
        excused = (fault.stale and (directory.orphans or not directory.clean_shutdown)) or any(
            side.doubted for side in self.sides
        )
        yield finding._replace(severity=Severity.NOTE) if excused else finding

    def first_epoch_offset(self) -> int:
        """Return the log's start as the leader epochs know it."""
        directory, start = self.audit.directory, self.audit.log_start_offset
        if directory.topic == METADATA_TOPIC and directory.leader_epochs:
            # It is a snapshot's offset, which nothing else tells once the log was cut there.
            first = directory.leader_epochs[0][1]
            return first if first > start and first in snapshot_offsets(directory) else start
        # With tiered storage the log begins in front of the first segment that is here.
        return min(start, directory.checkpoints.get("log_start", start))

    def log_end(self) -> Iterator[Finding]:
        """Tell of files that speak of offsets behind the log's end."""
        audit, directory = self.audit, self.audit.directory
        end = audit.log_end_offset
        beside = [(offset, os.path.basename(path)) for offset, path in directory.snapshots.items()]
        beside += [(start, "leader-epoch-checkpoint") for _, start in directory.leader_epochs]
        beside += [(offset + 1, f"{offset:020}.index") for offset in directory.orphans]
        of_root = [
            (offset, name)
            for kind, name in (
                ("recovery_point", "recovery-point-offset-checkpoint"),
                ("high_watermark", "replication-offset-checkpoint"),
                ("log_start", "log-start-offset-checkpoint"),
                ("cleaner", "cleaner-offset-checkpoint"),
            )
            if (offset := directory.checkpoints.get(kind, -1)) >= 0
        ]
        beyond = [(offset, name) for offset, name in beside if offset > end]
        ahead = [(offset, name) for offset, name in of_root if offset > end]
        if not beyond and not ahead:
            return
        known = max(beyond or ahead)[0]
        words = ", ".join(f"{name} knows offset {offset}" for offset, name in [*beyond, *ahead])
        finding = self.finding(
            "log-cut-short" if beyond else "checkpoint-ahead",
            self.sides[-1].segment.path if beyond and self.sides else directory.log,
            f"the log ends at offset {end}; {words}",
            offset=end,
            last_offset=known,
            needed=known,
            found=end,
        )
        # Where the tail is damaged, or the segment's own index has told it, it is no news.
        told = bool(self.sides) and (
            self.sides[-1].cut_short or self.sides[-1].has_damaged_tail or any(side.doubted for side in self.sides)
        )
        excused = told or not directory.clean_shutdown
        yield finding._replace(severity=Severity.NOTE) if excused else finding
