"""A segment as a row of the table ``segments``."""

from __future__ import annotations

from typing import Any

from kafkalog.auditing.partition.scan import LogName, SegmentScan
from kafkalog.findings import Severity
from kafkalog.tables.audit import SEGMENTS

__all__ = ["segment_row"]


def segment_row(of: LogName, scan: SegmentScan) -> tuple[Any, ...]:
    """Make a row of one pass over a segment."""
    stretch, findings = scan.stretch, scan.findings
    return SEGMENTS.of(
        log=of.log,
        topic=of.topic,
        partition=of.partition,
        file=scan.segment.path,
        base_offset=scan.segment.base_offset,
        size_bytes=scan.segment.size,
        first_offset=stretch.first_offset,
        last_offset=stretch.last_offset,
        batches=stretch.batches,
        records=stretch.records,
        control_records=stretch.control_records,
        transactions=scan.transactions,
        first_timestamp_ms=scan.oldest,
        last_timestamp_ms=stretch.newest,
        damaged_bytes=sum(extent.length for extent in scan.damaged),
        findings=sum(finding.severity > Severity.NOTE for finding in findings),
    )
