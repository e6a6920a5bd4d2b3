"""An audit as rows of the tables that ``tables.audit`` declares."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.audit.transactions.audit import Audit, ClusterAudit
from kafkalog.audit.transactions.judgement import LogAudit
from kafkalog.audit.transactions.summary import LogSummary
from kafkalog.audit.transactions.verdicts import Verdict
from kafkalog.errors import UnreadableError
from kafkalog.format import kernel
from kafkalog.format.batch import CONTROL, TRANSACTIONAL, CellTable
from kafkalog.log.readers import segment_chunks
from kafkalog.log.rows import finding_rows
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Coordinator
from kafkalog.txn.stable import Aborted, visible_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["audit_rows", "coordinator_rows", "log_rows", "partition_row", "transaction_columns", "unsettled_rows"]

Row = tuple[Any, ...]


def _present(value: int) -> int | None:
    return None if value == NONE else value


def _where(log: LogAudit) -> Row:
    directory = log.partition.directory
    return (directory.log, directory.topic, directory.partition)


def transaction_columns(log: LogAudit) -> Iterator[list[NDArray[Any]]]:
    """Yield the table ``transactions`` of a log, some thousand rows at a time, as its columns.

    A column of numbers is int64 with NONE where there is none, one of text has objects.
    """
    for rows, words in log.verdicts.in_order():
        yield [
            *(np.full(len(rows), value, object) for value in _where(log)[:2]),
            np.full(len(rows), log.partition.directory.partition),
            rows["producer_id"], rows["last_epoch"], words.transactional_id, words.state,
            *(rows[name] for name in _AS_THEY_ARE), words.certainty, words.cause,
        ]  # fmt: skip


def _transactions(log: LogAudit) -> Iterator[Row]:
    for columns in transaction_columns(log):
        yield from zip(*map(_cells, columns), strict=True)


def _cells(column: NDArray[Any]) -> list[Any]:
    cells: list[Any] = column.tolist()
    return cells if column.dtype == object else [None if cell == NONE else cell for cell in cells]


_MOST: Final = 2**63 - 1  # damaged offsets may lie further apart
_AS_THEY_ARE: Final = (
    "first_offset", "last_offset", "marker_offset", "marker_epoch", "coordinator_epoch", "batches", "records", "size",
    "min_timestamp", "max_timestamp", "marker_timestamp",
)  # fmt: skip


def unsettled_rows(audit: Audit) -> Iterator[Row]:
    """Yield the rows of the table ``transactions`` that are neither committed nor aborted."""
    for cluster in audit.clusters:
        for log in cluster.logs:
            for row, verdict in log.verdicts.judged():
                if verdict.state not in ("committed", "aborted"):
                    yield _transaction(log, row, verdict)


def _transaction(log: LogAudit, row: dict[str, int], verdict: Verdict) -> Row:
    return (
        *_where(log), row["producer_id"], _present(row["last_epoch"]), verdict.transactional_id, verdict.state,
        *(_present(row[name]) for name in _AS_THEY_ARE), verdict.certainty, verdict.cause,
    )  # fmt: skip


def partition_row(summary: LogSummary) -> Row:
    """Make what a log comes to a row of the table ``partitions``."""
    states = summary.states
    return (
        summary.log, summary.topic, summary.partition, summary.cluster_id, summary.node_id, summary.topic_id,
        summary.log_start_offset, summary.log_end_offset, summary.high_watermark, summary.last_stable_offset,
        summary.segments, summary.size, summary.batches, summary.records, summary.control_records,
        states["committed"], states["aborted"], summary.open, states["hanging"], sum(summary.gaps.values()),
        summary.serious,
    )  # fmt: skip


def _gaps(log: LogAudit) -> Iterator[Row]:
    for gap in log.partition.gaps:
        count = min(gap.last_offset - gap.first_offset + 1, _MOST)
        yield (*_where(log), gap.first_offset, gap.last_offset, count, gap.kind, gap.cause, gap.file, gap.position)


def _producers(log: LogAudit) -> Iterator[Row]:
    counts: Counter[tuple[int, int]] = Counter()
    for rows in log.partition.transactions.blocks("producer_id", "first_offset", "marker_type"):
        has_data = rows["first_offset"] != NONE
        ended = zip(rows["producer_id"][has_data].tolist(), rows["marker_type"][has_data].tolist(), strict=True)
        counts.update(ended)
    for row in log.partition.producers:
        of_type = [counts[row["producer_id"], kind] for kind in (extents.OPEN, extents.COMMIT, extents.ABORT)]
        yield (
            *_where(log), row["producer_id"], log.verdicts.name_of(row["producer_id"]), row["first_epoch"],
            row["last_epoch"], row["last_sequence"], row["batches"], row["records"], sum(of_type), *of_type[1:],
            row["first_offset"], row["last_offset"], row["first_timestamp"], row["last_timestamp"],
        )  # fmt: skip


def coordinator_rows(coordinator: Coordinator) -> Iterator[Row]:
    """Yield the rows of the table ``coordinator``."""
    for name, entries in sorted(coordinator.timelines.items()):
        for entry in entries:
            record = entry.record
            if record.state is None:
                yield (name, None, None, "tombstone", None, None, None, None, entry.offset, entry.log)
                continue
            listed = None if record.partitions is None else [f"{topic}-{number}" for topic, number in record.partitions]
            yield (
                name, record.producer_id, record.producer_epoch, record.state.word, record.timeout_ms,
                record.start_timestamp, record.last_update_timestamp, listed, entry.offset, entry.log,
            )  # fmt: skip


def _visible(log: LogAudit) -> Iterator[Row]:
    partition = log.partition
    names = ("producer_id", "first_offset", "marker_offset")
    rows = Columns.concat(
        [
            rows.take((rows["marker_type"] == extents.ABORT) & (rows["first_offset"] != NONE))
            for rows in partition.transactions.blocks(*names, "marker_type")
        ],
        names,
    )
    aborted = Aborted(*(rows[name] for name in names))
    for low, high in visible_ranges(_shown(log, aborted), partition.log_start_offset, partition.last_stable_offset):
        yield (*_where(log), low, high)


def _shown(log: LogAudit, aborted: Aborted) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield first and last offsets of the batches with data that no aborted transaction hides."""
    segments = log.partition.directory.segments
    first = max(0, bisect_left([segment.base_offset for segment in segments], log.partition.log_start_offset) - 1)
    for segment in segments[first:]:
        try:
            for chunk in segment_chunks(segment.path, max_bytes=segment.size):  # the audit has told the findings
                chunk.open_wrappers()
                yield _shown_of(chunk.heads, aborted)
        except UnreadableError:
            continue


