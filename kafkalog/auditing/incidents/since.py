"""Since when an incident is, or until when, and whose clock says so: a broker's, a producer's, or two bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkalog.quantities import iso

__all__ = ["Since"]


class Since(NamedTuple):
    """A time (ms) and whose clock it is; with `latest` it is some time from the one to the other."""

    time: int
    clock: str
    latest: int | None = None

    @property
    def words(self) -> str:
        """Say when it was, as sentences do."""
        if self.latest is not None:
            return f"some time between {iso(self.time)} and {iso(self.latest)}"
        by = " by the producer's own clock" if self.clock == "producer" else ""
        return f"{iso(self.time)}{by}"

    @classmethod
    def of_brokers(cls, times: Iterable[int | None]) -> Since | None:
        """Return the earliest of some times that brokers wrote, None of none."""
        first = min((time for time in times if time is not None), default=None)
        return None if first is None else cls(first, "broker")

    @classmethod
    def bounded(cls, time: int | None, low: int | None, high: int | None) -> Since | None:
        """Return a transaction's first time: the producer's own, or the bounds that brokers' times give it.

        These are the times of the markers around it; before the first one it is the partition's creation, after the
        last one the newest time of all. They count where the producer's clock has no time, or one outside of them.
        """
        if time is not None and (low is None or low <= time) and (high is None or time <= high):
            return cls(time, "producer")
        if low is None or high is None:
            return None
        return cls(min(low, high), "broker", max(low, high))

    @classmethod
    def earliest(cls, times: Iterable[Since]) -> Since | None:
        """Return the earliest of some times, None of none; it is no later than any of them."""
        every = sorted(times, key=lambda since: since.time)
        if not every or every[0].latest is None:
            return every[0] if every else None
        return every[0]._replace(latest=min(one.time if one.latest is None else one.latest for one in every))
