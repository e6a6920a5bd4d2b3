"""An ``.index`` or ``.timeindex`` compared with its segment's batches, chunk by chunk, within the one read of the log.

What a broker may write: an entry of the offset index is of the batch at its position and has the last offset of that
batch, or of a later one of the same append (a follower's append has many batches); up to Kafka 1.1 it has the batch's
first offset. An entry of the time index has a batch's newest time, the first time that it was reached, and an offset of
that batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.named import NONE
from kafkalog.kafka.layout import OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from kafkalog.kernel import headers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.kafka.batch import CellTable

__all__ = ["Batches", "OffsetIndex", "TimeIndex"]

_OFFSET_ENTRY: Final = np.dtype([("offset", ">i4"), ("position", ">i4")])
_TIME_ENTRY: Final = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])


class Batches(NamedTuple):
    """Columns of a chunk's batches, in the order of the file. The first offset of a wrapper may be NONE."""

    position: NDArray[np.int64]
    base_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    max_timestamp: NDArray[np.int64]


class _Index:
    """An index file's entries without the zeros after them; `rest` bytes follow the last whole entry."""

    def __init__(self, data: bytes, entry: np.dtype[Any], base_offset: int) -> None:
        whole = np.frombuffer(data, entry, len(data) // entry.itemsize)
        zero = np.array([0], whole.dtype)[0]
        used = np.flatnonzero(whole != zero)
        count = int(used[-1]) + 1 if len(used) else 0
        self.rest = len(data) % entry.itemsize
        self.zeros = (len(whole) - count) * entry.itemsize
        self.offset = whole["offset"][:count].astype(np.int64) + base_offset
        self.entries = whole[:count]

    def __len__(self) -> int:
        return len(self.entries)


class _Sorted:
    """The places of sorted values, so that a chunk looks only at those in its range."""

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.order = np.argsort(values, kind="stable")
        self.values = values[self.order]

    def between(self, low: int, high: int) -> NDArray[np.intp]:
        """Return the places of the values from `low` to `high`."""
        first, stop = np.searchsorted(self.values, [low, high + 1] if high < 2**63 - 1 else [low, high])
        return self.order[first:stop]


def _found(sorted_values: NDArray[np.int64], wanted: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return where values would be, and whether they are there."""
    at = np.minimum(np.searchsorted(sorted_values, wanted), len(sorted_values) - 1)
    return at, sorted_values[at] == wanted


class OffsetIndex(_Index):
    """Entries of an ``.index``, and the batch of the log at each."""

    size: Final = OFFSET_INDEX_ENTRY.size

    def __init__(self, data: bytes, base_offset: int) -> None:
        super().__init__(data, _OFFSET_ENTRY, base_offset)
        self.position = self.entries["position"].astype(np.int64)
        self.first = np.full(len(self), NONE)  # offsets of the batch at the entry's position
        self.last = np.full(len(self), NONE)
        self.ends_at = np.full(len(self), NONE)  # the position of the batch that ends at the entry's offset
        self._by_position = _Sorted(self.position)
        self._by_offset = _Sorted(self.offset)

    def chunk(self, batches: Batches, before: int) -> None:
        """Look the entries up that a chunk bears on; `before` is the last offset before it."""
        base = np.where(
            batches.base_offset == NONE,
            np.append(before, batches.last_offset[:-1]) + 1,  # a wrapper begins somewhere after the batch before
            batches.base_offset,
        )
        places = self._by_position.between(int(batches.position[0]), int(batches.position[-1]))
        if len(places):
            at, there = _found(batches.position, self.position[places])
            places, at = places[there], at[there]
            self.first[places], self.last[places] = base[at], batches.last_offset[at]
        places = self._by_offset.between(int(batches.last_offset.min()), int(batches.last_offset.max()))
        if len(places):
            at, there = _found(batches.last_offset, self.offset[places])
            self.ends_at[places[there]] = batches.position[at[there]]

    def plain(self, heads: CellTable, _before: int) -> None:
        """Look the entries up that a chunk of plain batches bears on."""
        by_position, by_offset = self._by_position, self._by_offset
        headers.at_offsets(
            heads.cells, heads.capacity, heads.count, by_position.values, by_position.order, self.first, self.last,
            by_offset.values, by_offset.order, self.ends_at,
        )  # fmt: skip

    def wrong(self) -> NDArray[np.bool_]:
        """Say which entries no broker would have written for this log."""
        there = self.last != NONE
        following = np.append(self.position[1:], 2**62)
        of_append = (self.ends_at >= self.position) & (self.ends_at < np.maximum(following, self.position + 1))
        is_last = there & ((self.offset == self.last) | of_append)
        is_first = there & (self.offset == self.first)
        # The kind changes once, when the broker was upgraded: from first offsets to last ones.
        only_last = np.flatnonzero(is_last & ~is_first)
        upgraded = int(only_last[0]) if len(only_last) else len(self)
        legal = is_last | (is_first & (np.arange(len(self)) < upgraded))
        rising = np.append(True, (np.diff(self.offset) > 0) & (np.diff(self.position) > 0))
        wrong: NDArray[np.bool_] = ~legal | ~rising[: len(self)]
        return wrong


class TimeIndex(_Index):
    """Entries of a ``.timeindex``, and the batch of the log at each; `newest` is the newest time of all batches."""

    size: Final = TIME_INDEX_ENTRY.size

    def __init__(self, data: bytes, base_offset: int) -> None:
        super().__init__(data, _TIME_ENTRY, base_offset)
        self.timestamp = self.entries["timestamp"].astype(np.int64)
        self.there = np.full(len(self), NONE)  # the newest time of the batch at the entry's offset
        self.before = np.full(len(self), NONE)  # and that of all batches before it
        self.newest = -1
        self._by_offset = _Sorted(self.offset)

    def chunk(self, batches: Batches, before: int) -> None:
        """Look the entries up that a chunk bears on; `before` is the last offset before it."""
        newest = np.maximum.accumulate(np.append(self.newest, batches.max_timestamp))
        self.newest = int(newest[-1])
        last = batches.last_offset
        places = self._by_offset.between(min(before + 1, int(last[0])), int(last[-1]))
        if not len(places):
            return
        at = np.minimum(np.searchsorted(last, self.offset[places]), len(last) - 1)
        base = batches.base_offset[at]
        inside = (self.offset[places] <= last[at]) & ((base == NONE) | (self.offset[places] >= base))
        places, at = places[inside], at[inside]
        self.there[places], self.before[places] = batches.max_timestamp[at], newest[at]

    def plain(self, heads: CellTable, before: int) -> None:
        """Look the entries up that a chunk of plain batches after offset `before` bears on."""
        self.newest = headers.at_times(
            heads.cells, heads.capacity, heads.count, before, self.newest, self._by_offset.values,
            self._by_offset.order, self.there, self.before,
        )  # fmt: skip

    def wrong(self) -> NDArray[np.bool_]:
        """Say which entries no broker would have written; where no batch has a time, none is wrong."""
        untimed = (self.there == -1) & (self.before == -1)
        legal = (self.there == self.timestamp) & (self.before < self.timestamp)
        rising = np.append(True, np.diff(self.timestamp) > 0)
        wrong: NDArray[np.bool_] = ~(legal | untimed) | ~rising[: len(self)]
        return wrong
