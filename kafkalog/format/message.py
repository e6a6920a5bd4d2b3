"""Kafka's generated-message encoding: schemas are data, one decoder reads them all.

A message has versions; from `flexible_since` on, strings, bytes and arrays carry a uvarint of their length plus one and
every structure ends in tagged fields (KIP-482). Field names are Kafka's own, in its spelling.
"""

from __future__ import annotations

import base64
import struct
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["Array", "Field", "MalformedError", "Message", "Struct", "decode", "uuid_text"]

Value: TypeAlias = Any  # int, float, bool, str, bytes, None, list of values or dict of them


class MalformedError(ValueError):
    """Bytes that are no message of the schema; caught where the bytes' place is known and told as a finding.

    `code` is that of the finding where more is known than that a control record is malformed.
    """

    def __init__(self, message: str, code: str = "control-record-malformed") -> None:
        super().__init__(message)
        self.code = code


class Array(NamedTuple):
    """Many of one type."""

    of: str | Struct


class Struct(NamedTuple):
    """A nested structure."""

    fields: tuple[Field, ...]


class Field(NamedTuple):
    """A field of a message: its type and the versions that have it. A tagged one is left out where it is `default`."""

    name: str
    type: str | Array | Struct
    since: int = 0
    tag: int | None = None
    default: Value = None
    tagged_since: int = 0


class Message(NamedTuple):
    """A schema, named as Kafka names it."""

    name: str
    fields: tuple[Field, ...]
    flexible_since: int = 0
    newest: int = 0


_FIXED: Final = {
    "bool": struct.Struct(">?"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}


def uuid_text(data: bytes) -> str:
    """Write 16 bytes as Kafka writes a UUID: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(message: Message, version: int, data: bytes) -> tuple[dict[str, Value], int]:
    """Read `data` as `message` in `version`: the fields, and how many bytes they took.

    Raises MalformedError where the bytes are no such message.
    """
    reader = _Reader(data, version, flexible=version >= message.flexible_since)
    return reader.structure(message.fields), reader.position


class _Reader:
    """A cursor over the bytes of one message."""

    def __init__(self, data: bytes, version: int, *, flexible: bool) -> None:
        self.data = data
        self.version = version
        self.flexible = flexible
        self.position = 0

    def take(self, size: int, what: str) -> bytes:
        left = len(self.data) - self.position
        if not 0 <= size <= left:
            raise MalformedError(f"{what} needs {size} bytes at {self.position}, {left} are left")
        self.position += size
        return self.data[self.position - size : self.position]

    def uvarint(self, what: str) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1, what)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value & 0xFFFFFFFF
        raise MalformedError(f"{what} has a variable-length integer of more than five bytes at {self.position}")

    def length(self, code: str, what: str) -> int:
        """Read a length; -1 stands for null."""
        if self.flexible:
            return self.uvarint(what) - 1
        return int(_FIXED[code].unpack(self.take(_FIXED[code].size, what))[0])

    def value(self, kind: str | Array | Struct, what: str) -> Value:
        if isinstance(kind, Struct):
            return self.structure(kind.fields)
        if isinstance(kind, Array):
            count = self.length("int32", what)
            if count < 0:
                return None
            if count > len(self.data) - self.position:  # every element takes a byte at least
                left = len(self.data) - self.position
                raise MalformedError(f"{what} needs {count} elements at {self.position}, {left} bytes are left")
            return [self.value(kind.of, what) for _ in range(count)]
        if kind in _FIXED:
            return _FIXED[kind].unpack(self.take(_FIXED[kind].size, what))[0]
        if kind == "uuid":
            return uuid_text(self.take(16, what))
        length = self.length("int16" if kind == "string" else "int32", what)
        if length < 0:
            return None
        data = self.take(length, what)
        return data.decode("utf-8", "backslashreplace") if kind == "string" else data

    def structure(self, fields: tuple[Field, ...]) -> dict[str, Value]:
        row: dict[str, Value] = {}
        for field in fields:
            if self.version < field.since:
                continue
            if field.tag is None:
                row[field.name] = self.value(field.type, field.name)
        if self.flexible:
            self.tagged({field.tag: field for field in fields if field.tag is not None}, row)
        return row

    def tagged(self, known: dict[int | None, Field], row: dict[str, Value]) -> None:
        for _ in range(self.uvarint("tagged fields")):
            tag = self.uvarint("a tag")
            size = self.uvarint("a tagged field's size")
            content = self.take(size, f"tag {tag}")
            field = known.get(tag)
            if field is not None and self.version >= field.since:
                row[field.name] = _Reader(content, self.version, flexible=True).value(field.type, field.name)
