"""A segment's side files held against the log, within the one read that is made of it.

`SideFiles` takes the segment's chunks as they come and says at the end what its ``.index`` and ``.timeindex`` hold that
the log does not. What needs the whole partition (``.txnindex``, ``.snapshot``, leader epochs, the log's end) it keeps
for `kafkalog.audit.side_files.of_partition`. Memory goes with the index and the number of producers, not with the log.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from kafkalog.audit.side_files.index_witness import Batches, OffsetIndex, TimeIndex
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity, Where
from kafkalog.format import kernel, markers
from kafkalog.log.chunk import Chunk
from kafkalog.log.files import read_small
from kafkalog.log.logdir import PartitionDirectory, Segment
from kafkalog.log.storage import exists
from kafkalog.txn import producer_states
from kafkalog.txn.columns import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Column = NDArray[np.int64]

__all__ = ["EpochRun", "SideFiles", "StatePiece"]

_KEPT_ROWS: Final = 1 << 13  # of producers' events, until they are joined: in the cache


@dataclass(frozen=True, slots=True)
class StatePiece:
    """What a stretch of log does to producers' states: up to offset `stop`, where a snapshot was taken, None: the end.

    `changes` are rows of ``producer_states``.
    """

    stop: int | None
    changes: Columns


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Batches of one leader epoch behind one another: offsets of the first one, and the last offset before it."""

    epoch: int
    first: int
    first_last: int
    before: int | None


