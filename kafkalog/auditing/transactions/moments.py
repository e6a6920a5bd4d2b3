"""What files that were copied while brokers ran show of an open transaction; ``certainty.py`` says what that proves.

A marker, a record of an internal topic and a batch with LogAppendTime have the time of a broker. They say how far each
log goes on, and between which times a producer's batch was appended. A transaction hangs for certain where the state
partition goes on past its first batch, so that it holds every registration from before, and the log goes on past the
coordinator's newest word on the producer, so that it holds every marker that follows from it. A quiet file goes on as
far as the copy can have taken before the newest time of all. A copy knows nothing of a transaction where its state
partition ends before the first batch, or its log before the coordinator's word.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.certainty import NEVER, Seen
from kafkalog.columns.sorted_rows import group_begins, runs
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import MARKER_COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Bracket", "Moments", "Read"]


def _time(times: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(times, -NEVER, NEVER)


class Bracket(NamedTuple):
    """The times (ms) between which first batches were appended, by the markers before and after each.

    `after` is later than any time where no marker follows.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]


class Read(NamedTuple):
    """How far the inputs were read for each transaction, in times (ms): brokers' times unless said otherwise.

    `newest` is the newest time in any input. `state` is that of the transactional id's state partition, -1 where it may
    be any partition and one of them is empty; `said` is the coordinator's newest word on the producer, `due` its newest
    word from which a marker follows that is not here, `decided` its newest decision that lists the partition; -1 where
    there is none. A copy takes at most `copy_ms`, a transaction at most `max_timeout_ms`. `never_comes` says whose
    marker can't come any more. The log is whole up to `log`, whatever it has itself.
    """

    newest: int
    state: NDArray[np.int64]
    said: NDArray[np.int64]
    due: NDArray[np.int64]
    decided: NDArray[np.int64]
    copy_ms: int
    max_timeout_ms: int
    never_comes: NDArray[np.bool_]
    log: int = -1


class _MarkerOfPart:
    """A marker of each part of a log: its offset, and its time (ms)."""

    def __init__(self, parts: int, offset: int) -> None:
        self.offsets = np.full(parts, offset, np.int64)
        self.times = np.zeros(parts, np.int64)

    def put(
        self, parts: NDArray[np.intp], offsets: NDArray[np.int64], times: NDArray[np.int64],
        better: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        """Have other markers for the parts for which they are better."""
        self.offsets[parts[better]], self.times[parts[better]] = offsets[better], times[better]


def _is_one(asked: NDArray[np.int64], offsets: NDArray[np.int64]) -> bool:
    """Say whether all offsets are in one part between those that are asked for."""
    low, high = np.searchsorted(asked, [offsets.min(), offsets.max()], "right").tolist()
    return bool(low == high)


class Moments:
    """The brokers' times in one log."""

    def __init__(self, audit: PartitionAudit) -> None:
        self._audit = audit

    def bracket(self, first_offsets: NDArray[np.int64]) -> Bracket:
        """Return the times of the markers around offsets: few are asked for in a log of many markers."""
        asked, of_row = np.unique(first_offsets, return_inverse=True)
        number = len(asked)
        # The markers below the first offset, from it on, from the second one on, …: of each stretch its first and last.
        first, last = _MarkerOfPart(number + 1, NEVER), _MarkerOfPart(number + 1, NONE)
        for rows in chain(self._audit.transactions.blocks(*MARKER_COLUMNS), [self._audit.others]):
            ended = np.flatnonzero(rows["marker_offset"] != NONE)
            if not len(ended):
                continue
            offsets, times = rows["marker_offset"][ended], _time(rows["marker_timestamp"][ended])
            if _is_one(asked, offsets):  # nearly all blocks: what is asked for is at a log's end, or in few places
                order = np.array([offsets.argmin(), len(offsets) - 1 - offsets[::-1].argmax()])
            else:
                order = np.argsort(offsets, kind="stable")
            offsets, times = offsets[order], times[order]
            part = np.searchsorted(asked, offsets, "right")
            begins, stops = runs(group_begins(part))
            ends = stops - 1
            first.put(part[begins], offsets[begins], times[begins], offsets[begins] < first.offsets[part[begins]])
            last.put(part[ends], offsets[ends], times[ends], offsets[ends] >= last.offsets[part[ends]])
        there, places = last.offsets != NONE, np.arange(number + 1)
        before = np.maximum.accumulate(np.where(there, places, -1))[:-1]
        after = np.minimum.accumulate(np.where(there, places, number + 1)[::-1])[::-1][1:]
        times_before, times_after = np.append(last.times, -1), np.append(first.times, NEVER)
        return Bracket(times_before[before][of_row], times_after[after][of_row])

    def seen(self, rows: Columns, read: Read) -> list[Seen]:
        """Return what the files show of open transactions."""
        newest, log_any = min(read.newest, NEVER), self._audit.newest
        log = max(self._audit.newest_broker, read.log)
        bracket = self.bracket(rows["first_offset"])
        times = zip(
            read.state.tolist(), _time(read.said).tolist(), read.due.tolist(), _time(read.decided).tolist(),
            _time(rows["min_timestamp"]).tolist(), _time(rows["max_timestamp"]).tolist(), bracket.before.tolist(),
            bracket.after.tolist(), read.never_comes.tolist(), strict=True,
        )  # fmt: skip
        return [
            Seen(newest, state, said, due, decided, log, log_any, begins, last, before, after, read.copy_ms,
                 read.max_timeout_ms, never_comes)
            for state, said, due, decided, begins, last, before, after, never_comes in times
        ]  # fmt: skip
