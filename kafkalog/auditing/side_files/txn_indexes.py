"""A partition's ``.txnindex`` files compared with the ABORT markers of its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalog.auditing.partition import LostOffsets, PartitionAudit
from kafkalog.auditing.side_files.place import SegmentFiles
from kafkalog.auditing.side_files.txn_index_witness import Aborts, EntryFaults, Reach
from kafkalog.findings import Finding, Severity
from kafkalog.format.index import AbortedTransaction
from kafkalog.format.layout import ABORTED_TXN
from kafkalog.log.logdir import Segment
from kafkalog.log.storage import exists
from kafkalog.txn.tally import tally

__all__ = ["TxnIndexFaults", "txn_index_faults"]


@dataclass(frozen=True, slots=True)
class TxnIndexFaults:
    """What is wrong with a segment's ``.txnindex``; there is at least one fault."""

    place: SegmentFiles
    faults: EntryFaults

    @property
    def is_gone(self) -> bool:
        """Say whether the file is missing."""
        return not exists(self.place.beside(".txnindex"))

    @property
    def is_rebuilt(self) -> bool:
        """Say whether a broker makes the file anew when it starts: where a segment has no ``.index``, it rebuilds all.

        Who puts another segment in the place of a damaged one removes them on purpose.
        """
        return self.is_gone and not exists(self.place.beside(".index"))

    @property
    def is_harmful(self) -> bool:
        """Say whether consumers see it."""
        return bool(self.faults.first.harm)

    def finding(self, *, excused: bool) -> Finding:
        """Make one finding of the faults, a note where another one explains them or no consumer sees them."""
        # A broker that ran may have written entries after the copy was taken.
        copied = self.place.is_last and not self.place.directory.clean_shutdown
        late = copied and self.faults.all_missing
        fault = self.faults.first
        gone = "the file is missing; " if self.is_gone else ""
        if self.is_rebuilt:
            gone = "the file is missing, and so is the .index: a starting broker makes both anew; "
        more = self.faults.number - 1
        others = f"; {more} more {'entry is' if more == 1 else 'entries are'} wrong or missing" if more else ""
        harm = f": {fault.harm or 'no consumer sees a difference'}"
        finding = self.place.finding(
            "txn-index-mismatch",
            ".txnindex",
            gone + fault.message + harm + others,
            position=None if fault.entry is None else fault.entry * ABORTED_TXN.size,
            length=None if fault.entry is None else ABORTED_TXN.size,
            offset=fault.offset,
            needed=fault.needed,
            found=fault.found,
            producer_id=fault.producer_id,
        )
        is_note = late or excused or self.is_rebuilt or not self.is_harmful
        return finding._replace(severity=Severity.NOTE) if is_note else finding


def txn_index_faults(audit: PartitionAudit, *, missing: bool) -> Iterator[TxnIndexFaults]:
    """Compare each segment's ``.txnindex`` with the markers in it; with `missing` also where there is none."""
    segments = audit.directory.segments
    if not missing and not audit.txn_entries:
        return
    counts = tally(audit.transactions)
    if not audit.txn_entries and counts.is_plain and not counts.aborted:  # most logs, which cost as little as possible
        return
    aborts = Aborts(audit.transactions)
    if not audit.txn_entries and not len(aborts.marker):
        return
    lost = LostOffsets(audit.gaps)
    damaged = LostOffsets(audit.gaps.chosen(~audit.gaps.of_kind("legal")))
    for number, segment in enumerate(segments):
        high = segments[number + 1].base_offset if number + 1 < len(segments) else 2**63 - 1
        entries = _entries(audit, segment, missing=missing)
        if entries is None:
            continue
        faults = aborts.faults(entries, segment.base_offset, high, _reach(audit, high, lost, damaged))
        if faults is not None:
            yield TxnIndexFaults(SegmentFiles(audit.directory, segment), faults)


def _entries(audit: PartitionAudit, segment: Segment, *, missing: bool) -> list[AbortedTransaction] | None:
    """Return a segment's entries, None where there is nothing to compare: the file could not be read, or is missing."""
    base = segment.base_offset
    if missing and base not in audit.directory.txn_indexes:
        return []
    return audit.txn_entries.get(base)


def _reach(audit: PartitionAudit, high: int, lost: LostOffsets, damaged: LostOffsets) -> Reach:
    """Return up to where the log is not whole below an offset; `damaged` are the lost offsets that no rule allows."""
    begin = audit.directory.segments[0].base_offset
    return Reach(
        lambda offset: offset in lost or offset >= audit.log_end_offset,
        max(begin, audit.cleaned_to, lost.end_before(high)),
        max(damaged.end_before(high), audit.log_start_offset if audit.log_start_offset > begin else 0),
    )
