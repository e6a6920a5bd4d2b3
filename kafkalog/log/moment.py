"""A moment in a log, given by an offset or by a time."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Moment"]


class Moment(NamedTuple):
    """All records up to and including an offset, or a time in ms; without either, all records."""

    offset: int | None = None
    timestamp: int | None = None

    def holds(self, offset: int, timestamp: int) -> bool:
        """Say whether a record was written by this moment."""
        if self.offset is not None and offset > self.offset:
            return False
        return self.timestamp is None or timestamp <= self.timestamp
