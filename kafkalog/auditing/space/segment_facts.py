"""What one pass over a segment shows of its bytes: times, delete horizons, control batches, batches no one can read."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import SegmentScan, scan_segment
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.kafka.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.segment import possible_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SegmentFacts", "future_batches", "read_segment"]

_FAR: Final = 2**61  # ms: no time that was seen
_MOST: Final = 100  # batches of a chunk, and of the segment, that are looked into


@dataclass(slots=True)
class AppendTimes:
    """A segment's batches with a broker's time (LogAppendTime), and how those with a producer's time lie to them.

    `ahead_ms` is how far a producer's time is after that of a batch which a broker appended later, `behind_ms` the most
    that one is after the batches that a broker had appended before it: below 0, all `later` ones are before them.
    """

    appended: int = 0
    created: int = 0
    ahead_ms: int = -_FAR
    behind_ms: int = -_FAR
    later: int = 0
    _newest_created: int = -_FAR
    _newest_appended: int = -_FAR

    def add(self, times: NDArray[np.int64], is_append: NDArray[np.bool_]) -> None:
        """Take in the next batches, in the order of the log."""
        here = int(is_append.sum())
        self.appended += here
        self.created += len(times) - here
        if not self.appended:
            self._newest_created = max(self._newest_created, int(times.max(initial=-_FAR)))
            return
        created, appended = (
            np.maximum.accumulate(np.append(newest, np.where(is_one, times, -_FAR)))
            for newest, is_one in ((self._newest_created, ~is_append), (self._newest_appended, is_append))
        )
        ahead = created[:-1][is_append] - times[is_append]
        self.ahead_ms = max(self.ahead_ms, int(ahead.max(initial=-_FAR)))
        after = ~is_append & (appended[:-1] > -_FAR)
        self.behind_ms = max(self.behind_ms, int((times - appended[:-1])[after].max(initial=-_FAR)))
        self.later += int(after.sum())
        self._newest_created, self._newest_appended = int(created[-1]), int(appended[-1])


class Unreadable(NamedTuple):
    """A batch that the cleaner can't read: its first offset, its position, its codec (0: none, or not known)."""

    offset: int
    position: int
    codec: int


@dataclass(slots=True)
class SegmentFacts:
    """A segment's scan, and what the cleaner and retention decide by. Times are in ms; -1 stands for none.

    `first_timestamp` is the first batch's largest, `largest` the segment's. `horizons` are the earliest and the latest
    delete horizon in its batches. `unreadable` are batches that the cleaner can't read:
    checksums do not matter to it.
    """

    segment: Segment
    modified: int = -1
    first_timestamp: int = -1
    largest: int = -1
    horizons: tuple[int, int] | None = None
    batches: int = 0
    control_batches: int = 0
    control_bytes: int = 0
    newest_magic: int = -1
    unreadable: list[Unreadable] = field(default_factory=list)
    append_times: AppendTimes = field(default_factory=AppendTimes)
    scan: SegmentScan = field(init=False)
    _doubtful: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, chunk: Chunk) -> None:
        """Take in the batches of a chunk."""
        heads = chunk.heads.numpy()
        if not heads.shape[1]:
            return
        valid = heads[buffers.VALID] != 0
        for row in np.flatnonzero(~valid)[:_MOST]:
            codec = int(heads[buffers.ATTRIBUTES][row]) & CODEC_MASK
            self._doubtful[int(heads[buffers.POSITION][row])] = int(heads[buffers.BASE_OFFSET][row]), codec
        times = heads[buffers.MAX_TIMESTAMP][valid]
        if not len(times):
            return
        if not self.batches:
            self.first_timestamp = int(times[0])
        self.batches += len(times)
        self.largest = max(self.largest, int(times.max()))
        self.newest_magic = max(self.newest_magic, int(heads[buffers.MAGIC][valid].max()))
        modern = valid & (heads[buffers.MAGIC] >= 2)
        attributes = heads[buffers.ATTRIBUTES]
        dated = heads[buffers.BASE_TIMESTAMP][modern & (attributes & DELETE_HORIZON != 0)]
        if len(dated):
            low, high = int(dated.min()), int(dated.max())
            known = self.horizons or (low, high)
            self.horizons = (min(low, known[0]), max(high, known[1]))
        control = modern & (attributes & CONTROL != 0)
        data = valid & ~control
        seen = np.clip(heads[buffers.MAX_TIMESTAMP][data], -1, _FAR)
        self.append_times.add(seen, attributes[data] & LOG_APPEND_TIME != 0)
        self.control_batches += int(control.sum())
        self.control_bytes += int(heads[buffers.SIZE][control].sum())

    def read_on(self, limits: Limits) -> None:
        """Say which batches with a wrong checksum can be read all the same, as the cleaner would."""
        readable = _readable(self.segment, self._doubtful, limits) if self._doubtful else set()
        for place in self.scan.damaged:
            if place.position not in readable and len(self.unreadable) < _MOST:
                after = -1 if place.last_offset is None else place.last_offset
                offset, codec = self._doubtful.get(place.position, (after + 1, 0))
                self.unreadable.append(Unreadable(offset, place.position, codec))


