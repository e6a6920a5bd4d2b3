"""Groups of rows with equal keys, runs of neighbours, and places among sorted rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

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
    """Rows sorted by group and time; a group are the rows with the same keys.

    `order` has for each place the number of the row there, `keys` are the distinct first keys. Numbers of groups and
    ranks of times make one number, which fits 64 bits for up to 2**31 rows.
    """

    def __init__(self, keys: Sequence[NDArray[np.int64]], times: NDArray[np.int64]) -> None:
        key, *others = keys
        self._times, rank = np.unique(times, return_inverse=True)
        self.keys, group = np.unique(key, return_inverse=True)
        self._others: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for other in others:
            known, number = np.unique(other, return_inverse=True)
            both, group = np.unique(group * len(known) + number, return_inverse=True)
            self._others.append((known, both))
        placed = group * (len(self._times) + 1) + rank
        self._rows = np.append(np.argsort(placed, kind="stable"), -1)
        self.order = self._rows[:-1]
        self._placed = placed[self.order]
        self._group = group[self.order]

    def groups(self, key: NDArray[np.int64], *others: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the group of each of some keys, -1 where no row has them."""
        group = place_of(self.keys, key)
        for other, (known, both) in zip(others, self._others, strict=True):
            number = place_of(known, other)
            group = np.where((group < 0) | (number < 0), -1, place_of(both, group * len(known) + number))
        return group

    def first(
        self, group: NDArray[np.int64], times: NDArray[np.int64], side: Literal["left", "right"] = "left"
    ) -> NDArray[np.int64]:
        """Return the place of each group's first row that is not before a time, or (right) that is after it.

        It may be in the next group.
        """
        rank = np.searchsorted(self._times, times, side)
        return np.searchsorted(self._placed, group * (len(self._times) + 1) + rank)

    def holds(self, place: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say whether there is a row of the group at a place."""
        there: NDArray[np.bool_] = (place >= 0) & (place < len(self._group)) & (group >= 0)
        there &= self._group[np.clip(place, 0, len(self._group) - 1)] == group if len(self._group) else False
        return there

    def rows(self, place: NDArray[np.int64], there: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the number of the row at each place, -1 where none is `there`."""
        return self._rows[np.where(there, place, -1)]

    def time(self, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time of the row at each place; that of the nearest row for a place outside."""
        at = np.clip(place, 0, len(self._placed) - 1)
        found: NDArray[np.int64] = self._times[self._placed[at] - self._group[at] * (len(self._times) + 1)]
        return found


class Spans:
    """Transactions, or other rows of producers, that begin at offsets: which of them an offset is in, or after.

    `producers` are distinct, and in order.
    """

    def __init__(
        self, producers: NDArray[np.int64], firsts: NDArray[np.int64], lasts: NDArray[np.int64] | None = None
    ) -> None:
        self._sorted = SortedRows([producers], firsts)
        self.producers = self._sorted.keys
        self._lasts = lasts

    def __len__(self) -> int:
        return len(self._sorted.order)

    def last(self, producers: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each producer's last row that begins up to an offset, -1 for none."""
        group = self._sorted.groups(producers)
        at = self._sorted.first(group, offsets, "right") - 1
        return self._sorted.rows(at, self._sorted.holds(at, group))

    def find_rows(self, producers: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the row that each offset is in: its producer's last one, if it goes so far; else -1."""
        assert self._lasts is not None, "only of rows that end somewhere"
        found = self.last(producers, offsets)
        return np.where((found >= 0) & (offsets <= self._lasts[found]), found, -1) if len(self) else found


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
