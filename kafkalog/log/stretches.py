"""A segment as stretches: consecutive whole batches, graded by what shows that they belong to the log, and the rest.

A batch is whole if its CRC matches. After damage that is not enough: a producer's record may contain the bytes of a
whole batch. So a stretch after damage needs other support; without any it is ``isolated``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalog.format import kernel
from kafkalog.log.chunk import Chunk
from kafkalog.log.stretch_pieces import (
    BATCHES,
    EXPECTED,
    FIRST,
    LAST,
    NO_REASON,
    POSITION,
    PROVED,
    REASON,
    RECORDS,
    RESUMED,
    SIZE,
    Pieces,
    joined,
    no_pieces,
    pieces_of,
)
from kafkalog.tables.salvage import GRADES, REASONS

__all__ = ["Stretch", "Stretches", "stretches"]

_HELD: Final = 4096  # parts that wait until it is known which offsets go back; with more, the earlier ones are believed
_START, _PROVED, _INDEX, _EXPECTED, _MET, _GOES_ON, _ALONE, *_ = range(len(REASONS))
_GRADES: Final = np.array([0, 0, 0, 0, 0, 1, 2, *[-1] * (len(REASONS) - 7)], np.int8)  # by the reason
_BACK: Final = REASONS.index("offset-not-increasing")


class Stretch(NamedTuple):
    """Consecutive batches, or bytes outside batches (`batches` is 0).

    `records` is None if wrappers of magic 0 or 1 would have to be decompressed to count them, `first_offset` if the
    first batch is a wrapper. `grade` is ``anchored``, ``chained`` or ``isolated``, None if nothing is whole; `reason`
    says what supports the stretch, or is the code of the finding against it.
    """

    position: int
    size: int
    batches: int
    records: int | None
    first_offset: int | None
    last_offset: int | None
    grade: str | None
    reason: str


class Stretches(NamedTuple):
    """Stretches that follow one another, as columns: ``kernel.NONE`` is None.

    `grades` are numbers in GRADES, below 0 for none, `reasons` numbers in REASONS.
    """

    positions: NDArray[np.int64]
    sizes: NDArray[np.int64]
    batches: NDArray[np.int64]
    records: NDArray[np.int64]
    first_offsets: NDArray[np.int64]
    last_offsets: NDArray[np.int64]
    grades: NDArray[np.int8]
    reasons: NDArray[np.int64]

    @classmethod
    def of(cls, pieces: Pieces) -> Stretches:
        """Make them of graded pieces."""
        position, size, batches, records, first, last = pieces[[POSITION, SIZE, BATCHES, RECORDS, FIRST, LAST]]
        first[batches == 0] = last[batches == 0] = kernel.NONE
        return cls(position, size, batches, records, first, last, _GRADES[pieces[REASON]], pieces[REASON])

    def at(self, row: int) -> Stretch:
        """Return one of them."""
        position, size, batches, *others = (int(column[row]) for column in self[:6])
        records, first, last = (None if cell == kernel.NONE else cell for cell in others)
        grade = int(self.grades[row])
        return Stretch(
            position, size, batches, records=records, first_offset=first, last_offset=last,
            grade=None if grade < 0 else GRADES[grade], reason=REASONS[self.reasons[row]],
        )  # fmt: skip


def stretches(
    chunks: Iterator[Chunk], *, size: int, base_offset: int | None = None, hints: Sequence[int] = ()
) -> Iterator[Stretches | Chunk]:
    """Cut a segment of `size` bytes into stretches, in file order and without a hole; each chunk comes before its own.

    `base_offset` is the lowest offset that belongs there, if known; `hints` are the positions of batches by the index
    beside the segment.
    """
    before = None if base_offset is None else base_offset - 1
    order, grader = _Order(before), _Grader(before, hints, size)
    for item in pieces_of(chunks, size, base_offset):
        if isinstance(item, Chunk):
            yield item
        elif (graded := grader.take(order.take(item))).shape[1]:
            yield Stretches.of(graded)
    if (graded := grader.take(order.pieces, is_end=True)).shape[1]:
        yield Stretches.of(graded)


def _fits(pieces: Pieces) -> NDArray[np.bool_]:
    """Say which pieces are whole batches with nothing against them."""
    fits: NDArray[np.bool_] = (pieces[BATCHES] > 0) & (pieces[REASON] == NO_REASON)
    return fits


class _Order:
    """Rules out batches whose offsets go back; those that belong here have offsets above `last`.

    If two pieces contradict each other, the one with more batches is believed; with equally many, the first one if its
    offset follows what came before, otherwise the second.
    """

    def __init__(self, last: int | None) -> None:
        self.pieces = no_pieces()  # those that wait
        self._last = last  # offset that is believed for good
        self._newest: _Believed | None = None  # the first that waits, believed until something contradicts it

    def take(self, more: Pieces) -> Pieces:
        """Add pieces; return those that are decided."""
        table = np.concatenate((self.pieces, more), axis=1)
        rows = self.pieces.shape[1] + np.flatnonzero(_fits(more))
        lasts, batches = table[LAST, rows], table[BATCHES, rows]
        lows = np.where(table[FIRST, rows] == kernel.NONE, lasts, table[FIRST, rows])
        begin, back = 0, []
        for row, *cells in zip(*(cells.tolist() for cells in (rows, lows, lasts, batches)), strict=True):
            begin = self._held(begin, row)
            piece, newest = _Believed(*cells), self._newest
            if (self._last is not None and piece.low <= self._last) or (
                newest is not None and piece.low <= newest.last and not self._outweighs(piece, newest)
            ):
                back.append(row)
                continue
            if newest is not None and piece.low <= newest.last:
                back.append(begin)
            elif newest is not None:
                self._last = newest.last
            begin, self._newest = row, piece
        begin = self._held(begin, table.shape[1])
        table[REASON, back] = _BACK
        self.pieces = table[:, begin:]
        return table[:, :begin]

    def _held(self, begin: int, stop: int) -> int:
        """Return the first piece that waits if those from `begin` to `stop` are all that do: not too many may."""
        while stop - begin - (self._newest is not None) > _HELD:
            begin += _HELD + 1
            if self._newest is not None:
                begin += 1
                self._last, self._newest = self._newest.last, None
        return begin

    def _outweighs(self, piece: _Believed, newest: _Believed) -> bool:
        """Say whether `piece` is believed and not `newest`, which it contradicts."""
        if piece.batches != newest.batches:
            return piece.batches > newest.batches
        return self._last is not None and newest.low != self._last + 1


class _Believed(NamedTuple):
    """The offsets of a piece, and how many batches support them."""

    low: int
    last: int
    batches: int


class _Grader:
    """Joins pieces to stretches and grades each, once it is known which offset follows it."""

    def __init__(self, before: int | None, hints: Sequence[int], size: int) -> None:
        self._before = before  # the last offset before, of batches that have support
        self._hints = np.array(hints, np.int64)
        self._size = size
        self._pieces = no_pieces()  # the newest stretch, and what comes after it
        self._stop = 0  # of the whole batches so far
        self._reason = _START  # what supports them, NO_REASON if nothing does

    def take(self, more: Pieces, *, is_end: bool = False) -> Pieces:
        """Add pieces; return the stretches that are decided."""
        table = np.concatenate((self._pieces, more), axis=1)
        fits, stops = _fits(table), table[POSITION] + table[SIZE]
        goes_on = fits[1:] & fits[:-1] & (table[RESUMED, 1:] == 0) & (table[POSITION, 1:] == stops[:-1])
        table = joined(table, goes_on)
        rows = np.flatnonzero(_fits(table))
        begin, count = int(rows[-1]) if len(rows) else 0, table.shape[1]
        if is_end or count - begin - bool(len(rows)) > _HELD:
            begin = count
        self._grade(table, rows[rows < begin], self._meets(table, rows, is_end=is_end)[rows < begin], begin)
        self._pieces = table[:, begin:]
        return table[:, :begin]

    def _meets(self, table: Pieces, rows: NDArray[np.int64], *, is_end: bool) -> NDArray[np.bool_]:
        """Say for each stretch whether the offset after it, or the file's end, follows."""
        meets = np.zeros(len(rows), bool)
        following = table[FIRST, rows[1:]]
        meets[:-1] = (following == table[LAST, rows[:-1]] + 1) & (following != kernel.NONE)
        meets[:-1] &= np.diff(rows) - 1 <= _HELD
        if is_end and len(rows) and rows[-1] == table.shape[1] - 1:
            meets[-1] = table[POSITION, -1] + table[SIZE, -1] == self._size
        return meets

    def _grade(self, table: Pieces, rows: NDArray[np.int64], meets: NDArray[np.bool_], stop: int) -> None:
        """Set the reasons of the stretches `rows`, in the order of all batches up to the piece `stop`."""
        after = np.searchsorted(self._hints, table[POSITION])
        is_hinted = np.append(self._hints, -1)[after] == table[POSITION]
        is_expected = (table[RESUMED] > 0) & (table[FIRST] != kernel.NONE) & (table[FIRST] == table[EXPECTED])
        alone = np.where(table[BATCHES] > 1, _GOES_ON, _ALONE)
        own = np.select([table[RESUMED] == PROVED, is_hinted, is_expected], [_PROVED, _INDEX, _EXPECTED], alone)
        met = np.zeros(table.shape[1], bool)
        met[rows] = meets & (own[rows] > _MET)
        work = np.flatnonzero(table[BATCHES, :stop] > 0)
        cells = (table[POSITION], table[SIZE], table[RESUMED], table[FIRST], table[LAST], table[REASON], own, met)
        reasons = []
        for position, size, resumed, first, last, against, reason, meet in zip(
            *(column[work].tolist() for column in cells), strict=True
        ):
            goes_on = not resumed and position == self._stop
            if against != NO_REASON:
                if not goes_on:
                    self._reason = _PROVED if resumed == PROVED else NO_REASON
            else:
                if not goes_on or self._reason == NO_REASON:
                    is_met = meet and self._before is not None and first == self._before + 1
                    self._reason = _MET if is_met else reason
                if self._reason != _ALONE:
                    self._before = last
                reasons.append(self._reason)
            self._stop = position + size
        table[REASON, rows] = reasons
