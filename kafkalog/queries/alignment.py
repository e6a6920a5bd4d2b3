"""Which records of two sequences are the same ones: in order, moved, changed, or in one of them alone.

Records are compared by digests. Both sequences are read through windows, so the memory does not grow with them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalog.columns.sorted_rows import group_begins, runs
from kafkalog.columns.table import Columns

__all__ = ["DIGESTS", "KEPT_UNMATCHED", "MOST_RECORDS", "WINDOW_RECORDS", "Aligned", "Differences", "aligned"]

Int64s = NDArray[np.int64]

KEPT_UNMATCHED: Final = 1 << 20  # unmatched records of a sequence that are compared with each other; more are counted
WINDOW_RECORDS: Final = 1 << 16
MOST_RECORDS: Final = 1 << 22  # how far one sequence is searched for what comes next in the other
_SQUARE: Final = 1 << 18  # pairs of records between two anchors that are compared one by one


DIGESTS: Final = ("offset", "digest", "key", "timestamp")  # of the whole content, of the key; ms
_NO_ROWS: Final = Columns.empty(DIGESTS)


class Aligned(NamedTuple):
    """Records of both sequences of the same numbers that have the same content, in the order of both: `DIGESTS`."""

    one: Columns
    other: Columns


@dataclass(slots=True)
class _Unmatched:
    """The rows of one sequence without the same in the other, each with the number of the gap that it is in."""

    rows: list[tuple[Columns, int]] = field(default_factory=list)
    kept: int = 0
    beyond: int = 0

    def add(self, rows: Columns, gap: int) -> None:
        room = max(0, KEPT_UNMATCHED - self.kept)
        if len(rows):
            self.beyond += max(0, len(rows) - room)
            self.kept += min(len(rows), room)
            self.rows.append((rows.take(slice(room)), gap))

    def all(self) -> tuple[Columns, Int64s]:
        gaps = [np.full(len(rows), gap, np.int64) for rows, gap in self.rows]
        return Columns.concat((rows for rows, _ in self.rows), DIGESTS), np.concatenate([np.empty(0, np.int64), *gaps])


@dataclass(slots=True)
class Differences:
    """How two sequences differ; `one` and `other` hold what only one of them has, the rest has a partner.

    `before` and `after` count the records of each sequence before the first and after the last same record, where the
    other sequence has none there: it begins later, or ends earlier. `uncompared` counts the unmatched records beyond
    ``KEPT_UNMATCHED``, which are in no other number.
    """

    same: int
    moved: Aligned
    changed: Aligned
    one: Columns
    other: Columns
    before: tuple[Columns, Columns]
    after: tuple[Columns, Columns]
    uncompared: tuple[int, int]


def aligned(one: Iterator[Columns], other: Iterator[Columns], take: Callable[[Aligned], None]) -> Differences:
    """Compare two sequences; `take` gets the records that are the same in both, in order."""
    sides = (_Window(one), _Window(other))
    unmatched = (_Unmatched(), _Unmatched())
    same = gap = 0
    width = WINDOW_RECORDS
    while True:
        ended = [side.fill(width) for side in sides]
        first, second = (side.rows for side in sides)
        if not len(first) or not len(second):
            break
        mine, theirs = _matches(first["digest"], second["digest"])
        done = (len(first), len(second)) if all(ended) else _done(mine, theirs)
        finished = any(end and count == len(side.rows) for end, count, side in zip(ended, done, sides, strict=True))
        if not finished and 2 * max(done) < width:
            if width < MOST_RECORDS:
                width *= 2  # what comes next in one is further on in the other
                continue
            done = tuple(  # type: ignore[assignment]  # as many as there are sides
                count if end else max(count, len(side.rows) // 2)
                for end, count, side in zip(ended, done, sides, strict=True)
            )
        inside = (mine < done[0]) & (theirs < done[1])
        mine, theirs = mine[inside], theirs[inside]
        same += len(mine)
        take(Aligned(first.take(mine), second.take(theirs)))
        gap = _leave(unmatched, (first.take(slice(done[0])), second.take(slice(done[1]))), (mine, theirs), gap)
        for side, count in zip(sides, done, strict=True):
            side.rows = side.rows.take(slice(count, None))
        width = WINDOW_RECORDS
    for side, left in zip(sides, unmatched, strict=True):
        for rows in side.rest():
            left.add(rows, gap)
    return _told_apart(same, gap, unmatched)


class _Window:
    """What was read of a sequence and is not yet compared."""

    def __init__(self, parts: Iterator[Columns]) -> None:
        self.rows = _NO_ROWS
        self._parts = parts

    def fill(self, count: int) -> bool:
        """Read on until so many rows are here; say whether the sequence has ended."""
        parts = [self.rows]
        size = len(self.rows)
        while size < count and (part := next(self._parts, None)) is not None:
            parts.append(part)
            size += len(part)
        if len(parts) > 1:
            self.rows = Columns.concat(parts, DIGESTS)
        return size < count

    def rest(self) -> Iterator[Columns]:
        yield self.rows
        yield from self._parts


def _done(mine: Int64s, theirs: Int64s) -> tuple[int, int]:
    """Return up to where two windows that go on are settled: after their last match."""
    return (int(mine[-1]) + 1, int(theirs[-1]) + 1) if len(mine) else (0, 0)


def _leave(
    unmatched: tuple[_Unmatched, _Unmatched], rows: tuple[Columns, Columns], matches: tuple[Int64s, Int64s], gap: int
) -> int:
    """Put the rows without a match aside, by the gap between matches that they are in; return the last gap's number."""
    for left, of_side, at in zip(unmatched, rows, matches, strict=True):
        alone = np.ones(len(of_side), np.bool_)
        alone[at] = False
        where = np.flatnonzero(alone)
        gaps = np.searchsorted(at, where)
        for start, stop in zip(*runs(group_begins(gaps)), strict=True):
            left.add(of_side.take(where[start:stop]), gap + int(gaps[start]))
    return gap + len(matches[0])


