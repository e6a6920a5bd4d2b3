"""What generated messages are made of, outside the programs that read them: numbers, uuids, how text is read."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final, TypeAlias

from kafkalog.format.message_errors import MalformedError

__all__ = ["FIXED", "Text", "uuid_text", "uvarint"]

# The types of fixed width, as ``struct`` writes them.
FIXED: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}

Text: TypeAlias = Callable[[bytes], str]


def uuid_text(data: bytes) -> str:
    """Write 16 bytes as Kafka writes a UUID: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def uvarint(data: bytes, at: int, what: str) -> tuple[int, int]:
    """Read an unsigned varint as Java does: into 32 bits, so that it may become negative."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise MalformedError(f"{what} needs 1 byte at {at}, found 0")
        byte = data[at]
        at += 1
        value |= (byte if shift == 28 else byte & 127) << shift
        if byte < 128:
            value &= 0xFFFFFFFF
            return value - (1 << 32) if value >> 31 else value, at
        if shift == 28:
            kafka = (
                "Varint is too long, the most significant bit in the 5th byte is set, "
                f"converted value: {value & 0xFFFFFFFF:x}"
            )
            raise MalformedError(f"{what} is a variable-length integer of more than 5 bytes at {at - 5}", kafka)
        shift += 7
