"""Reads what generated messages are made of: numbers, lengths, strings, bytes and arrays of them.

Every length is compared with the bytes that are left before it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from kafkalog.kafka.message_primitives import FIXED, MalformedError, Text, uuid_text, uvarint
from kafkalog.kafka.message_schema import MessageField, Value

__all__ = [
    "Reader", "Remarks", "array", "compact_length", "fixed", "or_null", "plain_length", "raw", "refusing", "string",
    "take",
]  # fmt: skip

_LONGEST_STRING: Final = 0x7FFF

Remarks: TypeAlias = list[str]
# Reads a value at a position: the value, and the position after it.
Reader: TypeAlias = Callable[[bytes, int, Remarks], tuple[Value, int]]
# Reads the length of what is named; -1 is null.
Length: TypeAlias = Callable[[bytes, int, str], tuple[int, int]]


def take(data: bytes, at: int, size: int, what: str) -> tuple[bytes, int]:
    """Take `size` bytes."""
    left = len(data) - at
    if size > left:
        kafka = f"Error reading byte array of {size} byte(s): only {left} byte(s) available"
        raise MalformedError(f"{what} needs {size} bytes at {at}, found {left}", kafka)
    if size < 0:
        raise MalformedError(f"{what} at {at} has size {size}", str(size))
    return data[at : at + size], at + size


def _int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def compact_length(data: bytes, at: int, what: str) -> tuple[int, int]:
    """Read the length of the flexible versions: a uvarint of the length plus one."""
    if at < len(data) and data[at] < 128:
        return data[at] - 1, at + 1
    value, at = uvarint(data, at, what)
    return _int32(value - 1), at


def plain_length(code: str) -> Length:
    """Make the reader of a length of fixed width."""
    layout = struct.Struct(f">{code}")

    def read(data: bytes, at: int, what: str) -> tuple[int, int]:
        if at + layout.size > len(data):
            raise MalformedError(f"{what} needs {layout.size} bytes at {at}, found {len(data) - at}")
        return int(layout.unpack_from(data, at)[0]), at + layout.size

    return read


def fixed(fields: list[MessageField]) -> Reader:
    """Make the reader of neighbours of fixed width: one gives its value, several a tuple."""
    layout = struct.Struct(">" + "".join(FIXED[str(field.type)] for field in fields))
    uuids = [number for number, field in enumerate(fields) if field.type == "uuid"]
    alone = len(fields) == 1
    bools = [
        (field.name, struct.calcsize(">" + "".join(FIXED[str(before.type)] for before in fields[:number])))
        for number, field in enumerate(fields)
        if field.type == "bool"
    ]

    def read(data: bytes, at: int, remarks: Remarks) -> tuple[Value, int]:
        if at + layout.size > len(data):
            raise _short(fields, data, at)
        for name, place in bools:
            if data[at + place] > 1:
                remarks.append(f"{name} is {data[at + place]}")
        values: Value = layout.unpack_from(data, at)
        if uuids:
            values = [uuid_text(value) if number in uuids else value for number, value in enumerate(values)]
        return values[0] if alone else values, at + layout.size

    return read


def _short(fields: list[MessageField], data: bytes, at: int) -> MalformedError:
    for field in fields:
        size = struct.calcsize(">" + FIXED[str(field.type)])
        if at + size > len(data):
            return MalformedError(f"{field.name} needs {size} bytes at {at}, found {len(data) - at}")
        at += size
    raise AssertionError("the fields fit")


def _null(name: str, at: int, *, nullable: bool) -> tuple[None, int]:
    if not nullable:
        kafka = f"non-nullable field {name} was serialized as null"
        raise MalformedError(f"{name} is null before {at}, which its schema does not allow", kafka)
    return None, at


def string(name: str, length: Length, text: Text, *, nullable: bool) -> Reader:
    """Make the reader of a string."""

    def read(data: bytes, at: int, _: Remarks) -> tuple[Value, int]:
        size, at = length(data, at, name)
        if size < 0:
            return _null(name, at, nullable=nullable)
        if size > _LONGEST_STRING:
            kafka = f"string field {name} had invalid length {size}"
            raise MalformedError(f"{name} before {at} has length {size}, the limit is {_LONGEST_STRING}", kafka)
        content, at = take(data, at, size, name)
        return text(content), at

    return read


def raw(name: str, length: Length, *, nullable: bool) -> Reader:
    """Make the reader of bytes."""

    def read(data: bytes, at: int, _: Remarks) -> tuple[Value, int]:
        size, at = length(data, at, name)
        return _null(name, at, nullable=nullable) if size < 0 else take(data, at, size, name)

    return read


def array(name: str, length: Length, element: Reader, *, nullable: bool, code: str = "") -> Reader:
    """Make the reader of an array; `code` is that of ``struct`` where the elements are numbers."""
    width = struct.calcsize(f">{code}")

    def read(data: bytes, at: int, remarks: Remarks) -> tuple[Value, int]:
        count, at = length(data, at, name)
        if count < 0:
            return _null(name, at, nullable=nullable)
        left = len(data) - at
        if count > left:  # every element takes at least one byte
            kafka = f"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining."
            raise MalformedError(f"{name} has {count} elements at {at}, but only {left} bytes are left", kafka)
        if width and count * width <= left:
            return list(struct.unpack_from(f">{count}{code}", data, at)), at + count * width
        values = []
        for _ in range(count):
            value, at = element(data, at, remarks)
            values.append(value)
        return values, at

    return read


def or_null(name: str, reader: Reader, *, tagged: bool) -> Reader:
    """Make the reader of a structure that may be null, by the mark before it."""

    def read(data: bytes, at: int, remarks: Remarks) -> tuple[Value, int]:
        if tagged:
            mark, at = uvarint(data, at, f"the mark of {name}")
            there, written = mark > 0, (0, 1)
        elif at < len(data):
            mark, at = data[at], at + 1
            there, written = mark < 128, (255, 1)
        else:
            raise MalformedError(f"the mark of {name} needs 1 byte at {at}, found 0")
        if mark not in written:
            remarks.append(f"the mark of {name} is {mark}")
        return reader(data, at, remarks) if there else (None, at)

    return read


def refusing(text: str) -> Reader:
    """Make the reader of what Kafka refuses with this text."""

    def read(_: bytes, at: int, __: Remarks) -> tuple[Value, int]:
        raise MalformedError(f"{text}, at {at}", text)

    return read
