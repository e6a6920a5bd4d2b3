"""A segment's ``.index`` and ``.timeindex`` together: both are read once and compared with the segment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kafkalog.auditing.side_files.index_entries import (
    Mismatch,
    left_by_truncation,
    offset_mismatch,
    offsets_beyond,
    time_mismatch,
    times_beyond,
)
from kafkalog.auditing.side_files.index_witness import Batches, OffsetIndex, TimeIndex
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity
from kafkalog.log.files import read_small
from kafkalog.log.storage import exists

if TYPE_CHECKING:
    from kafkalog.auditing.side_files.coverage import Coverage
    from kafkalog.auditing.side_files.place import SegmentFiles
    from kafkalog.format.batch import CellTable

__all__ = ["IndexVerdict", "SegmentIndexes"]


class IndexVerdict(NamedTuple):
    """The verdict on the indexes of a segment.

    `votes` counts those that show that the segment belongs to another log; `cut_short` says whether one of them has
    entries after the segment's end.
    """

    findings: list[Finding]
    votes: int
    cut_short: bool


class SegmentIndexes:
    """The two indexes of one segment; call `chunk` for each chunk in order, then `finish` once."""

    def __init__(self, place: SegmentFiles) -> None:
        self._place = place
        self._both: tuple[OffsetIndex | None, TimeIndex | None] | None = None
        self._unread: list[Finding] = []

    def chunk(self, batches: Batches, before: int) -> None:
        """Look the entries up that the next batches bear on; `before` is the last offset before them."""
        for index in self._read():
            if index is not None:
                index.chunk(batches, before)

    def plain(self, heads: CellTable, before: int) -> None:
        """Look the entries up that a chunk of plain batches bears on."""
        for index in self._read():
            if index is not None:
                index.plain(heads, before)

    def finish(self, coverage: Coverage) -> IndexVerdict:
        """Return where the indexes contradict the segment."""
        offsets, times = self._read()
        of_offsets = offset_mismatch(offsets, self._place, coverage) if offsets is not None else None
        of_times = time_mismatch(times, self._place, coverage) if times is not None else None
        wrong = [mismatch for mismatch in (of_offsets, of_times) if mismatch is not None]
        votes = sum(mismatch.share > 0.5 for mismatch in wrong)
        both = votes == 2
        cut_short = list(self._beyond(offsets, times, coverage)) if not wrong else []
        findings = [
            *self._unread,
            *([self._foreign(wrong, coverage)] if both else [found for found, _ in wrong]),
            *self._shape(".index", offsets),
            *self._shape(".timeindex", times),
            *self._left(".index", "index-mismatch", offsets, coverage),
            *self._left(".timeindex", "time-index-mismatch", times, coverage),
            *cut_short,
        ]
        return IndexVerdict(findings, votes, bool(cut_short))

    def _read(self) -> tuple[OffsetIndex | None, TimeIndex | None]:
        """Read both indexes, once."""
        if self._both is None:
            offsets, times = self._bytes(".index"), self._bytes(".timeindex")
            base = self._place.segment.base_offset
            self._both = (
                None if offsets is None else OffsetIndex(offsets, base),
                None if times is None else TimeIndex(times, base),
            )
        return self._both

    def _bytes(self, suffix: str) -> bytes | None:
        path = self._place.beside(suffix)
        if not exists(path):
            message = f"the segment has no {suffix} file"
            self._unread.append(self._place.finding("side-file-missing", suffix, message))
            return None
        try:
            return read_small(path)
        except UnreadableError as error:
            self._unread.append(self._place.finding("file-unreadable", suffix, str(error)))
            return None

    def _foreign(self, wrong: list[Mismatch], coverage: Coverage) -> Finding:
        messages = "; ".join(found.message for found, _ in wrong)
        return self._place.finding(
            "segment-foreign",
            ".log",
            f"both of its indexes belong to other batches: {messages}",
            offset=coverage.first_offset,
        )

    def _shape(self, suffix: str, index: OffsetIndex | TimeIndex | None) -> Iterator[Finding]:
        if index is None:
            return
        used = len(index) * index.size
        if index.rest:
            yield self._place.finding(
                "index-truncated", suffix, f"{index.rest} bytes after the last entry; an entry has {index.size} bytes",
                position=used + index.zeros, length=index.rest, needed=index.size, found=index.rest,
            )  # fmt: skip
        if index.zeros:
            closed = self._place.is_closed
            noun = "entry" if len(index) == 1 else "entries"
            finding = self._place.finding(
                "index-preallocated", suffix, f"{index.zeros} zero bytes after {len(index)} {noun}",
                position=used, length=index.zeros, needed=0 if closed else None, found=index.zeros,
            )  # fmt: skip
            yield finding._replace(severity=Severity.WARNING) if closed else finding

    def _left(
        self, suffix: str, code: str, index: OffsetIndex | TimeIndex | None, coverage: Coverage
    ) -> Iterator[Finding]:  # fmt: skip
        """Note the entries that truncation left and that a reader of the file alone would take for the log's."""
        if index is None:
            return
        left = left_by_truncation(index, self._place, coverage)
        if isinstance(index, OffsetIndex):
            left &= ~offsets_beyond(index, self._place, coverage)
        else:
            left &= ~times_beyond(index, coverage)
        if left.any():
            row = int(left.argmax())
            finding = self._place.finding(
                code, suffix,
                f"{left.sum()} of {len(index)} entries are of offsets after the log's end, {coverage.reached}: a broker"
                " that ran leaves them when it truncates the log, and does not read them",
                position=row * index.size, length=index.size, offset=int(index.offset[row]),
                needed=coverage.reached, found=int(index.offset[row]),
            )  # fmt: skip
            yield finding._replace(severity=Severity.NOTE)

    def _beyond(
        self, offsets: OffsetIndex | None, times: TimeIndex | None, coverage: Coverage
    ) -> Iterator[Finding]:  # fmt: skip
        """Yield a finding where an index continues after the log's end; bytes after the last batch would explain it."""
        if coverage.end < self._place.segment.size:
            return
        known = [
            (int(index.offset[beyond].max()), suffix)
            for index, beyond, suffix in (
                (offsets, None if offsets is None else offsets_beyond(offsets, self._place, coverage), ".index"),
                (times, None if times is None else times_beyond(times, coverage), ".timeindex"),
            )
            if index is not None and beyond is not None and beyond.any()
        ]
        if not known:
            return
        offset, suffix = max(known)
        last = coverage.reached
        ends = "is empty" if coverage.last_offset is None else f"ends at offset {last}"
        finding = self._place.finding(
            "log-cut-short",
            ".log",
            f"the segment {ends}, but its {suffix} has offset {offset}",
            position=coverage.end,
            offset=last + 1,
            last_offset=offset,
            needed=offset,
            found=last,
        )
        # Files of a broker that ran were copied one after the other: the index may be newer.
        copied = self._place.is_last and not self._place.directory.clean_shutdown
        yield finding._replace(severity=Severity.NOTE) if copied else finding
