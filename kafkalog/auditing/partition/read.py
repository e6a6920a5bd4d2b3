"""One log read by itself: its segments scanned, the scans joined."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.joined import join
from kafkalog.auditing.partition.scan import SegmentScan, scan_segment
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.watch import watch

__all__ = ["ReadLog", "read_log"]


class ReadLog(NamedTuple):
    """A log's facts, and the scans of its segments that were joined to them."""

    partition: PartitionAudit
    scans: list[SegmentScan]


def read_log(directory: PartitionDirectory, policies: Collection[str | None], limits: Limits | None = None) -> ReadLog:
    """Scan a partition's segments one after the other and join them; `policies` as in ``join``."""
    watch().begin(directory.size, len(directory.segments))
    scans = []
    for segment in directory.segments:
        scans.append(scan_segment(directory, segment, limits))
        watch().found(scans[-1].findings)
    return ReadLog(join(directory, scans, policies), scans)
