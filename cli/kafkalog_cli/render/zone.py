"""Times for eyes: ISO-8601 in UTC, or in another time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC as _UTC
from datetime import datetime, tzinfo
from typing import Final

from kafkalog.quantities import iso

__all__ = ["UTC", "Zone"]

_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


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
        return text if self._is_utc else _TIME.sub(lambda found: self._written(found[0]), text)

    def _written(self, written: str) -> str:
        try:
            moment = datetime.fromisoformat(written)
        except ValueError:  # an id that only looks like a time
            return written
        return moment.replace(tzinfo=_UTC).astimezone(self.zone).isoformat(timespec="milliseconds")


UTC: Final = Zone()
