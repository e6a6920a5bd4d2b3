"""Where damaged bytes end: the end that a header gives, what is there, and whether that can follow the batch.

The declared end of a batch is believed if what is there can follow the batch: a whole batch with higher offsets, the
file's end, a zero tail, or a torn or damaged batch that continues with the next offset.
"""

from __future__ import annotations

import sys
from typing import Final

from kafkalog.kafka.batch import SIZE_UP_TO_MAGIC, last_offset_of, magic_of, offset_of, size_of, smallest_size
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.segments.cursor import WINDOW, Cursor
from kafkalog.segments.resync import Extent

__all__ = ["declared_size", "end_is_believed", "end_of_file", "is_zero", "next_offset", "next_whole", "zero_tail"]

_OFFSET_SIZE: Final = RECORD_BATCH.position("batch_length")
_FIRST_READ: Final = 256  # bytes; steps grow, so that short runs of zeros cost little


def declared_size(head: bytes) -> int:
    """Return the size that a header gives, 0 if it can't be a batch's."""
    if len(head) < SIZE_UP_TO_MAGIC:
        return 0
    size = size_of(head)
    return size if size >= smallest_size(magic_of(head)) else 0


def next_offset(head: bytes) -> int | None:
    """Return the offset after the batch by its header, None if the header does not give it."""
    if len(head) < RECORD_BATCH.size or magic_of(head) < 2:
        return None
    after = last_offset_of(head) + 1
    return after if -(2**63) <= after < 2**63 else None


def _counted(head: bytes, expected: int) -> int:
    """Return the offset after the batch by its count, if that is possible: either field may be the damaged one."""
    base, *_, count = RECORD_BATCH.packed.unpack(head)
    return int(base + count) if count > 0 and base + count < 2**63 else expected


def end_is_believed(cursor: Cursor, end: int, head: bytes) -> bool:
    """Say whether what is at the declared end of the batch of `head` can follow it."""
    there = cursor.source.read(end, RECORD_BATCH.size)
    if not there or (not any(there) and len(there) >= SIZE_UP_TO_MAGIC and zero_tail(cursor, end) is not None):
        return True
    following = cursor.resync.whole(end)
    expected = next_offset(head)
    if following is not None:
        if expected is None or following.base_offset is None:
            return following.last_offset > offset_of(head)
        return following.base_offset >= min(expected, _counted(head, expected))
    # Torn or damaged itself: only its first field can be used.
    offset = there[:_OFFSET_SIZE]
    offsets = () if expected is None else (expected, _counted(head, expected))
    return any(offset == one.to_bytes(_OFFSET_SIZE, "big", signed=True)[: len(offset)] for one in offsets)


def next_whole(cursor: Cursor, start: int) -> Extent | None:
    """Find the next whole batch from `start` on; a source without one is read to its end."""
    end = cursor.source.size
    stop = sys.maxsize if end is None else end
    return cursor.resync.next_whole(start, stop, cursor.order.last_offset, legacy=cursor.legacy)


def end_of_file(cursor: Cursor) -> int:
    """Return where the source ends; it was searched to its end before."""
    end = cursor.source.size
    assert end is not None
    return end


def zero_tail(cursor: Cursor, here: int) -> int | None:
    """Return how many bytes are left if all of them are zero, otherwise None."""
    position, step = here, _FIRST_READ
    while data := cursor.source.read(position, step):
        if data.count(0) != len(data):
            return None
        position += len(data)
        step = min(2 * step, WINDOW)
    return position - here if position - here >= SIZE_UP_TO_MAGIC else None


def is_zero(cursor: Cursor, start: int, stop: int) -> bool:
    """Say whether all bytes in between are zero."""
    pieces = (cursor.source.read(at, min(WINDOW, stop - at)) for at in range(start, stop, WINDOW))
    return all(data.count(0) == len(data) for data in pieces)
