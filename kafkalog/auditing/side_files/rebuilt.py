"""A segment's side files compared with the log, within the one read that is made of it.

`SideFiles` takes the segment's chunks as they come; at the end it has the entries of ``.index`` and ``.timeindex`` that
contradict the log. Facts for checks of the whole partition (``.txnindex``, ``.snapshot``, leader epochs, the log's end)
are a `RebuiltSegment`, for `of_partition`. Memory grows with the index and the number of producers, not with the log.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafkalog.auditing.side_files.segment_batches import BATCH, Coverage, SegmentFiles
from kafkalog.auditing.side_files.segment_indexes import SegmentIndexes
from kafkalog.columns.table import NONE, Columns
from kafkalog.findings import Finding
from kafkalog.folds.producer_states import ProducerStates
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment
from kafkalog.segments.chunk import Chunk

__all__ = ["EpochRun", "EpochRuns", "ForeignSegments", "RebuiltSegment", "SideFiles", "runs_of_log"]

# Leader epochs: where the batches of each begin.


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Consecutive batches of one leader epoch: offsets of the first one, and the last offset before it."""

    epoch: int
    first: int
    first_last: int
    before: int | None


class EpochRuns:
    """The runs of one segment; call `chunk` for each chunk in order."""

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []

    def plain(self, heads: CellTable) -> None:
        """Take in a chunk of one epoch, which is that of the batches before it."""
        if not self.runs:
            epoch, first, last = (
                heads.cell(column, 0) for column in (buffers.LEADER_EPOCH, buffers.BASE_OFFSET, buffers.LAST_OFFSET)
            )
            self.runs.append(EpochRun(epoch, first, last, None))

    def take_batches(self, batches: Columns, last_offset: int | None) -> None:
        """Take in the next batches; `last_offset` is the one before them."""
        epochs, bases, ends = (batches[name] for name in ("leader_epoch", "base_offset", "last_offset"))
        known = self.runs[-1].epoch if self.runs else None
        changes = np.append(known is None or epochs[0] != known, epochs[1:] != epochs[:-1])
        for row in np.flatnonzero(changes):
            last, base = int(ends[row]), int(bases[row])
            before = int(ends[row - 1]) if row else last_offset
            first = (last if before is None else before + 1) if base == NONE else base
            self.runs.append(EpochRun(int(epochs[row]), first, last, before))


def runs_of_log(segments: Iterable[tuple[Sequence[EpochRun], int | None]], log_start: int) -> list[EpochRun]:
    """Join the runs of segments, each given with its last offset, without those that end before the log's start."""
    joined: list[EpochRun] = []
    before: int | None = None
    for runs, last_offset in segments:
        for run in runs:
            if not joined or joined[-1].epoch != run.epoch:
                joined.append(run if run.before is not None else replace(run, before=before))
        before = before if last_offset is None else last_offset
    ends = [following.before for following in joined[1:]]
    reach = [end is None or end >= log_start for end in ends] + [before is not None and before >= log_start] * bool(
        joined
    )
    return [run for run, reaches in zip(joined, reach, strict=True) if reaches]


# Producers' states, cut where snapshots were taken. Memory grows with the number of producers, not with the log.


@dataclass(frozen=True, slots=True)
class StatePiece:
    """How a part of a log changes producers' states: up to offset `stop`, where a snapshot was taken, None: the end.

    What no snapshot was taken after is not rebuilt.

    `changes` are rows of ``producer_states``.
    """

    stop: int | None
    changes: Columns


class StatePieces:
    """How one segment changes producers' states; call `chunk` for each chunk in order, then `finish` once."""

    def __init__(self, stops: list[int], *, to_end: bool) -> None:
        self._stops = stops
        self._to_end = to_end
        self._states = ProducerStates(stops)
        self._types, self._coordinator_epochs = array("q"), array("q")

    @classmethod
    def of(cls, directory: PartitionDirectory, segment: Segment) -> StatePieces:
        """Begin with the snapshots that were taken inside the segment, and whether there are later ones."""
        base = segment.base_offset
        following = min((s.base_offset for s in directory.segments if s.base_offset > base), default=None)
        inside = (at for at in directory.snapshots if at > base and (following is None or at < following))
        to_end = following is not None and max(directory.snapshots, default=base) >= following
        return cls(sorted(inside), to_end=to_end)

    def take_chunk(self, chunk: Chunk) -> None:
        """Take in the next chunk of the segment."""
        heads = chunk.heads
        if not self._to_end and not (self._stops and min(heads.column(buffers.BASE_OFFSET)) < self._stops[-1]):
            return
        if len(self._types) < heads.capacity:
            self._types, self._coordinator_epochs = (array("q", bytes(8 * heads.capacity)) for _ in range(2))
        headers.markers(chunk.buf, heads.cells, heads.count, self._types, self._coordinator_epochs)
        self._states.batches(heads, self._types, self._coordinator_epochs)

    def finish(self) -> tuple[StatePiece, ...]:
        """Return the pieces in the order of the log."""
        if not self._stops and not self._to_end:
            return ()
        stops: list[int | None] = [*self._stops, *([None] if self._to_end else [])]
        return tuple(StatePiece(*piece) for piece in zip(stops, self._states.result(), strict=False))


