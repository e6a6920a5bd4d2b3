"""A segment as a row of the table ``segments``."""

from __future__ import annotations

from typing import Any

from kafkalog.audit.partition.scan import LogName, SegmentScan
from kafkalog.findings import Severity

__all__ = ["segment_row"]


def segment_row(of: LogName, scan: SegmentScan) -> tuple[Any, ...]:
    """Make what one pass over a segment found a row."""
    stretch, findings = scan.stretch, scan.findings
    return (
        of.log, of.topic, of.partition, scan.segment.path, scan.segment.base_offset,
        scan.segment.size, stretch.first_offset, stretch.last_offset, stretch.batches, stretch.records,
        stretch.control_records, scan.transactions, scan.oldest, stretch.newest,
        sum(extent.length for extent in scan.damaged), sum(finding.severity > Severity.NOTE for finding in findings),
    )  # fmt: skip
