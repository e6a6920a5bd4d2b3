"""The transactions that incidents tell of: open ones, those with a cause, those that only a lost history has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.auditing.transactions.crowds import NEWEST_ABORTED
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.moments import NEVER, Moments
from kafkalog.tables.notable import NOTABLE
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE
from kafkalog.txn.placed import among, distinct
from kafkalog.txn.tally import tally

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["notable_rows"]


def notable_rows(log: LogAudit, without: NDArray[np.intp] | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of ``transactions`` that incidents need, open ones with the brokers' times around their data.

    `without` are the numbers of those whose verdicts no incident shows.

    Finished ones are among them if their verdict does not follow from their marker alone, if their decision was another
    one, if they are the newest that were aborted, or if they reach past the offset where this replica's history forks
    from the leader's.
    """
    places = _places(log, without)
    if not len(places):
        return
    moments = Moments(log.partition)
    rows, words = log.verdicts.of_places(places)
    is_open = rows["marker_type"] == extents.OPEN  # of an ended one the marker's own time is known
    not_before, not_after = np.full(len(rows), -1), np.full(len(rows), NEVER)
    if is_open.any():
        not_before[is_open], not_after[is_open] = moments.bracket(rows["first_offset"][is_open])
    directory = log.partition.directory
    columns = NOTABLE.of(
        log=[directory.log] * len(rows),
        topic=[directory.topic] * len(rows),
        partition=[directory.partition] * len(rows),
        producer_id=rows["producer_id"].tolist(),
        producer_epoch=_cells(rows["last_epoch"]),
        transactional_id=words.transactional_id.tolist(),
        state=words.state.tolist(),
        first_offset=_cells(rows["first_offset"]),
        last_offset=_cells(rows["last_offset"]),
        marker_offset=_cells(rows["marker_offset"]),
        marker_epoch=_cells(rows["marker_epoch"]),
        coordinator_epoch=_cells(rows["coordinator_epoch"]),
        batches=rows["batches"].tolist(),
        records=rows["records"].tolist(),
        size_bytes=rows["size"].tolist(),
        first_timestamp_ms=_cells(rows["min_timestamp"]),
        last_timestamp_ms=_cells(rows["max_timestamp"]),
        marker_timestamp_ms=_cells(rows["marker_timestamp"]),
        certainty=words.certainty.tolist(),
        cause=words.cause.tolist(),
        not_before_ms=_cells(np.where((rows["first_offset"] == NONE) | (not_before < 0), NONE, not_before)),
        not_after_ms=_cells(np.where((rows["first_offset"] == NONE) | (not_after == NEVER), NONE, not_after)),
    )
    yield from zip(*columns, strict=True)


def _cells(column: NDArray[np.int64]) -> list[int | None]:
    return [None if value == NONE else value for value in column.tolist()]


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
