"""A segment as pieces, in columns: batches whose offsets continue without a gap, and bytes outside batches.

A file may have a million of them, so a table of int64 has a column of it in each of its rows. `NONE` is no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kafkalog.findings import Bytes, Finding
from kafkalog.format import kernel
from kafkalog.log.chunk import CROWDED, Chunk
from kafkalog.log.order import allowed_offsets
from kafkalog.tables.salvage import REASONS

__all__ = [
    "BACK",
    "BATCHES",
    "EXPECTED",
    "FIRST",
    "LAST",
    "NO_REASON",
    "POSITION",
    "PROVED",
    "REASON",
    "RECORDS",
    "RESUMED",
    "SIZE",
    "Pieces",
    "joined",
    "no_pieces",
    "pieces_of",
]

# The rows of a table of pieces. RECORDS is NONE if wrappers of magic 0 or 1 would have to be decompressed to count
# them, FIRST if the first batch is a wrapper; RESUMED is not 0 where reading goes on after damage, at the offset
# EXPECTED by a damaged header; BACK says whether offsets go back from the highest before; REASON is the number of the
# reason against the piece.
POSITION, SIZE, BATCHES, RECORDS, FIRST, LAST, RESUMED, EXPECTED, BACK, REASON = range(10)
PROVED: Final = 2  # RESUMED: the bytes before prove that a batch begins there
NO_REASON: Final = -1

Pieces = NDArray[np.int64]

_NUMBERS: Final = {reason: number for number, reason in enumerate(REASONS)}
_CHANGED: Final = _NUMBERS["file-changed"]
_OUTSIDE: Final = _NUMBERS["offset-outside-segment"]
_CROWDED: Final = _NUMBERS[CROWDED]


def no_pieces(count: int = 0) -> Pieces:
    """Return a table of `count` pieces without batches."""
    table = np.full((10, count), kernel.NONE)
    table[[BATCHES, RECORDS, RESUMED, BACK]] = 0
    table[REASON] = NO_REASON
    return table


def pieces_of(chunks: Iterator[Chunk], size: int, base_offset: int | None) -> Iterator[Chunk | Pieces]:
    """Cut a segment of `size` bytes into pieces, without a hole; each chunk comes before the pieces that it decides.

    `base_offset` is the lowest offset that belongs there, if known.
    """
    cutter, at, held = _Cutter(base_offset), 0, no_pieces()
    for chunk in chunks:
        yield chunk
        table = _filled(cutter.cut(chunk), at)
        if not table.shape[1]:
            continue
        at = int(table[POSITION, -1] + table[SIZE, -1])
        table = np.concatenate((held, table), axis=1)
        table = joined(table, _goes_on(table))
        held = table[:, -1:]
        if table.shape[1] > 1:
            yield table[:, :-1]
    if at < size:
        held = np.concatenate((held, _changed(np.array([at]), np.array([size]))), axis=1)
    yield held


def joined(table: Pieces, goes_on: NDArray[np.bool_]) -> Pieces:
    """Add each piece that goes on to the one before it; the first has no cell in `goes_on`."""
    if not goes_on.any():
        return table
    starts = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    some = table[:, starts]
    some[[SIZE, BATCHES]] = np.add.reduceat(table[[SIZE, BATCHES]], starts, axis=1)
    is_unknown = np.logical_or.reduceat(table[RECORDS] == kernel.NONE, starts)
    some[RECORDS] = np.where(is_unknown, kernel.NONE, np.add.reduceat(table[RECORDS], starts))
    some[LAST] = table[LAST, np.append(starts[1:], table.shape[1]) - 1]
    return some


def _goes_on(table: Pieces) -> NDArray[np.bool_]:
    """Say for each piece but the first whether it is of whole batches that continue the one before."""
    fits = (table[BATCHES] > 0) & (table[REASON] == NO_REASON)
    before, after = table[:, :-1], table[:, 1:]
    continues = np.where(after[FIRST] == kernel.NONE, after[LAST] > before[LAST], after[FIRST] == before[LAST] + 1)
    goes_on: NDArray[np.bool_] = (
        fits[1:] & fits[:-1] & (after[RESUMED] == 0) & (after[BACK] == before[BACK]) & continues
    )
    return goes_on


def _filled(table: Pieces, at: int) -> Pieces:
    """Fill the holes from `at` on that a file leaves that changed while it was read; drop bytes that came before."""
    if not table.shape[1]:
        return table
    before = np.maximum.accumulate(np.concatenate(([at], table[POSITION] + table[SIZE])))
    is_new = before[1:] > before[:-1]  # otherwise another finding is about the same bytes
    if not is_new.all():
        table, before = table[:, is_new], before[np.append(is_new, True)]
    holes = np.flatnonzero(table[POSITION] > before[: table.shape[1]])
    if not len(holes):
        return table
    return np.insert(table, holes, _changed(before[holes], table[POSITION, holes]), axis=1)


def _changed(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Pieces:
    table = no_pieces(len(starts))
    table[POSITION], table[SIZE], table[REASON] = starts, stops - starts, _CHANGED
    return table


class _Cutter:
    """Cuts chunk after chunk into pieces of batches and pieces of other bytes; those of two are not joined yet."""

    def __init__(self, base_offset: int | None) -> None:
        self._lowest, self._highest = allowed_offsets(base_offset)
        self._top = self._lowest - 1
        self._resumed = np.zeros((3, 0), np.int64)  # where reading goes on: the position, RESUMED and EXPECTED

    def cut(self, chunk: Chunk) -> Pieces:
        """Return the pieces of a chunk, in the file's order."""
        self._resumed = np.concatenate((self._resumed[:, -1:], _resumed(chunk)), axis=1)
        lost = [finding for finding in chunk.examined if _is_lost(finding)]
        others = no_pieces(len(lost))
        others[POSITION] = [finding.position or 0 for finding in lost]
        others[SIZE] = [finding.length or 0 for finding in lost]
        others[REASON] = [_NUMBERS[finding.code] for finding in lost]
        tables = [self._batches(chunk), others]
        if chunk.crowd is not None:
            places = no_pieces(len(chunk.crowd))
            places[POSITION], places[SIZE], places[REASON] = chunk.crowd.positions, chunk.crowd.lengths, _CROWDED
            tables.append(places)
        tables = [table for table in tables if table.shape[1]]
        if len(tables) < 2:
            return tables[0] if tables else others
        table = np.concatenate(tables, axis=1)
        return table[:, np.argsort(table[POSITION], kind="stable")]

    def _batches(self, chunk: Chunk) -> Pieces:
        if not chunk.heads.count:
            return no_pieces()
        heads = chunk.heads.numpy()
        positions, sizes, valid, counts, bases, lasts = heads[_HEADS]
        is_wrapper = bases == kernel.NONE
        follows = (positions[1:] == positions[:-1] + sizes[:-1]) & (valid[1:] == valid[:-1])
        follows &= np.where(is_wrapper[1:], lasts[1:] > lasts[:-1], bases[1:] == lasts[:-1] + 1)
        follows &= lasts[1:] >= bases[1:]
        lows = np.where(is_wrapper, lasts, bases)
        inside = (lows >= self._lowest) & (lasts <= self._highest)
        follows &= inside[1:] == inside[:-1]
        seen = np.where(inside & (valid > 0), lasts, self._top)
        goes_back = lows <= np.maximum.accumulate(np.concatenate(([self._top], seen)))[:-1]
        follows &= goes_back[1:] == goes_back[:-1]
        starts = np.flatnonzero(np.concatenate(([True], ~follows)))
        ends = np.append(starts[1:], heads.shape[1]) - 1
        if not valid.all():
            starts, ends = starts[valid[starts] > 0], ends[valid[starts] > 0]
        table = no_pieces(len(starts))
        if not len(starts):
            return table
        table[POSITION], table[FIRST], table[BACK] = positions[starts], bases[starts], goes_back[starts]
        table[SIZE] = positions[ends] + sizes[ends] - positions[starts]
        table[BATCHES], table[LAST] = ends - starts + 1, lasts[ends]
        is_unknown = is_wrapper | (counts == kernel.NONE)
        known, unknown = np.cumsum(np.where(is_unknown, 0, counts)), np.cumsum(is_unknown)
        table[RECORDS] = known[ends] - known[starts] + counts[starts]
        table[RECORDS, (unknown[ends] > unknown[starts]) | is_unknown[starts]] = kernel.NONE
        unfit = next((_NUMBERS[finding.code] for finding in chunk.examined if _is_unfit(finding)), None)
        table[REASON] = np.where(inside[starts], NO_REASON, _OUTSIDE) if unfit is None else unfit
        if (fits := table[REASON] == NO_REASON).any():
            self._top = max(self._top, int(table[LAST, fits].max()))
        self._mark_resumed(table)
        return table

    def _mark_resumed(self, table: Pieces) -> None:
        """Say which pieces begin where reading goes on after damage."""
        if not self._resumed.shape[1]:
            return
        places = np.searchsorted(self._resumed[0], table[POSITION], side="right") - 1
        found = np.flatnonzero((places >= 0) & (self._resumed[0, places] == table[POSITION]))
        table[RESUMED, found], table[EXPECTED, found] = self._resumed[1:, places[found]]


_HEADS: Final = [
    kernel.POSITION, kernel.SIZE, kernel.VALID, kernel.COUNT, kernel.BASE_OFFSET, kernel.LAST_OFFSET,
]  # fmt: skip


def _resumed(chunk: Chunk) -> NDArray[np.int64]:
    """Return where reading goes on after each damage of a chunk."""
    if chunk.crowd is None:
        none = kernel.NONE
        rows = [(at, 1 + proved, none if expected is None else expected) for at, proved, expected in chunk.resumed]
        return np.array(rows, np.int64).reshape(-1, 3).T
    crowd = chunk.crowd
    positions = np.array(crowd.positions) + np.array(crowd.lengths)
    return np.stack((positions, 1 + np.array(crowd.proved, np.int64), np.array(crowd.expected)))


def _is_lost(finding: Finding) -> bool:
    """Say whether a finding is about bytes that are not a whole batch."""
    return finding.bytes in (Bytes.LOST, Bytes.SUSPECT) and finding.length is not None


def _is_unfit(finding: Finding) -> bool:
    """Say whether a batch with a matching CRC can't be taken: no reader accepts it as it is, or it was not read."""
    return finding.bytes is Bytes.WHOLE or (finding.bytes is Bytes.LOST and finding.length is None)