def _matches(one: Int64s, other: Int64s) -> tuple[Int64s, Int64s]:
    """Return where two arrays have the same values in the same order: the places in each, both rising."""
    count = min(len(one), len(other))
    unlike = one[:count] != other[:count]
    same = int(np.argmax(unlike)) if unlike.any() else count
    mine, theirs = [np.arange(same)], [np.arange(same)]
    if same < count:
        anchors = _anchors(one[same:], other[same:])
        low = [same, same]
        for at, their in [
            *zip(*(found.tolist() for found in anchors), strict=True),
            (len(one) - same, len(other) - same),
        ]:
            high = (same + at, same + their)
            for first, second, size in _between(one[low[0] : high[0]], other[low[1] : high[1]]):
                mine.append(np.arange(low[0] + first, low[0] + first + size))
                theirs.append(np.arange(low[1] + second, low[1] + second + size))
            if high[0] < len(one) and high[1] < len(other):
                mine.append(np.array([high[0]]))
                theirs.append(np.array([high[1]]))
            low = [high[0] + 1, high[1] + 1]
    return np.concatenate(mine).astype(np.int64), np.concatenate(theirs).astype(np.int64)


def _anchors(one: Int64s, other: Int64s) -> tuple[Int64s, Int64s]:
    """Return the places of values that each array has once, as many as rise in both."""
    values, mine = _single(one)
    theirs_values, theirs = _single(other)
    _, first, second = np.intersect1d(values, theirs_values, assume_unique=True, return_indices=True)
    mine, theirs = mine[first], theirs[second]
    order = np.argsort(mine)
    mine, theirs = mine[order], theirs[order]
    if len(theirs) > 1 and not (np.diff(theirs) > 0).all():
        kept = _longest_rise(theirs.tolist())
        mine, theirs = mine[kept], theirs[kept]
    return mine, theirs


def _single(values: Int64s) -> tuple[Int64s, Int64s]:
    found, places, counts = np.unique(values, return_index=True, return_counts=True)
    return found[counts == 1], places[counts == 1]


