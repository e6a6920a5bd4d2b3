"""Producers' states rebuilt from a segment's batches, in pieces cut where snapshots were taken.

Memory grows with the number of producers, not with the log.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.format import markers
from kafkalog.txn import producer_states
from kafkalog.txn.columns import Columns

if TYPE_CHECKING:
    from kafkalog.log.chunk import Chunk
    from kafkalog.log.logdir import PartitionDirectory, Segment

__all__ = ["StatePiece", "StatePieces"]

_KEPT_ROWS: Final = 1 << 13  # of producers' events, until they are joined: in the cache


@dataclass(frozen=True, slots=True)
class StatePiece:
    """How a stretch of log changes producers' states: up to offset `stop`, where a snapshot was taken, None: the end.

    `changes` are rows of ``producer_states``.
    """

    stop: int | None
    changes: Columns


class StatePieces:
    """How one segment changes producers' states; call `chunk` for each chunk in order, then `finish` once."""

    def __init__(self, stops: list[int]) -> None:
        self._stops = stops
        self._events: list[list[Columns]] = [[] for _ in range(len(stops) + 1)]
        self._kept = 0
        self._joined = 0
        self._types, self._coordinator_epochs = array("q"), array("q")

    @classmethod
    def of(cls, directory: PartitionDirectory, segment: Segment) -> StatePieces:
        """Begin with the snapshots that were taken inside the segment."""
        base = segment.base_offset
        following = min((s.base_offset for s in directory.segments if s.base_offset > base), default=None)
        inside = (at for at in directory.snapshots if at > base and (following is None or at < following))
        return cls(sorted(inside))

    def chunk(self, chunk: Chunk) -> None:
        """Take in the next chunk of the segment."""
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
            self._join()

    def finish(self) -> tuple[StatePiece, ...]:
        """Return the pieces in the order of the log."""
        self._join()
        stops: list[int | None] = [*self._stops, None]
        return tuple(
            StatePiece(stop, parts[0] if parts else Columns.empty(producer_states.COLUMNS))
            for stop, parts in zip(stops, self._events, strict=True)
        )

    def _join(self) -> None:
        for number, parts in enumerate(self._events):
            if parts:
                joined = Columns.concat(parts, producer_states.COLUMNS)
                self._events[number] = [producer_states.collapse(joined)]
        self._kept = 0
        self._joined = sum(len(parts[0]) for parts in self._events if parts)
