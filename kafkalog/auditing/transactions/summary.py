"""An audit in a few lines: the verdict, who blocks which partition, what to look at, and the exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkalog.auditing.transactions.audit_result import Audit, Reused
from kafkalog.auditing.transactions.judging import LogAudit
from kafkalog.columns.table import NONE
from kafkalog.exit_status import NOT_ALL
from kafkalog.findings import Finding, Severity
from kafkalog.narrowing import EVERYTHING, Narrowing
from kafkalog.quantities import many
from kafkalog.unread import leaves_complete

__all__ = ["Blocker", "LogSummary", "Summary"]


class Blocker(NamedTuple):
    """The transaction that the last stable offset of a log can't pass."""

    first_offset: int
    producer_id: int
    transactional_id: str | None
    state: str
    since_ms: int


class LogSummary(NamedTuple):
    """A log summed up: a row of the table ``partitions``, and what the totals count.

    `states` counts transactions with data, `gaps` are counted by kind, `serious` are findings above a note.
    `epochs` are its batches' leader epochs, each with its first offset. `spoken_for` says that another replica of the
    partition is the one that consumers read.
    """

    log: str
    topic: str
    partition: int
    cluster_id: str | None
    node_id: str | None
    topic_id: str | None
    log_start_offset: int
    local_log_start_offset: int
    highest_remote_offset: int | None
    log_end_offset: int
    high_watermark: int | None
    last_stable_offset: int
    segments: int
    size: int
    batches: int
    records: int
    control_records: int
    states: Counter[str]
    open: int
    gaps: Counter[str]
    serious: int
    unidentified: int
    spoken_for: bool
    blocker: Blocker | None
    epochs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, log: LogAudit) -> LogSummary:
        """Sum up a log's audit."""
        partition, directory = log.partition, log.partition.directory
        first = log.verdicts.first_open()
        blocker = None
        # Of a narrowed audit the first open transaction may be another one than what blocks the log.
        if first is not None and partition.is_held_by(first.row["first_offset"]):
            row = first.row
            since = row["min_timestamp"] if row["min_timestamp"] != NONE else row["max_timestamp"]
            blocker = Blocker(row["first_offset"], row["producer_id"], first.transactional_id, first.state, since)
        serious = 0
        if log.findings:
            serious = sum(one.severity > Severity.NOTE for one in log.findings)
        return cls(
            directory.log, directory.topic, directory.partition, log.node.cluster_id, log.node.node_id,
            directory.topic_id, partition.log_start_offset, min(directory.local_start_offset, partition.log_end_offset),
            None if directory.tier is None else directory.tier.highest_before(partition.log_end_offset),
            partition.log_end_offset,
            directory.checkpoints.get("high_watermark"), partition.last_stable_offset, len(directory.segments),
            directory.size, partition.batches, partition.records, partition.control_records, log.verdicts.counts(),
            0 if first is None else first.number, partition.gaps.counts(),
            serious, log.unidentified, log.judged.spoken_for,
            blocker,
            partition.epochs,
        )  # fmt: skip

    def with_share(self, other: LogSummary) -> LogSummary:
        """Join the summary of another share of the same log's producers.

        The oldest open transaction of all holds the last stable offset back, so the least of the answers is the log's.

        As ProducerStateManager.firstUnstableOffset: that of the oldest one.
        """
        blockers = [one.blocker for one in (self, other) if one.blocker is not None]
        return self._replace(
            last_stable_offset=min(self.last_stable_offset, other.last_stable_offset),
            states=self.states + other.states,
            open=self.open + other.open,
            serious=self.serious + other.serious,
            unidentified=self.unidentified + other.unidentified,
            blocker=min(blockers, key=lambda blocker: blocker.first_offset, default=None),
        )

    @property
    def behind(self) -> int:
        """Return how many offsets the last stable offset is before the log's end."""
        return self.log_end_offset - self.last_stable_offset


@dataclass(slots=True)
class Summary:
    """An audit summed up. `findings` are counted by code and severity, `refused` inputs could not be read at all."""

    logs: list[LogSummary] = field(default_factory=list)
    findings: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    refused: list[Finding] = field(default_factory=list)
    narrowing: Narrowing = EVERYTHING
    reused: Reused = field(default_factory=Reused)

    @classmethod
    def of(cls, audit: Audit) -> Summary:
        """Sum up an audit."""
        summary = cls([LogSummary.of(log) for cluster in audit.clusters for log in cluster.logs])
        summary.refuse(audit.refused)
        summary.narrowing = audit.narrowing
        summary.reused = audit.reused
        for cluster in audit.clusters:
            for node in cluster.nodes:
                summary.count(node.findings)
            summary.count(cluster.findings)
            for log in cluster.logs:
                summary.count(log.findings)
        return summary

    def count(self, findings: Iterable[Finding]) -> None:
        """Count findings."""
        self.findings.update((finding.code, finding.severity) for finding in findings)

    def refuse(self, inputs: Iterable[Finding]) -> None:
        """Count inputs that could not be read at all."""
        self.refused += inputs
        self.count(self.refused)

    @property
    def complete(self) -> bool:
        """Say whether all could be read."""
        return all(leaves_complete(code) for code, _ in self.findings)

    @property
    def unread(self) -> str | None:
        """Say what could not be read, None where all was."""
        if self.refused:
            return f"{many(len(self.refused), 'input')} could not be read"
        return None if self.complete else NOT_ALL

    def scope(self) -> list[str]:
        """Say what it is about, and what was read for it, where that is not all."""
        return [
            words for words in (f"only {self.narrowing.words()}" * bool(self.narrowing), self.reused.words()) if words
        ]

    def blocked(self) -> Iterator[tuple[LogSummary, Blocker]]:
        """Yield the log of each partition whose last stable offset is before its end, and what blocks it."""
        for log in self.logs:
            if not log.spoken_for and log.behind > 0 and log.blocker is not None:
                yield log, log.blocker

    def totals(self) -> str:
        """Return one line of totals."""
        gaps: Counter[str] = Counter()
        for log in self.logs:
            for kind, number in log.gaps.items():
                gaps[kind] += number
        parts = [
            many(len(self.logs), "log"),
            many(sum(log.batches for log in self.logs), "batch", "batches"),
            many(sum(log.records for log in self.logs), "record"),
            many(gaps.total(), "gap") + _parts(gaps),
        ]
        if unidentified := sum(log.unidentified for log in self.logs if not log.spoken_for):
            parts.append(f"atomicity: {many(unidentified, 'transaction')} not checkable")
        return ", ".join(parts)


def _parts(counts: Counter[str]) -> str:
    """List the parts of a count, the largest first; equal ones in the order of their names."""
    words = (f"{count} {name}" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    return f" ({', '.join(words)})" if counts else ""
