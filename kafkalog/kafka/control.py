"""Control records: transaction markers and what KRaft writes between its records.

The key has a version and a type (ControlRecordType), the value what the type needs. ``kernel.end_marker`` decides what
is a transaction's marker, here as in the loops; an unknown type is kept with its number.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple

from kafkalog.kafka.layout import CONTROL_RECORD_KEY, END_TXN_MARKER
from kafkalog.kafka.message import MalformedError, decode
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_json import kafka_json
from kafkalog.kernel import buffers, numbers

__all__ = ["CONTROL_MESSAGES", "END_TYPES", "ControlRecord", "ControlType", "control_record"]


class ControlType(IntEnum):
    """The types of ControlRecordType; other numbers occur and are kept as they are."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


END_TYPES: Final = (ControlType.ABORT, ControlType.COMMIT)


class ControlRecord(NamedTuple):
    """One control record: `type` is its number, `name` its word in lower case, ``unknown`` if it has none.

    `coordinator_epoch` is that of an ABORT or COMMIT, `data` the fields of a KRaft message; otherwise None.
    """

    version: int
    type: int
    name: str
    coordinator_epoch: int | None
    data: dict[str, Any] | None

    @property
    def json(self) -> str:
        """Return `data` as Kafka's generated JSON converters write it."""
        return kafka_json(self.data)


# The messages of KRaft's control records; Kafka reads and writes them all in version 0.
CONTROL_MESSAGES: Final = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}


_WRONG: Final[dict[int, tuple[str, Callable[[bytes, bytes], str]]]] = {
    buffers.KEY_SHORT: (
        "control-key-short",
        lambda key, _: f"the key needs {CONTROL_RECORD_KEY.size} bytes, found {len(key)}",
    ),
    buffers.KEY_VERSION_NEGATIVE: (
        "control-version-negative",
        lambda key, _: f"the key's version is {CONTROL_RECORD_KEY.read_field('version', key)}",
    ),
    buffers.VALUE_SHORT: (
        "marker-value-short",
        lambda _, value: f"the marker needs {END_TXN_MARKER.size} bytes, found {len(value)}",
    ),
    buffers.VALUE_VERSION_NEGATIVE: (
        "marker-version-negative",
        lambda _, value: f"the marker's version is {END_TXN_MARKER.read_field('version', value)}",
    ),
}


def control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Read a control record's key and value.

    Raises MalformedError if the key is too short or has a negative version, or the value is not what its type needs.

    `key` and `value` are the record's bytes.

    >>> kafkalog.control_record(bytes([0, 0, 0, 1]), bytes(6)).name
    'commit'
    """
    key, value = key or b"", value or b""
    ends = numbers.end_marker(key + value, 0, len(key), len(key), len(value))
    if ends in _WRONG:
        code, say = _WRONG[ends]
        raise MalformedError(say(key, value), code=code)
    version, number = CONTROL_RECORD_KEY.packed.unpack_from(key)
    if ends != buffers.NO_END:
        epoch = END_TXN_MARKER.read_field("coordinator_epoch", value)
        return ControlRecord(version, number, ControlType(number).name.lower(), epoch, None)
    if number in CONTROL_MESSAGES:
        data = decode(message("control_records", CONTROL_MESSAGES[ControlType(number)]), 0, value).fields
        return ControlRecord(version, number, ControlType(number).name.lower(), None, data)
    return ControlRecord(version, number, "unknown", None, None)
