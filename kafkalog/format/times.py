"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from kafkalog.quantities import plausible

__all__ = ["iso", "iso_marked"]

_LAST_MS: Final = 253_402_300_799_999  # 9999-12-31


def iso(timestamp: int) -> str:
    """Write a time in ms as ISO-8601 in UTC, or as a number if no calendar has it."""
    if not 0 <= timestamp <= _LAST_MS:
        return f"@{timestamp}"
    return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_marked(timestamp: int) -> str:
    """Write a time in ms as people read it; one outside of 2010 to 2040 is marked, as a clock that was wrong."""
    return iso(timestamp) if plausible(timestamp) else f"{iso(timestamp)} (a wrong clock: not between 2010 and 2040)"
