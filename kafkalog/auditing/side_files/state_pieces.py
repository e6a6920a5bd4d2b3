"""Producers' states rebuilt from a segment's batches, in pieces cut where snapshots were taken.

Memory grows with the number of producers, not with the log.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkalog.folds.producer_states import ProducerStates
from kafkalog.kernel import buffers, headers

if TYPE_CHECKING:
    from kafkalog.columns.named import Columns
    from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment
    from kafkalog.segments.chunk import Chunk

__all__ = ["StatePiece", "StatePieces"]


@dataclass(frozen=True, slots=True)
class StatePiece:
    """How a stretch of log changes producers' states: up to offset `stop`, where a snapshot was taken, None: the end.

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

    def chunk(self, chunk: Chunk) -> None:
        """Take in the next chunk of the segment."""
        heads = chunk.heads
        if not self._to_end and not (self._stops and min(heads.column(buffers.BASE_OFFSET)) < self._stops[-1]):
            return
        if len(self._types) < heads.capacity:
            self._types, self._coordinator_epochs = (array("q", bytes(8 * heads.capacity)) for _ in range(2))
        headers.markers(chunk.buf, heads.cells, heads.capacity, heads.count, self._types, self._coordinator_epochs)
        self._states.batches(heads, self._types, self._coordinator_epochs)

    def finish(self) -> tuple[StatePiece, ...]:
        """Return the pieces in the order of the log."""
        if not self._stops and not self._to_end:
            return ()
        stops: list[int | None] = [*self._stops, *([None] if self._to_end else [])]
        return tuple(StatePiece(*piece) for piece in zip(stops, self._states.result(), strict=False))
