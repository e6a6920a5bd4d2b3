"""Records of internal topics where they stand, one by one, and as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format.batch import CONTROL, TRANSACTIONAL, Batch
from kafkalog.format.internal import Internal, InternalRecord, UnknownTypeError, internal_record
from kafkalog.format.message import MalformedError
from kafkalog.format.message_json import plain
from kafkalog.format.records.consumer_offsets import with_protocol
from kafkalog.log.chunk import Limits
from kafkalog.log.internals import internal_findings
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.readers import segment_chunks
from kafkalog.tables.column import Table
from kafkalog.tables.internal import INTERNAL

__all__ = ["TOPICS", "Written", "internal_row", "internal_rows", "of_directory", "split", "written"]

TOPICS: Final = {
    "__transaction_state": Internal.TRANSACTION_LOG,
    "__consumer_offsets": Internal.OFFSETS,
    "__share_group_state": Internal.SHARE_GROUP_STATE,
    "__cluster_metadata": Internal.CLUSTER_METADATA,
    "__remote_log_metadata": Internal.REMOTE_LOG_METADATA,
}


class Written(NamedTuple):
    """A record of an internal topic: where it stands, in which batch, and what it says.

    `content` is None where its type is not known; `type` is its number.
    """

    file: str
    offset: int
    timestamp: int
    leader_epoch: int
    transactional: bool
    producer_id: int
    type: int
    content: InternalRecord | None


def written(
    path: str, topic: str, limits: Limits | None = None, max_bytes: int | None = None
) -> Iterator[Written | Finding]:
    """Yield each record of a segment or a KRaft snapshot of a topic, markers and the like left out, and what is wrong.

    Raises UnreadableError where the file can't be opened or read.
    """
    internal = TOPICS[topic]
    for chunk in segment_chunks(path, limits=limits, max_bytes=max_bytes):
        attributes = chunk.heads.column(kernel.ATTRIBUTES)
        producers = chunk.heads.column(kernel.PRODUCER_ID)
        epochs = chunk.heads.column(kernel.LEADER_EPOCH)
        for row, bits in enumerate(attributes):
            if bits & CONTROL and chunk.heads.cell(kernel.MAGIC, row) > 1:
                chunk.skip(row)
        for block in chunk.records():
            for number in range(block.recs.count):
                row = block.recs.cell(kernel.BATCH, number) if block.outer is None else block.outer
                record = block.record(number)
                where = (
                    path, record.offset, record.timestamp, epochs[row],
                    record.magic > 1 and bool(attributes[row] & TRANSACTIONAL), producers[row],
                )  # fmt: skip
                content = None
                try:
                    content = internal_record(internal, record.key, record.value)
                    yield Written(*where, content.type, content)
                except UnknownTypeError as error:
                    yield Written(*where, error.number, None)
                except MalformedError:  # it is told below
                    pass
                if content is None or not content.known or content.remarks:
                    yield from internal_findings(path, Batch.of(chunk.heads, row), record, internal)
            yield from block.findings
        yield from chunk.findings


def of_directory(directory: PartitionDirectory, limits: Limits | None = None) -> Iterator[Written | Finding]:
    """Yield the records of a partition's segments in order; of what is wrong with the bytes the scan tells."""
    for segment in directory.segments:
        try:
            for item in written(segment.path, directory.topic, limits, segment.size):
                if not isinstance(item, Finding) or item.code.startswith("internal-record-"):
                    yield item
        except UnreadableError as error:
            yield Finding.of("file-unreadable", segment.path, str(error), log=directory.log)


def internal_row(record: Written, topic: str, log: str, partition: int) -> tuple[Any, ...]:
    """Make a row of the table ``internal``."""
    content = record.content
    where = (log, topic, partition, record.offset, record.timestamp, record.type)
    batch = (record.transactional, record.producer_id)
    if content is None:
        return (*where, None, None, None, None, False, True, *batch)
    value = content.value
    if value is not None and content.name == "GroupMetadata":
        value = with_protocol(value)
    return (
        *where, content.name, content.version, plain(content.key), plain(value), value is None, not content.known,
        *batch,
    )  # fmt: skip


def internal_rows(
    path: str, topic: str, log: str, partition: int, limits: Limits | None = None
) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:
    """Yield the rows of one segment of an internal topic, or of a KRaft snapshot, and every finding.

    Raises UnreadableError where the file can't be opened or read.
    """
    for item in written(path, topic, limits):
        yield item if isinstance(item, Finding) else (INTERNAL, internal_row(item, topic, log, partition))


def split(items: Iterable[Written | Finding], findings: list[Finding]) -> Iterator[Written]:
    """Yield the records alone; findings are put into a list."""
    for item in items:
        if isinstance(item, Finding):
            findings.append(item)
        else:
            yield item
