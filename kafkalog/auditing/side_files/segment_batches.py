"""A segment among those of its partition, and which bytes and offsets its whole batches take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Unpack

import numpy as np

from kafkalog.columns.table import NONE, Columns
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding, Where
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.kafka.batch import CellTable

__all__ = ["BATCH", "Coverage", "Hole", "SegmentFiles"]


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """A segment of a partition's directory."""

    directory: PartitionDirectory
    segment: Segment

    def beside(self, suffix: str) -> str:
        """Return the path of the segment's file with another suffix."""
        return self.segment.file(suffix)

    @property
    def is_last(self) -> bool:
        """Say whether no segment of the partition follows."""
        segments = self.directory.segments
        return not segments or segments[-1].path == self.segment.path

    @property
    def is_closed(self) -> bool:
        """Say whether the broker has cut its indexes to their size and written their last entry.

        From 4.4 on a clean stop leaves those of the metadata log as they are: each start recovers that log.
        """
        directory = self.directory
        is_closed_at_stop = directory.clean_shutdown and not directory.suffix and directory.topic != METADATA_TOPIC
        return not self.is_last or is_closed_at_stop

    def finding(self, code: str, suffix: str, message: str, **where: Unpack[Where]) -> Finding:
        """Make a finding about the segment's file with a suffix."""
        return self.directory.finding(code, self.beside(suffix), message, **where)


# Columns of a chunk's batches, in the order of the file. The first offset of a wrapper may be NONE.
BATCH: Final = {
    "position": buffers.POSITION,
    "size": buffers.SIZE,
    "base_offset": buffers.BASE_OFFSET,
    "last_offset": buffers.LAST_OFFSET,
    "leader_epoch": buffers.LEADER_EPOCH,
    "max_timestamp": buffers.MAX_TIMESTAMP,
}


class Hole(NamedTuple):
    """Bytes without a whole batch, from `start` to before `stop`, with the last offset before them."""

    start: int
    stop: int
    last_offset: int | None


class Coverage:
    """The batches of one segment from its first to its last.

    Call `chunk` for each chunk in order, then `finish` once. `end` is the last batch's, in bytes; `first_offset` and
    `last_offset` are None where there is no batch.
    """

    def __init__(self, base_offset: int) -> None:
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.end = 0
        self.holes: list[Hole] = []
        self._base_offset = base_offset

    @property
    def reached(self) -> int:
        """Return the last offset so far, the one before the segment where there is none."""
        return self._base_offset - 1 if self.last_offset is None else self.last_offset

    def take_batches(self, batches: Columns) -> None:
        """Take in the next batches, of which there is at least one."""
        position, last = batches["position"], batches["last_offset"]
        ends = position + batches["size"]
        starts = np.append(self.end, ends[:-1])
        for row in np.flatnonzero(position != starts):
            before = int(last[row - 1]) if row else self.last_offset
            self.holes.append(Hole(int(starts[row]), int(position[row]), before))
        if self.first_offset is None:
            base = int(batches["base_offset"][0])
            self.first_offset = int(last[0]) if base == NONE else base
        self.last_offset = int(last[-1])
        self.end = int(ends[-1])

    def plain(self, heads: CellTable) -> None:
        """Take in a chunk of batches that leave no hole."""
        if self.first_offset is None:
            self.first_offset = heads.cell(buffers.BASE_OFFSET, 0)
        row = heads.count - 1
        self.last_offset = heads.cell(buffers.LAST_OFFSET, row)
        self.end = heads.cell(buffers.POSITION, row) + heads.cell(buffers.SIZE, row)

    def finish(self, size: int) -> None:
        """Take in the segment's size."""
        if size > self.end:
            self.holes.append(Hole(self.end, size, self.last_offset))

    def in_hole(self, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which positions are in a hole."""
        if not self.holes:
            return np.zeros(len(positions), bool)
        starts = np.array([hole.start for hole in self.holes])
        stops = np.array([hole.stop for hole in self.holes])
        at = np.searchsorted(starts, positions, "right") - 1
        return (at >= 0) & (positions < stops[at])

    def first_doubt(self) -> int:
        """Return the offset after which a batch may be missing in a hole; there must be one."""
        return min(self._base_offset if hole.last_offset is None else hole.last_offset for hole in self.holes)
