"""The start of a batch: what its first bytes say while it is not known whether they begin one.

Offset, length and magic have the same place in every format. All positions come from the layouts. The magic is read as
a number from 0 to 255: what a damaged byte says is no older format.
"""

from __future__ import annotations

from typing import Final

from kafkalog.format.layout import MESSAGE_V0, MESSAGE_V1, RECORD_BATCH

__all__ = [
    "MAGIC_AT",
    "SIZE_UP_TO_MAGIC",
    "checked_from",
    "last_offset_of",
    "magic_of",
    "offset_of",
    "set_magic",
    "set_size",
    "size_of",
    "smallest_size",
]

Bytes = bytes | bytearray | memoryview

_LENGTH_AT: Final = RECORD_BATCH.position("batch_length")
_OVERHEAD: Final = RECORD_BATCH.position("partition_leader_epoch")  # offset and length
_DELTA_AT: Final = RECORD_BATCH.position("last_offset_delta")
MAGIC_AT: Final = RECORD_BATCH.position("magic")
SIZE_UP_TO_MAGIC: Final = MAGIC_AT + 1
_CONTENT_SIZES: Final = 8  # of a message's key and value: it has at least these
_SMALLEST: Final = (MESSAGE_V0.size + _CONTENT_SIZES, MESSAGE_V1.size + _CONTENT_SIZES, RECORD_BATCH.size)  # by magic
_CHECKED_FROM: Final = RECORD_BATCH.position("attributes")


def smallest_size(magic: int) -> int:
    """Return the bytes that a batch of a magic has at least."""
    return _SMALLEST[min(magic, 2)]


def offset_of(head: Bytes) -> int:
    """Return the first offset of a batch, a message's own, a wrapper's last."""
    return int.from_bytes(head[:_LENGTH_AT], "big", signed=True)


def last_offset_of(head: Bytes) -> int:
    """Return the last offset that a header says; it may not fit 64 bits."""
    delta = int.from_bytes(head[_DELTA_AT : _DELTA_AT + 4], "big", signed=True) if magic_of(head) > 1 else 0
    return offset_of(head) + delta


def size_of(head: Bytes, at: int = 0) -> int:
    """Return the size in bytes that the batch at ``head[at]`` says it has, all of it; a damaged one may be below 0."""
    return int.from_bytes(head[at + _LENGTH_AT : at + _OVERHEAD], "big", signed=True) + _OVERHEAD


def set_size(head: bytearray, size: int) -> None:
    """Make a header say that its batch has `size` bytes in all."""
    head[_LENGTH_AT:_OVERHEAD] = (size - _OVERHEAD).to_bytes(4, "big", signed=True)


def magic_of(head: Bytes, at: int = 0) -> int:
    """Return the magic of the batch at ``head[at]``."""
    return head[at + MAGIC_AT]


def set_magic(head: bytearray, magic: int) -> None:
    """Make a header say that its batch has this magic."""
    head[MAGIC_AT] = magic


def checked_from(magic: int) -> int:
    """Return the position in a batch from which on its checksum covers it."""
    return _CHECKED_FROM if magic > 1 else MAGIC_AT
