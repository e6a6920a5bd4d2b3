"""What files that were copied while brokers ran can know of an open transaction.

A marker, a record of an internal topic and a batch with LogAppendTime have the time of a broker. They say how far each
log goes on, and between which times a producer's batch was appended. A transaction hangs for certain where the state
partition goes on past its first batch, so that it holds every registration from before, and the log goes on past the
coordinator's newest word on the producer, so that it holds every marker that follows from it. A quiet file goes on as
far as the copy can have taken before the newest time of all. A copy knows nothing of a transaction where its state
partition ends before the first batch, or its log before the coordinator's word.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Bracket", "Known", "Moments", "Read"]

_NEVER: Final = 2**63 - 1


class Known(NamedTuple):
    """How certain it is that no marker ends a transaction.

    `too_early` says that one of the logs ends too early to know. `recent` says that a healthy broker may still have
    ended the transaction after the copy.
    """

    certainty: str
    too_early: bool
    recent: bool


class Bracket(NamedTuple):
    """The times (ms) between which a transaction's first batch was appended, by the markers before and after it.

    `after` is 2**63 - 1 where no marker follows.
    """

    before: int
    after: int

    def holds(self, timestamp: int) -> int:
        """Return a producer's own time, moved into the bracket."""
        return max(self.before, min(timestamp, self.after))


class Read(NamedTuple):
    """How far the inputs were read, in times (ms): brokers' times unless said otherwise.

    `newest` is the newest time in any input. `state` is that of the transactional id's state partition, -1 where it may
    be any partition and one of them is empty; `said` is the coordinator's newest word on the producer, `due` its newest
    word from which a marker follows that is not here, `decided` its newest decision that lists the partition; -1 where
    there is none. A copy takes at most `copy_ms`, a transaction at most `max_timeout_ms`.
    """

    newest: int
    state: int
    said: int
    due: int
    decided: int
    copy_ms: int
    max_timeout_ms: int


class Moments:
    """The brokers' times in one log."""

    def __init__(self, audit: PartitionAudit) -> None:
        self._audit = audit

    @cached_property
    def _markers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        offsets, times = (self._audit.transactions[name] for name in ("marker_offset", "marker_timestamp"))
        ended = offsets != NONE
        order = np.argsort(offsets[ended], kind="stable")
        return offsets[ended][order], times[ended][order]

    def bracket(self, offset: int) -> Bracket:
        """Return the times of the markers around an offset."""
        offsets, times = self._markers
        at = int(np.searchsorted(offsets, offset))
        return Bracket(
            int(times[at - 1]) if at else -1,
            int(times[at]) if at < len(times) else _NEVER,
        )

    def known(self, row: dict[str, int], read: Read) -> Known:
        """Say what is known of an open transaction in files that may be of different moments."""
        bracket = self.bracket(row["first_offset"])
        point = max(bracket.holds(row["max_timestamp"]), read.decided)
        recent = read.newest - point <= read.copy_ms + read.max_timeout_ms
        # However quiet a file is, it was copied at most `copy_ms` before the newest time of all.
        copied = -1 if recent else read.newest - read.copy_ms
        if max(read.state, copied) > bracket.after and max(self._audit.newest_broker, copied) > read.said:
            return Known("proved", too_early=False, recent=recent)
        if bracket.after == _NEVER and self._goes_on(row, read):
            return Known("proved", too_early=False, recent=recent)
        early = read.state < bracket.holds(row["min_timestamp"]) or self._audit.newest_broker < read.due
        return Known("unless-copied-while-running", too_early=early and recent, recent=recent)

    def _goes_on(self, row: dict[str, int], read: Read) -> bool:
        """Say whether both logs go on by producers' times, after more time than a copy takes.

        These are the only times in a log without markers after the transaction.
        """
        point = max(row["max_timestamp"], read.said)
        return self._audit.newest > point < read.state and read.newest - point > read.copy_ms
