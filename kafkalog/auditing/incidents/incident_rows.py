"""The tables of an audit and of a verification, incidents among them, as rows and as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kafkalog.auditing.incidents.incident import Incident
from kafkalog.auditing.incidents.known import known_of_audit, known_of_files
from kafkalog.auditing.incidents.stage import incidents_of
from kafkalog.auditing.transactions import Audit, audit_batches, audit_rows
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.incident_tables import INCIDENTS

if TYPE_CHECKING:
    from kafkalog.auditing.verification import Verification
    from kafkalog.tables.arrow import RecordBatch

__all__ = [
    "batches_of_audit",
    "incidents_of_audit",
    "incidents_of_verification",
    "rows_of_audit",
    "rows_of_verification",
]


def incidents_of_audit(audit: Audit) -> list[Incident]:
    """Return the incidents of an audit, worst first."""
    return incidents_of(map(known_of_audit, audit.clusters))


def incidents_of_verification(found: Verification) -> list[Incident]:
    """Return the incidents of a verification, worst first; it knows no transactions."""
    clusters = {log.node.cluster_id for log in found.logs}
    only = next(iter(clusters)) if len(clusters) == 1 else None
    partitions = (log.partition for log in found.logs)
    known = known_of_files(only, found.rows("findings"), found.rows("logs"), partitions, found.clusters)
    return incidents_of([known])


def rows_of_audit(audit: Audit, table: str) -> Iterable[tuple[Any, ...]]:
    """Return the rows of one of the tables of ``txn-audit``."""
    return _rows(incidents_of_audit(audit)) if table == INCIDENTS.name else audit_rows(audit, table)


def batches_of_audit(audit: Audit, table: str) -> Iterator[RecordBatch]:
    """Return the same as Arrow batches; needs pyarrow."""
    if table == INCIDENTS.name:
        return arrow_batches(rows_of_audit(audit, table), arrow_schema(INCIDENTS))
    return audit_batches(audit, table)


def rows_of_verification(found: Verification, table: str) -> Iterable[tuple[Any, ...]]:
    """Return the rows of one of the tables of ``verify``."""
    return _rows(incidents_of_verification(found)) if table == INCIDENTS.name else found.rows(table)


def _rows(incidents: Iterable[Incident]) -> list[tuple[Any, ...]]:
    return [incident.row() for incident in incidents]
