"""What an audit found: clusters, each with its logs, its coordinator's records and its findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kafkalog.auditing.topics import Metadata
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.findings import Finding
from kafkalog.folds.coordinator import Coordinator
from kafkalog.log_dirs.log_directory import LogDirectory, Segment
from kafkalog.narrowing import EVERYTHING, Narrowing
from kafkalog.quantities import iso

__all__ = ["Audit", "ClusterAudit", "Reused"]


# Which segments an audit scanned itself, and which it took as earlier scans found them.


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


@dataclass(frozen=True, slots=True)
class ClusterAudit:
    """The audit of one cluster; `findings` are those about no single log, `metadata` is None without a metadata log.

    `now` is the time (ms) that decides what is overdue: the newest that a broker wrote, if no other was given.
    """

    cluster_id: str | None
    nodes: list[LogDirectory]
    logs: list[LogAudit]
    coordinator: Coordinator
    findings: list[Finding]
    metadata: Metadata | None = None
    now: int = -1


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found in all inputs, or in those that a narrowing left.

    `unreadable` are inputs that could not be read at all. `reused` says which segments were scanned for it,
    `sha256` are the checksums of those whose bytes were all read.
    """

    clusters: list[ClusterAudit]
    unreadable: list[str] = field(default_factory=list)
    narrowing: Narrowing = EVERYTHING
    reused: Reused = field(default_factory=Reused)
    sha256: dict[Segment, str | None] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """Yield every finding, cluster by cluster, log by log."""
        for cluster in self.clusters:
            for node in cluster.nodes:
                yield from node.findings
            yield from cluster.findings
            for log in cluster.logs:
                yield from log.findings
