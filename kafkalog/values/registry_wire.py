"""The registry's wire format: a byte 0, the schema's id in 4 bytes, the payload."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.values.value import Undecoded

__all__ = ["Framed", "framed"]

_HEAD: Final = 5


class Framed(NamedTuple):
    """The id of the schema, and where the payload begins."""

    schema_id: int
    start: int = _HEAD


def framed(data: bytes) -> Framed | Undecoded:
    """Read the 5 bytes before a payload."""
    if len(data) < _HEAD:
        return Undecoded("fewer than the 5 bytes before a registry's payload")
    if data[0]:
        return Undecoded("does not begin with the byte 0 of a registry's wire format")
    return Framed(int.from_bytes(data[1:_HEAD], "big"))
