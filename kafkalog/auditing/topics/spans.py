"""A value of the metadata with the time for which it applied."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkalog.log.moment import Moment

__all__ = ["Span"]


class Span(NamedTuple):
    """A value from one record up to another; `until` and `until_offset` are None while it applies."""

    value: Any
    since: int
    offset: int
    until: int | None = None
    until_offset: int | None = None

    def held_at(self, moment: Moment) -> bool:
        """Say whether it was in force at a moment."""
        if not moment.holds(self.offset, self.since):
            return False
        return self.until is None or self.until_offset is None or not moment.holds(self.until_offset, self.until)
