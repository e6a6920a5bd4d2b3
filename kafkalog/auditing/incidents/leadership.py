"""Who led a partition when: the times without a leader, and the elections of replicas that were not in sync."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafkalog.auditing.incidents.incident import Event, Row
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import iso

__all__ = ["Leaderless", "Unclean", "last_led", "leader_at", "leaderless_at", "leaderless_now", "unclean_elections"]


class Leaderless(NamedTuple):
    """A time (ms) without a leader; `until` is None if it goes on, `leader` led before."""

    since: int
    until: int | None
    leader: int | None
    row: Row

    def event(self) -> Event:
        """Say when it began."""
        lost = "" if self.leader is None else f": broker {self.leader} had led it"
        until = "" if self.until is None else f", until {iso(self.until)}"
        what = f"{TopicPartition.of(self.row)} had no leader from here on{until}{lost}."
        return Event(self.since, "broker", self.row["log"], self.row["offset"], what)

    def before(self, decision: Row, what: str) -> Event:
        """Say when it began, and how long before a decision, which `what` names."""
        event, early = self.event(), decision["last_update_timestamp_ms"] - self.since
        return event._replace(what=f"{event.what} {what} came {early} ms later.")


class Unclean(NamedTuple):
    """An election of a replica that was not in sync: the row of ``leadership`` that it began, among the others."""

    row: Row
    number: int
    rows: Sequence[Row]

    @property
    def before(self) -> Iterator[Row]:
        """Yield the partition's states before, newest first."""
        return (self.rows[at] for at in range(self.number - 1, -1, -1))

    @property
    def leader(self) -> int:
        """Return the broker that was elected."""
        return int(self.row["leader"])

    @property
    def last_in_sync(self) -> Row | None:
        """Return the partition's newest state with a leader before."""
        return last_led(self.rows[: self.number])


def leader_at(rows: Sequence[Row], time: int) -> Row | None:
    """Return the state that a partition was in at a time (ms), None where no row reaches back to it."""
    at = bisect_right(rows, time, key=lambda row: row["since_ms"]) - 1
    return rows[at] if at >= 0 else None


def last_led(rows: Sequence[Row]) -> Row | None:
    """Return the newest state of a partition with a leader: in a cluster that was stopped none has one any more."""
    return next((row for row in reversed(rows) if row["leader"] is not None), None)


def leaderless_at(rows: Sequence[Row], time: int) -> Leaderless | None:
    """Return the time without a leader that a moment (ms) is in."""
    at = bisect_right(rows, time, key=lambda row: row["since_ms"]) - 1
    return _around(rows, at) if at >= 0 else None


def leaderless_now(rows: Sequence[Row]) -> Leaderless | None:
    """Return the time without a leader that the metadata ends with."""
    return _around(rows, len(rows) - 1) if rows and rows[-1]["until_ms"] is None else None


def _around(rows: Sequence[Row], at: int) -> Leaderless | None:
    if rows[at]["leader"] is not None:
        return None
    first = last = at
    while first and rows[first - 1]["leader"] is None:
        first -= 1
    while last + 1 < len(rows) and rows[last + 1]["leader"] is None:
        last += 1
    leader = rows[first - 1]["leader"] if first else None
    return Leaderless(rows[first]["since_ms"], rows[last]["until_ms"], leader, rows[first])


def unclean_elections(rows: Sequence[Row]) -> Iterator[Unclean]:
    """Yield the elections of replicas that were not in sync, oldest first.

    A broker that led before and is elected again has all that it had written: nothing is lost.
    """
    leader = None
    for number, row in enumerate(rows):
        if row["change"] == "unclean-election" and row["leader"] not in (None, leader):
            yield Unclean(row, number, rows)
        leader = leader if row["leader"] is None else row["leader"]
