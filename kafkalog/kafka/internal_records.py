"""Records of internal topics: which schema a record has, and what it says.

A coordinator's record (KIP-848's ``CoordinatorRecordSerde``) has its kind in the key and its version in the value; a
metadata record (``AbstractApiMessageSerde``) has no key, and a frame of frame version, kind and version in the value.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final, NamedTuple

from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MalformedError, decode, escaped_text
from kafkalog.kafka.message_definitions import RECORDS_BETWEEN, Definition
from kafkalog.kafka.message_primitives import Text, uvarint
from kafkalog.kafka.message_schema import EVERY_RELEASE, Message, Release, Value

__all__ = ["InternalRecord", "RecordType", "UnknownTypeError", "internal_record", "record_types"]


# How a kind of record of an internal topic is declared.


_ALWAYS: Final[tuple[Release, Release]] = ((0, 0), EVERY_RELEASE)


class RecordType(NamedTuple):
    """A kind of record: its number, Kafka's name, and its schemas. Records of metadata topics have no key.

    Releases from `first` to `last` know it; ``EVERY_RELEASE`` means all of them together.
    """

    number: int
    name: str
    key: Message | None
    value: Message
    first: Release = (0, 0)
    last: Release = EVERY_RELEASE

    def known_in(self, release: Release) -> bool:
        """Say whether the release has this kind."""
        return release == EVERY_RELEASE or self.first <= release <= self.last


def declared_types(definitions: Collection[Definition]) -> dict[int, RecordType]:
    """Return the kinds of records of one topic's definitions by their numbers; key and value have the same number."""
    keys = {one.number: one.message for one in definitions if one.type == "coordinator-key"}
    found = {}
    for one in definitions:
        if one.number is not None and one.type != "coordinator-key":
            name = one.message.name.removesuffix("Value")
            found[one.number] = RecordType(
                one.number, name, keys.get(one.number), one.message, *RECORDS_BETWEEN.get(name, _ALWAYS)
            )
    return dict(sorted(found.items()))


_FRAME_VERSION: Final = 1

_LARGEST: Final = 0x7FFF

_LONGEST_KEPT: Final = 512

# Where the schemas are, in format/messages/; a dump reads those of one topic only.
_FOLDERS: Final = {
    Internal.OFFSETS: "consumer_offsets",
    Internal.TRANSACTION_LOG: "transaction_state",
    Internal.CLUSTER_METADATA: "cluster_metadata",
    Internal.REMOTE_LOG_METADATA: "remote_log_metadata",
    Internal.SHARE_GROUP_STATE: "share_group_state",
}

_KEYLESS: Final = (Internal.CLUSTER_METADATA, Internal.REMOTE_LOG_METADATA)

_types: dict[Internal, dict[int, RecordType]] = {}


class UnknownTypeError(MalformedError):
    """A record of a kind without a known schema, or of a version that the schema does not have; coordinators skip it.

    `name` and `version` are empty and None if the kind itself is not known.
    """

    def __init__(self, number: int, kafka: str, name: str = "", version: int | None = None) -> None:
        what = f"{name} has no version {version}" if name else f"record type {number} is unknown"
        super().__init__(what, kafka)
        self.number = number
        self.name = name
        self.version = version


class InternalRecord(NamedTuple):
    """What a record says: `name` is Kafka's for its kind, `key` and `value` are fields in Kafka's spelling.

    A tombstone has neither version nor value; metadata records have no key. `remarks` list oddities that Kafka accepts.
    """

    type: int
    name: str
    key: dict[str, Value] | None
    version: int | None
    value: dict[str, Value] | None
    remarks: tuple[str, ...] = ()


def record_types(internal: Internal) -> dict[int, RecordType]:
    """Return the kinds of records by their numbers."""
    if internal not in _types:
        from kafkalog.kafka.message_definitions import definitions  # only a decoder needs it

        _types[internal] = declared_types(definitions(_FOLDERS[internal]).values())
    return _types[internal]


def internal_record(
    internal: Internal, key: bytes | None, value: bytes | None, *, release: Release = EVERY_RELEASE,
    text: Text = escaped_text,
) -> InternalRecord:  # fmt: skip
    """Read a record with the schemas that `release` knows.

    Raises UnknownTypeError if it has no schema for the record, MalformedError if the bytes do not fit the schema. Kafka
    reads a metadata record whose version is too high as the newest version; with a release's schemas, so does this.
    """
    if internal is Internal.REMOTE_LOG_METADATA and value is None and key is not None:
        return InternalRecord(0, record_types(internal)[0].name, None, None, None)  # a tombstone of KIP-1266
    if internal in _KEYLESS:
        return _framed(internal, value, release, text)
    return _keyed(internal, key, value, release, text)


