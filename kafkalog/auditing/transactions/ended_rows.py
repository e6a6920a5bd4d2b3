"""The rows of some producers that a marker ended in a log, and which of them a marker of some kind ended when."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of
from kafkalog.certainty import NEVER, cut
from kafkalog.columns.sorted_rows import SortedRows, among, distinct, group_begins, running_max
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EndedRows", "ReplicaMarkers", "SentMarkers", "bounds", "in_replica_words", "is_sole", "kinds"]


_ROWS: Final = (
    "producer_id", "first_offset", "last_offset", "last_epoch", "older_records", "position", "marker_type",
    "marker_offset", "marker_epoch", "marker_timestamp",
)  # fmt: skip


class EndedRows:
    """The ended rows of some producers, producer by producer, in log order in each.

    Only those whose markers are not from before `since` (ms), if it is given: all that ``last_since`` looks for.
    """

    def __init__(self, audit: PartitionAudit, producers: NDArray[np.int64], since: int = -NEVER) -> None:
        self.rows = Columns.empty(_ROWS)
        if not len(producers):  # most logs of a cluster: nothing is unpacked for them
            return
        wanted = distinct(producers)
        chosen, start = [np.empty(0, np.intp)], 0
        for rows in audit.transactions.blocks("producer_id", "marker_type", "marker_timestamp"):
            is_meant = ~fold.is_open(rows)
            if since > -NEVER:
                is_meant &= rows["marker_timestamp"] >= since
            ended = np.flatnonzero(is_meant)
            chosen.append(start + ended[among(rows["producer_id"][ended], wanted)])
            start += len(rows)
        rows = audit.transactions.take(np.concatenate(chosen), *_ROWS)
        self.rows = rows.take(np.argsort(rows["producer_id"], kind="stable"))

    @cached_property
    def times(self) -> NDArray[np.int64]:
        """Return the markers' times (ms): in one log a producer's rows are in their order, so the times rise."""
        return running_max(self.rows["producer_id"], cut(self.rows["marker_timestamp"]))

    @cached_property
    def by_time(self) -> SortedRows:
        """Return the rows by producer, kind of marker and time."""
        rows = self.rows
        kind = kinds(rows["marker_epoch"], rows["marker_type"] == fold.COMMIT)
        return SortedRows((rows["producer_id"], kind), self.times)

    @cached_property
    def _from_the_end(self) -> tuple[NDArray[np.int64], SortedRows]:
        """Return the rows by producer and marker's epoch, each group backwards, placed by the newest time so far."""
        rows = self.rows
        order = np.lexsort((-np.arange(len(rows)), rows["marker_epoch"], rows["producer_id"]))
        some = rows.take(order)
        producers, epochs = some["producer_id"], some["marker_epoch"]
        newest = running_max(np.cumsum(group_begins(producers, epochs)), cut(some["marker_timestamp"]))
        return order, SortedRows((producers, epochs), newest)

    def last_since(
        self, producers: NDArray[np.int64], epochs: NDArray[np.int64], times: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return each producer's last row that a marker of an epoch ended, not before a time (ms); -1 for none."""
        if not len(self.rows):
            return np.full(len(producers), -1, np.int64)
        order, by_time = self._from_the_end
        group = by_time.groups(producers, epochs)
        at = by_time.first(group, cut(times))
        return np.append(order, -1)[by_time.rows(at, by_time.holds(at, group))]

    def first_within(self, decisions: Columns) -> NDArray[np.int64]:
        """Return the first row that each decision's marker may have ended, by equal clocks; -1 for none."""
        if not len(self.rows):
            return np.full(len(decisions), -1, np.int64)
        begin, end = bounds(decisions)
        group = self.by_time.groups(decisions["producer_id"], kinds(decisions["epoch"], decisions["committed"]))
        at = self.by_time.first(group, begin)
        there = self.by_time.holds(at, group) & (self.by_time.time(at) <= end)
        return self.by_time.rows(at, there)


class SentMarkers:
    """What markers some producers were sent, of a log that has many rows from before all times that are asked for."""

    def __init__(self, audit: PartitionAudit, producers: NDArray[np.int64]) -> None:
        self._audit = audit
        self._producers = producers
        self._ended: tuple[int, EndedRows] | None = None  # since a time

    def since(
        self, producers: NDArray[np.int64], epochs: NDArray[np.int64], times: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say whether there is a marker of each epoch not from before a time (ms), and whether the last is a COMMIT."""
        if not len(times):
            return np.zeros(0, bool), np.zeros(0, bool)
        since = int(cut(times.min()))
        if self._ended is None or since < self._ended[0]:
            since = since if self._ended is None else -NEVER  # at most twice
            self._ended = since, EndedRows(self._audit, self._producers, since)
        ended = self._ended[1]
        last = ended.last_since(producers, epochs, times)
        there, kind = last >= 0, ended.rows["marker_type"]
        return there, there & (kind[np.where(there, last, 0)] == fold.COMMIT) if len(kind) else there


def kinds(epoch: NDArray[np.int64], committed: NDArray[np.int64] | NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return numbers for markers of an epoch, COMMIT or ABORT."""
    return epoch * 2 + committed


def is_sole(decisions: Columns) -> NDArray[np.bool_]:
    """Say which decisions' epochs are theirs alone: transaction.version 2, or an abort by the coordinator."""
    sole: NDArray[np.bool_] = (decisions["data_epoch"] != NONE) & (decisions["epoch"] > decisions["data_epoch"])
    return sole


def bounds(decisions: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and last times (ms) at which each own marker may have been written, if clocks are equal."""
    sole, until = is_sole(decisions), decisions["until"]
    begin = np.where(sole, 0, cut(decisions["started"]))
    end = np.where(sole | (until == NONE), NEVER, cut(until) - 1)
    return begin, end


# Markers that another replica of a partition still has, while this log has lost them.


class ReplicaMarkers(NamedTuple):
    """For each of some decisions the number of the first replica with its own marker, -1 for none, and its offset."""

    replicas: Sequence[PartitionAudit]
    replica: NDArray[np.int64]
    offset: NDArray[np.int64]

    @classmethod
    def of(cls, replicas: Sequence[PartitionAudit], decisions: Columns) -> ReplicaMarkers:
        """Look for the markers of decisions in replicas."""
        found = cls(replicas, np.full(len(decisions), -1, np.int64), np.full(len(decisions), -1, np.int64))
        for number, replica in enumerate(replicas):
            ended = EndedRows(replica, decisions["producer_id"])
            rows = ended.first_within(decisions)
            new = (rows >= 0) & (found.replica < 0)
            found.replica[new] = number
            found.offset[new] = ended.rows["marker_offset"][rows[new]]
        return found

    def words(self, decision: int, *, committed: bool) -> str:
        """Name the replica that still has a decision's marker, as the end of a message; nothing where none has."""
        if self.replica[decision] < 0:
            return ""
        replica = self.replicas[self.replica[decision]]
        return "".join(map(str, in_replica_words(replica, self.offset[decision], committed=committed)))

    def cut_off(self, audit: PartitionAudit) -> NDArray[np.bool_]:
        """Say which markers are in a replica that an unclean election left behind: they never come to a log."""
        cut = np.zeros(len(self.replica), bool)
        for number, replica in enumerate(self.replicas):
            fork = fork_of(audit, replica) if (self.replica == number).any() else None
            if fork is not None and fork[1] > fork[2]:
                cut |= (self.replica == number) & (self.offset >= fork[0])
        return cut


_Offsets = TypeVar("_Offsets")


def in_replica_words(replica: PartitionAudit, offset: _Offsets, *, committed: bool) -> list[str | _Offsets]:
    """Name a replica that still has a lost marker, as the parts of the end of a message."""
    how = "COMMIT" if committed else "ABORT"
    return [
        f" The replica {replica.directory.log} still has its {how} marker, at offset ", offset, ". Save that copy: its"
        " broker truncates it when it follows the leader again.",
    ]  # fmt: skip
