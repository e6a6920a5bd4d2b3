"""Segments that belong to another partition, and what follows from one damage: one finding, the rest are notes.

A segment belongs to another partition where its batches are, byte for byte, those of a segment there, or fill a gap
there from end to end; but only where something in its own partition shows that it does not fit: two partitions may have
been written alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kafkalog.auditing.partition import PartitionAudit, located, offset_range
from kafkalog.findings import Finding, Severity

__all__ = ["Content", "Log", "settle"]

# Codes that a foreign segment causes at its neighbours and side files.
_FOLLOWS: Final = frozenset(
    {
        "checkpoint-ahead", "checkpoint-wrong", "index-mismatch", "leader-epoch-decreasing", "leader-epochs-mismatch",
        "log-cut-short", "offset-gap-lost", "offset-gap-unexplained", "offset-not-increasing", "offset-outside-segment",
        "sequence-broken", "snapshot-mismatch", "time-index-mismatch", "txn-index-mismatch",
    }
)  # fmt: skip
# Codes that make a segment a suspect: a root checkpoint may be wrong by itself.
_DOUBTS: Final = _FOLLOWS - {"checkpoint-ahead", "checkpoint-wrong"} | {"segment-foreign"}
# Codes that one wrong field outside the CRC causes.
_FIELDS: Final = {
    "base-offset-wrong": _FOLLOWS - {"leader-epoch-decreasing"} | {"offset-overflow", "segment-foreign"},
    "leader-epoch-wrong": frozenset({"leader-epoch-below-none", "leader-epoch-decreasing", "leader-epochs-mismatch"}),
}
_OF_LOG: Final = frozenset(
    {
        "checkpoint-ahead",
        "checkpoint-wrong",
        "leader-epochs-mismatch",
        "log-cut-short",
        "sequence-broken",
        "snapshot-mismatch",
    }
)
_OF_GAP: Final = ("offset-gap-lost", "offset-gap-unexplained")


@dataclass(frozen=True, slots=True)
class Content:
    """A segment's batches: a checksum of their CRCs, their number, their offsets and producers."""

    file: str
    fingerprint: int
    batches: int
    first_offset: int | None
    last_offset: int | None
    producers: frozenset[int]


@dataclass(slots=True)
class Log:
    """A log with its segments' contents and its findings."""

    partition: PartitionAudit
    contents: list[Content]
    findings: list[Finding]

    @property
    def name(self) -> tuple[str, int]:
        """Return topic and partition."""
        return self.partition.directory.topic, self.partition.directory.partition


def settle(logs: Sequence[Log]) -> None:
    """Report foreign segments in `logs`, which are one node's, and make notes of what follows from another finding."""
    for log in logs:
        fields = _fields(log)
        log.findings = [_beside_field(finding, fields) for finding in log.findings]
    for log, content in _suspects(logs):
        home = _home_of(log, content, logs)
        if home is None:
            continue
        directory = log.partition.directory
        log.findings = [
            finding
            for finding in log.findings
            if not (finding.code == "segment-foreign" and _stem(finding.file) == _stem(content.file))
        ]
        told = Finding.of("segment-foreign", content.file, home, offset=content.first_offset, certainty="proved")
        log.findings.insert(0, located(told, directory))
    for copy, finding in _alike(logs):
        copy.findings.append(finding)
    for log in logs:
        foreign = {_stem(f.file) for f in log.findings if f.code == "segment-foreign" and f.severity > Severity.NOTE}
        cuts = {finding.offset for finding in log.findings if finding.code == "log-cut-short"}
        log.findings = [_as_note(finding, log, foreign, cuts) for finding in log.findings]
        if any(finding.code == "leader-epoch-decreasing" for finding in log.findings):
            # The batches' order shows it already, the checkpoint only confirms it.
            log.findings = [_lowered(finding, "leader-epochs-mismatch") for finding in log.findings]


def _fields(log: Log) -> list[tuple[str, set[tuple[str, int | None]]]]:
    """List the findings about fields outside the CRC, with the places where they show: the batch and the next one."""
    files = [content.file for content in log.contents]
    found: list[tuple[str, set[tuple[str, int | None]]]] = []
    for finding in log.findings:
        if finding.code in _FIELDS:
            at, end = finding.position or 0, (finding.position or 0) + (finding.length or 0)
            number = files.index(finding.file)
            following = files[number + 1] if number + 1 < len(files) else finding.file
            found.append((finding.code, {(finding.file, at), (finding.file, end), (following, 0)}))
    return found


