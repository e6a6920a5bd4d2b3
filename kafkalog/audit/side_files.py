"""Side files held against the log that they were made from."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalog.audit.partition import PartitionAudit
from kafkalog.findings import Finding
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, Segment

__all__ = ["SideFiles", "compare_node", "compare_partition", "left_over"]


class SideFiles:
    """One segment's indexes, compared while the segment is read."""

    def __init__(self, directory: PartitionDirectory, segment: Segment, limits: Limits | None = None) -> None: ...

    def chunk(self, chunk: Chunk) -> None: ...

    def finish(self) -> Iterator[Finding]:
        return iter(())


def compare_partition(directory: PartitionDirectory, audit: PartitionAudit) -> Iterator[Finding]:
    return iter(())


def compare_node(node: LogDirectory) -> Iterator[Finding]:
    return iter(())


def left_over(directory: PartitionDirectory) -> Iterator[Finding]:
    return iter(())
