"""The few ways in which a protobuf message is put together. Source: the protobuf encoding's specification."""

from __future__ import annotations

import struct

__all__ = ["fixed64", "number", "part", "text"]

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Encode an integer; a negative one as int64."""
    return _varint(field << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def fixed64(field: int, value: int) -> bytes:
    """Encode a fixed64, from 0 to 2**64 - 1."""
    return _varint(field << 3 | _FIXED64) + struct.pack("<Q", value)


def part(field: int, message: bytes) -> bytes:
    """Encode a message inside of another one, or bytes."""
    return _varint(field << 3 | _BYTES) + _varint(len(message)) + message


def text(field: int, value: str) -> bytes:
    """Encode a string: protobuf's are UTF-8, so what is none is escaped."""
    return part(field, value.encode("utf-8", "backslashreplace"))
