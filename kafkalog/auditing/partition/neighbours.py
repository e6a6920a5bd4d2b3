"""Fields outside a batch's CRC, compared with the batches before and after it; what follows from a wrong one is a note.

A base offset is wrong where the batch overlaps a neighbour and has room between them: no healthy log has that, cleaned
or not. A leader epoch is wrong between two that are equal: epochs never fall. Messages of magic 0 and 1 have no leader
epoch, and compressed ones no first offset in their header: they are not compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.catalogue import codes_with, followers_of
from kafkalog.catalogue.code import Trait
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.segments.chunk import Chunk
from kafkalog.settle import Reason, lowered

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KEPT_COLUMNS", "BatchEnd", "Neighbours", "WrongFields"]

KEPT_COLUMNS: Final = (
    buffers.POSITION, buffers.SIZE, buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.LEADER_EPOCH, buffers.VALID,
)  # fmt: skip
_POSITION, _SIZE, _BASE, _LAST, _EPOCH, _VALID = range(len(KEPT_COLUMNS))


class BatchEnd(NamedTuple):
    """What is kept of a batch to compare it with its neighbours."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    valid: int


class Neighbours:
    """The batches of one segment, each between two others: call `chunk` for each chunk in order.

    `end` are the last two batches, as far as there are two, which the next segment's start is compared with.
    """

    __slots__ = ("_before", "_file", "_known")

    def __init__(self, file: str, base_offset: int = 0, end: Sequence[BatchEnd] = ()) -> None:
        self._file = file
        first = BatchEnd(0, 0, buffers.NONE, base_offset - 1, buffers.NONE, 1)
        rows = [first, first, *end][-2:]
        self._before = CellTable(len(KEPT_COLUMNS), 2)
        self._before.count = 2
        self._before.numpy()[:] = np.array(rows, np.int64).T
        self._known = max(1, len(end))

    @property
    def end(self) -> tuple[BatchEnd, ...]:
        """Return the last two batches, none where there were fewer."""
        rows = self._before.numpy().T.tolist()
        return tuple(BatchEnd(*row) for row in rows) if self._known > 1 else ()

    def take_chunk(self, chunk: Chunk) -> list[Finding]:
        """Take in the next batches; return what is wrong with those whose neighbours are known now.

        A base offset that can only be one is corrected in the chunk: its batch counts again if no log has its offsets.
        """
        heads = chunk.heads
        wrong: list[Finding] = []
        if headers.disagree(heads.cells, heads.count, self._before.cells, self._known):
            before = self._before.numpy()[:, 2 - self._known :]
            cells = heads.numpy()
            rows = np.concatenate([before, cells[list(KEPT_COLUMNS)]], axis=1)
            rows[_VALID, self._known :] &= cells[buffers.MAGIC] >= 2
            wrong += self._wrong(rows)
        if wrong:
            _correct(chunk, wrong)
        headers.last_two(heads.cells, heads.count, self._before.cells)
        chunk.only_possible()
        self._known = min(2, self._known + heads.count)
        return wrong

    def followed_by(self, offset: int) -> Iterator[Finding]:
        """Look at the last batch: after it comes the next segment, or the end of a log that was closed cleanly."""
        if self._known < 2:
            return
        rows = self._before.numpy()
        end = rows[_POSITION, -1] + rows[_SIZE, -1]
        after = np.array([[end], [0], [offset], [buffers.NONE], [buffers.NONE], [1]], np.int64)
        yield from self._wrong(np.concatenate([rows, after], axis=1))

    def _wrong(self, rows: NDArray[np.int64]) -> Iterator[Finding]:
        before, batch, after = rows[:, :-2], rows[:, 1:-1], rows[:, 2:]
        whole = (before[_VALID] != 0) & (batch[_VALID] != 0) & (after[_VALID] != 0)
        whole &= (before[_POSITION] + before[_SIZE] == batch[_POSITION]) & (
            batch[_POSITION] + batch[_SIZE] == after[_POSITION]
        )
        first, last = batch[_BASE], batch[_LAST]
        lowest, highest = before[_LAST] + 1, after[_BASE] - (last - first) - 1  # where it may begin between the two
        known = (first != buffers.NONE) & (after[_BASE] != buffers.NONE) & (last >= first)
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


def _correct(chunk: Chunk, wrong: Sequence[Finding]) -> None:
    """Set the base offsets of a chunk's batches that can only be one."""
    heads = chunk.heads
    row_of = {position: row for row, position in enumerate(heads.numpy()[buffers.POSITION].tolist())}
    for finding in wrong:
        row = row_of.get(finding.position)
        if row is not None and finding.code == "base-offset-wrong" and isinstance(finding.needed, int):
            if row in chunk.impossible:
                chunk.impossible.remove(row)
            by = finding.needed - heads.cell(buffers.BASE_OFFSET, row)
            for column in (buffers.BASE_OFFSET, buffers.LAST_OFFSET):
                heads.set(column, row, heads.cell(column, row) + by)


def _beside(odd: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which rows have an odd one beside them: then either of the two may be wrong."""
    padded = np.concatenate([[False], odd, [False]])
    beside: NDArray[np.bool_] = padded[:-2] | padded[2:]
    return beside


# What one wrong field outside the CRC causes.
_FIELDS: Final = {code: followers_of(code) for code in ("base-offset-wrong", "leader-epoch-wrong")}
_OF_LOG: Final = codes_with(Trait.OF_LOG)


class WrongFields:
    """A log's findings about fields outside the CRC: each shows at its own batch and at the next one."""

    def __init__(self, findings: Iterable[Finding], directory: PartitionDirectory) -> None:
        files = [segment.path for segment in directory.segments]
        next_of = dict(pairwise(files))
        self._places: dict[str, set[tuple[str, int | None]]] = {}
        self._stems: dict[str, set[str]] = {}
        for finding in findings:
            if finding.code in _FIELDS:
                at, end = finding.position or 0, (finding.position or 0) + (finding.length or 0)
                following = next_of.get(finding.file, finding.file)
                self._places.setdefault(finding.code, set()).update(
                    {(finding.file, at), (finding.file, end), (following, 0)}
                )
                self._stems.setdefault(finding.code, set()).update({_stem(finding.file), _stem(following)})

    @property
    def of_offsets(self) -> set[tuple[str, int | None]]:
        """Return the files and positions of batches with a wrong base offset, and of those that follow them."""
        return self._places.get("base-offset-wrong", set())

    def explain(self, finding: Finding) -> bool:
        """Say whether a finding follows from a wrong field."""
        stem = _stem(finding.file)
        for code, stems in self._stems.items():
            of_log = finding.code in _OF_LOG or (stem in stems and not finding.file.endswith(".log"))
            whole = finding.code == "segment-foreign" and stem in stems
            here = (finding.file, finding.position) in self._places[code]
            if finding.code in _FIELDS[code] and (whole or of_log or here):
                return True
        return False

    def without_followers(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings, with notes for what follows from a wrong field."""
        if not self._stems:
            return list(findings)
        return [lowered(one, Reason.FOLLOWS) if self.explain(one) else one for one in findings]


def _stem(file: str) -> str:
    return os.path.basename(file).partition(".")[0]
