"""What kafka-dump-log's decoders print of records of internal topics, after ``key:`` and ``payload:``."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kafkalog import MalformedError, Record
from kafkalog.kafka.internal_records import InternalRecord, UnknownTypeError, internal_record
from kafkalog.kafka.internal_text import STATES_BY_NAME, metadata_word
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_json import kafka_json
from kafkalog.kafka.message_schema import Release
from kafkalog.kafka.remote_log_metadata import DELETE_STATES, SEGMENT_STATES
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.kernel.text import java_text

__all__ = ["DIALECTS", "shown"]

# The official tool's versions whose text is available, and the schemas that they know.
DIALECTS: Final[dict[str, Release]] = {"4.3": (4, 3), "4.2": (4, 2), "4.4": (4, 4)}
_LONGEST_KEPT: Final = 512


class DecodedText(NamedTuple):
    """A record's texts, None for what is not printed, and whether something may be wrong with it."""

    key: str | None
    payload: str | None
    doubtful: bool = False


def shown(internal: Internal, record: Record, dialect: str) -> DecodedText:
    """Return what the tool prints of a record: nothing if it stops with an exception, as for a missing key."""
    release = DIALECTS[dialect]
    if internal in (Internal.OFFSETS, Internal.TRANSACTION_LOG, Internal.SHARE_GROUP_STATE):
        return _keyed(internal, record, release)
    where = f"{record.offset}" if internal is Internal.CLUSTER_METADATA else f"offset {record.offset}"
    try:
        read = internal_record(internal, None, record.value, release=release, text=_java)
        text = _metadata(read) if internal is Internal.CLUSTER_METADATA else _remote(read)
        return DecodedText(None, text, bool(read.remarks))
    except MalformedError as error:
        return DecodedText(None, f"Error at {where}, skipping. {error.kafka}", doubtful=True)


