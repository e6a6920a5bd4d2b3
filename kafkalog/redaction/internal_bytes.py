"""Records of internal topics with other names and without secrets, in as many bytes as they had.

A record is read by its schema, its texts and byte arrays are replaced by the list of what may pass, and it is written
again. One that its schema does not give back byte for byte keeps its type and its versions alone.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Final, NamedTuple

from kafkalog.kafka.control import CONTROL_MESSAGES, END_TYPES, ControlType
from kafkalog.kafka.internal_records import RecordType, record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.layout import CONTROL_RECORD_KEY, END_TXN_MARKER
from kafkalog.kafka.message import UNKNOWN_TAGS, MalformedError, decode
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_primitives import uvarint
from kafkalog.kafka.message_schema import Array, Message, MessageField, Struct, Value
from kafkalog.kafka.message_writer import encode
from kafkalog.redaction.keyed_bytes import KeyedBytes
from kafkalog.redaction.new_names import NameKind, NewNames
from kafkalog.redaction.passing_fields import (
    KNOWN_WORDS,
    OF_RESOURCE,
    TIMES,
    Passing,
    config_name_passes,
    config_value_passes,
    passing,
)
from kafkalog.redaction.shifted_times import ShiftedTimes

__all__ = ["InternalBytes", "RecordPair"]

_VERSION: Final = 2  # bytes of a version, and of a key's type
_KEYLESS: Final = (Internal.CLUSTER_METADATA, Internal.REMOTE_LOG_METADATA)
_BROKER_RESOURCE: Final = 4
_REMEMBERED: Final = 4096
_SEGMENT_KEY_PARTS: Final = 5
_REMOTE_SIZE: Final = "segmentSizeInBytes"


class RecordPair(NamedTuple):
    """A record's key and value."""

    key: bytes | None
    value: bytes | None


