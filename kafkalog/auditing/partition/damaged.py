"""Bytes of a log that are no whole batch, placed between the offsets around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from kafkalog.auditing.partition.damaged_bytes import DamagedBytes, DamagedExtents
from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity
from kafkalog.format.layout import RECORD_BATCH
from kafkalog.log.files import open_source

__all__ = ["placed"]


def placed(scans: Sequence[SegmentScan], *, running: bool) -> tuple[list[Finding], DamagedExtents]:
    """Return the findings of a partition's segments, and their damage with the offsets before it across segments.

    Zeros up to the end of a segment are damage unless it is the last one. The batch that a `running` broker was writing
    at the log's end is a note and no damage.
    """
    findings: list[Finding] = []
    damaged = DamagedExtents()
    last: int | None = None
    for number, scan in enumerate(scans):
        is_active = number == len(scans) - 1
        torn = {finding.position for finding in _torn(scan)} if is_active and running else set()
        findings += [
            found._replace(severity=Severity.NOTE)
            if found.code == "batch-truncated" and found.position in torn
            else found
            for found in scan.findings
        ]
        if scan.damaged:
            damaged.extend(DamagedExtents.of(scan.damaged).without(torn), last)
        if scan.zero_tail is not None:
            if is_active:
                findings.append(scan.zero_tail)
            else:
                zeros = _zeros(scan, scan.zero_tail)
                findings.append(zeros)
                before = last if scan.stretch.last_offset is None else scan.stretch.last_offset
                damaged.append(DamagedBytes(zeros.file, zeros.position or 0, zeros.length or 0, before))
        last = last if scan.stretch.last_offset is None else scan.stretch.last_offset
    return findings, damaged


def _zeros(scan: SegmentScan, tail: Finding) -> Finding:
    message = f"{tail.length} zero bytes at the end of a segment that is not the last one"
    return Finding.of("bytes-zero", scan.segment.path, message, position=tail.position, length=tail.length)


def _torn(active: SegmentScan) -> Iterator[Finding]:
    """Yield the batch that a broker was writing: its offset continues the log."""
    for finding in active.findings:
        if finding.code == "batch-truncated" and _goes_on(active, finding.position or 0):
            yield finding


def _goes_on(scan: SegmentScan, position: int) -> bool:
    """Say whether the written part of a batch's header has the next offset and a magic that exists."""
    last = scan.stretch.last_offset
    after = scan.segment.base_offset if last is None else last + 1
    if after < 0:  # no offset of a broker's
        return False
    try:
        source = open_source(scan.segment.path, max_bytes=scan.segment.size)
    except UnreadableError:  # it vanished since
        return False
    with closing(source):
        head = source.read(position, RECORD_BATCH.position("magic") + 1)
    goes_on = after.to_bytes(8, "big").startswith(head[:8])
    return goes_on and head[RECORD_BATCH.position("magic") :] in (b"", b"\0", b"\1", b"\2")
