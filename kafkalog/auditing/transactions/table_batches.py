"""An audit's tables as Arrow batches, for Parquet; needs pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.transactions.audited import Audit
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.table_rows import MANY_ROWS, audit_rows, log_rows
from kafkalog.columns.texts import TextColumn
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.state_records import TOMBSTONE, StateColumns
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import Numbers, arrow_batch, arrow_batches, arrow_schema
from kafkalog.tables.audit_tables import COORDINATOR, PRODUCERS, TRANSACTIONS

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch

__all__ = [
    "audit_batches",
    "coordinator_batches",
    "log_batches",
]


_STATES: Final = ("tombstone", *(state.word for state in TransactionState))


def log_batches(log: LogAudit, table: str) -> Iterator[RecordBatch]:
    """Yield a log's rows of one of the audit's tables; of the many transactions column by column."""
    schema = arrow_schema(TABLES[table])
    if table in MANY_ROWS:
        return (columns.to_arrow(schema) for columns in MANY_ROWS[table](log))
    return arrow_batches(log_rows(log, table), schema)


def audit_batches(audit: Audit, table: str) -> Iterator[RecordBatch]:
    """Yield all rows of one of the audit's tables."""
    if table == COORDINATOR.name:
        for cluster in audit.clusters:
            yield from coordinator_batches(cluster.coordinator)
        return
    if table not in (TRANSACTIONS.name, PRODUCERS.name):
        yield from arrow_batches(audit_rows(audit, table), arrow_schema(TABLES[table]))
        return
    for cluster in audit.clusters:
        for log in cluster.logs:
            yield from log_batches(log, table)


def coordinator_batches(coordinator: Coordinator) -> Iterator[RecordBatch]:
    """Yield the rows of the table ``coordinator``, column by column; a cluster has many million."""
    schema = arrow_schema(COORDINATOR)
    logs = _texts(TextColumn.of(coordinator.logs, "backslashreplace"))
    topics = TextColumn.of(json.dumps(f"{topic}-", ensure_ascii=False)[:-1] for topic in coordinator.states.topics)
    before = _texts(topics)
    for rows, states in coordinator.by_name():
        gone = states["state"] == TOMBSTONE
        there = ~gone if gone.any() else None
        columns: dict[str, Numbers | Iterable[Any]] = {
            "transactional_id": _texts(states.ids.gather(states["transactional_id"])),
            "state": Numbers(states["state"].astype(np.int32) - TOMBSTONE, None, _STATES),
            "partitions": _listed(states, gone, before),
            "offset": Numbers(np.ascontiguousarray(states["offset"])),
            "log": logs.take(_numbers(coordinator.of_log[rows])),
        }
        for name in ("producer_id", "producer_epoch", "timeout_ms"):
            columns[name] = Numbers(np.ascontiguousarray(states[name]), there)
        for name in ("start_timestamp", "last_update_timestamp"):
            columns[f"{name}_ms"] = Numbers(np.ascontiguousarray(states[name]), there)
        yield arrow_batch(columns.__getitem__, schema)


def _listed(states: StateColumns, gone: NDArray[np.bool_], before: pa.Array) -> pa.Array:
    """Return the partitions that records list as JSON, null for none; `before` is what a topic's begin with."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = states["partitions_count"]
    offsets = np.concatenate([[0], np.cumsum(np.maximum(counts, 0))]).astype(np.int32)
    numbers = pa.array(np.ascontiguousarray(states.listed["partition"])).cast(pa.string())
    names = pc.binary_join_element_wise(before.take(_numbers(states.listed["topic"])), numbers, '"', "")
    lists = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), names), ", ")
    texts = pc.binary_join_element_wise("[", lists, "]", "")
    return pc.if_else(pa.array(gone | (counts < 0)), pa.scalar(None, pa.string()), texts)


def _texts(texts: TextColumn) -> pa.Array:
    import pyarrow as pa

    bounds = np.concatenate([[0], np.cumsum(texts.sizes)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(bounds), pa.py_buffer(texts.data))


def _numbers(column: NDArray[Any]) -> pa.Array:
    import pyarrow as pa

    return pa.array(column.astype(np.int64))
