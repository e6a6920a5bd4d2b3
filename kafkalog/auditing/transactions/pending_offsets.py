"""Offset commits in transactions: which groups wait for which transaction, and which commits were discarded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kafkalog.auditing.topics import ABORTED, PENDING, Fates
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format.message import MalformedError
from kafkalog.format.records.consumer_offsets import offset_commit_key
from kafkalog.log.chunk import Limits
from kafkalog.log.expansion import OVER_BUDGET
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.readers import segment_chunks

__all__ = ["pending_offsets"]


def pending_offsets(directory: PartitionDirectory, verdicts: Verdicts, limits: Limits) -> Iterator[Finding]:
    """Yield for each group and producer how many offset commits are in open and in aborted transactions."""
    fates = Fates(verdicts.rows, (PENDING, ABORTED))
    if not fates.producers:
        return
    counts: Counter[tuple[int, str, str]] = Counter()
    for segment in directory.segments:
        try:
            for chunk in segment_chunks(segment.path, limits=limits, max_bytes=segment.size):
                producers = chunk.heads.column(kernel.PRODUCER_ID)
                for row, producer in enumerate(producers):
                    if producer not in fates.producers or chunk.heads.cell(kernel.ATTRIBUTES, row) & 48 != 16:
                        chunk.skip(row)
                yield from (finding for finding in chunk.findings if finding.code == OVER_BUDGET)
                for block in chunk.records():
                    for number in range(block.recs.count):
                        record = block.record(number)
                        producer = producers[block.recs.cell(kernel.BATCH, number)]
                        fate = fates.of(producer, record.offset)
                        if fate is not None and (group := _group(record.key)) is not None:
                            counts[producer, group, fate.state] += 1
        except UnreadableError:  # the scan has reported it
            continue
    for (producer, group, state), count in sorted(counts.items()):
        code = "offsets-pending" if state == PENDING else "offsets-aborted"
        what = (
            "in an open transaction"
            if state == PENDING
            else "in an aborted transaction"
            if count == 1
            else "in aborted transactions"
        )
        yield Finding.of(
            code,
            directory.log,
            f"{count} offset commit{'s' * (count > 1)} of group {group}, written by producer {producer},"
            f" {'is' if count == 1 else 'are'} {what}",
            producer_id=producer,
            found=count,
        )


def _group(key: bytes | None) -> str | None:
    try:
        found = offset_commit_key(key)
    except MalformedError:
        return None
    return None if found is None else found.group