def read_segment(directory: PartitionDirectory, segment: Segment, limits: Limits) -> SegmentFacts:
    """Read a segment once: for the audit's fold and for its bytes."""
    facts = SegmentFacts(segment)

    def chunks() -> Iterator[Chunk]:
        for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
            facts.add(chunk)
            yield chunk

    facts.scan = scan_segment(directory, segment, limits, chunks())
    identity = directory.files.get(segment.path.rpartition("/")[2])
    if identity is not None:
        facts.modified = identity.mtime_ns // 1_000_000
    facts.read_on(limits)
    return facts


def _readable(segment: Segment, doubtful: Container[int], limits: Limits) -> set[int]:
    """Return the positions of the doubtful batches whose records can all be read."""
    found = set()
    try:
        for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
            heads = chunk.heads
            for row in range(heads.count):
                if heads.cell(buffers.POSITION, row) not in doubtful:
                    chunk.skip(row)
            rows = [row for row in range(heads.count) if heads.cell(buffers.SECTION_START, row) >= 0]
            for _ in chunk.records():
                pass
            for row in rows:
                whole = heads.cell(buffers.DECODED, row) == heads.cell(buffers.COUNT, row)
                if whole and not heads.cell(buffers.ERROR, row):
                    found.add(heads.cell(buffers.POSITION, row))
    except UnreadableError:
        return set()
    return found


def future_batches(segment: Segment, now: int, limits: Limits) -> tuple[int, int | None, int]:
    """Look for times after `now`: (the segment's largest time up to then, the first record after it, its time).

    Of a batch that holds both, the first record's time counts. The record is None if no time is after `now`.
    """
    largest, where, when = -1, None, -1
    for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
        heads = chunk.heads
        times, starts = heads.column(buffers.MAX_TIMESTAMP), heads.column(buffers.BASE_TIMESTAMP)
        ahead = [row for row in range(heads.count) if times[row] > now and heads.cell(buffers.VALID, row)]
        for row in range(heads.count):
            if heads.cell(buffers.VALID, row):
                largest = max(largest, times[row] if times[row] <= now else starts[row] if starts[row] <= now else -1)
        if ahead and where is None:
            for row in range(heads.count):
                if row != ahead[0]:
                    chunk.skip(row)
            where, when = heads.cell(buffers.BASE_OFFSET, ahead[0]), times[ahead[0]]
            where, when = _first_after(chunk, now) or (where, when)
    return largest, where, when


def _first_after(chunk: Chunk, now: int) -> tuple[int, int] | None:
    for block in chunk.records():
        times, offsets = block.recs.column(buffers.TIMESTAMP), block.recs.column(buffers.OFFSET)
        for number, time in enumerate(times):
            if time > now:
                return offsets[number], time
    return None
