"""Timestamps that are no milliseconds: seconds, microseconds, nanoseconds or 0, and what brokers make of them.

Producers stamp records themselves where message.timestamp.type is CreateTime, and a broker takes the number as
milliseconds. Retention and the time index go by a segment's largest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.findings import Finding
from kafkalog.quantities import iso, many, plausible

__all__ = ["Misread", "made_of", "misread", "segments_of", "unit_findings"]

_YEAR_MS: Final = 31_556_952_000
_ROUNDED: Final = 1_000  # years, where they are many


class Misread(NamedTuple):
    """A timestamp that a broker reads as another time: its unit, and the time (ms) that was meant, -1 for none."""

    timestamp: int
    unit: str
    meant: int

    @property
    def is_past(self) -> bool:
        """Say whether it is before the time that was meant."""
        return self.timestamp <= self.meant or self.meant < 0

    @property
    def reads(self) -> str:
        """Say what brokers read, and what was meant."""
        if self.meant < 0:
            return f"are 0: brokers read {iso(0)}"
        if self.is_past:
            return f"are in {self.unit}: brokers read {iso(self.timestamp)} where {iso(self.meant)} was meant"
        years = round((self.timestamp - self.meant) / _YEAR_MS)
        ahead = f"{years // _ROUNDED * _ROUNDED:,}" if years > _ROUNDED else str(years)
        return f"are in {self.unit}: brokers read a time some {ahead} years ahead where {iso(self.meant)} was meant"


def misread(timestamp: int) -> Misread | None:
    """Return what a segment's largest timestamp is if it is no time of Kafka's, but is one in another unit.

    An old date does not count: the number has to be a time from 2010 to 2040 in the other unit.
    """
    if timestamp == 0:
        return Misread(0, "", -1)
    for unit, meant in (
        ("seconds", timestamp * 1_000),
        ("microseconds", timestamp // 1_000),
        ("nanoseconds", timestamp // 1_000_000),
    ):
        if timestamp > 0 and plausible(meant):
            return Misread(timestamp, unit, meant)
    return None


def unit_findings(scans: Sequence[SegmentScan]) -> Iterator[Finding]:
    """Yield what retention makes of segments whose largest timestamp is in another unit: the past, and the future."""
    found = [
        (number, scan, one)
        for number, scan in enumerate(scans)
        if not plausible(scan.folded.newest) and (one := misread(scan.folded.newest)) is not None
    ]
    for is_past in (True, False):
        some = [(number, scan, one) for number, scan, one in found if one.is_past is is_past]
        if some:
            worst = max(some, key=lambda row: row[2].timestamp)[2]
            closed = sum(number < len(scans) - 1 for number, _, _ in some)
            yield Finding.of(
                "timestamps-too-old" if is_past else "timestamps-too-new",
                some[0][1].segment.path,
                f"the timestamps of {segments_of(closed, len(some))} {worst.reads}: {made_of(worst)}",
                offset=some[0][1].segment.base_offset,
                last_offset=max(scan.folded.last_offset or 0 for _, scan, _ in some),
                found=worst.timestamp,
            )


def segments_of(closed: int, number: int) -> str:
    """Name so many segments, all but at most one of them closed."""
    parts = [many(closed, "closed segment")] * bool(closed) + ["the active segment"] * (number > closed)
    return " and ".join(parts)


def made_of(one: Misread) -> str:
    """Say what retention and searches by time make of it."""
    if one.is_past:
        return (
            "retention.ms deletes them at its next run, however new they are, and a search by time finds them only from"
            " 1970 on"
        )
    return (
        "retention.ms never deletes them until the clock is corrected and they are gone (retention.bytes would), and a"
        " search by time takes them for later than all others"
    )
