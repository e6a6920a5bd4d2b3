"""Offsets that are missing or unreadable: as columns, since half of a million batches may be damaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.columns.sorted_rows import group_begins, ranges, runs
from kafkalog.columns.table import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Offsets = NDArray[np.int64]
    _Mask = NDArray[np.bool_]

__all__ = ["LostRanges", "Ranges"]


class Ranges:
    """Some ranges of offsets, each once, in order."""

    __slots__ = ("_first", "_last")

    def __init__(self, first: _Offsets, last: _Offsets) -> None:
        order = np.lexsort((last, first))
        first, last = first[order], last[order]
        new = group_begins(first, last)
        self._first, self._last = first[new], last[new]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> Ranges:
        """Return these ranges."""
        table = np.array(list(ranges), np.int64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    def with_ranges(self, other: Ranges) -> Ranges:
        """Return these and others."""
        return Ranges(np.append(self._first, other._first), np.append(self._last, other._last))

    def __len__(self) -> int:
        return len(self._first)

    @property
    def first(self) -> int:
        """Return the first offset of all; there is one."""
        return int(self._first[0])

    @property
    def last(self) -> int:
        """Return the last offset of all."""
        return int(self._last.max())

    @property
    def offsets(self) -> int:
        """Return how many offsets there are, those of two ranges counted twice."""
        return sum((self._last - self._first + 1).tolist())

    def holds(self, offset: int) -> bool:
        """Say whether an offset is in one of them."""
        return bool(((self._first <= offset) & (offset <= self._last)).any())

    def common(self, other: Ranges) -> Ranges:
        """Return what is in these and in others; neither has ranges that meet."""
        begin = np.searchsorted(other._last, self._first)
        count = np.maximum(np.searchsorted(other._first, self._last, "right") - begin, 0)
        mine = np.repeat(np.arange(len(self)), count)
        theirs = ranges(begin, count)
        return Ranges(
            np.maximum(self._first[mine], other._first[theirs]), np.minimum(self._last[mine], other._last[theirs])
        )

    def joined(self) -> Ranges:
        """Return the same offsets, those of ranges that meet or follow each other as one."""
        ends = np.maximum.accumulate(self._last)
        firsts, stops = runs(np.append(True, self._first[1:] > ends[:-1] + 1)[: len(self)])
        return Ranges(self._first[firsts], ends[stops - 1])

    def outside(self, first: int, last: int) -> Ranges:
        """Return the ranges from one offset to another that are in none of these."""
        known = self.joined()
        begins = np.maximum(np.append(first, known._last + 1), first)
        ends = np.minimum(np.append(known._first - 1, last), last)
        return Ranges(begins[begins <= ends], ends[begins <= ends])

    def shown(self, most: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the first ones, or all."""
        return zip(self._first[:most].tolist(), self._last[:most].tolist(), strict=True)


class LostRanges:
    """The gaps of a partition's logs that are not legal: their offsets, and whether the bytes are there."""

    __slots__ = ("_logs",)

    def __init__(self) -> None:
        self._logs: dict[str, Columns] = {}

    def add(self, log: str, first: _Offsets, last: _Offsets, unreadable: _Mask) -> None:
        """Take in gaps of a log; of those that are `unreadable` the bytes are there."""
        self._logs[log] = self._of(log) + Columns({"first": first, "last": last, "unreadable": unreadable})

    def unreadable(self, log: str) -> Ranges:
        """Return those of a log whose bytes are there."""
        rows = self._of(log)
        rows = rows.take(rows["unreadable"])
        return Ranges(rows["first"], rows["last"])

    def of_log(self, log: str) -> Ranges:
        """Return all of a log."""
        rows = self._of(log)
        return Ranges(rows["first"], rows["last"])

    def begins_at(self, log: str, offset: int | None) -> bool:
        """Say whether one of a log's begins at an offset."""
        return offset is not None and bool((self._of(log)["first"] == offset).any())

    def _of(self, log: str) -> Columns:
        return self._logs.get(log, _NOTHING)


_NOTHING: Final = Columns.empty(("first", "last", "unreadable"))
