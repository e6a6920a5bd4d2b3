"""The result of a verification: files, logs, replicas and findings, as rows and in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkalog.auditing.starting import AnswerWithReasons, Restorable
from kafkalog.auditing.topics import CommittedGroups, Metadata
from kafkalog.auditing.transactions import Summary
from kafkalog.auditing.verification.accounting import FileFacts
from kafkalog.auditing.verification.foreign import Log
from kafkalog.findings import Finding, Severity
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.quantities import many
from kafkalog.segments.file_rows import DistinctIds, finding_row
from kafkalog.tables.verify_tables import LOGS

__all__ = ["LogFacts", "Verification", "VerifySummary"]

_BYTES: Final = ("size", "good", "damaged", "preallocated", "trailing")


@dataclass(slots=True)
class LogFacts(Log):
    """A log with its segments' files."""

    node: LogDirectory
    segments: list[FileFacts]


@dataclass(slots=True)
class Verification:
    """What was found in all inputs.

    `refused` are inputs that could not be read at all, `replicas`, `mirrors` and `restorable` rows of the tables
    of that name, `clusters` the log directories of each cluster with its metadata and groups. `answer` is yes or no
    with reasons, where it was asked whether brokers can go on from the files.
    """

    files: list[FileFacts] = field(default_factory=list)
    logs: list[LogFacts] = field(default_factory=list)
    refused: list[Finding] = field(default_factory=list)
    replicas: list[tuple[object, ...]] = field(default_factory=list)
    mirrors: list[tuple[object, ...]] = field(default_factory=list)
    restorable: list[tuple[object, ...]] = field(default_factory=list)
    answer: AnswerWithReasons | None = None
    clusters: list[tuple[Sequence[LogDirectory], Metadata | None, CommittedGroups]] = field(default_factory=list)
    reported: dict[tuple[Any, ...], tuple[str | None, Finding]] = field(default_factory=dict)

    def tell(self, findings: Iterable[Finding], node: str | None = None) -> None:
        """Take findings about a broker's files; the same finding of two checks counts once, as severe as either."""
        for finding in findings:
            place = (finding.code, finding.file, finding.position, finding.offset, finding.last_offset,
                     finding.producer_id, finding.message)  # fmt: skip
            known = self.reported.setdefault(place, (node, finding))[1]
            if finding.severity > known.severity:
                self.reported[place] = node, finding

    def refuse(self, inputs: Iterable[Finding]) -> None:
        """Take which inputs could not be read at all."""
        self.refused += [one for one in inputs if one not in self.refused]
        self.tell(self.refused)

    def take_restorable(self, found: Restorable, refused: Iterable[Finding]) -> None:
        """Take whether brokers can go on from the files, and what could not be read for that."""
        self.refuse(refused)
        self.restorable, self.answer = found

    def findings(self) -> Iterator[Finding]:
        """Yield every finding once."""
        for _, finding in self.reported.values():
            yield finding

    def summary(self) -> VerifySummary:
        """Sum up."""
        summary = VerifySummary(files=self.files, refused=list(self.refused), answer=self.answer)
        summary.count(self.findings())
        return summary

    def rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of one of the verification's tables."""
        if table == "findings":
            distinct = DistinctIds()
            for node, finding in self.reported.values():
                yield distinct(finding_row(finding, node))
        elif table == "files":
            for facts in self.files:
                yield facts.row()
        elif table == "extents":
            for facts in self.files:
                yield from facts.extent_rows()
        elif table == "replicas":
            yield from self.replicas
        elif table == "mirrors":
            yield from self.mirrors
        elif table == "restorable":
            yield from self.restorable
        else:
            for log in self.logs:
                yield _log_row(log)


@dataclass(slots=True)
class VerifySummary(Summary):
    """A verification summed up; with an `answer` the files' own findings do not decide the exit status."""

    files: list[FileFacts] = field(default_factory=list)
    answer: AnswerWithReasons | None = None

    def totals(self) -> str:
        """Return one line of totals."""
        sizes = {name: sum(getattr(facts, name) for facts in self.files) for name in _BYTES}
        parts = [
            many(len(self.files), "file"),
            many(sum(facts.batches or 0 for facts in self.files), "batch", "batches"),
            many(sum(facts.records or 0 for facts in self.files if facts.batches is not None), "record"),
            f"{sizes['size']} bytes: " + ", ".join(f"{sizes[name]} {name}" for name in _BYTES[1:]),
        ]
        return ", ".join(parts)


def _log_row(log: LogFacts) -> tuple[Any, ...]:
    directory = log.partition.directory

    def total(name: str) -> int:
        return sum(getattr(facts, name) or 0 for facts in log.segments)

    return LOGS.of(
        log=directory.log,
        topic=directory.topic,
        partition=directory.partition,
        cluster_id=log.node.cluster_id,
        node_id=log.node.node_id,
        topic_id=directory.topic_id,
        log_start_offset=log.partition.log_start_offset,
        log_end_offset=log.partition.log_end_offset,
        segments=len(log.segments),
        size_bytes=total("size"),
        batches=total("batches"),
        records=total("records"),
        damaged_bytes=total("damaged"),
        findings=sum(finding.severity > Severity.NOTE for finding in log.findings),
    )
