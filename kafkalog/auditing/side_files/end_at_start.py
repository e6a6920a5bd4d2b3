"""Where a broker finds a log's end when it starts after a clean stop: it reads next to nothing."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import closing
from typing import Final

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, visible_records
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.files.opening import open_source
from kafkalog.findings import Bytes, Finding
from kafkalog.kernel.headers import hop
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.quantities import many

__all__ = ["end_after_clean_stop", "end_at_start", "next_offset"]

_ENTRY: Final = struct.Struct(">ii")  # of an offset index: the offset after the base offset, and the position
_HEAD: Final = struct.Struct(">qi")  # of a batch: its offset, and the bytes after these
_UP_TO_MAGIC: Final = 17
_LAST_DELTA: Final = struct.Struct(">i")
_DELTA_AT: Final = 23
_LEAST: Final = 14  # bytes of the smallest record that there ever was
_MAGIC_AT: Final = 16  # position of the magic in a batch
_UP_TO_DELTA: Final = _DELTA_AT + _LAST_DELTA.size
_WINDOW: Final = 1 << 16


def end_after_clean_stop(audit: PartitionAudit) -> int | tuple[int, int] | None:
    """Return the end that a broker finds after a clean stop, or where it stops, as ``next_offset`` does.

    None where it is where the batches end, since they are whole and no index points into them, and where the log is
    recovered: the metadata log is each time, and every log after an unclean stop.
    """
    directory = audit.directory
    segment = directory.segments[-1] if directory.segments else None
    if not directory.clean_shutdown or directory.topic == METADATA_TOPIC or directory.suffix:
        return None
    if segment is None or segment.is_remote or not segment.size:
        return None
    if os.path.basename(segment.file(".index")) not in directory.files:
        return None  # it is made anew, and what is no batch is cut off before
    try:
        entry = _last_entry(segment)
        return next_offset(segment, entry) if _has_tail(audit, segment) or entry[1] else None
    except UnreadableError:
        return None  # reported with the file


def end_at_start(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield a finding where a broker that was stopped cleanly does not find the log's end where the batches have it."""
    found = end_after_clean_stop(audit)
    if found is None:
        return
    directory, end = audit.directory, audit.log_end_offset
    name, segment = f"{directory.topic}-{directory.partition}", directory.segments[-1]
    if isinstance(found, int):
        if found < end:
            points = "after the last whole batch" if _has_tail(audit, segment) else "to no batch"
            message = (
                f"the last entry of its index points {points} of {name}, so the broker takes"
                f" {found} as the log's end: {_lost(audit, found)} are gone then, although their batches are whole"
            )
            yield directory.finding(
                "log-end-falls-back", segment.path, message, offset=found, last_offset=end - 1, needed=end, found=found
            )
        return
    position, size = found
    count = segment.size - position
    what = f"{count} zero bytes follow" if _are_zeros(segment, position) else f"{count} bytes that are no batch follow"
    where = f"from position {position} on {what} the last whole batch of {name}, which ends at offset {end}"
    if not _has_tail(audit, segment):
        where = f"the last entry of its index points to where no batch of {name} begins"
    message = (
        f"{where}, and .kafka_cleanshutdown is there: the broker stops at its start with a record size of {size},"
        f" smaller than the minimum of {_LEAST}"
    )
    known = max(directory.checkpoints.get("recovery_point", end), *directory.snapshots, end)
    if known > end:
        message += f"; other files know offsets up to {known}, so these bytes are in the place of batches"
    yield directory.finding(
        "log-end-unreadable", segment.path, message, position=position, length=count, offset=end, found=size
    )


def _has_tail(audit: PartitionAudit, segment: Segment) -> bool:
    """Say whether something that is no whole batch is known of the last segment: else its batches end it."""
    return any(one.file == segment.path for one in audit.damaged) or any(
        one.file == segment.path and (one.bytes is Bytes.SUSPECT or one.code == "tail-preallocated")
        for one in audit.findings
    )


def _lost(audit: PartitionAudit, first: int) -> str:
    """Say how many records that read_committed consumers get there are from an offset on."""
    where = f"offsets {first}-{audit.log_end_offset - 1}"
    try:
        (visible,) = visible_records(audit, np.array([first])).tolist()
    except UnreadableError:
        return where
    return f"{where}, with {many(visible, 'record')} that read_committed consumers get,"


def next_offset(segment: Segment, entry: tuple[int, int] | None = None) -> int | tuple[int, int]:
    """Return the offset after the last batch that the broker finds, or where it stops: the position and the size there.

    It reads on from the batch of the index's last `entry`, an offset and a position, header after header; without a
    batch from there on the segment's base offset is the end. Raises UnreadableError.

    Follows LogSegment.readNextOffset and FileLogInputStream.nextBatch.
    """
    offset, position = entry or _last_entry(segment)
    last, data, begin = None, b"", position
    with closing(open_source(segment.path)) as source:
        while position < source.size - _UP_TO_MAGIC:
            if position + _UP_TO_DELTA > begin + len(data):
                data, begin = source.read_bytes(position, _WINDOW), position
            at = position - begin
            _, length = _HEAD.unpack_from(data, at)
            if length < _LEAST:
                return position, length
            if position > source.size - _HEAD.size - length:
                break
            end = _last_offset(data, at)
            last = end if last is not None or end >= offset else None
            at += _HEAD.size + length
            if last is not None and (stop := hop(data, at, len(data))) > at:  # over all batches that are in sight
                last, at = _last_offset(data, hop(data, at, stop - 1)), stop
            position = begin + at
    return segment.base_offset if last is None else last + 1


def _last_offset(data: bytes, at: int) -> int:
    """Return the last offset of a batch, by its header."""
    base, _ = _HEAD.unpack_from(data, at)
    if 1 < data[at + _MAGIC_AT] < 1 << 7 and at + _UP_TO_DELTA <= len(data):
        base += _LAST_DELTA.unpack_from(data, at + _DELTA_AT)[0]
    return int(base)


def _last_entry(segment: Segment) -> tuple[int, int]:
    """Return the offset and the position of the index's last entry; where the segment begins without any."""
    path = segment.file(".index")
    if not exists(path):
        return segment.base_offset, 0
    with closing(open_source(path)) as source:
        number = source.size // _ENTRY.size
        if not number:
            return segment.base_offset, 0
        delta, position = _ENTRY.unpack(source.read_bytes((number - 1) * _ENTRY.size, _ENTRY.size))
    return segment.base_offset + delta, max(position, 0)


def _are_zeros(segment: Segment, position: int) -> bool:
    with closing(open_source(segment.path)) as source:
        while position < source.size:
            part = source.read_bytes(position, 1 << 16)
            if not part or any(part):
                return False
            position += len(part)
    return True
