"""Records of internal topics: their contents, as rows, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kafkalog.findings import Finding
from kafkalog.format.batch import Batch, Record
from kafkalog.format.internal import InternalRecord, UnknownTypeError, internal_record
from kafkalog.format.internal_topics import Internal
from kafkalog.format.message import MalformedError
from kafkalog.format.message_json import plain
from kafkalog.format.records.consumer_offsets import with_protocol
from kafkalog.log.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.tables.internal import INTERNAL

__all__ = ["TOPICS", "Written", "internal_findings", "internal_row", "read_internal"]

TOPICS: Final = {
    STATE_TOPIC: Internal.TRANSACTION_LOG,
    OFFSETS_TOPIC: Internal.OFFSETS,
    SHARE_TOPIC: Internal.SHARE_GROUP_STATE,
    METADATA_TOPIC: Internal.CLUSTER_METADATA,
    "__remote_log_metadata": Internal.REMOTE_LOG_METADATA,
}


class Written(NamedTuple):
    """A record of an internal topic: where it is, facts of its batch, and its content.

    `content` is None if its type or version is not known; `type` is the type's number, `kind` its name if it is known,
    `version` the value's version, None in a tombstone.
    """

    file: str
    offset: int
    timestamp: int
    leader_epoch: int
    transactional: bool
    producer_id: int
    type: int
    content: InternalRecord | None
    kind: str | None = None
    version: int | None = None


def read_internal(file: str, batch: Batch, record: Record, internal: Internal) -> Iterator[Written | Finding]:
    """Yield the content of a record of an internal topic, unless it can't be read, and what is wrong with it."""
    where = (
        file, record.offset, record.timestamp, batch.partition_leader_epoch, batch.is_transactional, batch.producer_id,
    )  # fmt: skip
    try:
        read = internal_record(internal, record.key, record.value)
    except UnknownTypeError as error:
        yield Written(*where, error.number, None, error.name or None, error.version)
        yield _finding("internal-record-unknown", file, batch, record, str(error))
    except MalformedError as error:
        yield _finding("internal-record-malformed", file, batch, record, str(error))
    else:
        yield Written(*where, read.type, read, read.name, read.version)
        for remark in read.remarks:
            yield _finding("internal-record-odd", file, batch, record, f"{read.name}: {remark}")


def internal_findings(file: str, batch: Batch, record: Record, internal: Internal) -> list[Finding]:
    """Return what is wrong with a record that should be one of `internal`."""
    return [item for item in read_internal(file, batch, record, internal) if isinstance(item, Finding)]


def internal_row(record: Written, topic: str, log: str, partition: int | None) -> tuple[Any, ...]:
    """Make a row of the table ``internal``."""
    content = record.content
    key = value = None
    if content is not None:
        key, value = content.key, content.value
        if value is not None and content.name == "GroupMetadata":
            value = with_protocol(value)
    return INTERNAL.of(
        log=log,
        topic=topic,
        partition=partition,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        type=record.type,
        kind=record.kind,
        version=record.version,
        key=plain(key),
        value=plain(value),
        tombstone=content is not None and value is None,
        unknown=content is None,
        transactional=record.transactional,
        producer_id=record.producer_id,
    )


def _finding(code: str, file: str, batch: Batch, record: Record, message: str) -> Finding:
    return Finding.of(
        code,
        file,
        f"the record at offset {record.offset}: {message}",
        position=batch.position,
        length=batch.size,
        offset=record.offset,
    )
