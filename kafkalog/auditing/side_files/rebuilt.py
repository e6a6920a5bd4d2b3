"""A segment's side files compared with the log, within the one read that is made of it.

`SideFiles` takes the segment's chunks as they come; at the end it has the entries of ``.index`` and ``.timeindex`` that
contradict the log. Facts for checks of the whole partition (``.txnindex``, ``.snapshot``, leader epochs, the log's end)
are a `RebuiltSegment`, for `of_partition`. Memory grows with the index and the number of producers, not with the log.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafkalog.auditing.side_files.batch_coverage import Coverage
from kafkalog.auditing.side_files.epoch_runs import EpochRun, EpochRuns
from kafkalog.auditing.side_files.index_witness import Batches
from kafkalog.auditing.side_files.place import SegmentFiles
from kafkalog.auditing.side_files.segment_indexes import SegmentIndexes
from kafkalog.auditing.side_files.state_pieces import StatePiece, StatePieces
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment
from kafkalog.segments.chunk import Chunk

__all__ = ["RebuiltSegment", "SideFiles"]

_COLUMNS: Final = array(
    "q",
    [
        buffers.POSITION, buffers.SIZE, buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.LEADER_EPOCH,
        buffers.MAX_TIMESTAMP,
    ],
)  # fmt: skip
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
        self._kept = array("q")  # whole batches of some chunks, column by column
        self._room = self._rows = 0

    def chunk(self, chunk: Chunk, *, plain: bool = False) -> None:
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
        self._states.chunk(chunk)

    def _keep(self, heads: CellTable) -> None:
        if len(self._kept) < heads.capacity * len(_COLUMNS):
            self._room = _CHUNKS * heads.capacity
            self._kept = array("q", [0]) * (self._room * len(_COLUMNS))
        elif self._rows + heads.count > self._room:
            self._take()
        self._rows = headers.keep(
            heads.cells, heads.capacity, heads.count, _COLUMNS, self._kept, self._room, self._rows
        )

    def _take(self) -> None:
        """Take in the batches of several chunks at once: a call costs more than its rows."""
        if not self._rows:
            return
        table = np.frombuffer(self._kept, np.int64).reshape(len(_COLUMNS), self._room)[:, : self._rows]
        position, size, first, last, leader_epoch, newest = table
        batches = Batches(position, first, last, newest)
        self._indexes.chunk(batches, self._coverage.reached)
        self._epochs.chunk(leader_epoch, batches, self._coverage.last_offset)
        self._coverage.chunk(batches, size)
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
