"""What is known of one partition's directory before it is judged."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalog.auditing.partition import PartitionAudit, join
from kafkalog.auditing.space.segment_facts import SegmentFacts, read_segment
from kafkalog.auditing.space.settings import BrokerSettings, TopicSettings
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import LogDirectory, PartitionDirectory

__all__ = ["LogSpace", "read_space"]


@dataclass(slots=True)
class LogSpace:
    """A partition's directory with its facts and its settings; a directory that was put aside is not read."""

    node: LogDirectory
    directory: PartitionDirectory
    settings: TopicSettings
    broker: BrokerSettings
    facts: PartitionAudit
    segments: list[SegmentFacts]

    @property
    def active(self) -> SegmentFacts | None:
        """Return the segment that is written to."""
        return self.segments[-1] if self.segments else None

    @property
    def closed(self) -> list[SegmentFacts]:
        """Return all other segments."""
        return self.segments[:-1]

    @property
    def log_bytes(self) -> int:
        return self.directory.size

    @property
    def all_bytes(self) -> int:
        return sum(identity.size for identity in self.directory.files.values() if identity is not None)


def read_space(
    node: LogDirectory, directory: PartitionDirectory, settings: TopicSettings, broker: BrokerSettings, limits: Limits
) -> LogSpace:  # fmt: skip
    """Read a partition's directory; each segment once."""
    kept = () if directory.suffix else directory.segments
    segments = [read_segment(directory, segment, limits) for segment in kept]
    policies: set[str | None] = {",".join(sorted(settings.policies))}
    facts = (
        join(directory, [one.scan for one in segments], policies)
        if not directory.suffix
        else join(directory, [], policies)
    )
    return LogSpace(node, directory, settings, broker, facts, segments)
