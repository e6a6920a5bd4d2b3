"""Segments of internal topics that are kilobytes on the disk, and whose messages are gigabytes as text or as values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

import build
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_writer import encode_uvarint

__all__ = ["MESSAGES"]

_LONGEST: Final = 0x7FFF  # bytes of a text
_MEMBER: Final = b"\0\5\0\1g\0\1m"
_GROUP: Final = b"\0\2\0\1g"


def _texts(size: int, byte: bytes, rest: bytes = b"") -> bytes:
    """A member of a group that subscribes to topics whose names have `size` such bytes together.

    A name may have 32,767 bytes. `rest` is after the last field.
    """
    one = encode_uvarint(_LONGEST + 1) + byte * _LONGEST
    return _member(size // _LONGEST, one, rest)


def _names(count: int, rest: bytes = b"") -> bytes:
    """A member of a group that subscribes to so many topics without a name."""
    return _member(count, b"\1", rest)


def _member(count: int, name: bytes, rest: bytes) -> bytes:
    return b"\0\0" + b"\0\0\1\1" + encode_uvarint(count + 1) + name * count + b"\0" + b"\0\0\0\1" + b"\0\0" + rest


def _tagged(size: int) -> bytes:
    """A value of the metadata log that does nothing, with a tag of so many bytes that nobody knows."""
    return b"\1\x14\0" + b"\1\x40" + encode_uvarint(size) + b"\xff" * size


def _classic(members: int, size: int) -> bytes:
    """A classic group with so many members whose subscriptions have so many bytes."""
    member = b"\0\1m\xff\xff\0\1c\0\1h" + bytes(8) + struct.pack(">i", size) + b"\xff" * size + bytes(4)
    head = b"\0\3" + b"\0\1p" + bytes(4) + b"\xff\xff" * 2 + bytes(8)
    return head + struct.pack(">i", members) + member * members


def _segment(internal: Internal, key: bytes | None, *values: bytes) -> tuple[Internal, bytes]:
    """A batch for each value."""
    return internal, b"".join(
        build.batch(build.record(value, key), codec=build.ZSTD, base_offset=at) for at, value in enumerate(values)
    )


def _groups(key: bytes, *values: bytes) -> tuple[Internal, bytes]:
    return _segment(Internal.OFFSETS, key, *values)


def _one_batch(key: bytes, value: bytes, count: int) -> tuple[Internal, bytes]:
    records = [build.record(value, key, delta=delta) for delta in range(count)]
    return Internal.OFFSETS, build.batch(*records, codec=build.ZSTD)


# By name: the topic and the segment.
MESSAGES: Final[dict[str, Callable[[], tuple[Internal, bytes]]]] = {
    "120 MB of control characters": lambda: _groups(_MEMBER, *[_texts(120_000_000, b"\1")] * 2),
    "15 MB of control characters": lambda: _groups(_MEMBER, *[_texts(15_000_000, b"\1")] * 5),
    "120 MB that are no UTF-8": lambda: _groups(_MEMBER, _texts(120_000_000, b"\xff")),
    "15 MB that are no UTF-8": lambda: _groups(_MEMBER, *[_texts(15_000_000, b"\xff")] * 3),
    "15 MB with bytes after them": lambda: _groups(_MEMBER, *[_texts(15_000_000, b"\1", b"x")] * 3),
    "large texts in a batch": lambda: _one_batch(_MEMBER, _texts(100_000, b"\1"), 1200),
    "large texts in a batch, with bytes after them": lambda: _one_batch(_MEMBER, _texts(100_000, b"\1", b"x"), 1200),
    "120 MB of bytes": lambda: _groups(_GROUP, _classic(1, 120_000_000)),
    "15 MB of bytes": lambda: _groups(_GROUP, *[_classic(1, 15_000_000)] * 3),
    "120 MB in an unknown tag": lambda: _segment(Internal.CLUSTER_METADATA, None, _tagged(120_000_000)),
    "many members": lambda: _groups(_GROUP, *[_classic(60_000, 4)] * 3),
    "many members, with bytes after them": lambda: _groups(_GROUP, *[_classic(60_000, 4) + b"x"] * 3),
    "many names in a batch": lambda: _one_batch(_MEMBER, _names(500_000), 100),
    "many names in a batch, with bytes after them": lambda: _one_batch(_MEMBER, _names(500_000, b"x"), 100),
}
