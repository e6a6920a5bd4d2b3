"""What a start makes of one partition's directory, as the rows of the table of throws see it.

Each function is the condition of a row: it says how severe it is, and in a sentence what becomes of the log, or None
where it is not so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Severity
from kafkalog.quantities import iso, many

if TYPE_CHECKING:
    from kafkalog.auditing.partition import PartitionAudit
    from kafkalog.auditing.starting.next_start import NextStart
    from kafkalog.auditing.topics import Metadata

__all__ = [
    "Said",
    "StartedLog",
    "cut_off",
    "deleted",
    "emptied",
    "falls_back",
    "gets_no_leader",
    "has_other_name",
    "is_stray",
    "loads",
    "offline",
    "put_aside",
    "recovers",
    "torn_inside",
    "without_metadata",
]

Said = tuple[Severity | None, str]


class StartedLog(NamedTuple):
    """A partition's directory and what a start makes of it: `row` is its row of ``next_start``.

    `torn` says that its last segment ends in a torn batch, `zookeeper` that the metadata is there. `offline` is why the
    broker goes on without its log directory, `unserved` why nothing in that gets a leader.
    """

    facts: PartitionAudit
    start: NextStart
    row: Mapping[str, Any]
    metadata: Metadata | None
    torn: bool
    zookeeper: bool
    offline: str | None
    unserved: str | None

    @property
    def name(self) -> str:
        return f"{self.facts.directory.topic}-{self.facts.directory.partition}"

    @property
    def lost(self) -> str:
        """Say how many records a cut takes with it."""
        records = self.row["truncated_records"]
        return f", and with them {many(records, 'record')} in whole batches" * bool(records)


def deleted(log: StartedLog) -> Said | None:
    """The directory of a topic that was deleted."""
    is_so = log.facts.directory.suffix == "-delete"
    return (None, f"{log.name} was deleted before: the broker deletes the directory") if is_so else None


def put_aside(log: StartedLog) -> Said | None:
    """A directory with another suffix."""
    suffix = log.facts.directory.suffix
    return (Severity.NOTE, f"{log.name} with {suffix}: {log.start.does}") if suffix else None


def offline(log: StartedLog) -> Said | None:
    """One in a log directory without which the broker goes on."""
    return None if log.offline is None else (Severity.ERROR, f"{log.name} is offline: {log.offline}")


def gets_no_leader(log: StartedLog) -> Said | None:
    """One that controllers look for in another log directory."""
    if log.unserved is None or log.facts.directory.topic == METADATA_TOPIC:
        return None
    return Severity.ERROR, f"{log.name} gets no leader: {log.unserved}"


def without_metadata(log: StartedLog) -> Said | None:
    """One of a broker whose metadata is not here."""
    if log.metadata is not None or log.facts.directory.topic == METADATA_TOPIC or log.zookeeper:
        return None
    return Severity.WARNING, f"{log.name} becomes -stray, unless controllers elsewhere have its topic"


def has_other_name(log: StartedLog) -> Said | None:
    """One with the topic id of a topic of another name."""
    known = None if log.metadata is None else log.metadata.topic_of(log.facts.directory.topic_id or "")
    if known is None or known.name == log.facts.directory.topic:
        return None
    return Severity.NOTE, f"{log.name} is not used: its topic id is that of {known.name}"


def is_stray(log: StartedLog) -> Said | None:
    """A directory that the metadata does not have: a deleted topic's, or a newer one's."""
    if not log.start.is_stray or log.metadata is None:
        return None
    directory, facts, metadata, name = log.facts.directory, log.facts, log.metadata, log.name
    ids = metadata.ids.get(directory.topic)
    if directory.topic_id in metadata.topics or not directory.size:
        return Severity.NOTE, f"{name} becomes -stray: its topic or its replica was deleted"
    count = f" with offsets up to {log.row['log_end_offset']}"
    if not ids:
        why = f"the metadata does not have the topic {directory.topic}"
        return Severity.ERROR, f"{name}{count} becomes -stray and is not used: {why}"
    if directory.topic_id is None:
        instead = f"an empty {name} takes its place, and {many(facts.records, 'record')} are lost to consumers"
        lacks = "has no topic id" if "partition.metadata" in directory.files else "is missing"
        why = f"its partition.metadata {lacks}. Write it anew with the topic id {ids[-1]} before the start"
        return Severity.ERROR, f"{name}{count} becomes -stray, {instead}: {why}"
    made = metadata.topics[ids[-1]][-1].since
    if 0 <= max(facts.newest_broker, facts.newest) < made:
        return Severity.NOTE, f"{name} becomes -stray: its topic was deleted, and made again at {iso(made)}"
    why = f"it is of a deleted {directory.topic}, and the metadata has another one, with the topic id {ids[-1]}"
    does = "the broker begins that one's log, or copies it from its leader"
    return Severity.ERROR, f"{name}{count} becomes -stray and is not used: {why}; {does}"


def falls_back(log: StartedLog) -> Said | None:
    """A cleanly stopped log whose end the broker looks for from a wrong place on."""
    if not log.start.falls_back:
        return None
    gone = many(log.row["truncated_records"], "record")
    return Severity.ERROR, f"{log.name}: the broker {log.start.cut.says}, and {gone} after it are gone"


def torn_inside(log: StartedLog) -> Said | None:
    """A cleanly stopped log with a torn end, which nothing cuts off."""
    if not log.torn or not log.row["is_clean"]:
        return None
    after = "which stays after a clean stop: what is written next can't be read"
    return Severity.ERROR, f"{log.name} ends in a torn batch, {after}"


def emptied(log: StartedLog) -> Said | None:
    """A log whose start is after its end."""
    if not log.start.deletes_all:
        return None
    severity = Severity.ERROR if log.row["truncated_records"] else Severity.WARNING
    begins = f"as its checkpoint has the log's start {log.row['log_end_offset']}{log.lost}"
    return severity, f"all segments of {log.name} are deleted, {begins}"


def cut_off(log: StartedLog) -> Said | None:
    """A log that is recovered, and has damage or a torn end."""
    size = log.row["truncated_bytes"]
    if not size or not (log.facts.damaged or log.torn):
        return None
    severity = Severity.ERROR if log.row["truncated_records"] else Severity.WARNING
    return severity, f"{size:,} bytes of {log.name} are cut off at offset {log.row['log_end_offset']}{log.lost}"


def recovers(log: StartedLog) -> Said | None:
    """A log of which segments are read again."""
    return (None, f"{log.name}: the broker {log.start.does}") if log.row["recovered_segments"] else None


def loads(log: StartedLog) -> Said:
    """Any other log."""
    return None, f"{log.name}: the broker {log.start.does}"
