"""The transactions that incidents tell of: open ones, those with a cause, those that only a lost history has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.transactions.crowds import NEWEST_ABORTED
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.many_rows import transactions_at
from kafkalog.auditing.transactions.moments import NEVER, Moments
from kafkalog.errors import UnreadableError
from kafkalog.format import kernel
from kafkalog.format.batch import CONTROL
from kafkalog.log.column_blocks import ColumnsByName, rows_of
from kafkalog.log.segment import possible_chunks
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.placed import among, distinct
from kafkalog.txn.tally import tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["notable_columns", "notable_rows"]


def notable_rows(log: LogAudit, without: NDArray[np.intp] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of ``transactions`` that incidents need, open ones with the brokers' times around their data.

    `without` are the numbers of those whose verdicts no incident shows.

    Finished ones are among them if their verdict does not follow from their marker alone, if their decision was another
    one, if they are the newest that were aborted, or if they reach past the offset where this replica's history forks
    from the leader's.
    """
    return chain.from_iterable(map(rows_of, notable_columns(log, without)))


def notable_columns(log: LogAudit, without: NDArray[np.intp] | None = None) -> Iterator[ColumnsByName]:
    """Yield the rows of ``notable_rows`` as columns, if there are any."""
    places = _places(log, without)
    if not len(places):
        return
    rows, words = log.verdicts.of_places(places)
    is_open = rows["marker_type"] == extents.OPEN  # of an ended one the marker's own time is known
    not_before, not_after = np.full((2, len(rows)), NONE)
    if is_open.any():
        bracket = Moments(log.partition).bracket(rows["first_offset"][is_open])
        has_begin = rows["first_offset"][is_open] != NONE
        not_before[is_open] = np.where(has_begin & (bracket.before >= 0), bracket.before, NONE)
        not_after[is_open] = np.where(has_begin & (bracket.after != NEVER), bracket.after, NONE)
    yield {
        **transactions_at(log, rows, words),
        "not_before_ms": not_before,
        "not_after_ms": not_after,
        "after_commit": among(places, log.verdicts.judged.places[log.verdicts.judged.committed]),
        "forked_records": _forked_records(log, rows),
        "older_records": rows["older_records"],
    }


def _forked_records(log: LogAudit, rows: Columns) -> NDArray[np.int64]:
    """Return how many records of each row are after the log's fork; where a row reaches across it they are read."""
    if log.fork is None:
        return np.full(len(rows), NONE)
    first, last = rows["first_offset"], rows["last_offset"]
    found = np.where((first >= log.fork) & (first != NONE), rows["records"], 0)
    across = np.flatnonzero((first < log.fork) & (first != NONE) & (last >= log.fork))
    if len(across):
        heads = _heads_from(log.partition, log.fork)
        for row in across.tolist():
            mine = (heads[0] == rows["producer_id"][row]) & (heads[1] <= last[row])
            found[row] = int(heads[2][mine].sum())
    return found


def _heads_from(partition: PartitionAudit, offset: int) -> NDArray[np.int64]:
    """Read the producer, last offset and records of each batch of producers from an offset on."""
    segments = partition.directory.segments
    ends = [*(segment.base_offset for segment in segments[1:]), partition.log_end_offset]
    found = [np.empty((3, 0), np.int64)]
    for segment, end in zip(segments, ends, strict=True):
        if end <= offset:
            continue
        with suppress(UnreadableError):  # it vanished since: what was read of it before says so
            for chunk in possible_chunks(segment.path, max_bytes=segment.size):
                heads = chunk.heads.numpy()
                mine = (heads[kernel.VALID] != 0) & (heads[kernel.LAST_OFFSET] >= offset)
                mine &= (heads[kernel.PRODUCER_ID] >= 0) & (heads[kernel.ATTRIBUTES] & CONTROL == 0)
                found.append(heads[[kernel.PRODUCER_ID, kernel.LAST_OFFSET, kernel.COUNT]][:, mine])
    return np.concatenate(found, axis=1)


def _places(log: LogAudit, without: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Return the numbers of the notable rows, in the order of the log."""
    judged, counts = log.verdicts.judged.places, tally(log.verdicts.rows)
    if not (len(judged) or counts.aborted or len(log.judged.broken) or log.fork is not None):
        return judged
    hidden = np.empty(0, np.intp) if without is None else without
    chosen = [judged[~among(judged, hidden)]]
    aborted = np.empty((2, 0), np.int64)  # numbers, markers
    start = 0
    for rows in log.verdicts.rows.blocks("first_offset", "last_offset", "marker_offset", "marker_type"):
        marker = rows["marker_offset"]
        ended = np.flatnonzero((rows["first_offset"] != NONE) & (rows["marker_type"] == extents.ABORT))
        if len(log.judged.broken):
            broken = start + np.flatnonzero(among(marker, log.judged.broken))
            chosen.append(broken[~among(broken, hidden)])
        if len(ended):
            aborted = np.concatenate([aborted, [start + ended, marker[ended]]], axis=1)
            aborted = aborted[:, np.argsort(aborted[1], kind="stable")[-NEWEST_ABORTED:]]
        if log.fork is not None:
            chosen.append(start + np.flatnonzero(np.maximum(rows["last_offset"], marker) >= log.fork))
        start += len(rows)
    chosen.append(aborted[0].astype(np.intp))
    if not any(map(len, chosen)):  # most logs of a cluster
        return chosen[0]
    places = distinct(np.concatenate(chosen))
    rows = log.verdicts.rows.take(places, "first_offset", "marker_offset")
    begins = np.where(rows["first_offset"] != NONE, rows["first_offset"], rows["marker_offset"])
    return places[np.argsort(begins, kind="stable")]
