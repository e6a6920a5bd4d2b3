"""What a broker does with a directory at its next start: LogLoader's and LogManager's order, from names and sizes.

After a clean stop it reads next to nothing. Else every segment from the one with the recovery point on is read whole, a
torn tail is cut off, and all after it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.topics import Metadata
from kafkalog.errors import UnreadableError
from kafkalog.format import kernel
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import Segment
from kafkalog.log.names import METADATA_TOPIC
from kafkalog.log.readers import segment_chunks
from kafkalog.tables.space import NEXT_START

__all__ = ["next_start_row"]


def next_start_row(log: LogSpace, metadata: Metadata | None, limits: Limits) -> tuple[Any, ...]:
    """Make the row of a directory in the table ``next_start``."""
    directory, clean = log.directory, log.node.clean_shutdown
    segments = directory.segments
    recovered = () if clean else segments[_first(segments, directory.checkpoints.get("recovery_point", 0)) :]
    rebuilt = [one for one in segments if one not in recovered and _stem(one) + ".index" not in directory.files]
    without = sum(_stem(one) + ".index" not in directory.files for one in segments)
    torn = 0 if clean or directory.suffix else _torn(log, recovered)
    snapshots = _snapshots(log, recovered, limits)
    sizes = directory.files.values()
    deleted = (
        sum(identity.size for identity in sizes if identity is not None)
        if directory.suffix == "-delete"
        else sum(identity.size for name in directory.left_over if (identity := directory.files.get(name)) is not None)
    )
    read = sum(one.size for one in (*recovered, *rebuilt)) + snapshots
    does = [
        f"recovers {len(recovered)} segments of {sum(one.size for one in recovered)} bytes" * bool(recovered),
        f"makes {without} missing indexes anew" * bool(without),
        f"reads {snapshots} bytes for the producers' states" * bool(snapshots),
        f"cuts {torn} bytes off" * bool(torn),
        f"deletes {deleted} bytes" * bool(deleted),
        "renames the directory to -stray: the metadata does not have it" * _is_stray(log, metadata),
    ]
    return NEXT_START.of(
        log=directory.log,
        topic=directory.topic,
        partition=directory.partition,
        node_id=log.node.node_id,
        is_clean=clean,
        recovered_segments=len(recovered),
        recovered_bytes=sum(one.size for one in recovered),
        first_recovered_offset=recovered[0].base_offset if recovered else None,
        rebuilt_indexes=without,
        rebuilt_bytes=sum(one.size for one in rebuilt),
        snapshot_bytes=snapshots,
        truncated_bytes=torn,
        deleted_bytes=deleted,
        read_bytes=read,
        does="; ".join(part for part in does if part) or "loads it without reading segments",
    )


def _first(segments: Sequence[Segment], recovery_point: int) -> int:
    """Return the number of the segment that has the recovery point."""
    return max(0, sum(one.base_offset <= recovery_point for one in segments) - 1)


def _stem(segment: Segment) -> str:
    return segment.path.rpartition("/")[2].removesuffix(".log")


def _torn(log: LogSpace, recovered: Sequence[Segment]) -> int:
    """Return the bytes that recovery cuts off: from the first damage on, and all later segments."""
    known = {one.segment.path: one for one in log.segments}
    for number, segment in enumerate(recovered):
        scan = known[segment.path].scan
        starts = [extent.position for extent in scan.damaged]
        if scan.zero_tail is not None and scan.zero_tail.position is not None:
            starts.append(scan.zero_tail.position)
        if starts:
            return segment.size - min(starts) + sum(one.size for one in recovered[number + 1 :])
    return 0


def _snapshots(log: LogSpace, recovered: Sequence[Segment], limits: Limits) -> int:
    """Return the bytes between the newest usable snapshot and what is recovered, or the log's end."""
    directory = log.directory
    if directory.topic == METADATA_TOPIC or directory.suffix or not directory.segments:
        return 0
    until = recovered[0].base_offset if recovered else log.facts.log_end_offset
    if not directory.snapshots and not recovered:
        return 0  # after a clean stop without snapshots the broker assumes that there are no producers
    newest = max((offset for offset in directory.snapshots if offset <= until), default=log.facts.log_start_offset)
    return sum(_after(segment, newest, until, limits) for segment in _between(directory.segments, newest, until))


def _between(segments: Sequence[Segment], start: int, until: int) -> Iterator[Segment]:
    """Yield the segments that have offsets from `start` up to `until`."""
    for number, segment in enumerate(segments):
        end = segments[number + 1].base_offset if number + 1 < len(segments) else until
        if end > start and segment.base_offset < until:
            yield segment


def _after(segment: Segment, start: int, until: int, limits: Limits) -> int:
    """Return the bytes of a segment's batches from an offset on."""
    if segment.base_offset >= start:
        return segment.size
    size = 0
    try:
        for chunk in segment_chunks(segment.path, limits=limits, max_bytes=segment.size):
            heads = chunk.heads.numpy()
            last = heads[kernel.LAST_OFFSET]
            size += int(heads[kernel.SIZE][(last >= start) & (last < until)].sum())
    except UnreadableError:
        return size
    return size


def _is_stray(log: LogSpace, metadata: Metadata | None) -> bool:
    """Say whether the metadata knows topics, but not this one with its id."""
    topic_id = log.directory.topic_id
    if metadata is None or topic_id is None or not metadata.topics or log.directory.suffix:
        return False
    spans = metadata.topics.get(topic_id)
    return log.directory.topic != METADATA_TOPIC and (spans is None or spans[-1].until is not None)
