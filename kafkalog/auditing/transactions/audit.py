"""What an audit found: clusters, each with its logs, its coordinator's records and its findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafkalog.auditing.topics import Metadata
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.reused import Reused
from kafkalog.findings import Finding
from kafkalog.log.logdir import LogDirectory, Segment
from kafkalog.narrowing import EVERYTHING, Narrowing
from kafkalog.txn.coordinator import Coordinator

__all__ = ["Audit", "ClusterAudit"]


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
