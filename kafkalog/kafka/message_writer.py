"""Writes generated messages as Kafka's brokers do, from the values that `message.decode` reads."""

from __future__ import annotations

import base64
import struct

from kafkalog.kafka.message import UNKNOWN_TAGS
from kafkalog.kafka.message_primitives import FIXED
from kafkalog.kafka.message_schema import Array, Message, MessageField, Struct, Value

__all__ = ["encode", "encode_uvarint"]


def encode(message: Message, version: int, fields: dict[str, Value]) -> bytes:
    """Write `fields` as `message` in `version`; fields that are not given have their default.

    A tagged field that has its default is left out. Strings may have the surrogates that stand for bytes which are not
    UTF-8.
    """
    flexible = version >= message.flexible_since
    return _Writer(version, flexible=flexible).structure(message.fields, fields)


def encode_uvarint(value: int) -> bytes:
    """Write an unsigned 32-bit varint."""
    out = bytearray()
    value &= 0xFFFFFFFF
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


class _Writer:
    """Writes one version of a message."""

    def __init__(self, version: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible

    def structure(self, fields: tuple[MessageField, ...], row: dict[str, Value]) -> bytes:
        present = [field for field in fields if field.since <= self.version <= field.until]
        out = b"".join(self.value(field, row.get(field.name, field.fallback)) for field in present if field.tag is None)
        return out + self.tags([field for field in present if field.tag is not None], row) if self.flexible else out

    def tags(self, fields: list[MessageField], row: dict[str, Value]) -> bytes:
        tagged: list[tuple[int, bytes]] = [(tag, data) for tag, data in row.get(UNKNOWN_TAGS, ())]
        for field in fields:
            value = row.get(field.name, field.fallback)
            if field.tag is not None and value != field.fallback:
                tagged.append((field.tag, self.value(field, value)))
        out = encode_uvarint(len(tagged))
        for tag, data in sorted(tagged):
            out += encode_uvarint(tag) + encode_uvarint(len(data)) + data
        return out

    def value(self, field: MessageField, value: Value) -> bytes:
        if isinstance(field.type, Struct) and self.version >= field.nullable_since:
            return self.or_null(field, value)
        return self.one(field.type, value)

    def or_null(self, field: MessageField, value: Value) -> bytes:
        """Write the mark of a structure that may be null, and the structure."""
        if value is None:
            return b"\0" if field.tag is not None else b"\xff"
        return b"\1" + self.one(field.type, value)

    def one(self, kind: str | Array | Struct, value: Value) -> bytes:
        if isinstance(kind, Struct):
            return self.structure(kind.fields, value)
        if isinstance(kind, Array):
            elements = b"" if value is None else b"".join(self.one(kind.of, element) for element in value)
            return self.length("i", value) + elements
        if kind == "uuid":
            return base64.urlsafe_b64decode(f"{value}==")
        if kind in FIXED:
            return struct.pack(f">{FIXED[kind]}", value)
        data = value.encode("utf-8", "surrogateescape") if kind == "string" and value is not None else value
        return self.length("h" if kind == "string" else "i", data) + (data or b"")

    def length(self, code: str, value: Value) -> bytes:
        size = -1 if value is None else len(value)
        return encode_uvarint(size + 1) if self.flexible else struct.pack(f">{code}", size)