def _alike(logs: Sequence[Log]) -> list[tuple[Log, Finding]]:
    """Find segments of two partitions with the same batches where nothing shows which of them is the copy."""
    told = {finding.file for log in logs for finding in log.findings if finding.code == "segment-foreign"}
    first: dict[tuple[int, int], tuple[Log, Content]] = {}
    found = []
    for log, content in ((one, content) for one in logs for content in one.contents if content.batches > 1):
        other_log, other = first.setdefault((content.fingerprint, content.batches), (log, content))
        if other_log.name == log.name or told & {content.file, other.file}:
            continue
        message = (
            f"its {content.batches} batches are also in {other.file}, and no available file shows where they belong"
        )
        finding = Finding.of("segments-alike", content.file, message, offset=content.first_offset)
        found.append((log, located(finding, log.partition.directory)))
    return found


def _stem(file: str) -> str:
    return os.path.basename(file).partition(".")[0]


def _suspects(logs: Iterable[Log]) -> Iterator[tuple[Log, Content]]:
    """Yield the segments with batches, of logs in which something does not fit."""
    for log in logs:
        odd = [finding for finding in log.findings if finding.severity > Severity.NOTE and finding.code in _DOUBTS]
        for number, content in enumerate(log.contents):
            following = _stem(log.contents[number + 1].file) if number + 1 < len(log.contents) else None
            if content.batches and any(_bears_on(finding, content, following, log) for finding in odd):
                yield log, content


def _bears_on(finding: Finding, content: Content, following: str | None, log: Log) -> bool:
    """Say whether a segment may have caused a finding: about its files, the next one's start, or the whole log."""
    stem = _stem(finding.file)
    own = {_stem(other.file) for other in log.contents}
    if stem == _stem(content.file) or finding.file.endswith(".snapshot") or stem not in own:
        return True
    return stem == following and not finding.position


def _home_of(log: Log, content: Content, logs: Sequence[Log]) -> str | None:
    """Say where a segment belongs, None where no other partition has a place for it."""
    for other in logs:
        if other.name == log.name:
            continue
        name = f"{other.name[0]}-{other.name[1]}"
        for theirs in other.contents:
            if theirs.fingerprint == content.fingerprint and theirs.batches == content.batches:
                return f"its {content.batches} batches are those of {name}: {theirs.file} has the same batches"
        known = frozenset(other.partition.producers["producer_id"].tolist())
        if not content.producers & known:
            continue
        for gap in other.partition.gaps:
            if (gap.first_offset, gap.last_offset) == (content.first_offset, content.last_offset):
                missing = offset_range(gap.first_offset, gap.last_offset)
                return f"its batches fill the gap of {name} at {missing}, and its producers write there"
    return None


def _lowered(finding: Finding, code: str) -> Finding:
    return finding._replace(severity=Severity.NOTE) if finding.code == code else finding


def _beside_field(finding: Finding, fields: Sequence[tuple[str, set[tuple[str, int | None]]]]) -> Finding:
    """Make a note of what follows from a batch's wrong field."""
    if finding.severity is Severity.NOTE:
        return finding
    for code, places in fields:
        stems = {_stem(file) for file, _ in places}
        of_log = finding.code in _OF_LOG or (_stem(finding.file) in stems and not finding.file.endswith(".log"))
        whole = finding.code == "segment-foreign" and _stem(finding.file) in stems
        if finding.code in _FIELDS[code] and (whole or of_log or (finding.file, finding.position) in places):
            return finding._replace(severity=Severity.NOTE)
    return finding


def _as_note(finding: Finding, log: Log, foreign: set[str], cuts: set[int | None]) -> Finding:
    """Make a note of what follows from a foreign segment, or from one that ends too early."""
    if finding.severity is Severity.NOTE:
        return finding
    if finding.code in _OF_GAP and finding.offset in cuts:
        return finding._replace(severity=Severity.NOTE)
    if finding.code not in _FOLLOWS:
        return finding
    stems = [_stem(content.file) for content in log.contents]
    for number, content in enumerate(log.contents):
        following = stems[number + 1] if number + 1 < len(stems) else None
        if stems[number] in foreign and _bears_on(finding, content, following, log):
            return finding._replace(severity=Severity.NOTE)
    return finding
