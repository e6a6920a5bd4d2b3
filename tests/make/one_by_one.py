"""The records of internal topics made values one after the other: what blocks of them are held to."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalog.auditing.topics.internal import TOPICS, Written
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import OVER_BUDGET, Limits
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.segments.internal_blocks import InternalRecords, internal_blocks

__all__ = ["of_directory", "written"]

_OF_RECORDS = ("internal-record-", OVER_BUDGET)


def written(
    path: str, topic: str, limits: Limits | None = None, max_bytes: int | None = None
) -> Iterator[Written | Finding]:
    """Yield each record of a segment or a KRaft snapshot of a topic without control records, and each finding.

    Raises UnreadableError where the file can't be opened or read.
    """
    for item in internal_blocks(path, TOPICS[topic], limits, max_bytes):
        if isinstance(item, InternalRecords):
            yield from item.written()
        else:
            yield item


def of_directory(directory: PartitionDirectory, limits: Limits | None = None) -> Iterator[Written | Finding]:
    """Yield the records of a partition's segments in order; the scan reports what is wrong with the bytes.

    It does not decompress them, so records that were left out for their size are reported here.
    """
    for segment in directory.segments:
        try:
            for item in written(segment.path, directory.topic, limits, segment.size):
                if not isinstance(item, Finding) or item.code.startswith(_OF_RECORDS):
                    yield item
        except UnreadableError as error:
            yield Finding.of("file-unreadable", segment.path, str(error), log=directory.log)
