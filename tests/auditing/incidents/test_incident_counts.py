"""Incidents of many transactions: what is said of all of them, though lists are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.tables.incident_tables import INCIDENTS
from plain import Batch, write_segments
from transactions import Transactions, write_transactions  # the benchmarks are no package

MANY = 600


def incidents(root: Path) -> list[dict[str, Any]]:
    """Return the incidents of an audit."""
    found = audit([root], AuditOptions(jobs=1, snapshot=True))
    return [dict(zip(INCIDENTS.names, row, strict=True)) for row in rows_of_audit(found, "incidents")]


def test_open_transactions_are_all_counted(tmp_path: Path) -> None:
    """Ids, producers, transactions, findings, records and offsets are those of all that hang, in both partitions."""
    write_transactions(tmp_path / "d", Transactions(MANY, MANY, partitions=2, each=2, outcome="hanging"))
    row, *_ = incidents(tmp_path / "d")

    assert row["kind"] == "consumers-stopped"
    assert (row["transactions"], row["producer_ids_total"], row["transactional_ids_total"]) == (MANY, MANY, MANY)
    assert (row["findings_total"], row["records"], row["partitions_total"]) == (2 * MANY, 2 * MANY, 2)
    assert row["transactional_ids"] == [f"tx-{number:09}" for number in range(100)]
    assert len(row["findings"]) == 1000


def test_records_of_older_epochs_are_all_counted(tmp_path: Path) -> None:
    """Those of the newer epoch are the next transaction's own."""
    batches = []
    for number in range(MANY):
        at, who = 6 * number, {"producer": 1000 + number}
        batches += [
            Batch(0, at, at + 1, "data", epoch=0, sequence=0, records=2, **who),
            Batch(0, at + 2, at + 4, "data", epoch=1, sequence=0, records=3, **who),
            Batch(0, at + 5, at + 5, "commit", epoch=1, coordinator_epoch=0, **who),
        ]
    write_segments(tmp_path / "t-0", batches)
    adopted = [row for row in incidents(tmp_path) if row["kind"] == "wrong-fate"]

    assert sum(row["transactions"] for row in adopted) == MANY
    assert sum(row["records"] for row in adopted) == 2 * MANY