def _java(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return java_text(data)


@lru_cache(maxsize=4096)
def _key_text(internal: Internal, key: bytes, release: Release) -> str:
    """Write a key; most keys occur many times."""
    read = internal_record(internal, key, None, release=release, text=_java)
    return kafka_json({"type": str(read.type), "data": read.key})


def _keyed(internal: Internal, record: Record, release: Release) -> DecodedText:
    if record.key is None:
        return DecodedText(None, None, doubtful=True)
    try:
        read = internal_record(internal, record.key, record.value, release=release, text=_java)
    except MalformedError as error:
        if not isinstance(error, UnknownTypeError) or error.name:
            return DecodedText(f"Error at offset {record.offset}, skipping. {error.kafka}", None, doubtful=True)
        return DecodedText(
            f"Unknown record type {error.number} at offset {record.offset}, skipping.", None, doubtful=True
        )
    written = _key_text if len(record.key) <= _LONGEST_KEPT else _key_text.__wrapped__
    key = written(internal, record.key, release)
    if read.value is None:
        return DecodedText(key, "<DELETE>", bool(read.remarks))
    value = kafka_json({"version": str(read.version), "data": _value(internal, read, release)})
    return DecodedText(key, value, bool(read.remarks))


def _value(internal: Internal, read: InternalRecord, release: Release) -> dict[str, Any]:
    fields = read.value or {}
    if internal is Internal.TRANSACTION_LOG and release >= STATES_BY_NAME:
        return {**fields, "transactionStatus": _state(fields["transactionStatus"])}
    if read.name == "GroupMetadata":
        from kafkalog.kafka.internal_block import with_protocol

        return with_protocol(fields, _java)
    return fields


def _state(number: int) -> str:
    try:
        return TransactionState(number).name.title().replace("_", "")
    except ValueError:
        return str(number)


def _metadata(read: InternalRecord) -> str:
    return kafka_json({"type": metadata_word(read.name), "version": read.version, "data": read.value})


# Objects of Java as their toString writes them.


def _remote(read: InternalRecord) -> str:
    fields, (name, members, check) = read.value or {}, _REMOTE[read.name]
    check(fields)
    written = ((member, _MEMBERS[member](fields) if member in _MEMBERS else fields[member]) for member in members)
    return f"{name}{{{', '.join(f'{member}={value}' for member, value in written)}}}"


def _segment_state(fields: dict[str, Any]) -> str:
    return _state_word(SEGMENT_STATES, fields["remoteLogSegmentState"], "state can not be null")


def _any_state(fields: dict[str, Any]) -> str:
    if "remotePartitionDeleteState" in fields:
        return _state_word(DELETE_STATES, fields["remotePartitionDeleteState"], "null")
    return _segment_state(fields)


def _state_word(words: tuple[str, ...], number: int, refusal: str) -> str:
    if not 0 <= number < len(words):
        raise MalformedError(f"state {number} does not exist", refusal)
    return words[number]


def _topic_id_partition(fields: dict[str, Any]) -> str:
    entry = fields["topicIdPartition"]
    return f"{entry['id']}:{entry['name']}-{entry['partition']}"


def _segment_id(fields: dict[str, Any]) -> str:
    entry = fields["remoteLogSegmentId"]
    return f"RemoteLogSegmentId{{topicIdPartition={_topic_id_partition(entry)}, id={entry['id']}}}"


def _custom(fields: dict[str, Any]) -> str:
    data = fields["customMetadata"]
    return "Optional.empty" if data is None else f"Optional[CustomMetadata{{{len(data)} bytes}}]"


def _epochs(fields: dict[str, Any]) -> str:
    """Write the map that Java makes of them: sorted, the last one of an epoch counts."""
    entries: list[dict[str, int]] = fields["segmentLeaderEpochs"]
    if not entries:
        raise MalformedError("segmentLeaderEpochs is empty", "segmentLeaderEpochs can not be null or empty")
    offsets = {entry["leaderEpoch"]: entry["offset"] for entry in entries}
    return f"{{{', '.join(f'{epoch}={offsets[epoch]}' for epoch in sorted(offsets))}}}"


def _check_extent(fields: dict[str, Any]) -> None:
    start, end = fields["startOffset"], fields["endOffset"]
    if start < 0:
        kafka = f"Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative"
        raise MalformedError(f"startOffset is {start}", kafka)
    if end < start:
        kafka = (
            f"Unexpected end offset = {end}. EndOffset for a remote segment cannot be less than startOffset = {start}"
        )
        raise MalformedError(f"endOffset is {end}, below startOffset {start}", kafka)


# Members that are not written as their fields are.
_MEMBERS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "remoteLogSegmentId": _segment_id, "topicPartition": _topic_id_partition, "segmentLeaderEpochs": _epochs,
    "customMetadata": _custom, "state": _any_state,
    "txnIdxEmpty": lambda fields: "true" if fields.get("txnIndexEmpty") else "false",
}  # fmt: skip
# By record: Java's class, its members, and what is checked before these.
_REMOTE: Final[dict[str, tuple[str, tuple[str, ...], Callable[[dict[str, Any]], object]]]] = {
    "RemoteLogSegmentMetadataRecord": (
        "RemoteLogSegmentMetadata",
        ("remoteLogSegmentId", "startOffset", "endOffset", "brokerId", "maxTimestampMs", "eventTimestampMs",
         "segmentLeaderEpochs", "segmentSizeInBytes", "customMetadata", "state", "txnIdxEmpty"),
        _check_extent,
    ),
    "RemoteLogSegmentMetadataUpdateRecord": (
        "RemoteLogSegmentMetadataUpdate",
        ("remoteLogSegmentId", "customMetadata", "state", "eventTimestampMs", "brokerId"),
        _segment_state,
    ),
    "RemotePartitionDeleteMetadataRecord": (
        "RemotePartitionDeleteMetadata", ("topicPartition", "state", "eventTimestampMs", "brokerId"), _any_state,
    ),
    "RemoteLogSegmentMetadataSnapshotRecord": (
        "RemoteLogSegmentMetadataSnapshot",
        ("segmentId", "startOffset", "endOffset", "maxTimestampMs", "segmentLeaderEpochs", "segmentSizeInBytes",
         "customMetadata", "state", "txnIdxEmpty"),
        _segment_state,
    ),
}  # fmt: skip
