"""Groups of rows with equal keys, runs of neighbours, and places among sorted rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SortedRows",
    "Spans",
    "among",
    "any_between",
    "distinct",
    "group_begins",
    "group_ends",
    "groups",
    "joined_ranges",
    "last_of_each",
    "place_of",
    "ranges",
    "running_max",
    "runs",
]


class SortedRows:
    """Rows sorted by group and time; a group are the rows with the same two keys.

    `order` has for each place the number of the row there. Numbers of groups and ranks of times make one key, which
    fits 64 bits for up to 2**31 rows.
    """

    def __init__(self, keys: tuple[NDArray[np.int64], NDArray[np.int64]], times: NDArray[np.int64]) -> None:
        self._firsts, first = np.unique(keys[0], return_inverse=True)
        self._seconds, second = np.unique(keys[1], return_inverse=True)
        self._pairs, group = np.unique(first * len(self._seconds) + second, return_inverse=True)
        self._times, rank = np.unique(times, return_inverse=True)
        placed = group * (len(self._times) + 1) + rank
        self.order: NDArray[np.intp] = np.argsort(placed, kind="stable")
        self._placed = placed[self.order]
        self._group = group[self.order]
        self._time = times[self.order]

    def groups(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the group of each pair of keys, -1 where no row has them."""
        one, other = place_of(self._firsts, first), place_of(self._seconds, second)
        group = place_of(self._pairs, one * len(self._seconds) + other)
        return np.where((one < 0) | (other < 0), -1, group)

    def first(self, group: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of each group's first row that is not before a time; it may be in the next group."""
        rank = np.searchsorted(self._times, times)
        return np.searchsorted(self._placed, group * (len(self._times) + 1) + rank)

    def holds(self, place: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say whether there is a row of the group at a place."""
        there: NDArray[np.bool_] = (place >= 0) & (place < len(self._group)) & (group >= 0)
        there &= self._group[np.clip(place, 0, len(self._group) - 1)] == group
        return there

    def rows(self, place: NDArray[np.int64], there: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the number of the row at each place, -1 where none is `there`."""
        return np.append(self.order, -1)[np.where(there, place, -1)]

    def time(self, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time of the row at each place; that of the nearest row for a place outside."""
        return self._time[np.clip(place, 0, len(self._time) - 1)]


class Spans:
    """Rows of producers, such as transactions, that each begin at an offset: which of them an offset is in, or after.

    Their order by producer and offset is that of one number, made of the ranks of both; `producers` are distinct.
    """

    def __init__(
        self, producers: NDArray[np.int64], firsts: NDArray[np.int64], lasts: NDArray[np.int64] | None = None
    ) -> None:
        order = np.lexsort((firsts, producers))
        self._firsts = np.sort(firsts)
        self.producers, self._rank = np.unique(producers[order], return_inverse=True)
        self._begins = self._placed(self._rank, firsts[order])
        self._rows = np.append(order, -1)
        self._lasts = lasts

    def __len__(self) -> int:
        return len(self._rank)

    def last(self, producers: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each producer's last row that begins up to an offset, -1 for none."""
        rank = place_of(self.producers, producers)
        found = np.searchsorted(self._begins, self._placed(rank, offsets), "right") - 1
        there = (rank >= 0) & (found >= 0)
        there &= self._rank[found] == rank if len(self) else False
        return self._rows[np.where(there, found, -1)]

    def find(self, producers: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the row that each offset is in: its producer's last one, if it goes so far; else -1."""
        assert self._lasts is not None, "only of rows that end somewhere"
        found = self.last(producers, offsets)
        return np.where((found >= 0) & (offsets <= self._lasts[found]), found, -1) if len(self) else found

    def _placed(self, rank: NDArray[np.intp], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        placed: NDArray[np.int64] = rank * (len(self._firsts) + 1) + np.searchsorted(self._firsts, offsets, "right")
        return placed


def place_of(known: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each value is among sorted ones, -1 where it is not."""
    if not len(known):
        return np.full(len(values), -1)
    at = np.searchsorted(known, values)
    there = at < len(known)
    there &= known[np.minimum(at, len(known) - 1)] == values
    return np.where(there, at, -1)


def among(values: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which values are among sorted ones; cheap for few values, however many are known."""
    return place_of(known, values) >= 0


def group_begins(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which rows differ from the one before in one of these columns, as the first of each group does."""
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = False
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def group_ends(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which rows differ from the next one in one of these columns, as the last of each group does."""
    return np.append(group_begins(*columns)[1:], True)[: len(columns[0])]


def runs(begins: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where runs of neighbours begin and where they stop; `begins` says it of each row, also of the first."""
    bounds = np.append(np.flatnonzero(begins), len(begins))
    return bounds[:-1], bounds[1:]


def groups(*keys: NDArray[Any], least: int = 1) -> Iterator[NDArray[np.intp]]:
    """Yield the places of the rows with equal keys, in order: a group at a time, those of at `least` so many rows."""
    order = np.lexsort(keys[::-1])
    firsts, stops = runs(group_begins(*(key[order] for key in keys)))
    for number in np.flatnonzero(stops - firsts >= least).tolist():
        yield order[firsts[number] : stops[number]]


def last_of_each(keys: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct keys in order, and the place of the last row of each."""
    order = np.argsort(keys, kind="stable")
    last = order[group_ends(keys[order])]
    return keys[last], last


def joined_ranges(firsts: NDArray[Any], stops: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Join each range to the one before it if that one stops where it begins."""
    begins = np.ones(len(firsts), np.bool_)
    begins[1:] = firsts[1:] != stops[:-1]
    first, stop = runs(begins)
    return firsts[first], stops[stop - 1]


def any_between(values: NDArray[Any], firsts: NDArray[Any], stops: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which ranges, each up to below its stop, have one of some values, which are sorted."""
    found: NDArray[np.bool_] = np.searchsorted(values, firsts) < np.searchsorted(values, stops)
    return found


def distinct(values: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the values in order, each once; ``np.unique`` does the same and imports ``numpy.ma``."""
    in_order = np.sort(values)
    return in_order[group_begins(in_order)]


def ranges(firsts: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return so many numbers from each first one on, one range after the other."""
    ends = np.cumsum(counts, dtype=firsts.dtype)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(firsts - (ends - counts), counts) + np.arange(total, dtype=firsts.dtype)


def running_max(keys: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the highest value so far among the rows with its key; equal keys are neighbours."""
    if not len(values):
        return values
    distinct, rank = np.unique(values, return_inverse=True)
    group = np.cumsum(group_begins(keys))
    highest = np.maximum.accumulate(group * len(distinct) + rank)
    found: NDArray[np.int64] = distinct[highest - group * len(distinct)]
    return found
