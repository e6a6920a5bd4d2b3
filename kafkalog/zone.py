"""Times for eyes: ISO-8601 in UTC, or in another time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC as _UTC
from datetime import datetime, tzinfo
from typing import Final

from kafkalog.quantities import iso

__all__ = ["TIMES", "UTC", "Zone"]

TIMES: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

_MINUTE_MS: Final = 60_000

_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: UTC by default, with `local` the machine's own."""

    zone: tzinfo | None = None
    local: bool = False

    @property
    def _is_utc(self) -> bool:
        return self.zone is None and not self.local

    def time(self, time_ms: int) -> str:
        """Write a time in ms, or its number if no calendar has it."""
        written = iso(time_ms)
        return written if self._is_utc or written.startswith("@") else self._written(written)

    def prose(self, text: str) -> str:
        """Write the times of a sentence, which are in UTC, in this zone."""
        return text if self._is_utc else TIMES.sub(lambda found: self._written(found[0]), text)

    def offsets(self, first_ms: int, last_ms: int) -> list[tuple[int, int]]:
        """Return how many minutes this zone is ahead of UTC, each with the time (ms) from which on it holds.

        For a program that has no table of zones. Changes are found to the minute; the first one is `first_ms`.
        """
        found = [(first_ms, self._ahead(first_ms))]
        if self._is_utc:
            return found
        for at in range(first_ms, last_ms, _DAY_MS):
            low, high = at, min(at + _DAY_MS, last_ms)
            if (ahead := self._ahead(high)) == found[-1][1]:
                continue
            while high - low > _MINUTE_MS:
                middle = (low + high) // 2
                low, high = (low, middle) if self._ahead(middle) == ahead else (middle, high)
            found.append((high // _MINUTE_MS * _MINUTE_MS, ahead))
        return found

    def _ahead(self, time_ms: int) -> int:
        ahead = datetime.fromtimestamp(time_ms / 1000, _UTC).astimezone(self.zone).utcoffset()
        return 0 if ahead is None or self._is_utc else round(ahead.total_seconds() / 60)

    def _written(self, written: str) -> str:
        try:
            moment = datetime.fromisoformat(written).replace(tzinfo=_UTC).astimezone(self.zone)
        except (ValueError, OverflowError):  # an id that only looks like a time; a time after the zone's year 9999
            return written
        return moment.isoformat(timespec="milliseconds")


UTC: Final = Zone()
