"""Data that is not transactional inside its producer's open transaction: no leader takes it, and no loader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.columns.table import AFTER_ALL
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.segments.segment import possible_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["outside_findings"]

_MOST: Final = 100  # findings of a log


def outside_findings(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield the first batches of each producer that are in its open transaction and not part of it.

    A producer that writes both kinds has more records than its transactions have: nearly no log has one, and only then
    its batches are read again.

    Follows ProducerAppendInfo.appendDataBatch, which loading, recovery and followers call, too.
    """
    mixed = _mixed(audit) if audit.has_transactions else np.empty(0, np.int64)
    if not len(mixed):
        return
    rows = audit.transactions.columns("producer_id", "first_offset", "marker_offset", "records")
    rows = rows.where(np.isin(rows["producer_id"], mixed) & (rows["records"] > 0))
    begin, end, of = rows["first_offset"], rows["marker_offset"].copy(), rows["producer_id"]
    end[end < 0] = AFTER_ALL
    found = 0
    for segment in audit.directory.segments:
        for producer, first, last, position in _plain_batches(segment, mixed):
            inside = (of == producer) & (begin < first) & (first < end)
            if found == _MOST or not inside.any():
                continue
            found += 1
            opened = int(begin[inside].max())
            yield audit.directory.finding(
                "data-outside-transaction", segment.path,
                f"the batch of producer {producer} at offset {first} is not transactional, but the producer's"
                f" transaction from offset {opened} on is open there: a broker that reads it throws"
                " InvalidTxnStateException",
                position=position, offset=first, last_offset=last, producer_id=producer,
            )  # fmt: skip


def _mixed(audit: PartitionAudit) -> NDArray[np.int64]:
    """Return the producers that have transactions, and records outside of them.

    In most logs that have transactions all records are in one: then two sums are equal, and no batch is looked at.
    """
    written = audit.producers.columns("producer_id", "records")
    total = sum(int(np.maximum(some["records"], 0).sum()) for some in audit.transactions.blocks("records"))
    if not len(written) or total == int(np.maximum(written["records"], 0).sum()):
        return np.empty(0, np.int64)
    ids = np.unique(written["producer_id"])
    outside, has = np.zeros(len(ids), np.int64), np.zeros(len(ids), bool)
    np.add.at(outside, np.searchsorted(ids, written["producer_id"]), np.maximum(written["records"], 0))
    for some in audit.transactions.blocks("producer_id", "records"):
        at = np.minimum(np.searchsorted(ids, some["producer_id"]), len(ids) - 1)
        known = ids[at] == some["producer_id"]
        has[at[known]] = True
        np.subtract.at(outside, at[known], np.maximum(some["records"][known], 0))
    return ids[has & (outside > 0)]


def _plain_batches(segment: Segment, producers: NDArray[np.int64]) -> Iterator[tuple[int, int, int, int]]:
    """Yield producer, offsets and position of the data of these producers that is in no transaction."""
    try:
        for chunk in possible_chunks(segment.path, max_bytes=segment.size):
            heads = chunk.heads.numpy()
            bits = buffers.CONTROL_BIT | buffers.TRANSACTIONAL_BIT
            chosen = (heads[buffers.VALID] != 0) & (heads[buffers.MAGIC] > 1) & (heads[buffers.ATTRIBUTES] & bits == 0)
            chosen &= np.isin(heads[buffers.PRODUCER_ID], producers)
            columns = (buffers.PRODUCER_ID, buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.POSITION)
            yield from zip(*(heads[one][chosen].tolist() for one in columns), strict=True)
    except UnreadableError:
        return  # reported with the file
