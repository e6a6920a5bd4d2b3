"""Which segments an audit scanned itself, and which it took as earlier scans found them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kafkalog.format.times import iso

__all__ = ["Reused"]


@dataclass(frozen=True, slots=True)
class Reused:
    """Counts segments: `scanned` by this run, by an earlier run of the same audit that it `resumed`, by older audits.

    The scans of the latter are since `oldest_ms`, -1 without any; `hashed` says that the files' SHA-256 were compared.
    """

    scanned: int = 0
    resumed: int = 0
    taken: int = 0
    oldest_ms: int = -1
    hashed: bool = False

    def with_scan(self, scanned_ms: int, begun_ms: int) -> Reused:
        """Count one more segment, whose scan is of a time; -1 is now. The audit itself was begun at `begun_ms`."""
        if scanned_ms < 0:
            return Reused(self.scanned + 1, self.resumed, self.taken, self.oldest_ms, self.hashed)
        if scanned_ms >= begun_ms:
            return replace(self, resumed=self.resumed + 1)
        oldest = scanned_ms if self.oldest_ms < 0 else min(self.oldest_ms, scanned_ms)
        return replace(self, taken=self.taken + 1, oldest_ms=oldest)

    @property
    def segments(self) -> int:
        """Return the number of all segments."""
        return self.scanned + self.resumed + self.taken

    def words(self) -> str:
        """Say what was not read, and what is therefore not seen; empty where all was read."""
        if not self.taken:
            return ""
        which = f"{self.segments - self.taken:,} of {self.segments:,} segments were scanned"
        if self.hashed:
            return f"{which}; the SHA-256 of the others is that of earlier scans, since {iso(self.oldest_ms)}"
        return f"{which}; damage since {iso(self.oldest_ms)} in the others is not seen"

    def row(self) -> dict[str, Any]:
        """Return it for verdict.json."""
        return {
            "segments": self.segments,
            "scanned": self.scanned,
            "resumed": self.resumed,
            "taken": self.taken,
            "oldest_scan_ms": None if self.oldest_ms < 0 else self.oldest_ms,
        }
