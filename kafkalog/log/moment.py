"""A moment in a log, given by an offset or by a time."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Moment"]


class Moment(NamedTuple):
    """What was written up to an offset, or up to a time in ms, both included; without either, all of it."""

    offset: int | None = None
    timestamp: int | None = None

    def holds(self, offset: int, timestamp: int) -> bool:
        """Say whether a record was there at this moment."""
        if self.offset is not None and offset > self.offset:
            return False
        return self.timestamp is None or timestamp <= self.timestamp
