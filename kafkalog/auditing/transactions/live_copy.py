"""What files that were copied while brokers ran show of an open transaction; ``certainty.py`` says what that proves.

A marker, a record of an internal topic and a batch with LogAppendTime have the time of a broker. They say how far each
log goes on, and between which times a producer's batch was appended. A transaction hangs for certain where the state
partition goes on past its first batch, so that it holds every registration from before, and the log goes on past the
coordinator's newest word on the producer, so that it holds every marker that follows from it. A quiet file goes on as
far as the copy can have taken before the newest time of all. A copy knows nothing of a transaction where its state
partition ends before the first batch, or its log before the coordinator's word.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.certainty import NEVER, Seen, cut
from kafkalog.columns.sorted_rows import group_begins, runs
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import MARKER_COLUMNS, has_marker

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Moments", "Read"]


class Read(NamedTuple):
    """How far the inputs were read for each transaction, in times (ms): brokers' times unless said otherwise.

    `newest` is the newest time in any input. A copy takes at most `copy_ms`, a transaction at most `max_timeout_ms`. Up
    to `log` the log is whole, whatever it has itself. Of the columns of `each`, `state` is the newest time of the
    transactional id's state partition, -1 where it may be any partition and one of them is empty; `said` is the
    coordinator's newest word on the producer, `due` its newest word from which a marker follows that is not here,
    `decided` its newest decision that lists the partition; -1 where there is none. `never_comes` says that the
    marker can't come any more.
    """

    newest: int
    copy_ms: int
    max_timeout_ms: int
    each: Columns
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

    def bracket(self, first_offsets: NDArray[np.int64]) -> Columns:
        """Return the times (ms) of the last marker `before` and the first one `after` each of some first offsets.

        Between them the batch was appended. `after` is later than any time where no marker follows. Few are asked for
        in a log of many markers.
        """
        asked, of_row = np.unique(first_offsets, return_inverse=True)
        number = len(asked)
        # The markers below the first offset, from it on, from the second one on, …: of each stretch its first and last.
        first, last = _MarkerOfPart(number + 1, NEVER), _MarkerOfPart(number + 1, NONE)
        for rows in chain(self._audit.transactions.blocks(*MARKER_COLUMNS), [self._audit.others]):
            ended = np.flatnonzero(has_marker(rows))
            if not len(ended):
                continue
            offsets, times = rows["marker_offset"][ended], cut(rows["marker_timestamp"][ended])
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
        return Columns({"before": times_before[before][of_row], "after": times_after[after][of_row]})

    def seen(self, rows: Columns, read: Read) -> list[Seen]:
        """Return what the files show of open transactions."""
        newest, log_any = min(read.newest, NEVER), self._audit.newest
        log = max(self._audit.newest_broker, read.log)
        around, said, decided = self.bracket(rows["first_offset"]), read.each["said"], read.each["decided"]
        each: Iterable[dict[str, Any]] = read.each.with_columns({
            "said": cut(said), "decided": cut(decided), "begins": cut(rows["min_timestamp"]),
            "last": cut(rows["max_timestamp"]), "before": around["before"], "after": around["after"],
        })  # fmt: skip
        of_all: dict[str, Any] = {"newest": newest, "log": log, "log_any": log_any, "copy_ms": read.copy_ms,
                  "max_timeout_ms": read.max_timeout_ms}  # fmt: skip
        return [Seen(**of_all, **of_row) for of_row in each]