# All that is rebuilt of one segment.


_COLUMNS: Final = array("q", BATCH.values())
_CHUNKS: Final = 8  # whose batches are compared with the indexes together


@dataclass(frozen=True, slots=True)
class RebuiltSegment:
    """The facts of one read of a segment that its partition's side files are compared with.

    `first_offset` and `last_offset` are those of its batches. `has_damaged_tail` says whether it ends with bytes that
    are no batch. `votes` counts its indexes that show that it belongs to another log, `cut_short` says whether one of
    them has entries after its end.
    """

    segment: Segment
    first_offset: int | None
    last_offset: int | None
    has_damaged_tail: bool
    epochs: tuple[EpochRun, ...]
    states: tuple[StatePiece, ...]
    votes: int
    cut_short: bool


class SideFiles:
    """One segment's side files.

    Call `chunk` for each chunk in order, then `finish` once; then `rebuilt` has what a partition's comparison needs.
    """

    rebuilt: RebuiltSegment

    def __init__(self, directory: PartitionDirectory, segment: Segment) -> None:
        self._segment = segment
        self._coverage = Coverage(segment.base_offset)
        self._indexes = SegmentIndexes(SegmentFiles(directory, segment))
        self._epochs = EpochRuns()
        self._states = StatePieces.of(directory, segment)
        self._kept = CellTable(len(_COLUMNS), 0)  # whole batches of some chunks
        self._rows = 0

    def take_chunk(self, chunk: Chunk, *, plain: bool = False) -> None:
        """Take in the next chunk of the segment; `plain` says that each batch is whole and continues the one before."""
        heads = chunk.heads
        if not heads.count:
            return
        if plain and not self._rows:
            self._indexes.plain(heads, self._coverage.reached)
            self._epochs.plain(heads)
            self._coverage.plain(heads)
        else:
            self._keep(heads)
        self._states.take_chunk(chunk)

    def _keep(self, heads: CellTable) -> None:
        if self._kept.capacity < heads.capacity:
            self._kept = CellTable(len(_COLUMNS), _CHUNKS * heads.capacity)
        elif self._rows + heads.count > self._kept.capacity:
            self._take()
        self._rows = headers.keep(heads.cells, heads.count, _COLUMNS, self._kept.cells, self._rows)

    def _take(self) -> None:
        """Take in the batches of several chunks at once: a call costs more than its rows."""
        if not self._rows:
            return
        self._kept.count = self._rows
        batches = Columns.of_table(tuple(BATCH), self._kept.numpy())
        self._indexes.take_batches(batches, self._coverage.reached)
        self._epochs.take_batches(batches, self._coverage.last_offset)
        self._coverage.take_batches(batches)
        self._rows = 0

    def finish(self) -> list[Finding]:
        """Return where the segment's indexes contradict its batches."""
        self._take()
        coverage, size = self._coverage, self._segment.size
        coverage.finish(size)
        verdict = self._indexes.finish(coverage)
        self.rebuilt = RebuiltSegment(
            segment=self._segment,
            first_offset=coverage.first_offset,
            last_offset=coverage.last_offset,
            has_damaged_tail=coverage.end < size,
            epochs=tuple(self._epochs.runs),
            states=self._states.finish(),
            votes=verdict.votes,
            cut_short=verdict.cut_short,
        )
        return verdict.findings


_ENOUGH = 2  # independent votes


@dataclass(frozen=True, slots=True)
class ForeignSegments:
    """The votes against a partition's segments, by their paths."""

    votes: Mapping[str, int]

    @classmethod
    def against(cls, segments: Sequence[RebuiltSegment], by_txn_index: Collection[Segment]) -> ForeignSegments:
        """Count the votes; `by_txn_index` are the segments whose ``.txnindex`` does not list their markers."""
        votes = Counter({rebuilt.segment.path: rebuilt.votes for rebuilt in segments})
        votes.update({segment.path: _ENOUGH for segment in _out_of_order(segments)})
        votes.update(segment.path for segment in by_txn_index)
        return cls(votes)

    def votes_against(self, segment: Segment) -> int:
        """Return the number of votes against a segment."""
        return self.votes.get(segment.path, 0)

    def is_foreign(self, segment: Segment) -> bool:
        """Say whether several votes show that a segment belongs to another log."""
        return self.votes_against(segment) >= _ENOUGH

    @property
    def any_foreign(self) -> bool:
        """Say whether several votes show that one of the segments belongs to another log."""
        return any(votes >= _ENOUGH for votes in self.votes.values())


def _out_of_order(segments: Sequence[RebuiltSegment]) -> Iterator[Segment]:
    """Yield the segments whose offsets do not fit between their neighbours: that counts as several votes."""
    last = -1
    for rebuilt in segments:
        if rebuilt.first_offset is None or rebuilt.last_offset is None:
            continue
        if 0 <= rebuilt.first_offset <= last or 0 <= rebuilt.last_offset < rebuilt.segment.base_offset:
            yield rebuilt.segment
        last = max(last, rebuilt.last_offset)
