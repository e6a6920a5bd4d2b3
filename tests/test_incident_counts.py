"""Incidents of very many transactions: what is said of all of them, while only the first are looked at one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from counted import counted
from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.tables.incident_tables import INCIDENTS
from plain import Batch, write_segments

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from transactions import Transactions, write_transactions  # the benchmarks are no package

FEW, MANY = 2000, 8000


def incidents(root: Path, what: Transactions) -> tuple[list[dict[str, Any]], int]:
    """Return the incidents of an audit, and how many calls it took to make them."""
    write_transactions(root, what)
    found = audit([root], AuditOptions(jobs=1, snapshot=True))
    return counted(lambda: [dict(zip(INCIDENTS.names, row, strict=True)) for row in rows_of_audit(found, "incidents")])


def test_open_transactions_are_all_counted(tmp_path: Path) -> None:
    """Ids, producers, transactions, findings, records and offsets are those of all that hang, in both partitions."""
    what = Transactions(MANY, MANY, partitions=2, each=2, outcome="hanging")
    ((row, *_), _) = incidents(tmp_path / "d", what)

    assert row["kind"] == "consumers-stopped"
    assert (row["transactions"], row["producer_ids_total"], row["transactional_ids_total"]) == (MANY, MANY, MANY)
    assert (row["findings_total"], row["records"], row["partitions_total"]) == (2 * MANY, 2 * MANY, 2)
    assert row["transactional_ids"] == [f"tx-{number:09}" for number in range(100)]
    assert len(row["findings"]) == 1000


@pytest.mark.parametrize("ids", [1, MANY], ids=["of one id", "of an id each"])
def test_aborted_transactions_are_all_counted(tmp_path: Path, ids: int) -> None:
    """One incident has the number of all decisions to abort, their ids and partitions."""
    ((row,), _) = incidents(tmp_path / "d", Transactions(MANY, ids, partitions=3, outcome="aborted"))

    assert (row["kind"], row["cause"], row["transactions"]) == ("transactions-aborted", "client", MANY)
    assert (row["transactional_ids_total"], row["producer_ids_total"], row["partitions_total"]) == (ids, ids, 3)


def test_records_of_older_epochs_are_all_counted(tmp_path: Path) -> None:
    """Of the transactions that are only counted, too, those of the newer epoch are the next transaction's own."""
    batches = []
    for number in range(FEW):
        at, who = 6 * number, {"producer": 1000 + number}
        batches += [
            Batch(0, at, at + 1, "data", epoch=0, sequence=0, records=2, **who),
            Batch(0, at + 2, at + 4, "data", epoch=1, sequence=0, records=3, **who),
            Batch(0, at + 5, at + 5, "commit", epoch=1, coordinator_epoch=0, **who),
        ]
    write_segments(tmp_path / "t-0", batches)
    found = audit([tmp_path], AuditOptions(jobs=1, snapshot=True))
    every = [dict(zip(INCIDENTS.names, row, strict=True)) for row in rows_of_audit(found, "incidents")]
    adopted = [row for row in every if row["kind"] == "wrong-fate"]

    assert sum(row["transactions"] for row in adopted) == FEW
    assert sum(row["records"] for row in adopted) == 2 * FEW


@pytest.mark.parametrize("outcome", ["aborted", "hanging"])
def test_incidents_take_no_more_calls_for_more_transactions(tmp_path: Path, outcome: str) -> None:
    """Beyond the first thousand of a kind, a transaction costs no call."""
    few, many = (
        incidents(tmp_path / str(number), Transactions(number, number, partitions=1, outcome=outcome))[1]
        for number in (FEW, MANY)
    )

    assert many < 1.1 * few
