"""What a broker does with a directory at its next start: LogLoader's and LogManager's order, from names and sizes.

After a clean stop it reads next to nothing. Else every segment from the one with the recovery point on is read whole, a
torn tail is cut off, and all after it is deleted. The metadata log is always recovered whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from kafkalog.auditing.partition import PartitionAudit, SegmentScan, read_log
from kafkalog.auditing.side_files import end_after_clean_stop
from kafkalog.auditing.topics import Metadata
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.kafka.batch import believed_counts
from kafkalog.kernel import buffers
from kafkalog.log_dirs.left_over import deleted_at_start, put_in_place
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment
from kafkalog.quantities import many
from kafkalog.segments.segment import possible_chunks
from kafkalog.tables.space_tables import NEXT_START

__all__ = ["NextStart", "start_of_log"]


class _Cut(NamedTuple):
    """What loading cuts off: bytes, the records in whole batches among them, and where the log ends then.

    `start` is the log's start where that is after its end: then all goes; else 0. `says` is what a broker says or does
    that does not find the end where the batches have it. `reached` is the number of the segment that is cut:
    later ones are deleted unread.
    """

    size: int
    records: int
    end: int
    start: int = 0
    says: str = ""
    reached: int | None = None


@dataclass(frozen=True, slots=True)
class NextStart:
    """What a start makes of a directory: a row of ``next_start``, and what the sentence in it says.

    `deletes_all` says that the log's start is after its end, so that all segments go; `is_stray` that the metadata does
    not give the broker this partition.
    """

    directory: PartitionDirectory
    node_id: str | None
    is_clean: bool
    recovered: Sequence[Segment]
    rebuilt: Sequence[Segment]
    cut: _Cut
    snapshot_bytes: int
    deleted_bytes: int
    is_stray: bool

    @property
    def deletes_all(self) -> bool:
        return self.cut.start > 0

    @property
    def falls_back(self) -> bool:
        """Say whether the broker takes an earlier end of the log than its batches have."""
        return bool(self.cut.says) and self.cut.size > 0

    @property
    def recovered_bytes(self) -> int:
        return sum(one.size for one in self.recovered)

    @property
    def does(self) -> str:
        """Say what the broker does."""
        recovered, rebuilt, cut = self.recovered, self.rebuilt, self.cut
        parts = [
            f"recovers {many(len(recovered), 'segment')} of {self.recovered_bytes} bytes" * bool(recovered),
            f"makes {len(rebuilt)} missing {'index' if len(rebuilt) == 1 else 'indexes'} anew" * bool(rebuilt),
            f"reads {self.snapshot_bytes} bytes for the producers' states" * bool(self.snapshot_bytes),
            f"cuts {cut.size} bytes off" * bool(cut.size and not cut.start and not cut.says),
            cut.says,
            f"deletes all segments, because its start, {cut.start}, is after its end" * self.deletes_all,
            f"deletes {self.deleted_bytes} bytes" * bool(self.deleted_bytes),
            "renames the directory to -stray: the metadata does not have it" * self.is_stray,
            "leaves the directory there: no broker removes -stray" * (self.directory.suffix == "-stray"),
        ]
        return "; ".join(part for part in parts if part) or "loads it without reading segments"

    def row(self) -> tuple[Any, ...]:
        """Return the row of the table ``next_start``."""
        recovered, rebuilt, cut = self.recovered, self.rebuilt, self.cut
        return NEXT_START.of(
            log=self.directory.log,
            topic=self.directory.topic,
            partition=self.directory.partition,
            node_id=self.node_id,
            is_clean=self.is_clean,
            recovered_segments=len(recovered),
            recovered_bytes=self.recovered_bytes,
            first_recovered_offset=recovered[0].base_offset if recovered else None,
            rebuilt_indexes=len(rebuilt),
            rebuilt_bytes=sum(one.size for one in rebuilt),
            snapshot_bytes=self.snapshot_bytes,
            truncated_bytes=cut.size,
            truncated_records=cut.records,
            log_end_offset=cut.end,
            deleted_bytes=self.deleted_bytes,
            read_bytes=sum(one.size for one in (*recovered, *rebuilt)) + self.snapshot_bytes,
            does=self.does,
        )


class _Log(NamedTuple):
    """A directory as it was read: its facts, and its scans by their segments' paths."""

    node: LogDirectory
    directory: PartitionDirectory
    facts: PartitionAudit
    scans: Mapping[str, SegmentScan]


