"""Control records: transaction markers and what KRaft writes between its records.

The key holds a version and a type (ControlRecordType), the value what the type needs. A longer key and newer versions
are read as version 0, as Kafka does; an unknown type is kept with its number.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

from kafkalog.format.definitions import message
from kafkalog.format.layout import CONTROL_RECORD_KEY, END_TXN_MARKER
from kafkalog.format.message import MalformedError, decode
from kafkalog.format.message_json import kafka_json

__all__ = ["ControlRecord", "ControlType", "control_record"]


class ControlType(IntEnum):
    """The types of ControlRecordType; other numbers occur and are kept as they are."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class ControlRecord(NamedTuple):
    """One control record: `type` is its number, `name` its word in lower case, ``unknown`` where there is none.

    `coordinator_epoch` is that of an ABORT or COMMIT, else None; `data` the fields of a KRaft message, else None.
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


# What KRaft's control records hold; Kafka reads and writes them all in version 0.
_MESSAGES: Final = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}


def control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Read a control record's key and value.

    Raises MalformedError where the key is too short or of a negative version, or the value is not what its type needs.
    """
    if key is None or len(key) < CONTROL_RECORD_KEY.size:
        raise MalformedError(
            f"the key needs {CONTROL_RECORD_KEY.size} bytes, {len(key or b'')} are there", code="control-key-short"
        )
    version, number = CONTROL_RECORD_KEY.packed.unpack_from(key)
    if version < 0:
        raise MalformedError(f"the key's version is {version}", code="control-version-negative")
    if number in (ControlType.ABORT, ControlType.COMMIT):
        if value is None or len(value) < END_TXN_MARKER.size:
            there = len(value or b"")
            raise MalformedError(
                f"the marker needs {END_TXN_MARKER.size} bytes, {there} are there", code="marker-value-short"
            )
        marker_version, coordinator_epoch = END_TXN_MARKER.packed.unpack_from(value)
        if marker_version < 0:
            raise MalformedError(f"the marker's version is {marker_version}", code="marker-version-negative")
        return ControlRecord(version, number, ControlType(number).name.lower(), coordinator_epoch, None)
    if number in _MESSAGES:
        schema = message("control_records", _MESSAGES[ControlType(number)])
        data = decode(schema, 0, value or b"").fields
        return ControlRecord(version, number, ControlType(number).name.lower(), None, data)
    return ControlRecord(version, number, "unknown", None, None)