def _shown_of(heads: CellTable, aborted: Aborted) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    cells = heads.numpy()
    control = (cells[kernel.ATTRIBUTES] & CONTROL != 0) & (cells[kernel.MAGIC] > 1)
    whole = (cells[kernel.VALID] != 0) & (cells[kernel.COUNT] != 0) & (cells[kernel.BASE_OFFSET] != NONE)
    rows = cells[:, whole & ~control]
    shown = np.ones(rows.shape[1], bool)
    in_transaction = np.flatnonzero((rows[kernel.ATTRIBUTES] & TRANSACTIONAL != 0) & (rows[kernel.MAGIC] > 1))
    its = rows[:, in_transaction]
    shown[in_transaction] = ~aborted.hides(its[kernel.PRODUCER_ID], its[kernel.BASE_OFFSET])
    return rows[kernel.BASE_OFFSET][shown], rows[kernel.LAST_OFFSET][shown]


def _findings(log: LogAudit) -> Iterator[Row]:
    return finding_rows(log.findings, log.node.node_id)


_OF_LOG: Final[dict[str, Callable[[LogAudit], Iterator[Row]]]] = {
    "transactions": _transactions,
    "gaps": _gaps,
    "producers": _producers,
    "visible": _visible,
    "findings": _findings,
}


def log_rows(log: LogAudit, table: str) -> Iterator[Row]:
    """Yield a log's rows of one of the audit's tables; not of ``partitions``, whose row is a summary's."""
    return _OF_LOG[table](log)


def audit_rows(audit: Audit, table: str) -> Iterator[Row]:
    """Yield the rows of one of the audit's tables."""
    for cluster in audit.clusters:
        yield from _rows(cluster, table)


def _rows(cluster: ClusterAudit, table: str) -> Iterator[Row]:
    if table == "coordinator":
        yield from coordinator_rows(cluster.coordinator)
        return
    if table == "findings":
        for node in cluster.nodes:
            yield from finding_rows(node.findings, node.node_id)
        yield from finding_rows(cluster.findings)
    for log in cluster.logs:
        if table == "partitions":
            yield partition_row(LogSummary.of(log))
        else:
            yield from log_rows(log, table)
