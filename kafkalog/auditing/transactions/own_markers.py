"""Which marker in a log is a decision's own: a coordinator writes one for each decision to each partition it lists.

Every other marker is foreign: an administrator's ABORT, a marker written by hand, the same marker sent again. Data that
a foreign marker ended after the decision's own marker came too late for the transaction: the decision is not about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Decision
from kafkalog.txn.placed import Placed, running_max

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Answered", "OwnMarkers", "cut_off", "is_sole", "kept_by"]

_NEAR: Final = 64  # markers that are looked at where the clocks of two brokers may differ
_CLOCKS_MS: Final = 60_000  # how far the clocks of brokers may be apart
_LATEST: Final = 2**62  # ms
_ROWS: Final = (
    "producer_id", "first_offset", "last_offset", "last_epoch", "epoch_changes", "position", "marker_type",
    "marker_offset", "marker_epoch", "marker_timestamp",
)  # fmt: skip


class Answered(NamedTuple):
    """The decisions that list a partition, and the ended rows of their producers in the log, in log order in each.

    `own` has for each decision the number of the row that its own marker ended, -1 where the log has no such marker.
    `held` has for each row the number of the decision that is about its data by epoch and time, -1 for none: the
    newest that began before the row's marker.
    """

    decisions: Sequence[Decision]
    rows: Columns
    own: NDArray[np.int64]
    held: NDArray[np.int64]

    def before(self, place: int) -> int | None:
        """Return the place of the same producer's row before a row, None for its first."""
        producers = self.rows["producer_id"]
        return place - 1 if place and producers[place - 1] == producers[place] else None


class OwnMarkers:
    """The own markers of the decisions that list one partition; `listing` is sorted by producer and time."""

    def __init__(self, audit: PartitionAudit, listing: Sequence[Decision]) -> None:
        self._audit = audit
        self._listing = listing

    @cached_property
    def answered(self) -> Answered:
        """Return all decisions with their own markers."""
        decisions = _Columns.of(self._listing)
        rows = self._ended(np.unique(decisions.producer_id))
        # In one log a producer's rows are in the order of their markers, so their times rise with them.
        times = running_max(rows["producer_id"], np.clip(rows["marker_timestamp"], -_LATEST, _LATEST))
        return Answered(self._listing, rows, _own(rows, times, decisions), _held(rows, times, decisions))

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Return the offsets of the markers that are some decision's own, in order."""
        own = self.answered.own
        return np.sort(self.answered.rows["marker_offset"][own[own >= 0]])

    def has(self, marker_offset: int) -> bool:
        """Say whether a marker is some decision's own."""
        at = int(np.searchsorted(self.offsets, marker_offset))
        return at < len(self.offsets) and int(self.offsets[at]) == marker_offset

    @cached_property
    def _newest(self) -> dict[int, Decision]:
        return {decision.producer_id: decision for decision in self._listing}

    def newest(self, producer_id: int) -> Decision | None:
        """Return a producer's newest decision that lists the partition."""
        return self._newest.get(producer_id)

    def _ended(self, producers: NDArray[np.int64]) -> Columns:
        """Return the ended rows of these producers, producer by producer."""
        parts: list[Columns] = []
        if not len(producers):  # most logs of a cluster: nothing is unpacked for them
            return Columns.empty(_ROWS)
        for rows in self._audit.transactions.blocks(*_ROWS):
            chosen = (rows["marker_type"] != extents.OPEN) & np.isin(rows["producer_id"], producers)
            parts.append(Columns({name: rows[name][chosen] for name in _ROWS}))
        rows = Columns.concat(parts, _ROWS)
        return rows.take(np.argsort(rows["producer_id"], kind="stable"))


class _Columns(NamedTuple):
    """Decisions as columns; times in ms. The own marker is written from `begin` to `end`, if clocks are equal."""

    producer_id: NDArray[np.int64]
    data_epoch: NDArray[np.int64]
    wanted: NDArray[np.int64]
    started: NDArray[np.int64]
    decided: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> _Columns:
        """Make the columns; `wanted` is the kind of the marker."""
        rows = [
            (
                one.producer_id, NONE if one.data_epoch is None else one.data_epoch,
                _kind(one.epoch, one.committed), one.started, one.decided, *_window(one),
            )
            for one in decisions
        ]  # fmt: skip
        columns = np.array(rows, np.int64).reshape(len(rows), len(cls._fields)).T
        return cls(*columns[:3], *np.clip(columns[3:], -_LATEST, _LATEST))


def _kind(epoch: int, committed: bool) -> int:
    return epoch * 2 + committed


