"""Which marker in a log is a decision's own: a coordinator writes one for each decision to each partition it lists.

Every other marker is foreign: an administrator's ABORT, a marker written by hand, the same marker sent again. Data that
a foreign marker ended after the decision's own marker came too late for the transaction: the decision is not about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.transactions.ended_rows import EndedRows, bounds, kinds
from kafkalog.certainty import cut
from kafkalog.columns.sorted_rows import SortedRows
from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.quantities import CLOCKS_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Answered", "OwnMarkers"]

_AT_ONCE: Final = 1 << 17  # decisions that are answered together
_NEAR: Final = 64  # markers that are looked at where the clocks of two brokers may differ


class Answered(NamedTuple):
    """Decisions that list a partition, and the ended rows of their producers in the log, in log order in each.

    A decision's `own` is the number of the row that its own marker ended, -1 where the log has no such marker. A row's
    `held` is the number of the decision that is about its data by epoch and time, -1 for none: the newest that began
    before the row's marker. `ids` are the transactional ids by their numbers.
    """

    decisions: Columns
    rows: Columns
    ids: TextColumn

    def before(self, place: int) -> int | None:
        """Return the place of the same producer's row before a row, None for its first."""
        producers = self.rows["producer_id"]
        return place - 1 if place and producers[place - 1] == producers[place] else None


class OwnMarkers:
    """The own markers of the decisions that list one partition; `listing` are their records, by producer and time."""

    def __init__(self, audit: PartitionAudit, coordinator: Coordinator, listing: NDArray[np.int64]) -> None:
        self._audit = audit
        self._coordinator = coordinator
        self._listing = listing

    def answered(self) -> Iterator[Answered]:
        """Yield all decisions with their own markers: those of some producers at a time, if they are many."""
        if len(self._listing) <= _AT_ONCE:
            yield self._few
            return
        producers, start = self._coordinator.states["producer_id"][self._listing], 0
        while start < len(producers):
            end = min(start + _AT_ONCE, len(producers))
            end = int(np.searchsorted(producers, producers[end - 1], "right"))
            yield self._answered(self._listing[start:end])
            start = end

    @cached_property
    def _few(self) -> Answered:
        return self._answered(self._listing)

    def _answered(self, listing: NDArray[np.int64]) -> Answered:
        decisions = self._coordinator.decisions(listing)
        ended = EndedRows(self._audit, decisions["producer_id"])
        return Answered(
            decisions.with_columns({"own": _own(ended, decisions)}),
            ended.rows.with_columns({"held": _held(ended, decisions)}),
            self._coordinator.states.ids,
        )

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Return the offsets of the markers that are some decision's own, in order."""
        found = ((one.rows["marker_offset"], one.decisions["own"]) for one in self.answered())
        return np.sort(np.concatenate([np.empty(0, np.int64), *(offsets[own[own >= 0]] for offsets, own in found)]))

    def __bool__(self) -> bool:
        """Say whether any decision lists the partition."""
        return bool(len(self._listing))

    def newest(self, producer_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the record of each producer's newest decision that lists the partition, -1 for none."""
        if not len(self._listing):
            return np.full(len(producer_ids), -1, np.int64)
        producers = self._coordinator.states["producer_id"][self._listing]
        at = np.searchsorted(producers, producer_ids, "right") - 1
        return np.where((at >= 0) & (producers[at] == producer_ids), self._listing[at], -1)

    def of_open(self, producer_ids: NDArray[np.int64], epochs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the record of the decision about each producer's open data, whose marker is not in the log.

        It is the first after the last one that has its marker here, if it is about data of that epoch; else -1.
        """
        found, start = np.full(len(producer_ids), -1, np.int64), 0
        for one in self.answered() if len(producer_ids) else ():
            producers, epoch = one.decisions["producer_id"], one.decisions["data_epoch"]
            with_marker = np.append(-1, np.flatnonzero(one.decisions["own"] >= 0))
            begin, end = np.searchsorted(producers, producer_ids), np.searchsorted(producers, producer_ids, "right")
            at = np.maximum(with_marker[np.searchsorted(with_marker, end) - 1] + 1, begin)
            there = np.flatnonzero(at < end)
            there = there[(epoch[at[there]] == epochs[there]) | (epoch[at[there]] == NONE)]
            found[there] = self._listing[start + at[there]]
            start += len(producers)
        return found


def _own(ended: EndedRows, decisions: Columns) -> NDArray[np.int64]:
    """Return for each decision the row of the first marker of its kind and epoch after it, -1 where there is none.

    Where the clock of the marker's broker is slow, it is the last one since the transaction began.
    """
    own = np.full(len(decisions), -1, np.int64)
    if not len(ended.rows) or not len(own):
        return own
    by_time = ended.by_time
    begin, end = bounds(decisions)
    group = by_time.groups(decisions["producer_id"], kinds(decisions["epoch"], decisions["committed"]))
    at = by_time.first(group, cut(decisions["decided"]))
    after = by_time.holds(at, group) & (by_time.time(at) <= end)
    before = by_time.holds(at - 1, group) & (by_time.time(at - 1) >= begin)
    found = np.where(after, at, np.where(before, at - 1, -1))
    _, firsts = np.unique(found, return_index=True)  # one marker for each decision: the earlier decision has it
    firsts = firsts[found[firsts] >= 0]
    own[firsts] = by_time.order[found[firsts]]
    low = by_time.first(group, begin - CLOCKS_MS)
    high = by_time.first(group, end + CLOCKS_MS + 1)
    left = np.flatnonzero((own < 0) & (low < high))
    taken = set(found[firsts].tolist() if len(left) else ())
    columns = (left, at[left], low[left], high[left])
    for number, start, lowest, highest in zip(*(column.tolist() for column in columns), strict=True):
        candidates = (
            *range(start, min(highest, start + _NEAR)), *range(start - 1, max(lowest, start - _NEAR) - 1, -1)
        )  # fmt: skip
        free = next((place for place in candidates if lowest <= place < highest and place not in taken), None)
        if free is not None:
            taken.add(free)
            own[number] = by_time.order[free]
    return own


def _held(ended: EndedRows, decisions: Columns) -> NDArray[np.int64]:
    """Return for each row the newest decision about data of its epoch that began before its marker was written."""
    rows = ended.rows
    known = np.flatnonzero(decisions["data_epoch"] != NONE)
    if not len(rows) or not len(known):
        return np.full(len(rows), -1, np.int64)
    some = decisions.take(known)
    by_time = SortedRows((some["producer_id"], some["data_epoch"]), cut(some["started"]))
    group = by_time.groups(rows["producer_id"], rows["last_epoch"])
    at = by_time.first(group, ended.times, "right") - 1
    chosen = fold.has_data(rows) & (rows["older_records"] == NONE) & by_time.holds(at, group)
    return np.append(known, -1)[by_time.rows(at, chosen)]
