"""Which marker in a log is a decision's own: a coordinator writes one for each decision to each partition it lists.

Every other marker is foreign: an administrator's ABORT, a marker written by hand, the same marker sent again. Data that
a foreign marker ended after the decision's own marker came too late for the transaction: the decision is not about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Decision

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Answered", "OwnMarkers", "cut_off", "is_sole", "kept_by"]

_COLUMNS: Final = (
    "producer_id", "first_offset", "last_offset", "first_epoch", "last_epoch", "epoch_changes", "position",
    "marker_type", "marker_offset", "marker_epoch", "marker_timestamp",
)  # fmt: skip
_NEAR: Final = 64  # markers that are looked at where the clocks of two brokers may differ
_CLOCKS_MS: Final = 60_000  # how far the clocks of brokers may be apart
_TIME_BITS: Final = 46
_LATEST: Final = (1 << _TIME_BITS) - 1  # ms: the year 4199; an epoch and a time make one number


class Answered(NamedTuple):
    """A producer's decisions that list a partition, in the order of their times, and its rows in the log.

    `ended` are those of its `rows` that have a marker. `own` has for each decision the number of the ended row whose
    marker is its own, -1 where the log has no such marker. `held` has for each ended row the number of the decision
    that is about its data by epoch and time, -1 for none: the newest that began before the row's marker.
    """

    decisions: list[Decision]
    rows: Columns
    ended: Columns
    own: NDArray[np.int64]
    held: NDArray[np.int64]


class OwnMarkers:
    """The own markers of the decisions that list one partition, by producer id in `listing`."""

    def __init__(self, audit: PartitionAudit, listing: Mapping[int, Sequence[Decision]]) -> None:
        self._audit = audit
        self._listing = listing
        self._offsets: NDArray[np.int64] | None = None

    def answered(self) -> Iterator[Answered]:
        """Yield each producer's decisions with their own markers."""
        for producer, rows in self._audit.of_producers_among(self._listing, *_COLUMNS):
            decisions = sorted(self._listing[producer], key=lambda decision: decision.decided)
            ended = rows.take(rows["marker_type"] != extents.OPEN)
            # In one log a producer's rows are in the order of their markers, so their times rise with them.
            times = np.maximum.accumulate(ended["marker_timestamp"])
            own = _own(ended, times, decisions)
            yield Answered(decisions, rows, ended, own, _held(ended, times, decisions))

    def has(self, marker_offset: int) -> bool:
        """Say whether a marker is some decision's own."""
        if self._offsets is None:
            found = [np.empty(0, np.int64)]
            found += (each.ended["marker_offset"][each.own[each.own >= 0]] for each in self.answered())
            self._offsets = np.sort(np.concatenate(found))
        at = int(np.searchsorted(self._offsets, marker_offset))
        return at < len(self._offsets) and int(self._offsets[at]) == marker_offset


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


def _placed(epochs: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make one number of an epoch, or twice an epoch, and a time: it rises with the times of an epoch."""
    placed: NDArray[np.int64] = (epochs << _TIME_BITS) | np.minimum(np.maximum(times, 0), _LATEST)
    return placed


def _own(rows: Columns, times: NDArray[np.int64], decisions: Sequence[Decision]) -> NDArray[np.int64]:
    """Return for each decision the row of the first marker of its kind and epoch after it, -1 where there is none.

    Where the clock of the marker's broker is slow, it is the last one since the transaction began.
    """
    own = np.full(len(decisions), -1, np.int64)
    if not len(rows) or not decisions:
        return own
    kinds = rows["marker_epoch"] * 2 + (rows["marker_type"] == extents.COMMIT)
    order = np.argsort(kinds, kind="stable")
    placed = _placed(kinds[order], times[order])
    wanted = np.array([decision.epoch * 2 + decision.committed for decision in decisions], np.int64)
    begin, end = np.array([_window(decision) for decision in decisions], np.int64).T
    decided = np.array([decision.decided for decision in decisions], np.int64)
    at = np.searchsorted(placed, _placed(wanted, decided))
    after = (at < len(placed)) & (placed[np.minimum(at, len(placed) - 1)] <= _placed(wanted, end))
    before = (at > 0) & (placed[at - 1] >= _placed(wanted, begin))
    found = np.where(after, at, np.where(before, at - 1, -1))
    _, firsts = np.unique(found, return_index=True)  # one marker for each decision: the earlier decision has it
    firsts = firsts[found[firsts] >= 0]
    own[firsts] = order[found[firsts]]
    taken = set(found[firsts].tolist())
    for number in np.flatnonzero(own < 0).tolist():
        near = begin[number] - _CLOCKS_MS, end[number] + _CLOCKS_MS
        low, high = np.searchsorted(placed, _placed(wanted[number], np.array([near[0], near[1] + 1]))).tolist()
        start = int(at[number])
        candidates = (*range(start, min(high, start + _NEAR)), *range(start - 1, max(low, start - _NEAR) - 1, -1))
        free = next((place for place in candidates if low <= place < high and place not in taken), None)
        if free is not None:
            taken.add(free)
            own[number] = order[free]
    return own


def _window(decision: Decision) -> tuple[int, int]:
    """Return the first and last time at which a decision's own marker may have been written, by equal clocks."""
    if is_sole(decision):
        return 0, _LATEST
    return decision.started, _LATEST if decision.until is None else decision.until - 1


def _held(rows: Columns, times: NDArray[np.int64], decisions: Sequence[Decision]) -> NDArray[np.int64]:
    """Return for each row the newest decision about data of its epoch that began before its marker was written."""
    numbers = [number for number, decision in enumerate(decisions) if decision.data_epoch is not None]
    held = np.full(len(rows), -1, np.int64)
    if not numbers or not len(rows):
        return held
    epochs = np.array([decisions[number].data_epoch for number in numbers], np.int64)
    began = _placed(epochs, np.array([decisions[number].started for number in numbers], np.int64))
    order = np.argsort(began, kind="stable")
    at = np.searchsorted(began[order], _placed(rows["last_epoch"], times), "right") - 1
    found = order[np.maximum(at, 0)]
    has_data = (rows["first_offset"] != NONE) & (rows["epoch_changes"] == 0) & (at >= 0)
    chosen = has_data & (epochs[found] == rows["last_epoch"])
    held[chosen] = np.array(numbers, np.int64)[found[chosen]]
    return held
