"""A group's commits over time: a line for each partition, and where the line breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.topics.commits import COMMITTED, STATES, CommitKeys, Commits, GroupStep
from kafkalog.columns.sorted_rows import groups
from kafkalog.columns.table import NONE, Columns
from kafkalog.quantities import by_number
from kafkalog.tables.declared import Table
from kafkalog.tables.internal_tables import COMMIT_EVENTS, COMMIT_LINES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.topics.lag import LagColumns

__all__ = ["CommitHistory"]

_COLUMNS: Final = ("key", "offset", "time", "committed", "record")
_COMMITTED: Final = STATES.index(COMMITTED)
_TRUNCATED: Final = ("history_end_offset", "out_of_range_since_ms")
_LEAST_MS: Final = 60_000  # the shortest silence between two commits that is an event
_TIMES: Final = 10  # as long as usual
_USUAL: Final = 3  # intervals, without which nothing is usual
_WIDTH: Final = 40  # marks of a line
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_NOTHING: Final = "·"


class CommitHistory:
    """All commits of a log that count, with the deletions among them, in its order."""

    def __init__(self, keys: CommitKeys) -> None:
        self._keys = keys
        self._parts: list[Columns] = []

    def take(self, commits: Commits) -> None:
        """Take in the next commits of the log."""
        at = np.flatnonzero((commits["state"] == _COMMITTED) & (commits["is_tombstone"] | (commits["offset"] >= 0)))
        record = commits["record"][at]
        self._parts.append(
            Columns({
                "key": commits["key"][at].astype(np.int64), "time": commits.records.timestamp[record],
                "offset": np.where(commits["is_tombstone"][at], NONE, commits["offset"][at]),
                "committed": commits["commit_timestamp"][at], "record": commits.records.offset[record],
            })
        )  # fmt: skip

    def rows(self, log: str, lag: LagColumns) -> Iterator[tuple[Table, tuple[Any, ...]]]:
        """Yield the lines, then the events of each, by group and partition; `lag` knows what was truncated."""
        every = Columns.concat(self._parts, _COLUMNS)
        if not len(every):
            return
        times = every["time"]
        span = int(times.min()), int(times.max())
        found = []
        for rows in groups(every["key"]):
            of_key = every.take(rows)
            where = self._where(int(of_key["key"][0]))
            found.append((where, of_key, sorted(self._events(where, of_key, lag), key=_moment)))
        found.sort(key=lambda one: (by_number(one[0]["group"]), by_number(one[0]["topic"]), one[0]["partition"]))
        for where, of_key, events in found:
            yield COMMIT_LINES, _line(where, of_key, span, len(events), log)
        for where, _, events in found:
            for event in events:
                yield COMMIT_EVENTS, COMMIT_EVENTS.of(**where, **event, log=log)

    def _where(self, key: int) -> dict[str, Any]:
        keys = self._keys
        return {
            "group": keys.groups.texts[keys.group[key]], "topic": keys.topics.texts[keys.topic[key]],
            "partition": int(keys.partition[key]),
        }  # fmt: skip

    def _events(self, where: dict[str, Any], commits: Columns, lag: LagColumns) -> Iterator[dict[str, Any]]:
        offset, time = commits["offset"], commits["time"]
        was, is_gone = offset[:-1], offset[1:] == NONE
        is_step = (was != NONE) & (is_gone | (offset[1:] < was))
        for at in np.flatnonzero(is_step).tolist():
            before, after = commits.take(slice(at, at + 2))
            now = None if after["offset"] == NONE else after["offset"]
            step = GroupStep(
                **where, was=before["offset"], offset=now, since=before["committed"], time=after["time"],
                record_offset=after["record"],
            )  # fmt: skip
            word = "went-back" if now is not None else "expired" if step.has_expired else "deleted"
            yield _event(word, after["time"], before["time"], step.was, now, after["record"])
        between = np.diff(time)
        usual = float(np.median(between)) if len(between) >= _USUAL else float("inf")
        is_long = (between >= max(_LEAST_MS, _TIMES * usual)) & (was != NONE) & ~is_gone
        for at in np.flatnonzero(is_long).tolist():
            yield _event(
                "silent", int(time[at + 1]), int(time[at]), int(offset[at]), int(offset[at + 1]),
                int(commits["record"][at + 1]),
            )  # fmt: skip
        of_log = Columns({name: lag(commits["key"][-1:].astype(np.intp))[name] for name in _TRUNCATED})
        [(end, since)] = of_log.tuples(*_TRUNCATED)
        if end != NONE:
            last = int(commits["record"][-1])
            yield _event("truncated", None if since == NONE else since, int(time[-1]), int(offset[-1]), end, last)


def _event(
    word: str, time: int | None, before: int, was: int, offset: int | None, record: int
) -> dict[str, Any]:  # fmt: skip
    return {
        "event": word, "time_ms": time, "before_ms": before, "offset_before": was, "offset": offset,
        "record_offset": record,
    }  # fmt: skip


def _moment(event: dict[str, Any]) -> tuple[bool, int]:
    """Order events by time; the one whose time nobody knows is the last."""
    return event["time_ms"] is None, event["time_ms"] or 0


def _line(
    where: dict[str, Any], commits: Columns, span: tuple[int, int], events: int, log: str
) -> tuple[Any, ...]:  # fmt: skip
    offset, time = commits["offset"], commits["time"]
    there = offset[offset != NONE]
    return COMMIT_LINES.of(
        **where, commits=len(there), first_ms=int(time[0]), last_ms=int(time[-1]),
        first_offset=int(there[0]) if len(there) else None, last_offset=None if offset[-1] == NONE else int(offset[-1]),
        lowest_offset=int(there.min()) if len(there) else None, highest_offset=int(there.max()) if len(there) else None,
        line=_drawn(offset, time, span), events=events, log=log,
    )  # fmt: skip


def _drawn(offset: NDArray[np.int64], time: NDArray[np.int64], span: tuple[int, int]) -> str:
    """Draw the newest offset at each of equal parts of the time that all lines have in common, by its height."""
    first, last = span
    at = [(one - first) * (_WIDTH - 1) // max(1, last - first) for one in time.tolist()]  # hostile times are far apart
    there = offset[offset != NONE]
    low, high = (int(there.min()), int(there.max())) if len(there) else (0, 0)
    marks = [_NOTHING] * _WIDTH
    for place, one in zip(at, offset.tolist(), strict=True):
        level = (one - low) * (len(_LEVELS) - 1) // max(1, high - low)
        marks[place] = "x" if one == NONE else _LEVELS[level]
    return "".join(marks)
