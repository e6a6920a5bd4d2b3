"""A segment's ``.index`` and ``.timeindex`` compared with its batches, chunk by chunk, within the one read of the log.

What a broker may write: an entry of the offset index is of the batch at its position and has the last offset of that
batch, or of a later one of the same append (a follower's append has many batches); up to Kafka 1.1 it has the batch's
first offset. An entry of the time index has a batch's newest time, the first time that it was reached, and an offset of
that batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import place_of
from kafkalog.columns.table import NONE, Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.opening import open_source, read_small
from kafkalog.findings import Finding
from kafkalog.kafka.layout import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from kafkalog.kernel import buffers, headers
from kafkalog.quantities import offset_range
from kafkalog.settle import Reason, lowered
from kafkalog.unread import NOT_READ

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.side_files.segment_batches import Coverage, SegmentFiles
    from kafkalog.kafka.batch import CellTable
    from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment

__all__ = [
    "OffsetIndex",
    "SegmentIndexes",
    "TimeIndex",
    "closed_with_other_times",
    "last_indexed",
    "newest_led_astray",
]

_OFFSET_ENTRY: Final = np.dtype([("offset", ">i4"), ("position", ">i4")])
_TIME_ENTRY: Final = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])


class _Index:
    """An index file's entries without the zeros after them; `rest` bytes follow the last whole entry."""

    def __init__(self, data: bytes, entry: np.dtype[Any], base_offset: int) -> None:
        whole = np.frombuffer(data, entry, len(data) // entry.itemsize)
        zero = np.array([0], whole.dtype)[0]
        used = np.flatnonzero(whole != zero)
        count = int(used[-1]) + 1 if len(used) else 0
        self.rest = len(data) % entry.itemsize
        self.zeros = (len(whole) - count) * entry.itemsize
        self.offset = whole["offset"][:count].astype(np.int64) + base_offset
        self.entries = whole[:count]

    def __len__(self) -> int:
        return len(self.entries)


class _Sorted:
    """The places of sorted values, so that a chunk looks only at those in its range."""

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.order = np.argsort(values, kind="stable")
        self.values = values[self.order]

    def between(self, low: int, high: int) -> NDArray[np.intp]:
        """Return the places of the values from `low` to `high`."""
        first, stop = np.searchsorted(self.values, [low, high + 1] if high < 2**63 - 1 else [low, high])
        return self.order[first:stop]


class OffsetIndex(_Index):
    """Entries of an ``.index``, and the batch of the log at each."""

    size: Final = OFFSET_INDEX_ENTRY.size

    def __init__(self, data: bytes, base_offset: int) -> None:
        super().__init__(data, _OFFSET_ENTRY, base_offset)
        self.position = self.entries["position"].astype(np.int64)
        self.first = np.full(len(self), NONE)  # offsets of the batch at the entry's position
        self.last = np.full(len(self), NONE)
        self.ends_at = np.full(len(self), NONE)  # the position of the batch that ends at the entry's offset
        self._by_position = _Sorted(self.position)
        self._by_offset = _Sorted(self.offset)

    def take_batches(self, batches: Columns, before: int) -> None:
        """Look the entries up that a chunk bears on; `before` is the last offset before it."""
        position, base, last = (batches[name] for name in ("position", "base_offset", "last_offset"))
        base = np.where(base == NONE, np.append(before, last[:-1]) + 1, base)  # a wrapper begins after the batch before
        places = self._by_position.between(int(position[0]), int(position[-1]))
        if len(places):
            at = place_of(position, self.position[places])
            places, at = places[at >= 0], at[at >= 0]
            self.first[places], self.last[places] = base[at], last[at]
        places = self._by_offset.between(int(last.min()), int(last.max()))
        if len(places):
            at = place_of(last, self.offset[places])
            self.ends_at[places[at >= 0]] = position[at[at >= 0]]

    def plain(self, heads: CellTable, _before: int) -> None:
        """Look the entries up that a chunk of plain batches bears on."""
        by_position, by_offset = self._by_position, self._by_offset
        headers.at_offsets(
            heads.cells, heads.count, by_position.values, by_position.order, self.first, self.last,
            by_offset.values, by_offset.order, self.ends_at,
        )  # fmt: skip

    def wrong(self) -> NDArray[np.bool_]:
        """Say which entries no broker would have written for this log."""
        there = self.last != NONE
        following = np.append(self.position[1:], 2**62)
        of_append = (self.ends_at >= self.position) & (self.ends_at < np.maximum(following, self.position + 1))
        is_last = there & ((self.offset == self.last) | of_append)
        is_first = there & (self.offset == self.first)
        # The kind changes once, when the broker was upgraded: from first offsets to last ones.
        only_last = np.flatnonzero(is_last & ~is_first)
        upgraded = int(only_last[0]) if len(only_last) else len(self)
        legal = is_last | (is_first & (np.arange(len(self)) < upgraded))
        rising = np.append(True, (np.diff(self.offset) > 0) & (np.diff(self.position) > 0))
        wrong: NDArray[np.bool_] = ~legal | ~rising[: len(self)]
        return wrong


class TimeIndex(_Index):
    """Entries of a ``.timeindex``, and the batch of the log at each; `newest` is the newest time of all batches."""

    size: Final = TIME_INDEX_ENTRY.size

    def __init__(self, data: bytes, base_offset: int) -> None:
        super().__init__(data, _TIME_ENTRY, base_offset)
        self.timestamp = self.entries["timestamp"].astype(np.int64)
        self.there = np.full(len(self), NONE)  # the newest time of the batch at the entry's offset
        self.before = np.full(len(self), NONE)  # and that of all batches before it
        self.newest = -1
        self._by_offset = _Sorted(self.offset)

    def take_batches(self, batches: Columns, before: int) -> None:
        """Look the entries up that a chunk bears on; `before` is the last offset before it."""
        newest = np.maximum.accumulate(np.append(self.newest, batches["max_timestamp"]))
        self.newest = int(newest[-1])
        last = batches["last_offset"]
        places = self._by_offset.between(min(before + 1, int(last[0])), int(last[-1]))
        if not len(places):
            return
        at = np.minimum(np.searchsorted(last, self.offset[places]), len(last) - 1)
        base = batches["base_offset"][at]
        inside = (self.offset[places] <= last[at]) & ((base == NONE) | (self.offset[places] >= base))
        places, at = places[inside], at[inside]
        self.there[places], self.before[places] = batches["max_timestamp"][at], newest[at]

    def plain(self, heads: CellTable, before: int) -> None:
        """Look the entries up that a chunk of plain batches after offset `before` bears on."""
        self.newest = headers.at_times(
            heads.cells, heads.count, before, self.newest, self._by_offset.values,
            self._by_offset.order, self.there, self.before,
        )  # fmt: skip

    def wrong(self) -> NDArray[np.bool_]:
        """Say which entries no broker would have written; where no batch has a time, none is wrong."""
        untimed = (self.there == -1) & (self.before == -1)
        legal = (self.there == self.timestamp) & (self.before < self.timestamp)
        rising = np.append(True, np.diff(self.timestamp) > 0)
        wrong: NDArray[np.bool_] = ~(legal | untimed) | ~rising[: len(self)]
        return wrong


def last_indexed(segment: Segment) -> Iterator[tuple[str, int]]:
    """Yield the last offset of each index of a segment, with the name of the file, where it has entries."""
    for suffix, kind in ((".index", OffsetIndex), (".timeindex", TimeIndex)):
        path = segment.file(suffix)
        try:
            index = kind(read_small(path), segment.base_offset) if exists(path) else None
        except UnreadableError:
            continue  # reported with the segment
        if index is not None and len(index):
            yield os.path.basename(path), int(index.offset.max())


def newest_led_astray(directory: PartitionDirectory, end: int) -> Iterator[Finding]:
    """Yield a finding where the first entry of the newest segment's ``.index`` leads into the middle of a batch.

    `end` is the log's end. The entry is all that is read of the index, a header all that is read of the segment:
    ``SegmentIndexes`` compares the rest, and says which of both is another log's.
    """
    segment = directory.segments[-1]
    path = segment.file(".index")
    known = directory.files.get(os.path.basename(path))
    if segment.is_remote or known is None or known.size < OFFSET_INDEX_ENTRY.size:
        return
    try:
        with closing(open_source(path)) as source:
            index = OffsetIndex(source.read_bytes(0, OFFSET_INDEX_ENTRY.size), segment.base_offset)
        if not len(index) or index.offset[0] >= end or index.position[0] + buffers.BATCH_OVERHEAD > segment.size:
            return
        offset, position = int(index.offset[0]), int(index.position[0])
        with closing(open_source(segment.path)) as source:
            head = source.read_bytes(position, buffers.BATCH_OVERHEAD)
    except UnreadableError:
        return  # reported with the segment
    if headers.declared(head, 0) and segment.base_offset <= int.from_bytes(head[:8], "big") < end:
        return
    message = (
        f"the first entry has offset {offset} at position {position}, where there is no batch: the index is not this"
        " segment's, or the segment is another partition's. kafkalog verify compares all of both"
    )
    yield directory.finding(
        "index-mismatch", path, message, position=0, length=OFFSET_INDEX_ENTRY.size, offset=offset, needed="a batch",
        found=position,
    )  # fmt: skip


def closed_with_other_times(directory: PartitionDirectory, newest_of: Sequence[int]) -> Iterator[Finding]:
    """Yield the closed segments whose ``.timeindex`` does not end with the newest time of their batches, or of none.

    A segment that the cleaner emptied has no entry: one whose bytes were lost has.

    Two segments whose batches have the same sizes and offsets may have been exchanged: only times tell them apart. The
    last entry is all that is read; an index that ends in zeros was copied while the broker wrote to it.

    Follows LogSegment.onBecomeInactiveSegment.
    """
    for segment, newest in zip(directory.segments[:-1], newest_of, strict=False):
        path = segment.file(".timeindex")
        known = directory.files.get(os.path.basename(path))
        is_empty = segment.size == 0
        if segment.is_remote or (newest < 0 and not is_empty) or known is None or known.size < TIME_INDEX_ENTRY.size:
            continue
        at = (known.size // TIME_INDEX_ENTRY.size - 1) * TIME_INDEX_ENTRY.size
        try:
            with closing(open_source(path)) as source:
                index = TimeIndex(source.read_bytes(at, TIME_INDEX_ENTRY.size), segment.base_offset)
        except UnreadableError:
            continue  # `verify` reports it
        index.newest = newest
        if is_empty:
            if len(index) and int(index.timestamp[-1]) > 0:
                yield _emptied(directory, segment, int(index.offset[-1]))
        elif len(index) and _ends_early(index):
            last = int(index.timestamp[-1])
            yield directory.finding(
                "time-index-mismatch", path, _must_end_with(newest, last), position=at, length=TIME_INDEX_ENTRY.size,
                offset=int(index.offset[-1]), needed=newest, found=last,
            )  # fmt: skip


def _emptied(directory: PartitionDirectory, segment: Segment, offset: int) -> Finding:
    return directory.finding(
        "log-cut-short", segment.path, _knows_later("is empty", ".timeindex", offset),
        position=0, offset=segment.base_offset, last_offset=offset, needed=offset, found=segment.base_offset - 1,
    )  # fmt: skip


def _knows_later(ends: str, suffix: str, offset: int) -> str:
    return f"the segment {ends}, but its {suffix} has offset {offset}"


def _must_end_with(newest: int, last: int) -> str:
    return f"the index of a closed segment must end with the newest time {newest}, but ends with {last}"


# Entries of a segment's indexes that its batches contradict, or that go on after them, as findings.


class Mismatch(NamedTuple):
    """What is wrong with an index; `share` is the part of its entries that are wrong, from 0 to 1."""

    finding: Finding
    share: float


def offsets_beyond(index: OffsetIndex, place: SegmentFiles, coverage: Coverage) -> NDArray[np.bool_]:
    """Say which entries go on after the log's end: both their offset and their position do."""
    beyond: NDArray[np.bool_] = (index.position >= place.segment.size) & (index.offset > coverage.reached)
    return beyond


def times_beyond(index: TimeIndex, coverage: Coverage) -> NDArray[np.bool_]:
    """Say which entries go on after the log's end: both their offset and their time do."""
    beyond: NDArray[np.bool_] = (index.offset > coverage.reached) & (index.timestamp > index.newest)
    return beyond


def left_by_truncation(
    index: OffsetIndex | TimeIndex, place: SegmentFiles, coverage: Coverage
) -> NDArray[np.bool_]:  # fmt: skip
    """Say which last entries of an active segment's index do not count: their offset is after the log's end.

    A broker that truncates the log goes back in the file and leaves what follows, until it writes there again or trims
    the file.
    """
    if place.is_closed or not len(index):
        return np.zeros(len(index), bool)
    after = index.offset > coverage.reached
    left: NDArray[np.bool_] = np.logical_and.accumulate(after[::-1])[::-1]
    return left


def offset_mismatch(index: OffsetIndex, place: SegmentFiles, coverage: Coverage) -> Mismatch | None:
    """Return the wrong entries of an ``.index``, by which readers go astray."""
    if not len(index):
        return None
    wrong = index.wrong() & ~coverage.in_hole(index.position) & ~offsets_beyond(index, place, coverage)
    wrong &= ~left_by_truncation(index, place, coverage)
    if not wrong.any():
        return None
    row = int(np.flatnonzero(wrong)[0])
    offset, position = int(index.offset[row]), int(index.position[row])
    there = index.last[row] != buffers.NONE
    what = (
        f"the batch has {offset_range(int(index.first[row]), int(index.last[row]))}" if there else "there is no batch"
    )
    message = (
        f"{wrong.sum()} of {len(index)} entries {'does' if wrong.sum() == 1 else 'do'} not match the segment: the first"
        f" one has offset {offset} at position {position}, where {what}"
    )
    finding = place.finding(
        "index-mismatch",
        ".index",
        message,
        position=row * index.size,
        length=index.size,
        offset=offset,
        needed=int(index.last[row]) if there else "a batch",
        found=offset if there else position,
    )
    return Mismatch(finding, float(wrong.sum()) / len(index))


def time_mismatch(index: TimeIndex, place: SegmentFiles, coverage: Coverage) -> Mismatch | None:
    """Return the wrong entries of a ``.timeindex``, by which readers go astray."""
    beyond = times_beyond(index, coverage)
    wrong = index.wrong() & ~beyond & ~left_by_truncation(index, place, coverage)
    if coverage.holes:  # a batch that is missing in one may have had the newest time
        wrong &= index.offset <= coverage.first_doubt()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        newest = max(index.there[row], index.before[row])
        what = "there is no batch" if index.there[row] == buffers.NONE else f"the newest time is {newest}"
        message = (
            f"{wrong.sum()} of {len(index)} entries {'does' if wrong.sum() == 1 else 'do'} not match the segment: the"
            f" first one has time {index.timestamp[row]} at offset {index.offset[row]}, where {what}"
        )
        finding = _of_time(index, place, coverage, row, message, int(index.timestamp[row]))
        return Mismatch(finding, float(wrong.sum()) / len(index))
    if place.is_closed and not coverage.holes and not beyond.any() and _ends_early(index):
        last = int(index.timestamp[-1]) if len(index) else -1
        message = _must_end_with(index.newest, last)
        return Mismatch(_of_time(index, place, coverage, max(len(index) - 1, 0), message, last), 0.0)
    return None


def _ends_early(index: TimeIndex) -> bool:
    return index.newest >= 0 and (not len(index) or int(index.timestamp[-1]) != index.newest)


def _of_time(
    index: TimeIndex, place: SegmentFiles, coverage: Coverage, row: int, message: str, found: int
) -> Finding:  # fmt: skip
    there = int(index.there[row]) if len(index) else buffers.NONE
    return place.finding(
        "time-index-mismatch",
        ".timeindex",
        message,
        position=row * index.size,
        length=index.size,
        offset=int(index.offset[row]) if len(index) else coverage.first_offset,
        needed=index.newest if there == buffers.NONE else there,
        found=found,
    )


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

    def take_batches(self, batches: Columns, before: int) -> None:
        """Look the entries up that the next batches bear on; `before` is the last offset before them."""
        for index in self._read():
            if index is not None:
                index.take_batches(batches, before)

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
            self._unread.append(self._place.finding(NOT_READ, suffix, str(error)))
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
            yield finding if closed else lowered(finding, Reason.MAY_BE_WRITTEN_TO)

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
            yield lowered(finding, Reason.LEFT_BY_BROKERS)

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
            _knows_later(ends, suffix, offset),
            position=coverage.end,
            offset=last + 1,
            last_offset=offset,
            needed=offset,
            found=last,
        )
        # Files of a broker that ran were copied one after the other: the index may be newer.
        copied = self._place.is_last and not self._place.directory.clean_shutdown
        yield lowered(finding, Reason.COPIED) if copied else finding
