"""A replica's batches in the order of their offsets, some thousand at a time, and how two runs of them compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.errors import UnreadableError
from kafkalog.format import kernel
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.segment import possible_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ReplicaBatches"]

BASE, LAST, EPOCH, CRC, SIZE, VALID, PRODUCER, PRODUCER_EPOCH, SEQUENCE, ATTRIBUTES = range(10)
_TAKEN: Final = (
    kernel.BASE_OFFSET, kernel.LAST_OFFSET, kernel.LEADER_EPOCH, kernel.CRC, kernel.SIZE, kernel.VALID,
    kernel.PRODUCER_ID, kernel.PRODUCER_EPOCH, kernel.BASE_SEQUENCE, kernel.ATTRIBUTES,
)  # fmt: skip
_ALL: Final = slice(BASE, SIZE + 1)  # equal in two copies of one batch
_CODEC_TYPE_FLAGS: Final = 0x38  # timestamp type, transactional, control: cleaning keeps them


class ReplicaBatches:
    """The whole batches of one replica from an offset on, taken from the front."""

    def __init__(self, directory: PartitionDirectory, start: int, limits: Limits | None = None) -> None:
        self._tables = _tables(directory, start, limits)
        self.table: NDArray[np.int64] = np.empty((0, len(_TAKEN)), np.int64)
        self._fill()

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, column: int) -> int:
        """Return a column of the first batch."""
        return int(self.table[0, column])

    def take(self, count: int) -> None:
        """Go past the first `count` batches."""
        self.table = self.table[count:]
        if not len(self.table):
            self._fill()

    def _fill(self) -> None:
        for table in self._tables:
            if len(table):
                self.table = table
                return

    def same(self, other: ReplicaBatches) -> int:
        """Return how many of the next batches are the same in both, byte for byte."""
        count = min(len(self), len(other))
        mine, theirs = self.table[:count], other.table[:count]
        equal = (mine[:, _ALL] == theirs[:, _ALL]).all(axis=1)
        return count if equal.all() else int(np.argmin(equal))

    def is_same_written(self, other: ReplicaBatches) -> bool:
        """Say whether the next batches were one when they were written: cleaning keeps these fields."""
        mine, theirs = self.table[0], other.table[0]
        kept = [LAST, EPOCH, PRODUCER, PRODUCER_EPOCH, SEQUENCE]
        flags = int(mine[ATTRIBUTES] ^ theirs[ATTRIBUTES]) & _CODEC_TYPE_FLAGS
        return bool((mine[kept] == theirs[kept]).all()) and not flags


def _tables(directory: PartitionDirectory, start: int, limits: Limits | None) -> Iterator[NDArray[np.int64]]:
    for segment in directory.segments:
        try:
            for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
                heads = chunk.heads
                if not heads.count:
                    continue
                if heads.cell(kernel.MAGIC, 0) < 2 or heads.cell(kernel.MAGIC, heads.count - 1) < 2:
                    chunk.open_wrappers()
                table = heads.numpy()[list(_TAKEN)].T
                yield table[(table[:, LAST] >= start) & (table[:, VALID] != 0)]
        except UnreadableError:  # it is reported when the segment is scanned
            continue