def _type(internal: Internal, number: int, release: Release, kafka: str) -> RecordType:
    found = record_types(internal).get(number)
    if found is None or not found.known_in(release):
        raise UnknownTypeError(number, kafka)
    return found


def _keyed(internal: Internal, key: bytes | None, value: bytes | None, release: Release, text: Text) -> InternalRecord:
    if key is None:
        raise MalformedError("the key, which has the record's type, is null")
    read_key = _key if len(key) <= _LONGEST_KEPT else _key.__wrapped__
    kind, fields, remarks = read_key(internal, key, release, text)
    number = kind.number
    if value is None:
        return InternalRecord(number, kind.name, fields, None, None, remarks)
    version = _version(value, "value")
    if not 0 <= version <= kind.value.newest_in(release):
        kafka = f"Found an unknown record version {version} for {number} type"
        raise UnknownTypeError(number, kafka, kind.name, version)
    try:
        decoded = decode(kind.value, version, memoryview(value)[2:], release=release, text=text)
    except MalformedError as error:
        raise _wrapped(error, version, "value") from error
    remarks = (*remarks, *decoded.remarks, *_left("value", len(value) - 2 - decoded.taken))
    return InternalRecord(number, kind.name, fields, version, decoded.fields, remarks)


@lru_cache(maxsize=4096)
def _key(
    internal: Internal, key: bytes, release: Release, text: Text
) -> tuple[RecordType, dict[str, Value], tuple[str, ...]]:
    """Read a key; most keys occur many times."""
    number = _version(key, "key")
    kind = _type(internal, number, release, f"Unknown record type {number}")
    assert kind.key is not None  # coordinators' records are keyed
    try:
        fields, taken, _ = decode(kind.key, 0, key[2:], release=release, text=text)
    except MalformedError as error:
        raise _wrapped(error, number, "key") from error
    return kind, fields, _left("key", len(key) - 2 - taken)


def _version(data: bytes, what: str) -> int:
    if len(data) < 2:
        kafka = f"Could not read version from {what}'s buffer."
        raise MalformedError(f"the {what} needs 2 bytes for its version, found {len(data)}", kafka)
    return int.from_bytes(data[:2], "big", signed=True)


def _wrapped(error: MalformedError, version: int, what: str) -> MalformedError:
    kafka = f"Could not read record with version {version} from {what}'s buffer due to: {error.kafka}."
    return MalformedError(f"the {what} of version {version}: {error}", kafka)


def _left(what: str, size: int) -> tuple[str, ...]:
    return (f"{size} bytes after the {what}'s last field",) if size else ()


def _framed(internal: Internal, value: bytes | None, release: Release, text: Text) -> InternalRecord:
    data = value or b""
    frame, at = _frame_number(data, 0, "frame version")
    if frame == 0:
        raise MalformedError(
            "the frame's version is 0, that of the preview in Kafka 2.8",
            "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release "
            "of KRaft in 2.8 to newer versions are not supported.",
        )
    if frame != _FRAME_VERSION:
        raise MalformedError(
            f"the frame's version is {frame}, not {_FRAME_VERSION}",
            f"Could not deserialize metadata record due to unknown frame version {frame}(only frame version "
            f"{_FRAME_VERSION} is supported)",
        )
    number, at = _frame_number(data, at, "type")
    version, at = _frame_number(data, at, "version")
    refusal = f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {number}"
    kind = _type(internal, number, release, refusal)
    if release == EVERY_RELEASE and not 0 <= version <= kind.value.newest:
        raise UnknownTypeError(number, "", kind.name, version)
    try:
        decoded = decode(kind.value, version, memoryview(data)[at:], release=release, text=text)
    except MalformedError as error:
        raise MalformedError(f"{kind.name}: {error}", f"Failed to deserialize record with type {number}") from error
    left = len(data) - at - decoded.taken
    if left:
        raise MalformedError(
            f"{left} bytes after the last field of {kind.name}", f"Found {left} byte(s) of garbage after {number}"
        )
    return InternalRecord(number, kind.name, None, version, decoded.fields, decoded.remarks)


def _frame_number(data: bytes, at: int, what: str) -> tuple[int, int]:
    try:
        number, at = uvarint(data, at, what)
    except MalformedError as error:
        raise MalformedError(str(error), f"Error while reading {what}") from error
    if number > _LARGEST:
        raise MalformedError(f"the {what} is {number}, the limit is {_LARGEST}", f"Value for {what} was too large.")
    return (number + 0x8000) % 0x10000 - 0x8000, at
