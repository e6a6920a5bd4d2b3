"""Fields outside a batch's CRC, compared with the batches before and after it.

A base offset is wrong where the batch overlaps a neighbour and has room between them: no healthy log has that, cleaned
or not. A leader epoch is wrong between two that are equal: epochs never fall.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.verification.survey import Survey
from kafkalog.findings import Finding
from kafkalog.format import header_sums, kernel
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

    def __init__(self, directory: PartitionDirectory, segment: Segment, survey: Survey) -> None:
        self._file = segment.path
        self._survey = survey
        self._following = _following(directory, segment)

    def chunk(self, chunk: Chunk) -> list[Finding]:
        """Take in the next batches; return what is wrong with those whose neighbours are known now."""
        heads, survey = chunk.heads, self._survey
        if survey.is_plain or not header_sums.disagree(
            heads.cells, heads.capacity, heads.count, survey.before, survey.known
        ):
            return []
        rows = np.concatenate([self._before()[:, 2 - survey.known :], heads.numpy()[list(_KEPT)]], axis=1)
        return list(self._wrong(rows))

    def finish(self) -> Iterator[Finding]:
        """Look at the last batch: after it comes the next segment, or the end of a log that was closed cleanly."""
        if self._following is None or self._survey.known < 2:
            return
        rows = self._before()
        end = rows[_POSITION, -1] + rows[_SIZE, -1]
        after = np.array([[end], [0], [self._following], [kernel.NONE], [kernel.NONE], [1]], np.int64)
        yield from self._wrong(np.concatenate([rows, after], axis=1))

    def _before(self) -> NDArray[np.int64]:
        """Return the last two rows so far, column by column."""
        return np.frombuffer(self._survey.before, np.int64).reshape(len(_KEPT), 2)

    def _wrong(self, rows: NDArray[np.int64]) -> Iterator[Finding]:
        before, batch, after = rows[:, :-2], rows[:, 1:-1], rows[:, 2:]
        whole = (before[_VALID] != 0) & (batch[_VALID] != 0) & (after[_VALID] != 0)
        whole &= (before[_POSITION] + before[_SIZE] == batch[_POSITION]) & (
            batch[_POSITION] + batch[_SIZE] == after[_POSITION]
        )
        first, last = batch[_BASE], batch[_LAST]
        lowest, highest = before[_LAST] + 1, after[_BASE] - (last - first) - 1  # where it may begin between the two
        known = (first != kernel.NONE) & (after[_BASE] != kernel.NONE) & (last >= first)
        odd = whole & known & (lowest <= highest) & ((first < lowest) | (first > highest))
        for row in np.flatnonzero(odd & ~_beside(odd)).tolist():
            low, high = int(lowest[row]), int(highest[row])
            needed = low if low == high else f"{low}..{high}"
            message = (
                f"the batch's base offset is {first[row]}, but it must be {needed}: the batch before it ends at offset"
                f" {low - 1}, the next one begins at offset {after[_BASE, row]}"
            )
            yield self._of("base-offset-wrong", batch[:, row], message, needed, int(first[row]))
        epoch, around = batch[_EPOCH], before[_EPOCH]
        for row in np.flatnonzero(whole & (around == after[_EPOCH]) & (around >= 0) & (epoch != around)).tolist():
            found, needed = int(epoch[row]), int(around[row])
            message = f"the batch has leader epoch {found}, but the batches before and after it have {needed}"
            yield self._of("leader-epoch-wrong", batch[:, row], message, needed, found)

    def _of(self, code: str, batch: NDArray[np.int64], message: str, needed: int | str, found: int) -> Finding:
        return Finding.of(
            code, self._file, message, position=int(batch[_POSITION]), length=int(batch[_SIZE]),
            offset=int(batch[_BASE]), needed=needed, found=found,
        )  # fmt: skip


def _beside(odd: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which rows have an odd one beside them: then either of the two may be wrong."""
    padded = np.concatenate([[False], odd, [False]])
    beside: NDArray[np.bool_] = padded[:-2] | padded[2:]
    return beside


def _following(directory: PartitionDirectory, segment: Segment) -> int | None:
    """Return the offset after a segment's last batch, where the names of other files show it."""
    bases = [other.base_offset for other in directory.segments if other.base_offset > segment.base_offset]
    if bases:
        return min(bases)
    return max(directory.snapshots, default=None) if directory.clean_shutdown else None