class InternalBytes:
    """Makes the records of internal topics anew; `unknown` counts those of which only types and versions passed.

    `remote_grown` are the bytes that remote segments have more now, by their ids.
    """

    def __init__(self, salt: bytes, names: NewNames, times: ShiftedTimes) -> None:
        self.unknown: Counter[str] = Counter()
        self.remote_grown: dict[str, int] = {}
        self._names = names
        self._times = times
        self._keys = KeyedBytes(salt, "internal-key")
        self._secrets = KeyedBytes(salt, "internal")
        self._key = lru_cache(_REMEMBERED)(self._new_key)

    def control(self, key: bytes | None, value: bytes | None) -> RecordPair:
        """Return a control record: markers and KRaft's own."""
        if key is None or len(key) < CONTROL_RECORD_KEY.size:
            return RecordPair(_zeros(key), _zeros(value))
        number = CONTROL_RECORD_KEY.read_field("type", key)
        name = CONTROL_MESSAGES.get(ControlType(number)) if number in set(ControlType) else None
        new_key = key[: CONTROL_RECORD_KEY.size] + bytes(len(key) - CONTROL_RECORD_KEY.size)
        if value is None:
            return RecordPair(new_key, None)
        if number in END_TYPES:
            return RecordPair(new_key, _start(value, END_TXN_MARKER.size))
        made = self._message(message("control_records", name), 0, value) if name is not None else None
        return RecordPair(new_key, made if made is not None else _zeros(value))

    def record(self, internal: Internal, key: bytes | None, value: bytes | None) -> RecordPair:
        """Return a record of an internal topic."""
        if internal in _KEYLESS:
            return RecordPair(self._segment_key(key), None if value is None else self._framed(internal, value))
        if key is None:
            return RecordPair(None, None if value is None else self._opaque(internal, value))
        kind = record_types(internal).get(int.from_bytes(key[:_VERSION], "big", signed=True))
        return RecordPair(self._key(internal, key), None if value is None else self._value(internal, kind, value))

    def _new_key(self, internal: Internal, key: bytes) -> bytes:
        number = int.from_bytes(key[:_VERSION], "big", signed=True)
        kind = record_types(internal).get(number)
        made = None
        if len(key) >= _VERSION and kind is not None and kind.key is not None:
            made = self._message(kind.key, 0, key[_VERSION:])
        if made is not None:
            return key[:_VERSION] + made
        self.unknown[internal] += 1
        return key[:_VERSION] + self._keys.like(key[_VERSION:])

    def _value(self, internal: Internal, kind: RecordType | None, value: bytes) -> bytes:
        version = int.from_bytes(value[:_VERSION], "big", signed=True)
        if kind is not None and len(value) >= _VERSION and 0 <= version <= kind.value.newest:
            made = self._message(kind.value, version, value[_VERSION:])
            if made is not None:
                return value[:_VERSION] + made
        return self._opaque(internal, value)

    def _opaque(self, internal: Internal, value: bytes) -> bytes:
        self.unknown[internal] += 1
        return value[:_VERSION] + self._secrets.like(value[_VERSION:])

    def _framed(self, internal: Internal, value: bytes) -> bytes:
        """Return a record in a frame: frame version, type, version, message."""
        at, numbers = 0, []
        try:
            for what in ("frame", "type", "version"):
                number, at = uvarint(value, at, what)
                numbers.append(number)
        except MalformedError:
            self.unknown[internal] += 1
            return self._secrets.like(value)
        kind = record_types(internal).get(numbers[1])
        if kind is not None and 0 <= numbers[2] <= kind.value.newest:
            made = self._message(kind.value, numbers[2], value[at:])
            if made is not None:
                return value[:at] + made
        self.unknown[internal] += 1
        start = min(at, 3)  # a number in more bytes than it needs may be anything
        return value[:start] + self._secrets.like(value[start:])

    def _segment_key(self, key: bytes | None) -> bytes | None:
        """Return the key of a remote segment's record: topic id, topic, partition, offset, epoch."""
        if not key:
            return key
        parts = key.split(b":")
        numbers = parts[2:]
        if len(parts) == _SEGMENT_KEY_PARTS and len(parts[0]) == 22 and all(part.isdigit() for part in numbers):
            parts[1] = self._names.of(NameKind.TOPIC, parts[1])
            return b":".join(parts)
        return self._keys.like(key)

    def _message(self, schema: Message, version: int, data: bytes, group_protocol: str = "") -> bytes | None:
        """Return a message made anew, None if its schema does not give back each of its bytes."""
        try:
            read = decode(schema, version, data, text=_any_text)
            if read.taken != len(data) or encode(schema, version, read.fields) != data:
                return None
        except (MalformedError, UnicodeError):
            return None
        protocol = read.fields.get("protocolType", group_protocol)
        made = self._fields(schema.name, "", schema.fields, read.fields, f"{protocol}")
        if _REMOTE_SIZE in made:
            segment = made.get("segmentId") or made["remoteLogSegmentId"]["id"]  # a snapshot's record, or the topic's
            made[_REMOTE_SIZE] += self.remote_grown.get(segment, 0)
        written = encode(schema, version, made)
        return written if len(written) == len(data) else None

    def _fields(
        self, name: str, path: str, fields: tuple[MessageField, ...], row: dict[str, Value], protocol: str
    ) -> dict[str, Value]:
        made: dict[str, Value] = {}
        for field in fields:
            if field.name in row:
                place = f"{path}{field.name}"
                made[field.name] = self._field(name, place, field.type, row[field.name], row, protocol)
        if UNKNOWN_TAGS in row:
            made[UNKNOWN_TAGS] = [[tag, self._secrets.like(data)] for tag, data in row[UNKNOWN_TAGS]]
        return made

    def _field(
        self, name: str, path: str, kind: str | Array | Struct, value: Value, row: dict[str, Value], protocol: str
    ) -> Value:
        if value is None:
            return None
        if isinstance(kind, Array):
            return [self._field(name, path, kind.of, one, row, protocol) for one in value]
        if isinstance(kind, Struct):
            return self._fields(name, f"{path}.", kind.fields, value, protocol)
        if kind == "string":
            return _any_text(self._text(name, path, _bytes_of(value), row))
        if kind == "bytes":
            return self._bytes(passing(name, path), value, protocol)
        return self._times.of(value) if path.rpartition(".")[2] in TIMES else value

    def _text(self, name: str, path: str, value: bytes, row: dict[str, Value]) -> bytes:
        how = passing(name, path)
        if isinstance(how, NameKind):
            return self._names.of(how, value)
        if how is Passing.RESOURCE:
            return self._resource(name, value, row.get("resourceType"))
        passes = (
            (how is Passing.WORD and value in KNOWN_WORDS)
            or (how is Passing.CONFIG and config_name_passes(value))
            or (how is Passing.SETTING and config_value_passes(_bytes_of(row["name"]), value))
        )
        return value if passes else self._secrets.text_like(value)

    def _resource(self, name: str, value: bytes, kind: int | None) -> bytes:
        named = OF_RESOURCE.get(name, {}).get(kind or 0)
        if named is not None:
            return self._names.of(named, value)
        is_node = name == "ConfigRecord" and kind == _BROKER_RESOURCE and value.isdigit() and len(value) < 11
        return value if is_node or value in KNOWN_WORDS else self._secrets.text_like(value)

    def _bytes(self, how: Passing | NameKind, value: bytes, protocol: str) -> bytes:
        """Return other bytes; of the consumer protocol's messages the names may pass."""
        schema = _EMBEDDED.get(how) if protocol in ("consumer", "") else None
        if schema is not None and len(value) > _VERSION:
            version = int.from_bytes(value[:_VERSION], "big", signed=True)
            definition = message("consumer_protocol", schema)
            if 0 <= version <= definition.newest:
                made = self._message(definition, version, value[_VERSION:])
                if made is not None:
                    return value[:_VERSION] + made
        return self._secrets.like(value)


_EMBEDDED: Final[dict[Passing | NameKind, str]] = {
    Passing.SUBSCRIPTION: "ConsumerProtocolSubscription",
    Passing.ASSIGNMENT: "ConsumerProtocolAssignment",
}


def _any_text(data: bytes) -> str:
    """Read bytes as text that can be written again, UTF-8 or not."""
    return data.decode("utf-8", "surrogateescape")


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _zeros(data: bytes | None) -> bytes | None:
    return None if data is None else bytes(len(data))


def _start(data: bytes, size: int) -> bytes:
    """Return the first bytes, and zeros for the others."""
    return data[:size] + bytes(max(0, len(data) - size))
