"""A partition's ``.txnindex`` files compared with the ABORT markers of its log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkalog.auditing.partition import LostOffsets, PartitionAudit
from kafkalog.auditing.side_files.segment_batches import SegmentFiles
from kafkalog.columns.sorted_rows import Spans
from kafkalog.columns.table import AFTER_ALL, NONE, Columns
from kafkalog.files.directories import exists
from kafkalog.findings import Finding
from kafkalog.folds.fold import ABORT, ends, tally
from kafkalog.kafka.index import AbortedTransaction
from kafkalog.kafka.layout import ABORTED_TXN
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.quantities import offset_range
from kafkalog.settle import Reason, lowered

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Aborts", "EntryFaults", "Reach", "txn_index_faults"]


# ``.txnindex`` compared with the transactions that ABORT markers ended.
#
# Each such marker that ended data has one entry, in the file of the marker's segment, with the last stable offset
# directly after it: the first offset of the oldest other transaction that is open there. A follower that appends
# several batches at once has begun the transactions after the marker, too: where none is open, it may write the first
# offset of the next one that another producer began. A broker looks for a fetch's aborted transactions up to the first
# entry whose last stable offset is not below the fetch's end.


_NEEDED = ("producer_id", "first_offset", "last_offset", "marker_type", "marker_offset")


class EntryFault(NamedTuple):
    """What is wrong with an entry: its number, None where one is missing for the marker at `offset`.

    `harm` is what read_committed consumers get by it, or do not get; empty if none of them sees a difference.
    """

    entry: int | None
    offset: int
    producer_id: int
    needed: int | None
    found: int | None
    message: str
    harm: str


class EntryFaults(NamedTuple):
    """What is wrong with the entries of one file: how many faults there are, and whether none is an entry.

    `first` is the first one that harms consumers, if any does. `refused` says that a start does not take the file,
    since an entry is of offsets before the segment.
    """

    first: EntryFault
    number: int
    all_missing: bool
    refused: bool


class Reach(NamedTuple):
    """Up to where a log is not whole.

    `missing` says whether an offset is not in it. Below `unknown_below` batches and markers may be missing: an entry
    may then show more than the log, never less. Below `damaged_below` markers may be lost whose data is here: then the
    log is no evidence.
    """

    missing: Callable[[int], bool]
    unknown_below: int
    damaged_below: int


class Aborts:
    """A log's ABORT markers, by their offsets, with the entries that brokers made of them."""

    def __init__(self, transactions: Columns) -> None:
        rows = transactions.columns(*_NEEDED)
        aborts = rows.take(rows["marker_type"] == ABORT)
        aborts = aborts.take(np.argsort(aborts["marker_offset"], kind="stable"))
        self.marker = self.stable = aborts["marker_offset"]
        self.producer = aborts["producer_id"]
        self.first = aborts["first_offset"]
        self._ended, self._begun = aborts, rows.take(rows["first_offset"] != NONE)
        if not len(aborts):
            return
        last = ends(self._begun)
        order = np.argsort(last)
        oldest = _smallest_from(self._begun["first_offset"][order])  # of the transactions that end after each
        self.stable = np.minimum(oldest[np.searchsorted(last[order], self.marker, "right")], self.marker + 1)

    @cached_property
    def _next(self) -> NDArray[np.int64]:
        """Return the first offset of the next transaction after each marker that another producer began."""
        begun = self._begun.take(np.argsort(self._begun["first_offset"]))
        who, firsts = np.append(begun["producer_id"], NONE), np.append(begun["first_offset"], AFTER_ALL)
        changes = np.append(np.flatnonzero(who[1:] != who[:-1]) + 1, len(who) - 1)
        at = np.searchsorted(begun["first_offset"], self.marker)
        after = changes[np.minimum(np.searchsorted(changes, at, "right"), len(changes) - 1)]
        found: NDArray[np.int64] = firsts[np.where(who[at] == self.producer, after, at)]
        return found

    @cached_property
    def _oldest_after(self) -> NDArray[np.int64]:
        """Return the smallest first offset of the aborted transactions whose markers are after each marker."""
        return _smallest_from(np.where(self.first == NONE, AFTER_ALL, self.first))[1:]

    @cached_property
    def _by_producer(self) -> tuple[Spans, Spans]:
        """Return where ABORT markers, and transactions, are by producer."""
        ended, begun = self._ended, self._begun
        return Spans(ended["producer_id"], ended["marker_offset"]), Spans(begun["producer_id"], begun["first_offset"])

    def faults(self, entries: list[AbortedTransaction], low: int, high: int, reach: Reach) -> EntryFaults | None:
        """Compare a segment's entries with its markers, at offsets from `low` up to below `high`."""
        found: list[EntryFault] = []
        here = slice(*np.searchsorted(self.marker, [low, high]).tolist())
        markers = dict(zip(self.marker[here].tolist(), range(here.start, here.stop), strict=True)) if entries else {}
        before = low - 1
        listed = set()
        for number, entry in enumerate(entries):
            if entry.last_offset <= before:
                message = f"an entry has last offset {entry.last_offset}, the one before it has {before}"
                found.append(
                    EntryFault(
                        number, entry.last_offset, entry.producer_id, before + 1, entry.last_offset, message,
                        "the broker may refuse the file",
                    )
                )  # fmt: skip
            before = max(before, entry.last_offset)
            row = markers.get(entry.last_offset)
            if row is not None:
                listed.add(row)
                fault = self._fault(number, entry, row, reach)
            elif entry.last_offset < reach.unknown_below or reach.missing(entry.last_offset):
                fault = None  # the marker is gone
            else:
                message = f"there is no ABORT marker of producer {entry.producer_id} at offset {entry.last_offset}"
                harm = (
                    f"read_committed consumers may skip what producer {entry.producer_id} committed from offset"
                    f" {entry.first_offset} on"
                )
                is_read = entry.first_offset < high  # no fetch in this segment takes one from after it
                fault = EntryFault(
                    number, entry.last_offset, entry.producer_id, None, entry.last_offset, message, harm * is_read
                )
            found += [fault] if fault is not None else []
        unlisted = self.first[here] != NONE
        unlisted[[row - here.start for row in listed]] = False
        missing = np.flatnonzero(unlisted) + here.start  # of a log without the file all of them: they are only counted
        if not len(found) + len(missing):
            return None
        worst = next((one for one in found if one.harm), None)
        if worst is None:
            worst = self._missing(int(missing[0])) if len(missing) else found[0]
        refused = any(entry.last_offset < low for entry in entries)
        return EntryFaults(worst, len(found) + len(missing), all_missing=not found, refused=refused)

    def _missing(self, row: int) -> EntryFault:
        first, marker, producer = int(self.first[row]), int(self.marker[row]), int(self.producer[row])
        message = (
            f"the transaction of producer {producer} at {offset_range(first, marker)} was aborted, but has no entry"
        )
        return EntryFault(None, marker, producer, marker, None, message, _gets(first, marker - 1))

    def _fault(self, number: int, entry: AbortedTransaction, row: int, reach: Reach) -> EntryFault | None:
        producer, first, stable = int(self.producer[row]), int(self.first[row]), int(self.stable[row])
        if entry.producer_id != producer:
            message = (
                f"the marker at offset {entry.last_offset} is of producer {producer}, but its entry has producer"
                f" {entry.producer_id}"
            )
            harm = _gets(first, entry.last_offset - 1)
            return EntryFault(number, entry.last_offset, producer, producer, entry.producer_id, message, harm)
        faults = []
        for what, needed, found in (
            ("first offset", first, entry.first_offset),
            ("last stable offset", stable, entry.last_stable_offset),
        ):
            is_first = what == "first offset"
            if found == needed or NONE < needed < reach.damaged_below:
                continue
            # A transaction may have begun where the log no longer has it.
            if 0 <= found < reach.unknown_below and (needed == NONE or found < needed or not is_first):
                continue
            if not is_first and needed == entry.last_offset + 1 and found == self._next[row]:
                continue
            message = (
                f"the entry of producer {producer}'s marker at offset {entry.last_offset} has {what} {found}, but it is"
                f" {'unknown' if needed == NONE else needed} in the log"
            )
            harm = self._harm_of_first(row, found) if is_first else self._harm_of_stable(row, found)
            known = None if needed == NONE else needed
            faults.append(EntryFault(number, entry.last_offset, producer, known, found, message, harm))
        return max(faults, key=lambda fault: bool(fault.harm), default=None)

    def _harm_of_first(self, row: int, found: int) -> str:
        """Say what an entry does whose first offset is wrong: its producer counts as aborted from there on.

        It does up to the producer's next ABORT marker.
        """
        first, marker = int(self.first[row]), int(self.marker[row])
        if first != NONE and found > first:
            return _gets(first, min(found, marker) - 1)
        begin = marker if first == NONE else first
        aborts, transactions = self._by_producer
        if (ended := self._before(self._ended, aborts, row, begin)) is not None and ended["marker_offset"] >= found:
            return "" if first == NONE else _gets(first, marker - 1)
        if (other := self._before(self._begun, transactions, row, begin)) is not None and other["last_offset"] >= found:
            skipped = offset_range(max(found, other["first_offset"]), other["last_offset"])
            return f"read_committed consumers may skip the committed {skipped}"
        return ""

    def _before(self, rows: Columns, spans: Spans, row: int, offset: int) -> dict[str, int] | None:
        """Return the last of some rows of an abort's producer below an offset."""
        at = spans.last(self.producer[row : row + 1], np.array([offset - 1]))
        return next(iter(rows.take(at))) if at[0] >= 0 else None

    def _harm_of_stable(self, row: int, found: int) -> str:
        """Say what an entry does whose last stable offset is wrong: one that is too high hides the entries after it."""
        hidden = int(self._oldest_after[row])
        return _gets(hidden, found - 1) if hidden < found else ""


