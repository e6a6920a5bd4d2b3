"""What a read_committed consumer is given of one log: the batches with data below the last stable offset, not aborted.

The table ``visible`` has their offsets, and ``visible_records`` counts their records from an offset on.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.columns.sorted_rows import Spans, groups
from kafkalog.columns.table import Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.limits import Limits
from kafkalog.folds import fold
from kafkalog.folds.stable import is_data
from kafkalog.kafka.batch import TRANSACTIONAL, CellTable, believed_counts
from kafkalog.kernel import buffers
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.log_dirs.moving import is_lost
from kafkalog.segments.segment import possible_chunks
from kafkalog.unread import is_not_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["visible_batches", "visible_records"]


_VISIBLE: Final = {
    "position": buffers.POSITION,
    "first_offset": buffers.BASE_OFFSET,
    "last_offset": buffers.LAST_OFFSET,
}


def visible_batches(
    partition: PartitionAudit, start: int | None = None, limits: Limits | None = None
) -> Iterator[tuple[Segment, Columns]]:
    """Yield segments that reach `start` or further, each with batches with data that no aborted transaction hides.

    Several times where a segment has many batches. Without a `start` it is the log's. The last stable offset hides
    nothing here. Raises UnreadableError for a segment that could be read before.

    What the consumer's CompletedFetch leaves out, too: batches of aborted transactions, control batches (KIP-98).
    """
    names = ("producer_id", "first_offset", "marker_offset")
    rows = Columns.concat(
        [
            rows.take((rows["marker_type"] == fold.ABORT) & fold.has_data(rows))
            for rows in partition.transactions.blocks(*names, "marker_type")
        ],
        names,
    )
    aborted = Spans(*(rows[name] for name in names))
    segments = partition.directory.segments
    start = partition.log_start_offset if start is None else start
    first = max(0, bisect_right([segment.base_offset for segment in segments], start) - 1)
    for segment in segments[first:]:
        try:
            # What is wrong with it is in the partition's findings.
            for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
                chunk.open_wrappers()
                yield segment, _visible_of(chunk.heads, aborted)
        except UnreadableError:
            if not _is_told(partition, segment):
                raise


def _is_told(partition: PartitionAudit, segment: Segment) -> bool:
    """Say whether a finding tells that a segment can't be read, or a broker deleted it since."""
    told = any(is_not_read(one) and one.file == segment.path for one in partition.findings)
    return told or not (exists(segment.path) or is_lost(partition.directory.log))


def _visible_of(heads: CellTable, aborted: Spans) -> Columns:
    cells = heads.numpy()
    rows = cells[:, is_data(cells)]
    shown = np.ones(rows.shape[1], bool)
    in_transaction = np.flatnonzero((rows[buffers.ATTRIBUTES] & TRANSACTIONAL != 0) & (rows[buffers.MAGIC] > 1))
    its = rows[:, in_transaction]
    shown[in_transaction] = aborted.find_rows(its[buffers.PRODUCER_ID], its[buffers.BASE_OFFSET]) < 0
    records = {"records": believed_counts(rows[:, shown])}
    return Columns({name: rows[column][shown] for name, column in _VISIBLE.items()} | records)


def visible_records(
    partition: PartitionAudit, offsets: NDArray[np.int64], limits: Limits | None = None
) -> NDArray[np.int64]:
    """Return for each of some offsets, which ascend, how many records are given from there to the last stable offset.

    A batch is counted by its header; one that the cleaner took records out of is decoded where an offset is inside.
    Raises UnreadableError as `visible_batches`.
    """
    counts = np.zeros(len(offsets), np.int64)
    stable = partition.last_stable_offset
    if not len(offsets) or int(offsets[0]) >= stable:
        return counts
    inside: defaultdict[Segment, dict[int, list[int]]] = defaultdict(dict)  # batches to decode: offsets by position
    for segment, some in visible_batches(partition, int(offsets[0]), limits):
        below = (some["last_offset"] < stable) & (some["last_offset"] >= partition.log_start_offset)
        position, first, last, records = (some[name][below] for name in (*_VISIBLE, "records"))
        if not len(first):
            continue
        # Batches in log order: an offset is given those that end at it or after it.
        totals = np.append(np.cumsum(records[::-1])[::-1], 0)
        at = np.searchsorted(last, offsets)
        counts += totals[at]
        within = np.flatnonzero((at < len(first)) & (offsets > first[np.minimum(at, len(first) - 1)]))
        batch = at[within]
        is_whole = records[batch] == last[batch] - first[batch] + 1
        counts[within[is_whole]] -= offsets[within[is_whole]] - first[batch[is_whole]]
        for number, one in zip(within[~is_whole].tolist(), batch[~is_whole].tolist(), strict=True):
            inside[segment].setdefault(int(position[one]), []).append(number)
    for segment, places in inside.items():
        try:
            _count_inside(segment, places, offsets, counts, limits)
        except UnreadableError:
            if not _is_told(partition, segment):
                raise
    return np.maximum(counts, 0)  # batches that are out of order count for nothing


def _count_inside(
    segment: Segment, places: dict[int, list[int]], offsets: NDArray[np.int64], counts: NDArray[np.int64],
    limits: Limits | None,
) -> None:  # fmt: skip
    """Take off the records before the offsets inside batches, by the batches' positions."""
    for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
        positions = chunk.heads.numpy()[buffers.POSITION]
        wanted = np.isin(positions, list(places))
        for row in np.flatnonzero(~wanted).tolist():
            chunk.skip(row)
        if not wanted.any():
            continue
        for block in chunk.records():
            recs = block.recs.numpy()
            of = chunk.heads.cell(buffers.POSITION, block.outer) if block.outer is not None else None
            where = np.full(recs.shape[1], of) if of is not None else positions[recs[buffers.BATCH]]
            for rows in groups(where):
                found = np.sort(recs[buffers.OFFSET, rows])
                for number in places[int(where[rows[0]])]:
                    counts[number] -= int(np.searchsorted(found, offsets[number]))
