"""Decisions to abort that are not shown: whose they are is kept as columns, and named as if each were looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalog.auditing.incidents.abort_decisions import AbortDecisions
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.columns.texts import TextColumn
from test_incident_counts import Transactions, incidents, write_transactions

MANY = 8000


@pytest.mark.parametrize("ids", [101, 150, 3000])
def test_ids_that_are_shown_and_counted_are_counted_once(tmp_path: Path, ids: int) -> None:
    """Ids of decisions that are shown are mostly those of others, too: the incident has each of them once."""
    ((row,), _) = incidents(tmp_path / "d", Transactions(MANY, ids, partitions=3, outcome="aborted"))

    assert (row["transactional_ids_total"], row["producer_ids_total"]) == (ids, ids)
    assert row["transactional_ids"] == [f"tx-{number:09}" for number in range(100)]
    assert row["producer_ids"] == sorted(row["producer_ids"])
    assert len(row["producer_ids"]) == 100
    assert f"{MANY} transactions of {ids} transactional ids were aborted" in row["title"].replace(",", "")


def test_an_incident_of_one_id_names_it(tmp_path: Path) -> None:
    """The decisions that are counted are of the id that is shown: it is one, and the key of the incident."""
    ((row,), _) = incidents(tmp_path / "d", Transactions(MANY, 1, partitions=1, outcome="aborted"))

    assert row["transactional_ids"] == ["tx-000000000"]
    assert "tx-000000000 (producer 1000)" in row["title"]


def test_names_of_a_crowd_are_bytes(tmp_path: Path) -> None:
    """A million strings and numbers would take 200 MiB."""
    write_transactions(tmp_path / "d", Transactions(MANY, MANY, partitions=1, outcome="aborted"))
    (cluster,) = audit([tmp_path / "d"], AuditOptions(jobs=1, snapshot=True)).clusters
    (crowd,) = AbortDecisions(cluster.coordinator, cluster.now).crowds.values()

    assert isinstance(crowd.names, TextColumn)
    assert len(crowd.names) == len(crowd.producers) == crowd.number
    assert crowd.producers.dtype == "i8"