class SideFiles:
    """One segment's side files.

    Call `chunk` for each chunk in order, then `finish` once. The attributes are what a partition's comparison needs.
    """

    def __init__(self, directory: PartitionDirectory, segment: Segment) -> None:
        self.directory = directory
        self.segment = segment
        self.is_last = not directory.segments or directory.segments[-1].path == segment.path
        # A closed segment's indexes were cut to their size and given their last entry.
        self.closed = not self.is_last or (directory.clean_shutdown and not directory.suffix)
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.end = 0  # of the last batch, in bytes
        self.holes: list[tuple[int, int, int | None]] = []  # bytes without a batch, with the last offset before them
        self.epochs: list[EpochRun] = []
        self.votes = 0  # of side files that say that the segment is another log's
        self.cut_short = False  # whether they say that it ended later
        self._indexes: tuple[OffsetIndex | None, TimeIndex | None] | None = None
        self._unread: list[Finding] = []
        following = min(
            (s.base_offset for s in directory.segments if s.base_offset > segment.base_offset), default=None
        )
        self._stops = sorted(
            offset
            for offset in directory.snapshots
            if offset > segment.base_offset and (following is None or offset < following)
        )
        self._events: list[list[Columns]] = [[] for _ in range(len(self._stops) + 1)]
        self._kept = 0
        self._joined = 0
        self._types, self._coordinator_epochs = array("q"), array("q")

    @property
    def stem(self) -> str:
        """Return the path of the segment without its suffix."""
        return self.segment.path.removesuffix(".log")

    @property
    def doubted(self) -> bool:
        """Say whether it is another log's, by several witnesses."""
        return self.votes > 1

    @property
    def has_damaged_tail(self) -> bool:
        """Say whether bytes that are no batch stand at the segment's end; once the segment was read."""
        return self.end < self.segment.size

    def chunk(self, chunk: Chunk) -> None:
        """Take in the next chunk of the segment."""
        heads = chunk.heads
        if not heads.count:
            return
        table = heads.numpy()
        whole = table[kernel.VALID] != 0  # what a damaged header says is nothing
        if not whole.all():
            table = table[:, whole]
        if not table.shape[1]:
            return
        position, size = table[kernel.POSITION], table[kernel.SIZE]
        last = table[kernel.LAST_OFFSET]
        self._find_holes(position, size, last)
        batches = Batches(position, table[kernel.BASE_OFFSET], last, table[kernel.MAX_TIMESTAMP])
        before = self._last()
        for index in self._read():
            if index is not None:
                index.chunk(batches, before)
        self._take_epochs(table[kernel.LEADER_EPOCH], batches)
        self._take_states(chunk)
        if self.first_offset is None:
            base = int(table[kernel.BASE_OFFSET][0])
            self.first_offset = int(last[0]) if base == kernel.NONE else base
        self.last_offset = int(last[-1])
        self.end = int(position[-1] + size[-1])

    def finish(self) -> Iterator[Finding]:
        """Yield what the segment's indexes hold that its log does not."""
        if self.segment.size > self.end:
            self.holes.append((self.end, self.segment.size, self.last_offset))
        offsets, times = self._read()
        yield from self._unread
        found = [finding for finding in (self._of_offsets(offsets), self._of_times(times)) if finding is not None]
        self.votes = sum(share > 0.5 for _, share in found)
        if self.votes == 2:
            yield self._finding(
                "segment-foreign",
                ".log",
                f"its batches are not those that both of its indexes were made of: {found[0][0].message};"
                f" {found[1][0].message}",
                offset=self.first_offset,
            )
        else:
            yield from (finding for finding, _ in found)
        yield from self._shape(".index", offsets)
        yield from self._shape(".timeindex", times)
        if not found:
            yield from self._beyond(offsets, times)

    def state_pieces(self) -> list[StatePiece]:
        """Return what the segment does to producers' states, cut where snapshots were taken."""
        self._join_events()
        stops: list[int | None] = [*self._stops, None]
        return [
            StatePiece(stop, parts[0] if parts else Columns.empty(producer_states.COLUMNS))
            for stop, parts in zip(stops, self._events, strict=True)
        ]

    def _read(self) -> tuple[OffsetIndex | None, TimeIndex | None]:
        """Read both indexes, once."""
        if self._indexes is None:
            offsets, times = self._bytes(".index"), self._bytes(".timeindex")
            base = self.segment.base_offset
            self._indexes = (
                None if offsets is None else OffsetIndex(offsets, base),
                None if times is None else TimeIndex(times, base),
            )
        return self._indexes

    def _bytes(self, suffix: str) -> bytes | None:
        path = self.stem + suffix
        if not exists(path):
            self._unread.append(
                self._finding("side-file-missing", suffix, f"there is no {suffix} file beside the segment")
            )
            return None
        try:
            return read_small(path)
        except UnreadableError as error:
            self._unread.append(self._finding("file-unreadable", suffix, str(error)))
            return None

    def _find_holes(self, position: _Column, size: _Column, last: _Column) -> None:
        ends = position + size
        starts = np.append(self.end, ends[:-1])
        for row in np.flatnonzero(position != starts):
            before = int(last[row - 1]) if row else self.last_offset
            self.holes.append((int(starts[row]), int(position[row]), before))

    def _take_epochs(self, epochs: _Column, batches: Batches) -> None:
        known = self.epochs[-1].epoch if self.epochs else None
        changes = np.append(known is None or epochs[0] != known, epochs[1:] != epochs[:-1])
        for row in np.flatnonzero(changes):
            last = int(batches.last_offset[row])
            base = int(batches.base_offset[row])
            before = int(batches.last_offset[row - 1]) if row else self.last_offset
            first = (last if before is None else before + 1) if base == kernel.NONE else base
            self.epochs.append(EpochRun(int(epochs[row]), first, last, before))

    def _take_states(self, chunk: Chunk) -> None:
        heads = chunk.heads
        if len(self._types) < heads.capacity:
            self._types, self._coordinator_epochs = (array("q", bytes(8 * heads.capacity)) for _ in range(2))
        markers.read(chunk.buf, heads.cells, heads.capacity, heads.count, self._types, self._coordinator_epochs)
        rows = producer_states.events(heads, self._types, self._coordinator_epochs)
        if not len(rows):
            return
        pieces = np.searchsorted(self._stops, rows["newest_offset"], "right")
        for piece in np.unique(pieces).tolist():
            self._events[piece].append(rows.take(pieces == piece) if len(self._stops) else rows)
        self._kept += len(rows)
        if self._kept > max(_KEPT_ROWS, 2 * self._joined):
            self._join_events()

    def _join_events(self) -> None:
        for number, parts in enumerate(self._events):
            if parts:
                joined = Columns.concat(parts, producer_states.COLUMNS)
                self._events[number] = [producer_states.collapse(joined)]
        self._kept = 0
        self._joined = sum(len(parts[0]) for parts in self._events if parts)

    def _in_hole(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not self.holes:
            return np.zeros(len(positions), bool)
        starts = np.array([hole[0] for hole in self.holes])
        stops = np.array([hole[1] for hole in self.holes])
        at = np.searchsorted(starts, positions, "right") - 1
        return (at >= 0) & (positions < stops[at])

    def _of_offsets(self, index: OffsetIndex | None) -> tuple[Finding, float] | None:
        if index is None or not len(index):
            return None
        wrong = index.wrong() & ~self._in_hole(index.position) & ~self._offsets_beyond(index)
        if not wrong.any():
            return None
        row = int(np.flatnonzero(wrong)[0])
        offset, position = int(index.offset[row]), int(index.position[row])
        there = index.last[row] != kernel.NONE
        what = f"offsets {index.first[row]} to {index.last[row]}" if there else "no batch"
        message = (
            f"{wrong.sum()} of {len(index)} entries do not fit the segment; the first says offset {offset} at"
            f" {position}, where there is {what}"
        )
        finding = self._finding(
            "index-mismatch",
            ".index",
            message,
            position=row * index.size,
            length=index.size,
            offset=offset,
            needed=int(index.last[row]) if there else "a batch",
            found=offset if there else position,
        )
        return finding, float(wrong.sum()) / len(index)

    def _of_times(self, index: TimeIndex | None) -> tuple[Finding, float] | None:
        if index is None:
            return None
        beyond = self._times_beyond(index)
        wrong = index.wrong() & ~beyond
        if self.holes:  # behind one a batch is missing that may have had the newest time
            wrong &= index.offset <= min(self.segment.base_offset if h[2] is None else h[2] for h in self.holes)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            newest = max(index.there[row], index.before[row])
            what = "no batch" if index.there[row] == kernel.NONE else f"a batch, and the newest time is {newest}"
            message = (
                f"{wrong.sum()} of {len(index)} entries do not fit the segment; the first says {index.timestamp[row]}"
                f" at offset {index.offset[row]}, where there is {what}"
            )
            found = self._time_finding(index, row, message, int(index.timestamp[row]))
            return found, float(wrong.sum()) / len(index)
        if self.closed and not self.holes and not beyond.any() and self._ends_early(index):
            told = int(index.timestamp[-1]) if len(index) else -1
            message = f"the index of a closed segment ends with its newest time: that is {index.newest}, not {told}"
            return self._time_finding(index, max(len(index) - 1, 0), message, told), 0.0
        return None

    def _ends_early(self, index: TimeIndex) -> bool:
        return index.newest >= 0 and (not len(index) or int(index.timestamp[-1]) != index.newest)

    def _time_finding(self, index: TimeIndex, row: int, message: str, found: int) -> Finding:
        there = int(index.there[row]) if len(index) else kernel.NONE
        return self._finding(
            "time-index-mismatch",
            ".timeindex",
            message,
            position=row * index.size,
            length=index.size,
            offset=int(index.offset[row]) if len(index) else self.first_offset,
            needed=index.newest if there == kernel.NONE else there,
            found=found,
        )

    def _shape(self, suffix: str, index: OffsetIndex | TimeIndex | None) -> Iterator[Finding]:
        if index is None:
            return
        used = len(index) * index.size
        if index.rest:
            yield self._finding(
                "index-truncated", suffix, f"{index.rest} bytes behind the last entry, an entry has {index.size}",
                position=used + index.zeros, length=index.rest, needed=index.size, found=index.rest,
            )  # fmt: skip
        if index.zeros:
            finding = self._finding(
                "index-preallocated", suffix, f"{index.zeros} zero bytes behind {len(index)} entries",
                position=used, length=index.zeros, needed=0 if self.closed else None, found=index.zeros,
            )  # fmt: skip
            yield finding._replace(severity=Severity.WARNING) if self.closed else finding

    def _offsets_beyond(self, index: OffsetIndex) -> NDArray[np.bool_]:
        """Say which entries go on behind the log's end: both their offset and their position do."""
        beyond: NDArray[np.bool_] = (index.position >= self.segment.size) & (index.offset > self._last())
        return beyond

    def _times_beyond(self, index: TimeIndex) -> NDArray[np.bool_]:
        """Say which entries go on behind the log's end: both their offset and their time do."""
        beyond: NDArray[np.bool_] = (index.offset > self._last()) & (index.timestamp > index.newest)
        return beyond

    def _last(self) -> int:
        """Return the last offset so far, the one in front of the segment where there is none."""
        return self.segment.base_offset - 1 if self.last_offset is None else self.last_offset

    def _beyond(self, offsets: OffsetIndex | None, times: TimeIndex | None) -> Iterator[Finding]:
        """Say that an index goes on where the log ends. Bytes behind the last batch explain it."""
        if self.has_damaged_tail:
            return
        known = [
            (int(index.offset[beyond].max()), suffix)
            for index, beyond, suffix in (
                (offsets, None if offsets is None else self._offsets_beyond(offsets), ".index"),
                (times, None if times is None else self._times_beyond(times), ".timeindex"),
            )
            if index is not None and beyond is not None and beyond.any()
        ]
        if not known:
            return
        self.cut_short = True
        offset, suffix = max(known)
        last = self._last()
        finding = self._finding(
            "log-cut-short",
            ".log",
            f"the segment ends at offset {last}, its {suffix} knows offset {offset}",
            position=self.end,
            offset=last + 1,
            last_offset=offset,
            needed=offset,
            found=last,
        )
        # Files of a broker that ran were copied one behind the other: the index may be newer.
        copied = self.is_last and not self.directory.clean_shutdown
        yield finding._replace(severity=Severity.NOTE) if copied else finding

    def _finding(self, code: str, suffix: str, message: str, **where: Unpack[Where]) -> Finding:
        directory = self.directory
        finding = Finding.of(code, self.stem + suffix, message, **where)
        return finding._replace(log=directory.log, topic=directory.topic, partition=directory.partition)
