"""The tables of an audit that have a row for each transaction or producer, as columns: some thousand rows at a time.

A column of numbers is int64 with NONE where there is none, one of text has objects.
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
from kafkalog.auditing.transactions.words import texts
from kafkalog.log.rows import DistinctIds, finding_row
from kafkalog.tables import Column
from kafkalog.tables.audit import FINDINGS, PRODUCERS, TRANSACTIONS
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MANY_ROWS",
    "ColumnsByName",
    "audit_columns",
    "finding_columns",
    "producer_columns",
    "rows_of",
    "transaction_columns",
    "transactions_at",
]

_AT_ONCE: Final = 4096  # findings that become columns together
ColumnsByName = dict[str, "NDArray[Any]"]


def transaction_columns(log: LogAudit) -> Iterator[ColumnsByName]:
    """Yield the table ``transactions`` of a log."""
    for rows, words in log.verdicts.in_order():
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


def finding_columns(log: LogAudit) -> Iterator[ColumnsByName]:
    """Yield the table ``findings`` of a log: those about one open transaction each are about different ones."""
    node, distinct = log.node.node_id, DistinctIds()
    for part in log.findings.parts():
        if isinstance(part, TransactionFindings) and part.are_finished:
            yield from part.columns(node)
            continue
        yield from _columns_of(distinct(finding_row(finding, node)) for finding in part)


def _columns_of(rows: Iterator[tuple[Any, ...]]) -> Iterator[ColumnsByName]:
    while some := list(islice(rows, _AT_ONCE)):
        yield dict(zip(FINDINGS.names, map(_column, FINDINGS.columns, zip(*some, strict=True)), strict=True))


def _column(column: Column, cells: tuple[Any, ...]) -> NDArray[Any]:
    if column.type == "string":
        return texts(cells)
    return np.array([NONE if cell is None else cell for cell in cells], np.int64)


def _where(log: LogAudit, count: int) -> ColumnsByName:
    directory = log.partition.directory
    return {
        "log": np.full(count, directory.log, object),
        "topic": np.full(count, directory.topic, object),
        "partition": np.full(count, directory.partition),
    }


MANY_ROWS: Final[dict[str, Callable[[LogAudit], Iterator[ColumnsByName]]]] = {
    TRANSACTIONS.name: transaction_columns,
    PRODUCERS.name: producer_columns,
    FINDINGS.name: finding_columns,
}


def audit_columns(audit: Audit, table: str) -> Iterator[ColumnsByName]:
    """Yield all rows of one of these tables."""
    for cluster in audit.clusters:
        if table == FINDINGS.name:
            for findings, node in (
                *((node.findings, node.node_id) for node in cluster.nodes),
                (cluster.findings, None),
            ):
                yield from _columns_of(map(DistinctIds(), (finding_row(finding, node) for finding in findings)))
        for log in cluster.logs:
            yield from MANY_ROWS[table](log)


def rows_of(columns: ColumnsByName) -> Iterator[tuple[Any, ...]]:
    """Return columns, which are in the order of their table, as rows."""
    return zip(*map(_cells, columns.values()), strict=True)


def _cells(column: NDArray[Any]) -> list[Any]:
    cells: list[Any] = column.tolist()
    return cells if column.dtype == object else [None if cell == NONE else cell for cell in cells]