def _window(decision: Decision) -> tuple[int, int]:
    """Return the first and last time at which a decision's own marker may have been written, by equal clocks."""
    if is_sole(decision):
        return 0, _LATEST
    return decision.started, _LATEST if decision.until is None else decision.until - 1


def _own(rows: Columns, times: NDArray[np.int64], decisions: _Columns) -> NDArray[np.int64]:
    """Return for each decision the row of the first marker of its kind and epoch after it, -1 where there is none.

    Where the clock of the marker's broker is slow, it is the last one since the transaction began.
    """
    own = np.full(len(decisions.wanted), -1, np.int64)
    if not len(rows) or not len(own):
        return own
    kinds = rows["marker_epoch"] * 2 + (rows["marker_type"] == extents.COMMIT)
    placed = Placed((rows["producer_id"], kinds), times)
    group = placed.groups(decisions.producer_id, decisions.wanted)
    at = placed.first(group, decisions.decided)
    after = placed.holds(at, group) & (placed.time(at) <= decisions.end)
    before = placed.holds(at - 1, group) & (placed.time(at - 1) >= decisions.begin)
    found = np.where(after, at, np.where(before, at - 1, -1))
    _, firsts = np.unique(found, return_index=True)  # one marker for each decision: the earlier decision has it
    firsts = firsts[found[firsts] >= 0]
    own[firsts] = placed.order[found[firsts]]
    taken = set(found[firsts].tolist())
    low = placed.first(group, decisions.begin - _CLOCKS_MS)
    high = placed.first(group, decisions.end + _CLOCKS_MS + 1)
    for number in np.flatnonzero((own < 0) & (low < high)).tolist():
        start, lowest, highest = int(at[number]), int(low[number]), int(high[number])
        candidates = (
            *range(start, min(highest, start + _NEAR)), *range(start - 1, max(lowest, start - _NEAR) - 1, -1)
        )  # fmt: skip
        free = next((place for place in candidates if lowest <= place < highest and place not in taken), None)
        if free is not None:
            taken.add(free)
            own[number] = placed.order[free]
    return own


def _held(rows: Columns, times: NDArray[np.int64], decisions: _Columns) -> NDArray[np.int64]:
    """Return for each row the newest decision about data of its epoch that began before its marker was written."""
    held = np.full(len(rows), -1, np.int64)
    known = np.flatnonzero(decisions.data_epoch != NONE)
    if not len(known) or not len(rows):
        return held
    placed = Placed((decisions.producer_id[known], decisions.data_epoch[known]), decisions.started[known])
    group = placed.groups(rows["producer_id"], rows["last_epoch"])
    at = placed.first(group, times + 1) - 1
    chosen = (rows["first_offset"] != NONE) & (rows["epoch_changes"] == 0) & placed.holds(at, group)
    held[chosen] = known[placed.order[at[chosen]]]
    return held


def _marker_among(replicas: Sequence[PartitionAudit], decision: Decision) -> tuple[PartitionAudit, int] | None:
    """Return the first of these logs that has a decision's own marker, and the marker's offset."""
    wanted = extents.COMMIT if decision.committed else extents.ABORT
    begin, end = _window(decision)
    for replica in replicas:
        rows = replica.of_producer(decision.producer_id)
        found = (rows["marker_type"] == wanted) & (rows["marker_epoch"] == decision.epoch)
        found &= (rows["marker_timestamp"] >= begin) & (rows["marker_timestamp"] <= end)
        if found.any():
            return replica, int(rows["marker_offset"][found][0])
    return None


def kept_by(replicas: Sequence[PartitionAudit], decision: Decision) -> str:
    """Name the replica that still has a decision's marker, as the end of a message; nothing where none has."""
    kept = _marker_among(replicas, decision)
    if kept is None:
        return ""
    log, how = kept[0].directory.log, "COMMIT" if decision.committed else "ABORT"
    return (
        f" The replica {log} still has its {how} marker, at offset {kept[1]}. Save that copy: its broker truncates it"
        " when it follows the leader again."
    )


def cut_off(audit: PartitionAudit, replicas: Sequence[PartitionAudit], decision: Decision) -> bool:
    """Say whether a decision's marker is in a replica that an unclean election left behind: it never comes here."""
    kept = _marker_among(replicas, decision)
    if kept is None:
        return False
    fork = fork_of(audit, kept[0])
    return fork is not None and fork[1] > fork[2] and kept[1] >= fork[0]


def is_sole(decision: Decision) -> bool:
    """Say whether a decision's epoch is its alone: transaction.version 2, or an abort by the coordinator."""
    return decision.data_epoch is not None and decision.epoch > decision.data_epoch