def _gets(first: int, last: int) -> str:
    return f"read_committed consumers may get aborted records at {offset_range(first, last)}"


def _smallest_from(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest of the offsets from each on; after the last one there is none."""
    return np.append(np.minimum.accumulate(offsets[::-1])[::-1], AFTER_ALL)


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

        Who puts another segment in the place of a damaged one removes them on purpose. A file that a start refuses
        harms consumers of a broker that runs.

        Follows LogLoader.loadSegmentFiles and TransactionIndex.sanityCheck.
        """
        if self.faults.refused and self.place.directory.clean_shutdown:
            return True
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
        if self.is_gone and self.is_rebuilt:
            gone = "the file is missing, and so is the .index: a starting broker makes both anew; "
        elif self.is_rebuilt:
            gone = "a starting broker refuses the file, and makes it anew; "
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
        if self.is_rebuilt or not self.is_harmful:
            return lowered(finding, Reason.NO_CONSUMER_SEES)
        if excused:
            return lowered(finding, Reason.FOLLOWS)
        return lowered(finding, Reason.COPIED) if late else finding


def txn_index_faults(audit: PartitionAudit, *, missing: bool) -> Iterator[TxnIndexFaults]:
    """Compare each segment's ``.txnindex`` with the markers in it.

    One that is missing beside the segment's other indexes has no entries; with `missing` also without those.
    """
    segments = audit.directory.segments
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
    base, directory = segment.base_offset, audit.directory
    if base in directory.txn_indexes:
        return audit.txn_entries.get(base)
    return [] if missing or f"{base:020}.index" in directory.files else None


def _reach(audit: PartitionAudit, high: int, lost: LostOffsets, damaged: LostOffsets) -> Reach:
    """Return up to where the log is not whole below an offset; `damaged` are the lost offsets that no rule allows."""
    begin = audit.directory.segments[0].base_offset
    return Reach(
        lambda offset: offset in lost or offset >= audit.log_end_offset,
        max(begin, audit.cleaned_to, lost.end_before(high)),
        max(damaged.end_before(high), audit.log_start_offset if audit.log_start_offset > begin else 0),
    )
