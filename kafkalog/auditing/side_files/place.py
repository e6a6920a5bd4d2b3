"""A segment among those of its partition, and the side files of its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from kafkalog.auditing.partition import located
from kafkalog.findings import Finding, Where
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment

__all__ = ["SegmentFiles"]


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """A segment of a partition's directory."""

    directory: PartitionDirectory
    segment: Segment

    def beside(self, suffix: str) -> str:
        """Return the path of the segment's file with another suffix."""
        return self.segment.path.removesuffix(".log") + suffix

    @property
    def is_last(self) -> bool:
        """Say whether no segment of the partition follows."""
        segments = self.directory.segments
        return not segments or segments[-1].path == self.segment.path

    @property
    def is_closed(self) -> bool:
        """Say whether the broker has cut its indexes to their size and written their last entry."""
        return not self.is_last or (self.directory.clean_shutdown and not self.directory.suffix)

    def finding(self, code: str, suffix: str, message: str, **where: Unpack[Where]) -> Finding:
        """Make a finding about the segment's file with a suffix."""
        return located(Finding.of(code, self.beside(suffix), message, **where), self.directory)
