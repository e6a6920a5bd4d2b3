"""What is known of one partition's directory before it is judged."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kafkalog.auditing.partition import PartitionAudit, join
from kafkalog.auditing.space.segment_facts import SegmentFacts, read_segment
from kafkalog.auditing.space.settings import BrokerSettings, Settings, TopicSettings
from kafkalog.auditing.starting import NextStart, start_of_log
from kafkalog.auditing.topics import Metadata
from kafkalog.certainty import certainty_of
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.moving import PAUSES, list_again, movement
from kafkalog.unread import NOT_READ, is_not_read

__all__ = ["LogSpace", "SpaceCause", "known_space", "next_start_of", "read_space"]


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
    def unreadable(self) -> list[Finding]:
        """Return the findings about files that could not be read."""
        return [finding for finding in self.facts.findings if is_not_read(finding)]

    @property
    def log_bytes(self) -> int:
        return self.directory.size

    @property
    def all_bytes(self) -> int:
        return sum(identity.size for identity in self.directory.files.values() if identity is not None)


def read_space(node: LogDirectory, directory: PartitionDirectory, settings: Settings, limits: Limits) -> LogSpace:
    """Read a partition's directory; each segment once, or again where a broker took its files away meanwhile."""
    directory = first = directory.local()
    for pause in PAUSES:
        time.sleep(pause)
        log = known_space(node, directory, settings)
        if directory.suffix:
            break
        log.segments = [read_segment(directory, segment, limits) for segment in directory.segments]
        log.facts = join(directory, [one.scan for one in log.segments], _policies(log.settings))
        try:
            if not log.unreadable or movement(node, directory) is None:
                break
        except UnreadableError:  # as the findings say
            break
        directory = list_again(node, directory).local()
    if first.segments and not directory.segments and exists(directory.log):  # a broker rolls before it deletes
        gone = directory.finding(NOT_READ, directory.log, "its segments went away while they were read")
        log.facts = log.facts.with_findings(gone)
    return log


def known_space(node: LogDirectory, directory: PartitionDirectory, settings: Settings) -> LogSpace:
    """Return what is known of a partition's directory before its segments are read."""
    of_topic = settings.of_topic(directory.topic, node.node_id, was_cleaned="cleaner" in directory.checkpoints)
    facts = join(directory, [], _policies(of_topic))
    return LogSpace(node, directory, of_topic, settings.of_broker(node.node_id), facts, [])


def next_start_of(log: LogSpace, metadata: Metadata | None, limits: Limits) -> NextStart:
    """Say what a start makes of a partition's directory."""
    scans = {one.segment.path: one.scan for one in log.segments}
    return start_of_log(log.node, log.directory, (log.facts, scans), metadata, limits)


def _policies(settings: TopicSettings) -> set[str | None]:
    return {",".join(sorted(settings.policies))}


# What holds the bytes of a partition's directory, in one row.


@dataclass(slots=True)
class SpaceCause:
    """One cause with its evidence. `bytes` would be freed without it; None where only the records' keys would tell.

    `is_pending` says that nothing holds them: the broker would take them now. `is_damaged` that the cleaner can't read
    a batch there; `could_end_it` that such a batch could end the cleaner's thread. `since_cleanable` is when a pending
    one became that (ms). `incident` is the id of its incident, once that is known.
    """

    cause: str
    bytes: int | None
    evidence: str
    next_step: str | None = None
    since_ms: int | None = None
    since_offset: int | None = None
    certainty: str = certainty_of()
    is_pending: bool = False
    is_damaged: bool = False
    could_end_it: bool = False
    since_cleanable: int | None = None
    incident: str | None = None

    @property
    def weight(self) -> int:
        """Return the bytes to compare causes by."""
        return 1 if self.bytes is None else self.bytes
