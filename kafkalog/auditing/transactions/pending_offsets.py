"""Offset commits in transactions: which groups wait for which transaction, and which commits were discarded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from kafkalog.auditing.topics import ABORTED, COMMIT_TYPES, PENDING, STATES, Fates, Names
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format.internal_topics import Internal
from kafkalog.log.chunk import Limits
from kafkalog.log.expansion import OVER_BUDGET
from kafkalog.log.internal_blocks import InternalRecords, internal_blocks
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.moving import is_lost
from kafkalog.log.storage import exists

__all__ = ["pending_offsets"]


def pending_offsets(directory: PartitionDirectory, verdicts: Verdicts, limits: Limits) -> Iterator[Finding]:
    """Yield for each group and producer how many offset commits are in open and in aborted transactions."""
    fates = Fates(verdicts.rows, (PENDING, ABORTED))
    if not len(fates):
        return
    counts: Counter[tuple[int, str, str]] = Counter()
    for segment in directory.segments:
        try:
            for records in internal_blocks(
                segment.path, Internal.OFFSETS, limits, segment.size, transactions_of=fates.producers
            ):
                if isinstance(records, InternalRecords):
                    _count(records, fates, counts)
                elif records.code == OVER_BUDGET:
                    yield records
        except UnreadableError as error:
            if exists(segment.path) or is_lost(directory.log):  # else a running broker deleted it since
                yield Finding.of("file-unreadable", segment.path, str(error))
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


def _count(records: InternalRecords, fates: Fates, counts: Counter[tuple[int, str, str]]) -> None:
    """Count a block's commits whose keys could be read, by producer, group and state."""
    producer_id = records.of_batches(kernel.PRODUCER_ID)
    fate = fates.rows(producer_id, records.offset)
    parts = records.keys(COMMIT_TYPES, np.flatnonzero(fate >= 0))
    rows = np.sort(np.concatenate([np.empty(0, np.intp), *(part.of for part in parts)]))
    groups = Names()
    group = groups.numbers(records, *(records.field(parts, "group", number)[rows] for number in (0, 1)))
    columns = np.column_stack([producer_id[rows], group, fates.states(fate[rows])])
    found, count = np.unique(columns, axis=0, return_counts=True)
    for (producer, number, state), many in zip(found.tolist(), count.tolist(), strict=True):
        counts[producer, groups.texts[number], STATES[state] or ""] += many
