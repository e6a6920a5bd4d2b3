"""The table ``coordinator`` as Arrow, made column by column, is the same as its rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.transactions import audit_batches, audit_rows
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from official import FIXTURES
from state_topic import T, value, write_state

COORDINATOR = TABLES["coordinator"]
CASES = ("k4-f-marker-leaderless", "v2.3-txn-java-clean", "v0.11-codecs")


def alike(paths: list[str]) -> pa.Table:
    """Compare both ways, and return the table."""
    found, schema = audit(paths), arrow_schema(COORDINATOR)
    tables = [
        pa.Table.from_batches(batches, schema)
        for batches in (audit_batches(found, "coordinator"), arrow_batches(audit_rows(found, "coordinator"), schema))
    ]
    assert tables[0].equals(tables[1])
    tables[0].validate(full=True)
    return tables[0]


@pytest.mark.parametrize("case", CASES)
def test_records_of_brokers(case: str) -> None:
    """Of several releases, also of a cluster without any."""
    alike(sorted(str(data) for data in (FIXTURES / case).glob("data*")))


def test_odd_records(tmp_path: Path) -> None:
    """Tombstones, an empty list and none, names with quotes and others that are not text, several logs, no records."""
    empty = tmp_path / "empty"
    (empty / "t-0").mkdir(parents=True)
    (empty / "t-0" / f"{0:020}.log").write_bytes(b"")
    assert alike([str(empty)]).num_rows == 0

    listed = [("t", [0, 5, 12]), ('a"b\\', [7]), ("é", [1])]
    records = [
        ("tx", value(1, 5, 0, listed, T + 2, T + 1)),
        ("tx", value(2, 5, 0, listed[:1], T + 3, T + 1)),
        ("tx", value(4, 5, 0, [], T + 4, T + 1)),
        ("tx", value(4, 5, 0, None, T + 4, T + 1)),
        ("tx", None),
        ('o"é', value(0, 6, 1, [], T + 5, -1)),
        ("none", None),
    ]
    for partition in (3, 8):
        write_state(tmp_path / "broker", *records, number=partition)
    table = alike([str(tmp_path / "broker")])

    assert table.num_rows == 2 * len(records)
    assert table["partitions"].to_pylist().count('["a\\"b\\\\-7", "t-0", "t-5", "t-12", "é-1"]') == 2
    assert table["state"].to_pylist().count("tombstone") == 4
