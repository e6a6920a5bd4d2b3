"""An audit's tables as Arrow batches, for Parquet; needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkalog.auditing.transactions.audit import Audit
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.rows import audit_rows, log_rows, transaction_columns
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import Numbers, arrow_batch, arrow_batches, arrow_schema
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch

__all__ = ["audit_batches", "log_batches"]


def log_batches(log: LogAudit, table: str) -> Iterator[RecordBatch]:
    """Yield a log's rows of one of the audit's tables; of the many transactions column by column."""
    schema = arrow_schema(TABLES[table])
    if table == "transactions":
        return (arrow_batch(partial(_column, columns), schema) for columns in transaction_columns(log))
    return arrow_batches(log_rows(log, table), schema)


def _column(columns: dict[str, NDArray[Any]], name: str) -> Numbers | Iterable[Any]:
    column = columns[name]
    if column.dtype == object:
        return column
    absent = column == NONE
    return Numbers(column, absent if absent.any() else None)


def audit_batches(audit: Audit, table: str) -> Iterator[RecordBatch]:
    """Yield all rows of one of the audit's tables."""
    if table != "transactions":
        yield from arrow_batches(audit_rows(audit, table), arrow_schema(TABLES[table]))
        return
    for cluster in audit.clusters:
        for log in cluster.logs:
            yield from log_batches(log, table)
