"""The tables of an audit that have a row for each transaction or producer, as columns: some thousand rows at a time.

A column of numbers is int64, with NONE for a missing value; the other columns are texts or JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.transactions.audit import Audit
from kafkalog.auditing.transactions.findings import TransactionFindings
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.verdicts import Words
from kafkalog.format.listed_partitions import listed_partitions
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.format.state_columns import TOMBSTONE
from kafkalog.format.text_columns import TextColumn
from kafkalog.log.column_blocks import ColumnsByName
from kafkalog.log.rows import DistinctIds, finding_row
from kafkalog.tables import Column
from kafkalog.tables.audit import COORDINATOR, FINDINGS, PRODUCERS, TRANSACTIONS
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Coordinator

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "COLUMN_TABLES",
    "MANY_ROWS",
    "audit_columns",
    "coordinator_columns",
    "finding_columns",
    "producer_columns",
    "transaction_columns",
    "transactions_at",
]

_AT_ONCE: Final = 4096  # findings that become columns together
_STATES: Final = TextColumn.of(("tombstone", *(state.word for state in TransactionState)))


def transaction_columns(log: LogAudit, order: NDArray[np.intp] | None = None) -> Iterator[ColumnsByName]:
    """Yield the table ``transactions`` of a log; with an `order` the rows at these places."""
    for rows, words in log.verdicts.in_order(order):
        yield transactions_at(log, rows, words)


def transactions_at(log: LogAudit, rows: Columns, words: Words) -> ColumnsByName:
    """Return some transactions as rows of their table."""
    return {
        **_where(log, len(rows)),
        "producer_id": rows["producer_id"],
        "producer_epoch": rows["last_epoch"],
        "transactional_id": words.transactional_id,
        "state": words.state,
        "first_offset": rows["first_offset"],
        "last_offset": rows["last_offset"],
        "marker_offset": rows["marker_offset"],
        "marker_epoch": rows["marker_epoch"],
        "coordinator_epoch": rows["coordinator_epoch"],
        "batches": rows["batches"],
        "records": rows["records"],
        "size_bytes": rows["size"],
        "first_timestamp_ms": rows["min_timestamp"],
        "last_timestamp_ms": rows["max_timestamp"],
        "marker_timestamp_ms": rows["marker_timestamp"],
        "certainty": words.certainty,
        "cause": words.cause,
    }


def producer_columns(log: LogAudit) -> Iterator[ColumnsByName]:
    """Yield the table ``producers`` of a log."""
    producers, verdicts = log.partition.producers, log.verdicts
    if not len(producers):
        return
    committed, aborted, opened = _ended(log)
    start = 0
    for rows in producers.blocks():
        some = slice(start, start + len(rows))
        start = some.stop
        yield {
            **_where(log, len(rows)),
            "producer_id": rows["producer_id"],
            "transactional_id": verdicts.names(verdicts.coordinator.names_of(rows["producer_id"])),
            "first_epoch": rows["first_epoch"],
            "last_epoch": rows["last_epoch"],
            "last_sequence": rows["last_sequence"],
            "batches": rows["batches"],
            "records": rows["records"],
            "transactions": committed[some] + aborted[some] + opened[some],
            "committed": committed[some],
            "aborted": aborted[some],
            "first_offset": rows["first_offset"],
            "last_offset": rows["last_offset"],
            "first_timestamp_ms": rows["first_timestamp"],
            "last_timestamp_ms": rows["last_timestamp"],
        }


def _ended(log: LogAudit) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count each producer's transactions with data: committed, aborted, open."""
    ids = log.partition.producers["producer_id"]
    counts = np.zeros((3, len(ids)), np.int64)
    for rows in log.partition.transactions.blocks("producer_id", "first_offset", "marker_type"):
        at = np.minimum(np.searchsorted(ids, rows["producer_id"]), len(ids) - 1)
        known = (ids[at] == rows["producer_id"]) & (rows["first_offset"] != NONE)
        for number, kind in enumerate((extents.COMMIT, extents.ABORT, extents.OPEN)):
            np.add.at(counts[number], at[known & (rows["marker_type"] == kind)], 1)
    committed, aborted, opened = counts
    return committed, aborted, opened


def coordinator_columns(coordinator: Coordinator) -> Iterator[ColumnsByName]:
    """Yield the table ``coordinator``; a list of partitions is a list, one object for records that list the same."""
    logs = TextColumn.of(coordinator.logs)
    for rows, states in coordinator.by_name():
        gone = states.state == TOMBSTONE
        yield {
            "transactional_id": TextColumn.packed(states.ids, states.transactional_id),
            "producer_id": np.where(gone, NONE, states.producer_id.astype(np.int64)),
            "producer_epoch": np.where(gone, NONE, states.producer_epoch.astype(np.int64)),
            "state": _STATES.take(states.state.astype(np.intp) - TOMBSTONE),
            "timeout_ms": np.where(gone, NONE, states.timeout_ms.astype(np.int64)),
            "start_timestamp_ms": np.where(gone, NONE, states.start_timestamp.astype(np.int64)),
            "last_update_timestamp_ms": np.where(gone, NONE, states.last_update_timestamp.astype(np.int64)),
            "partitions": listed_partitions(states),
            "offset": states.offset.astype(np.int64),
            "log": logs.take(coordinator.of_log[rows]),
        }


def finding_columns(log: LogAudit) -> Iterator[ColumnsByName]:
    """Yield the table ``findings`` of a log: those about one open transaction each are about different ones."""
    node, distinct = log.node.node_id, DistinctIds()
    for part in log.findings.parts():
        if isinstance(part, TransactionFindings):
            yield from part.columns(node)
            continue
        yield from _columns_of(distinct(finding_row(finding, node)) for finding in part)


def _columns_of(rows: Iterator[tuple[Any, ...]]) -> Iterator[ColumnsByName]:
    while some := list(islice(rows, _AT_ONCE)):
        yield dict(zip(FINDINGS.names, map(_column, FINDINGS.columns, zip(*some, strict=True)), strict=True))


def _column(column: Column, cells: tuple[Any, ...]) -> NDArray[Any] | TextColumn:
    if column.type == "string":
        return TextColumn.of(cells)
    return np.array([NONE if cell is None else cell for cell in cells], np.int64)


def _where(log: LogAudit, count: int) -> ColumnsByName:
    directory = log.partition.directory
    return {
        "log": TextColumn.same(directory.log, count),
        "topic": TextColumn.same(directory.topic, count),
        "partition": np.full(count, directory.partition),
    }


COLUMN_TABLES: Final = frozenset((COORDINATOR.name, FINDINGS.name, PRODUCERS.name, TRANSACTIONS.name))
MANY_ROWS: Final[dict[str, Callable[[LogAudit], Iterator[ColumnsByName]]]] = {
    TRANSACTIONS.name: transaction_columns,
    PRODUCERS.name: producer_columns,
    FINDINGS.name: finding_columns,
}


def audit_columns(audit: Audit, table: str) -> Iterator[ColumnsByName]:
    """Yield all rows of one of these tables."""
    for cluster in audit.clusters:
        if table == COORDINATOR.name:
            yield from coordinator_columns(cluster.coordinator)
            continue
        if table == FINDINGS.name:
            for findings, node in (
                *((node.findings, node.node_id) for node in cluster.nodes),
                (cluster.findings, None),
            ):
                yield from _columns_of(map(DistinctIds(), (finding_row(finding, node) for finding in findings)))
        for log in cluster.logs:
            yield from MANY_ROWS[table](log)
