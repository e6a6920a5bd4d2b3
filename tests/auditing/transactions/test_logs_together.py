"""Rows of many logs are made together: they are those that each log has alone, in its place."""

from __future__ import annotations

from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.transactions import AuditOptions, audit_rows, log_rows, notable_rows
from official import FIXTURES


def test_logs_together_have_the_rows_of_each_alone() -> None:
    """Some logs have judged transactions, some have none."""
    found = audit([FIXTURES / "k4-f-hanging-late-produce-tv0"], AuditOptions(jobs=1))
    [cluster] = found.clusters

    assert sum(len(log.verdicts.judged) > 0 for log in cluster.logs) > 0
    for table in ("transactions", "producers"):
        alone = [row for log in cluster.logs for row in log_rows(log, table)]
        assert list(audit_rows(found, table)) == alone != []
    notable = [row for log in cluster.logs for row in notable_rows([log])]
    assert list(notable_rows(cluster.logs)) == notable != []