def start_of_log(
    node: LogDirectory, directory: PartitionDirectory, read: tuple[PartitionAudit, Mapping[str, SegmentScan]],
    metadata: Metadata | None, limits: Limits,
) -> NextStart:  # fmt: skip
    """Say what a start makes of a directory; `read` are its facts, and its scans by their segments' paths.

    Follows LogLoader.load.
    """
    clean = node.clean_shutdown and directory.topic != METADATA_TOPIC
    segments = directory.segments
    is_deleted = directory.suffix == "-delete"  # opened, not recovered; -stray and -future are like any other
    log = _Log(node, directory, *read)
    if directory.suffix and not is_deleted:
        whole = read_log(directory, (), limits)
        log = _Log(node, directory, whole.partition, {one.segment.path: one for one in whole.scans})
    point = 0 if directory.topic == METADATA_TOPIC else directory.checkpoints.get("recovery_point", 0)
    recovered = () if clean or is_deleted else segments[_first(segments, point) :]
    rebuilt = [one for one in segments if _stem(one) + ".index" not in directory.files]
    cut = _cut(log, recovered, rebuilt, limits)
    if cut.reached is not None:  # all after it is deleted unread
        recovered = tuple(one for one in recovered if one.base_offset <= segments[cut.reached].base_offset)
    sizes = directory.files.values()
    deleted = (
        sum(identity.size for identity in sizes if identity is not None)
        if is_deleted
        else sum(
            identity.size for name in deleted_at_start(directory) if (identity := directory.files.get(name)) is not None
        )
    )
    return NextStart(
        directory, node.node_id, clean, recovered, rebuilt, cut,
        _states(log, rebuilt, recovered, limits), deleted, _is_stray(log, metadata),
    )  # fmt: skip


def _first(segments: Sequence[Segment], recovery_point: int) -> int:
    """Return the number of the segment that has the recovery point."""
    return max(0, sum(one.base_offset <= recovery_point for one in segments) - 1)


def _stem(segment: Segment) -> str:
    return segment.path.rpartition("/")[2].removesuffix(".log")


def _cut(log: _Log, recovered: Sequence[Segment], rebuilt: Sequence[Segment], limits: Limits) -> _Cut:
    """Return what is cut off: from the first damage on, and all later segments; all of a log that ends too early.

    A segment whose index is made anew is cut at its own damage before that, and nothing after it is deleted.
    """
    directory = log.directory
    found = _Cut(0, 0, log.facts.log_end_offset)
    for number, segment in enumerate(directory.segments):
        position = _damage(log.scans[segment.path]) if segment in rebuilt or segment in recovered else None
        if position is None:
            continue
        later = () if segment in rebuilt else directory.segments[number + 1 :]
        end, records = _around(segment, position, limits)
        records += sum(_around(one, 0, limits)[1] for one in later)
        size = segment.size - position + sum(one.size for one in later)
        is_end = later or segment is directory.segments[-1]
        end = (segment.base_offset if end is None else end) if is_end else found.end
        found = _Cut(found.size + size, found.records + records, end)
        if segment not in rebuilt:
            found = found._replace(reached=number)
            break
    known = None if directory.segments[-1:] == tuple(rebuilt[-1:]) else end_after_clean_stop(log.facts)
    if isinstance(known, tuple):
        return found._replace(says="does not start: bytes that are no batch follow the last whole batch")
    if known is not None and known < found.end:
        records = _around(directory.segments[-1], 0, limits)[1]
        found = _Cut(directory.segments[-1].size, records, known, says=f"takes {known} as the log's end")
    elif known is not None:
        found = found._replace(end=known)  # a batch is damaged, but for its header
    start = directory.checkpoints.get("log_start", 0)
    if start > found.end and directory.segments and directory.topic != METADATA_TOPIC:
        records = sum(_around(one, 0, limits)[1] for one in directory.segments)
        return _Cut(directory.size, records, start, start)
    if directory.segments:
        return found
    return found._replace(end=max(start, 0, *(put_in_place(directory) or ())))


