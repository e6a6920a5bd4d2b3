"""How the times in topics lie to the brokers' clocks, and what retention, time indexes and searches make of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from kafkalog.auditing.partition import misread
from kafkalog.auditing.space.clocks import LEAST_MS, ahead_of_markers, ahead_where_told
from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.segment_facts import SegmentFacts
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.quantities import by_number
from kafkalog.tables.space_tables import TOPIC_CLOCKS

__all__ = ["TopicClock", "clocks_of_log", "topic_clock_rows"]

_BY_BROKERS: Final = (METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC)


@dataclass(slots=True)
class TopicClock:
    """Segments of a topic whose times are wrong in the same way, or right; `ahead_ms` is None where nothing tells."""

    topic: str
    clock: str
    compared_with: str
    retention_ms: int
    partitions: int
    segments: int
    newest_ms: int
    ahead_ms: int | None

    def add(self, other: TopicClock) -> None:
        """Take in the same clock of another partition, or of another segment."""
        self.segments += other.segments
        self.newest_ms = max(self.newest_ms, other.newest_ms)
        if other.ahead_ms is not None and (self.ahead_ms is None or abs(other.ahead_ms) > abs(self.ahead_ms)):
            self.ahead_ms = other.ahead_ms

    def row(self) -> tuple[Any, ...]:
        """Return its row."""
        retention, time_index, searches = _MADE_OF[self.clock]
        return TOPIC_CLOCKS.of(
            topic=self.topic, clock=self.clock, compared_with=self.compared_with, ahead_ms=self.ahead_ms,
            partitions=self.partitions, segments=self.segments, newest_ms=self.newest_ms,
            retention="deletes nothing by time (retention.ms=-1)" if self.retention_ms < 0 else retention,
            time_index=time_index, searches=searches,
        )  # fmt: skip


def clocks_of_log(log: LogSpace) -> list[TopicClock]:
    """Return what a partition's segments say; brokers themselves write the times of internal topics."""
    if log.directory.topic in _BY_BROKERS:
        return []
    of_markers = ahead_of_markers(log)
    found: dict[str, TopicClock] = {}
    for one in log.segments:
        clock = _of_segment(log, one, of_markers)
        if clock is not None and clock.clock in found:
            found[clock.clock].add(clock)
        elif clock is not None:
            found[clock.clock] = clock
    return list(found.values())


def _of_segment(log: LogSpace, one: SegmentFacts, of_markers: int | None) -> TopicClock | None:
    """Compare a segment's times with what was meant, and with brokers': of appends, of later markers, of the file.

    A file's time is that of the last write, or later in a copy: only a time after it is wrong.
    """
    if one.largest < 0:
        return None
    word, compared, ahead = "in-time", "file-times", None
    if (odd := misread(one.largest)) is not None:
        word, compared = odd.unit or "zero", "unit"
        ahead = None if odd.meant < 0 else one.largest - odd.meant
    elif one.append_times.appended and not one.append_times.created:
        word, compared = "append-time", "append-times"
    elif (of_appends := _ahead_of_appends(one)) is not None:
        word, compared, ahead = "ahead" if of_appends > 0 else "behind", "append-times", of_appends
    elif of_markers is not None:
        word, compared, ahead = "ahead" if of_markers > 0 else "behind", "markers", of_markers
    elif one.modified >= 0 and one.largest - max(one.modified, one.scan.folded.newest_broker) > LEAST_MS:
        word, ahead = "ahead", one.largest - one.modified
    return TopicClock(log.directory.topic, word, compared, log.settings.retention_ms, 1, 1, one.largest, ahead)


def _ahead_of_appends(one: SegmentFacts) -> int | None:
    """Return how far producers' times are ahead of times that brokers appended beside them, below 0 behind."""
    times = one.append_times
    return times.ahead_ms if times.ahead_ms > LEAST_MS else ahead_where_told(min(times.behind_ms, 0), times.later)


def topic_clock_rows(clocks: Iterable[TopicClock]) -> list[tuple[Any, ...]]:
    """Return a row for each topic and clock, those that are wrong first."""
    found: dict[tuple[str, str], TopicClock] = {}
    for one in clocks:
        known = found.setdefault((one.topic, one.clock), one)
        if known is not one:
            known.add(one)
            known.partitions += one.partitions
    order = sorted(found.values(), key=lambda one: (one.clock in _RIGHT, by_number(one.topic), one.clock))
    return [one.row() for one in order]


_RIGHT: Final = ("append-time", "in-time")
_PAST: Final = (
    "deletes closed segments at its next run, however new they are",
    "has times of 1970: a consumer that seeks to any later time finds none of them",
    "--since leaves them out, --until has them all",
)
_FUTURE: Final = (
    "keeps them until the clock is corrected and they are gone; retention.bytes deletes them",
    "has times after all others: a consumer that seeks to a time after the records before begins at them",
    "--until leaves them out, --since has them all",
)
_MADE_OF: Final = {
    "seconds": _PAST,
    "zero": _PAST,
    "microseconds": _FUTURE,
    "nanoseconds": _FUTURE,
    "ahead": (
        "keeps them longer, by as much as they are ahead",
        "has their time: a consumer that seeks to any time up to it begins at them",
        "--until leaves them out up to that time",
    ),
    "behind": (
        "deletes them earlier, by as much as they are behind",
        "has their time: a consumer that seeks to a later one passes them, though they were written after it",
        "--since leaves them out from that time on",
    ),
    "append-time": ("as it is set, by brokers' clocks: producers' do not matter", "as it is meant", "as it is meant"),
    "in-time": ("as it is set", "as it is meant", "as it is meant"),
}
