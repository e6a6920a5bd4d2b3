"""The start of a batch: what its first bytes say while it is not known whether a batch begins there.

Offset, length and magic have the same place in every format. All positions come from the layouts. The magic is read as
a number from 0 to 255: a damaged byte must not look like an older format.
"""

from __future__ import annotations

from typing import Final

from kafkalog.format.layout import MESSAGE_V0, MESSAGE_V1, RECORD_BATCH, Layout

__all__ = [
    "LOG_OVERHEAD",
    "MAGIC_AT",
    "SIZE_UP_TO_MAGIC",
    "checked_from",
    "last_offset_of",
    "layout_of",
    "magic_of",
    "offset_of",
    "set_magic",
    "set_size",
    "size_of",
    "smallest_size",
]

Bytes = bytes | bytearray | memoryview

LOG_OVERHEAD: Final = RECORD_BATCH.position("partition_leader_epoch")  # offset and length
MAGIC_AT: Final = RECORD_BATCH.position("magic")
SIZE_UP_TO_MAGIC: Final = MAGIC_AT + 1
_CONTENT_SIZES: Final = 8  # the sizes of a message's key and value, which every message has


def layout_of(magic: int) -> Layout:
    """Return the layout of a batch's header, or of a message's, by its magic."""
    return RECORD_BATCH if magic > 1 else MESSAGE_V1 if magic else MESSAGE_V0


def smallest_size(magic: int) -> int:
    """Return the least number of bytes that a batch of this magic has."""
    return layout_of(magic).size + (0 if magic > 1 else _CONTENT_SIZES)


def offset_of(head: Bytes) -> int:
    """Return the first offset of a batch, a message's own offset, or a wrapper's last offset."""
    return RECORD_BATCH.read("base_offset", head)


def last_offset_of(head: Bytes) -> int:
    """Return the last offset by a batch's header; it may not fit 64 bits."""
    delta = RECORD_BATCH.read("last_offset_delta", head) if magic_of(head) > 1 else 0
    return offset_of(head) + delta


def size_of(head: Bytes, at: int = 0) -> int:
    """Return the size in bytes of the whole batch at ``head[at]`` by its header; a damaged one may be below 0."""
    return RECORD_BATCH.read("batch_length", head, at) + LOG_OVERHEAD


def set_size(head: bytearray, size: int) -> None:
    """Set a header's length so that the whole batch has `size` bytes."""
    RECORD_BATCH.write("batch_length", head, size - LOG_OVERHEAD)


def magic_of(head: Bytes, at: int = 0) -> int:
    """Return the magic of the batch at ``head[at]``."""
    return head[at + MAGIC_AT]


def set_magic(head: bytearray, magic: int) -> None:
    """Set a header's magic."""
    head[MAGIC_AT] = magic


def checked_from(magic: int) -> int:
    """Return the position in a batch where the bytes begin that its checksum covers."""
    return RECORD_BATCH.position("attributes") if magic > 1 else MAGIC_AT