def _longest_rise(values: list[int]) -> list[int]:
    """Return the places of a longest rising subsequence."""
    tops: list[int] = []  # the last value of the best rise of each length
    places: list[int] = []
    before = [-1] * len(values)
    for at, value in enumerate(values):
        length = bisect_left(tops, value)
        before[at] = places[length - 1] if length else -1
        tops[length : length + 1] = [value]
        places[length : length + 1] = [at]
    found = []
    at = places[-1] if places else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]


def _between(one: Int64s, other: Int64s) -> Iterator[tuple[int, int, int]]:
    """Yield the blocks of same values between two anchors: the place in each, and how many."""
    count = min(len(one), len(other))
    if not count:
        return
    unlike = np.flatnonzero(one[:count] != other[:count])
    front = int(unlike[0]) if len(unlike) else count
    if front:
        yield 0, 0, front
    unlike = np.flatnonzero(one[len(one) - count + front :][::-1] != other[len(other) - count + front :][::-1])
    back = int(unlike[0]) if len(unlike) else count - front
    first, second = one[front : len(one) - back], other[front : len(other) - back]
    if len(first) and len(second) and len(first) * len(second) <= _SQUARE:
        for block in SequenceMatcher(None, first.tolist(), second.tolist(), autojunk=False).get_matching_blocks():
            if block.size:
                yield front + block.a, front + block.b, block.size
    if back:
        yield len(one) - back, len(other) - back, back


def _told_apart(same: int, last_gap: int, unmatched: tuple[_Unmatched, _Unmatched]) -> Differences:
    """Say of the records without a match which moved, which changed, and which only one sequence has."""
    (one, gaps), (other, their_gaps) = (left.all() for left in unmatched)
    moved = _pairs(one["digest"], other["digest"])
    left, left_other = _without(len(one), moved[0]), _without(len(other), moved[1])
    changed = _pairs(_mixed(one["key"], gaps)[left], _mixed(other["key"], their_gaps)[left_other])
    changed = left[changed[0]], left_other[changed[1]]
    left, left_other = _without(len(one), moved[0], changed[0]), _without(len(other), moved[1], changed[1])
    ends: list[tuple[Columns, Columns]] = []
    for gap in (0, last_gap):  # without a same record both are one
        mine, theirs = left[gaps[left] == gap], left_other[their_gaps[left_other] == gap]
        if len(mine) and len(theirs):
            mine, theirs = mine[:0], theirs[:0]
        left, left_other = np.setdiff1d(left, mine), np.setdiff1d(left_other, theirs)
        ends.append((one.take(mine), other.take(theirs)))
    return Differences(
        same,
        Aligned(one.take(moved[0]), other.take(moved[1])),
        Aligned(one.take(changed[0]), other.take(changed[1])),
        one.take(left),
        other.take(left_other),
        ends[0] if last_gap else (_NO_ROWS, _NO_ROWS),
        ends[1] if last_gap else ends[0],
        (unmatched[0].beyond, unmatched[1].beyond),
    )


def _pairs(one: Int64s, other: Int64s) -> tuple[Int64s, Int64s]:
    """Return the places of same values, the first with the first, the second with the second, in the order of `one`."""
    _, mine, theirs = np.intersect1d(_numbered(one), _numbered(other), assume_unique=True, return_indices=True)
    order = np.argsort(mine)
    return mine[order], theirs[order]


def _numbered(values: Int64s) -> Int64s:
    """Return values that are different for each time that a value comes."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    starts, stops = runs(group_begins(ranked))
    times = np.empty(len(values), np.int64)
    times[order] = np.arange(len(values)) - np.repeat(starts, stops - starts)
    return _mixed(values, times)


def _mixed(values: Int64s, numbers: Int64s) -> Int64s:
    """Mix digests with small numbers: as good as a digest of both, also of what was mixed with others before."""
    spread = values.view(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    return (spread ^ (numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))).view(np.int64)


def _without(count: int, *places: Int64s) -> Int64s:
    kept = np.ones(count, np.bool_)
    for some in places:
        kept[some] = False
    return np.flatnonzero(kept)
