"""Fields outside a batch's checksum, held against the batches before and behind it.

A base offset is wrong where the batch overlaps a neighbour and has room between them: no healthy log has that, cleaned
or not. A leader epoch is wrong between two that are equal: epochs never fall.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.log.chunk import Chunk
from kafkalog.log.logdir import PartitionDirectory, Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Neighbours"]

_KEPT: Final = (
    kernel.POSITION, kernel.SIZE, kernel.BASE_OFFSET, kernel.LAST_OFFSET, kernel.LEADER_EPOCH, kernel.VALID,
)  # fmt: skip
_POSITION, _SIZE, _BASE, _LAST, _EPOCH, _VALID = range(len(_KEPT))


class Neighbours:
    """The batches of one segment, each between two others: call `chunk` for each chunk in order, then `finish`."""

    def __init__(self, directory: PartitionDirectory, segment: Segment) -> None:
        self._file = segment.path
        before = segment.base_offset - 1
        self._rows: NDArray[np.int64] = np.array([[0], [0], [kernel.NONE], [before], [kernel.NONE], [1]], np.int64)
        self._following = _following(directory, segment)

    def chunk(self, chunk: Chunk) -> Iterator[Finding]:
        """Take in the next batches; yield what is wrong with those whose neighbours are known now."""
        rows = np.concatenate([self._rows, chunk.heads.numpy()[list(_KEPT)]], axis=1)
        self._rows = rows[:, -2:].copy()
        yield from self._wrong(rows)

    def finish(self) -> Iterator[Finding]:
        """Look at the last batch, behind which the next segment or the end of a log that was closed cleanly stands."""
        if self._following is None or self._rows.shape[1] < 2:
            return
        end = self._rows[_POSITION, -1] + self._rows[_SIZE, -1]
        behind = np.array([[end], [0], [self._following], [kernel.NONE], [kernel.NONE], [1]], np.int64)
        yield from self._wrong(np.concatenate([self._rows, behind], axis=1))

    def _wrong(self, rows: NDArray[np.int64]) -> Iterator[Finding]:
        if rows.shape[1] < 3:
            return
        before, batch, behind = rows[:, :-2], rows[:, 1:-1], rows[:, 2:]
        whole = (before[_VALID] != 0) & (batch[_VALID] != 0) & (behind[_VALID] != 0)
        whole &= (before[_POSITION] + before[_SIZE] == batch[_POSITION]) & (
            batch[_POSITION] + batch[_SIZE] == behind[_POSITION]
        )
        first, last = batch[_BASE], batch[_LAST]
        lowest, highest = before[_LAST] + 1, behind[_BASE] - (last - first) - 1  # where it may begin between the two
        known = (first != kernel.NONE) & (behind[_BASE] != kernel.NONE) & (last >= first)
        odd = whole & known & (lowest <= highest) & ((first < lowest) | (first > highest))
        for row in np.flatnonzero(odd & ~_beside(odd)).tolist():
            low, high = int(lowest[row]), int(highest[row])
            needed = low if low == high else f"{low}..{high}"
            message = (
                f"the batch says that it begins at offset {first[row]}; the batch before it ends at {low - 1} and the"
                f" next begins at {behind[_BASE, row]}, so that it begins at {needed}"
            )
            yield self._of("base-offset-wrong", batch[:, row], message, needed, int(first[row]))
        epoch, around = batch[_EPOCH], before[_EPOCH]
        for row in np.flatnonzero(whole & (around == behind[_EPOCH]) & (around >= 0) & (epoch != around)).tolist():
            found, needed = int(epoch[row]), int(around[row])
            message = f"the batch says leader epoch {found}, the batches before it and behind it say {needed}"
            yield self._of("leader-epoch-wrong", batch[:, row], message, needed, found)

    def _of(self, code: str, batch: NDArray[np.int64], message: str, needed: int | str, found: int) -> Finding:
        return Finding.of(
            code, self._file, message, position=int(batch[_POSITION]), length=int(batch[_SIZE]),
            offset=int(batch[_BASE]), needed=needed, found=found,
        )  # fmt: skip


def _beside(odd: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which rows have an odd one beside them: which of the two is wrong can't be told."""
    padded = np.concatenate([[False], odd, [False]])
    beside: NDArray[np.bool_] = padded[:-2] | padded[2:]
    return beside


def _following(directory: PartitionDirectory, segment: Segment) -> int | None:
    """Return the offset behind a segment's last batch, as far as other names tell."""
    bases = [other.base_offset for other in directory.segments if other.base_offset > segment.base_offset]
    if bases:
        return min(bases)
    return max(directory.snapshots, default=None) if directory.clean_shutdown else None
