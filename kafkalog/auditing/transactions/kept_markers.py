"""Markers that another replica of a partition still has, while this log has lost them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of
from kafkalog.auditing.transactions.ended import EndedRows
from kafkalog.columns.named import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KeptMarkers", "kept_by"]


class KeptMarkers(NamedTuple):
    """For each of some decisions the number of the first replica with its own marker, -1 for none, and its offset."""

    replicas: Sequence[PartitionAudit]
    replica: NDArray[np.int64]
    offset: NDArray[np.int64]

    @classmethod
    def of(cls, replicas: Sequence[PartitionAudit], decisions: Columns) -> KeptMarkers:
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
        return "".join(map(str, kept_by(replica, self.offset[decision], committed=committed)))

    def cut_off(self, audit: PartitionAudit) -> NDArray[np.bool_]:
        """Say which markers are in a replica that an unclean election left behind: they never come to a log."""
        cut = np.zeros(len(self.replica), bool)
        for number, replica in enumerate(self.replicas):
            fork = fork_of(audit, replica) if (self.replica == number).any() else None
            if fork is not None and fork[1] > fork[2]:
                cut |= (self.replica == number) & (self.offset >= fork[0])
        return cut


_Offsets = TypeVar("_Offsets")


def kept_by(replica: PartitionAudit, offset: _Offsets, *, committed: bool) -> list[str | _Offsets]:
    """Name a replica that still has a lost marker, as the parts of the end of a message."""
    how = "COMMIT" if committed else "ABORT"
    return [
        f" The replica {replica.directory.log} still has its {how} marker, at offset ", offset, ". Save that copy: its"
        " broker truncates it when it follows the leader again.",
    ]  # fmt: skip
