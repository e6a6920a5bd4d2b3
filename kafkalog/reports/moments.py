"""When a transaction was under way, from its own times: for drawings, which need a begin and an end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["FIRST_MS", "LAST_MS", "is_time", "span_of"]

FIRST_MS: Final = 1_262_304_000_000  # 2010-01-01; Kafka's first release is from 2011
LAST_MS: Final = 2_208_988_800_000  # 2040-01-01


def is_time(timestamp_ms: int | None) -> bool:
    """Say whether a time can be believed: some producers write seconds, microseconds, or nothing."""
    return timestamp_ms is not None and FIRST_MS <= timestamp_ms < LAST_MS


def span_of(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return when a row of ``transactions`` began and ended, in ms, or None where no time of it can be believed.

    The marker's time is a broker's, the data's is the producer's own: a begin after the marker is a producer's clock
    that is ahead, and becomes the marker's time.
    """
    times = [row[name] for name in ("first_timestamp_ms", "last_timestamp_ms") if is_time(row[name])]
    marker = row["marker_timestamp_ms"]
    if is_time(marker):
        return min([*times, marker]), marker
    return (times[0], times[-1]) if times else None
