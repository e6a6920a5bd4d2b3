"""A value of the metadata with the time for which it applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafkalog.log.moment import Moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Span", "SpanTimes"]


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


class SpanTimes(NamedTuple):
    """From when on many values applied, and until when those did that have ended."""

    since: NDArray[np.int64]
    offset: NDArray[np.int64]
    has_ended: NDArray[np.bool_]
    until: NDArray[np.int64]
    until_offset: NDArray[np.int64]

    @classmethod
    def of(cls, spans: Sequence[Span]) -> SpanTimes:
        """Take those of spans."""
        rows = [(one.since, one.offset, one.until or 0, one.until_offset or 0) for one in spans]
        since, offset, until, until_offset = np.array(rows, np.int64).reshape(-1, 4).T
        has_ended = np.array([one.until is not None and one.until_offset is not None for one in spans], np.bool_)
        return cls(since, offset, has_ended, until, until_offset)

    def held_at(self, moment: Moment) -> NDArray[np.bool_]:
        """Say which were in force at a moment."""
        is_over = self.has_ended & moment.hold(self.until_offset, self.until)
        found: NDArray[np.bool_] = moment.hold(self.offset, self.since) & ~is_over
        return found
