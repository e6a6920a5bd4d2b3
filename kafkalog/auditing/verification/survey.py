"""One segment's headers, looked at once by the kernel for all that a verification asks of them."""

from __future__ import annotations

from array import array

from kafkalog.format import header_sums, kernel
from kafkalog.log.chunk import Chunk

__all__ = ["Survey"]

_SHORT, _STANDS_FOR, _PLAIN = range(5, header_sums.SUMS)


class Survey:
    """Sums of each chunk's whole batches: call `chunk` for each chunk in order, and `done` when it was looked at.

    `before` are the last two rows before the chunk, of which `known` exist, column by column; `base_offset` is the
    lowest offset that the segment may have.
    """

    __slots__ = ("before", "found", "known")

    def __init__(self, base_offset: int = 0) -> None:
        self.before = array("q", [0, 0, 0, 0, 0, kernel.NONE, 0, base_offset - 1, 0, kernel.NONE, 0, 1])
        self.known = 1
        self.found = array("q", bytes(8 * header_sums.SUMS))

    def chunk(self, chunk: Chunk) -> None:
        """Take in the next batches."""
        heads = chunk.heads
        header_sums.sums(heads.cells, heads.capacity, heads.count, self.before, self.known, self.found)

    def done(self, chunk: Chunk) -> None:
        """Keep the chunk's last rows for the next one."""
        heads = chunk.heads
        header_sums.last_two(heads.cells, heads.capacity, heads.count, self.before)
        self.known = min(2, self.known + heads.count)

    @property
    def sums(self) -> array[int]:
        """Return how many whole batches the chunk has, their records and bytes, the rows of the first and the last."""
        return self.found[:_SHORT]

    @property
    def short(self) -> int:
        """Return how many batches of magic 2 have fewer records than offsets."""
        return self.found[_SHORT]

    @property
    def fingerprint(self) -> int:
        """Return what stands for the CRCs of all batches so far, in their order."""
        return self.found[_STANDS_FOR]

    @property
    def is_plain(self) -> bool:
        """Say whether nothing can contradict the chunk's batches: each continues the one before it."""
        return bool(self.found[_PLAIN])
