"""Damaged batches of internal topics, read as their coordinators read them: without a look at the CRC."""

from __future__ import annotations

from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.files.opening import BytesSource, open_source
from kafkalog.kafka.batch import Batch, Record
from kafkalog.kafka.control import control_record
from kafkalog.kafka.internal_records import UnknownTypeError, internal_record
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.kafka.message import MalformedError
from kafkalog.kernel import buffers
from kafkalog.kernel.headers import crc32c
from kafkalog.segments.internal_blocks import TOPICS
from kafkalog.segments.segment import chunks_of_source

__all__ = ["is_loaded"]

_CRC: Final = RECORD_BATCH.position("crc")
_MOST_BYTES: Final = 64 << 20  # of a batch: what a coordinator loads at once is 5 MiB by default


def is_loaded(topic: str, file: str, position: int, length: int) -> bool:
    """Say whether a coordinator can read all records of a batch whose CRC does not match.

    CoordinatorLoaderImpl and TransactionStateManager read batches without a check of the CRC, and skip records of types
    that they do not know; they fail at what they can't read.
    """
    if not RECORD_BATCH.size <= length <= _MOST_BYTES:
        return False
    try:
        source = open_source(file)
        try:
            data = bytearray(source.read_bytes(position, length))
        finally:
            source.close()
        if len(data) != length:
            return False
        data[_CRC : _CRC + 4] = crc32c(data, _CRC + 4, length).to_bytes(4, "big")
        records = 0
        for chunk in chunks_of_source(BytesSource(data, file), ""):
            for block in chunk.records():
                if block.findings:
                    return False
                for number in range(block.recs.count):
                    records += 1
                    batch = Batch.of(chunk.heads, block.recs.cell(buffers.BATCH, number))
                    _read(topic, batch, block.record(number))
            if chunk.findings:
                return False
    except (UnreadableError, MalformedError):
        return False
    return records > 0


def _read(topic: str, batch: Batch, record: Record) -> None:
    """Read a record, or a transaction's marker. Raises MalformedError where the coordinator can't."""
    try:
        if batch.is_control:
            control_record(record.key, record.value)
        else:
            internal_record(TOPICS[topic], record.key, record.value)
    except UnknownTypeError:
        pass  # the coordinator skips it