def _damage(scan: SegmentScan) -> int | None:
    """Return the position from which on a recovered segment is cut; None for a whole one."""
    starts = [extent.position for extent in scan.damaged]
    if scan.zero_tail is not None and scan.zero_tail.position is not None:
        starts.append(scan.zero_tail.position)
    return min(starts, default=None)


def _around(segment: Segment, position: int, limits: Limits) -> tuple[int | None, int]:
    """Return the offset after the last whole batch before a position, and the records in whole batches after it."""
    end, records = None, 0
    try:
        for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
            heads = chunk.heads.numpy()
            heads = heads[:, heads[buffers.VALID] != 0]
            before = heads[buffers.POSITION] < position
            if before.any():
                end = int(heads[buffers.LAST_OFFSET][before].max()) + 1
            is_data = (heads[buffers.ATTRIBUTES] & buffers.CONTROL_BIT == 0) | (heads[buffers.MAGIC] < 2)
            records += int(believed_counts(heads[:, ~before & is_data]).sum())
    except UnreadableError:
        pass  # reported when the file itself is read
    return end, records


def _states(log: _Log, rebuilt: Sequence[Segment], recovered: Sequence[Segment], limits: Limits) -> int:
    """Return the bytes that are read again for the states of producers.

    Each recovery of a segment, for its index or after the recovery point, first deletes the snapshots after its start,
    reads from the newest one that is left up to there, and writes a snapshot at its end.
    """
    directory, segments = log.directory, log.directory.segments
    if directory.topic == METADATA_TOPIC or not segments:
        return 0
    start, end = log.facts.log_start_offset, log.facts.log_end_offset
    ends = {one.path: after.base_offset for one, after in pairwise(segments)}
    known, size = sorted(directory.snapshots), 0
    for one in (*rebuilt, *recovered):
        while known and known[-1] > one.base_offset:
            known.pop()
        size += _bytes(log, known[-1] if known else start, one.base_offset, limits)
        known.append(ends.get(one.path, end))
    if directory.suffix == "-delete":
        return size
    while known and known[-1] > end:
        known.pop()
    if log.node.clean_shutdown and not known:
        return size  # the broker assumes that there are no producers
    return size + _bytes(log, known[-1] if known else start, end, limits)


def _bytes(log: _Log, start: int, until: int, limits: Limits) -> int:
    """Return the bytes of a log's batches from an offset up to another one."""
    if start >= until:
        return 0
    size, segments = 0, log.directory.segments
    for number, segment in enumerate(segments):
        end = segments[number + 1].base_offset if number + 1 < len(segments) else log.facts.log_end_offset
        if start <= segment.base_offset and end <= until:
            size += segment.size
        elif end > start and segment.base_offset < until:
            size += _part(segment, start, until, limits)
    return size


def _part(segment: Segment, start: int, until: int, limits: Limits) -> int:
    """Return the bytes of a segment's batches from an offset up to another one."""
    size = 0
    try:
        for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
            heads = chunk.heads.numpy()
            last = heads[buffers.LAST_OFFSET]
            size += int(heads[buffers.SIZE][(last >= start) & (last < until)].sum())
    except UnreadableError:
        return size
    return size


def _is_stray(log: _Log, metadata: Metadata | None) -> bool:
    """Say whether the metadata does not give the directory's broker this partition of a topic with this id.

    A directory without a topic id is stray, too: its records came after the id was written, so it has none.
    """
    directory, node = log.directory, log.node.node_id
    if metadata is None or not metadata.topics or directory.suffix or directory.topic == METADATA_TOPIC:
        return False
    spans = metadata.partitions.get((directory.topic_id or "", directory.partition), ())
    if not spans or spans[-1].until is not None:
        return True
    return node is not None and node.isdecimal() and int(node) not in spans[-1].value.replicas
