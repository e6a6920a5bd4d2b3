"""An audit as rows of the tables that ``tables.audit`` declares."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.transactions.audit import Audit, ClusterAudit
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.many_rows import MANY_ROWS, coordinator_columns, transactions_at
from kafkalog.auditing.transactions.summary import LogSummary
from kafkalog.errors import UnreadableError
from kafkalog.format import kernel
from kafkalog.format.batch import CONTROL, TRANSACTIONAL, CellTable
from kafkalog.log.column_blocks import rows_of
from kafkalog.log.rows import finding_rows
from kafkalog.log.segment import possible_chunks
from kafkalog.tables.audit import GAPS, LEADERS, PARTITIONS, VISIBLE
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Coordinator
from kafkalog.txn.stable import Aborted, visible_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "audit_rows",
    "coordinator_rows",
    "gap_rows",
    "log_rows",
    "partition_row",
    "unsettled_rows",
]

Row = tuple[Any, ...]


def _where(log: LogAudit) -> dict[str, Any]:
    directory = log.partition.directory
    return {"log": directory.log, "topic": directory.topic, "partition": directory.partition}


_MOST: Final = 2**63 - 1  # damaged offsets may be further apart


def unsettled_rows(audit: Audit) -> Iterator[Row]:
    """Yield the rows of ``transactions`` that are neither committed nor aborted, of one replica of each partition."""
    for cluster in audit.clusters:
        for log in cluster.logs:
            if not log.judged.spoken_for:
                for rows, words in log.verdicts.unsettled():
                    yield from rows_of(transactions_at(log, rows, words))


def partition_row(summary: LogSummary) -> Row:
    """Make a row of the table ``partitions`` of a log's summary."""
    states = summary.states
    return PARTITIONS.of(
        log=summary.log,
        topic=summary.topic,
        partition=summary.partition,
        cluster_id=summary.cluster_id,
        node_id=summary.node_id,
        topic_id=summary.topic_id,
        log_start_offset=summary.log_start_offset,
        log_end_offset=summary.log_end_offset,
        high_watermark=summary.high_watermark,
        last_stable_offset=summary.last_stable_offset,
        segments=summary.segments,
        size_bytes=summary.size,
        batches=summary.batches,
        records=summary.records,
        control_records=summary.control_records,
        committed=states["committed"],
        aborted=states["aborted"],
        open=summary.open,
        hanging=states["hanging"],
        gaps=sum(summary.gaps.values()),
        findings=summary.serious,
    )


def _gaps(log: LogAudit) -> Iterator[Row]:
    return gap_rows(log.partition)


def gap_rows(partition: PartitionAudit) -> Iterator[Row]:
    """Yield the rows of the table ``gaps`` of a log."""
    directory = partition.directory
    for gap in partition.gaps:
        yield GAPS.of(
            log=directory.log,
            topic=directory.topic,
            partition=directory.partition,
            first_offset=gap.first_offset,
            last_offset=gap.last_offset,
            count=min(gap.last_offset - gap.first_offset + 1, _MOST),
            kind=gap.kind,
            cause=gap.cause,
            file=gap.file,
            position=gap.position,
        )


def coordinator_rows(coordinator: Coordinator) -> Iterator[Row]:
    """Yield the rows of the table ``coordinator``."""
    return chain.from_iterable(map(rows_of, coordinator_columns(coordinator)))


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
        yield VISIBLE.of(**_where(log), first_offset=low, last_offset=high)


def _shown(log: LogAudit, aborted: Aborted) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield first and last offsets of the batches with data that no aborted transaction hides."""
    segments = log.partition.directory.segments
    first = max(0, bisect_left([segment.base_offset for segment in segments], log.partition.log_start_offset) - 1)
    for segment in segments[first:]:
        try:
            for chunk in possible_chunks(segment.path, max_bytes=segment.size):  # the audit has reported the findings
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


def _leaders(log: LogAudit) -> Iterator[Row]:
    for led in log.leaders:
        yield LEADERS.of(
            **_where(log), leader_epoch=led.leader_epoch, leader=led.leader, since_ms=led.since, change=led.change,
            first_offset=led.first_offset,
        )  # fmt: skip


_OF_LOG: Final[dict[str, Callable[[LogAudit], Iterator[Row]]]] = {
    "gaps": _gaps,
    "leaders": _leaders,
    "visible": _visible,
}


def log_rows(log: LogAudit, table: str) -> Iterator[Row]:
    """Yield a log's rows of one of the audit's tables; not of ``partitions``, whose rows are made of summaries."""
    if table in MANY_ROWS:
        return chain.from_iterable(map(rows_of, MANY_ROWS[table](log)))
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
