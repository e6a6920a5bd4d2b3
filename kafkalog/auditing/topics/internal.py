"""Records of internal topics with their places, one by one, and as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.chunk import Limits
from kafkalog.log.expansion import OVER_BUDGET
from kafkalog.log.internal_blocks import InternalRecords, internal_blocks
from kafkalog.log.internals import TOPICS, Written, internal_row
from kafkalog.log.logdir import PartitionDirectory

__all__ = ["TOPICS", "Written", "blocks_of_directory", "internal_row", "of_directory", "split", "written"]

_OF_RECORDS: Final = ("internal-record-", OVER_BUDGET)


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


def blocks_of_directory(
    directory: PartitionDirectory, limits: Limits, report: Callable[[Finding], object]
) -> Iterator[InternalRecords]:
    """Yield the records of a partition's segments in order, a block at a time; the scan reports what is wrong with the
    bytes, and ``InternalRecords.findings`` what is wrong with the records.
    """
    for segment in directory.segments:
        try:
            for item in internal_blocks(segment.path, TOPICS[directory.topic], limits, segment.size):
                if isinstance(item, InternalRecords):
                    yield item
                elif item.code == OVER_BUDGET:
                    report(item)
        except UnreadableError as error:
            report(Finding.of("file-unreadable", segment.path, str(error), log=directory.log))


def split(items: Iterable[Written | Finding], findings: list[Finding]) -> Iterator[Written]:
    """Yield the records alone; findings are put into a list."""
    for item in items:
        if isinstance(item, Finding):
            findings.append(item)
        else:
            yield item
