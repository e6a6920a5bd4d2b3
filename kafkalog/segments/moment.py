"""A moment in a log, given by an offset or by a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalog.errors import UnsupportedError
from kafkalog.files.watch import watch
from kafkalog.quantities import Ago, When, at_newest, iso, plausible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Moment"]


class Moment(NamedTuple):
    """All records up to and including an offset, or a time; without either, all records."""

    offset: int | None = None
    timestamp: When | None = None

    def among(self, newest: int, end: int, topic: str) -> Moment:
        """Return the moment in a topic's logs of known newest time (ms) and highest end; a relative one is a time then.

        Raises UnsupportedError for an offset after all ends that is a time in seconds.
        """
        if self.offset is not None and self.offset >= end and plausible(self.offset * 1000):
            ms = self.offset * 1000
            raise UnsupportedError(
                f"offset {self.offset} is after the end of every log ({end}); as a time in seconds it is {iso(ms)},"
                f" which in milliseconds is {ms}"
            )
        if self.timestamp is None:
            return self
        found = at_newest(self.timestamp, newest)
        ends = f"; {topic} ends at {iso(newest)}" if newest >= 0 else ""
        watch().tell(f"the state is that of {iso(found)} (UTC){ends}")
        return Moment(timestamp=found)

    def holds(self, offset: int, timestamp: int) -> bool:
        """Say whether a record was written by this moment."""
        if self.offset is not None and offset > self.offset:
            return False
        assert not isinstance(self.timestamp, Ago)
        return self.timestamp is None or timestamp <= self.timestamp

    def hold(self, offsets: NDArray[Any], timestamps: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which records were written by this moment."""
        import numpy as np  # whoever only names a moment needs none

        assert not isinstance(self.timestamp, Ago)
        found = np.ones(len(offsets), np.bool_)
        for limit, column in ((self.offset, offsets), (self.timestamp, timestamps)):
            if limit is not None:
                found &= column <= limit
        return found
