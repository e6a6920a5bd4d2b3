"""The job about space gives what a local run gives, row for row, however directories are put into tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import kafkalog
from code_cases import CODE_CASES
from kafkalog.auditing.space import SpaceOptions
from kafkalog.tables.space_tables import SPACE_TABLES
from kafkalog_spark.bulk_space import bulk_space
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan
from official import FIXTURES, cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _directories(*names: str) -> list[str]:
    """The directories of the fixtures that have one of these in their names."""
    chosen = (case for case in cases(FIXTURES) if any(name in case.name for name in names))
    return sorted(str(data) for case in chosen for data in case.glob("data*"))


FEW = _directories("compact", "epoch", "interleaved", "k4-i")
SOME = _directories("compact", "epoch", "hanging", "interleaved", "k4-i", "upgraded")
TABLES = [table.name for table in SPACE_TABLES]


def _sorted(rows: Any) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


@pytest.mark.parametrize(
    ("split_bytes", "paths", "least"),
    [(1, FEW, 20), pytest.param(128 << 20, SOME, 50, marks=pytest.mark.exhaustive)],
    ids=["a directory a task", "packed"],
)
def test_rows_are_those_of_a_local_run(
    spark: SparkSession, tmp_path: Path, split_bytes: int, paths: list[str], least: int
) -> None:  # fmt: skip
    """Some clusters at once: every table has the local rows; only the incidents of transactions are ``txn-audit``'s.

    The broker of one has another one that was not given.
    """
    if paths is FEW:  # of which none is of the same cluster
        CODE_CASES["directory-not-given"].made.make(tmp_path / "disk")
        paths = [*paths, str(tmp_path / "disk" / "data")]
    output = Output(str(tmp_path / "out"))
    output.make_directory(overwrite=False)
    done = bulk_space(spark, paths, output, SpaceOptions(), tables=TABLES, plan=JobPlan(split_bytes))
    local = kafkalog.open(paths).space()

    assert any(one.code == "directory-not-given" for one in done.findings) is (split_bytes == 1)
    assert done.directories == sum(1 for _ in local) > least
    for table in TABLES:
        theirs = pq.read_table(tmp_path / "out" / table).to_pylist()
        mine = list(getattr(local, table))
        if table in ("space", "incidents"):
            theirs = [row for row in theirs if "open-transaction" not in (row["cause"], row.get("kind"))]
            mine = [
                row for row in mine if row["cause"] != "open-transaction" and row.get("kind") != "consumers-stopped"
            ]
        if table == "incidents":
            texts = ("partitions", "transactional_ids", "producer_ids", "kept_in", "events", "consumers", "next_steps", "findings")  # fmt: skip
            theirs = [row | {name: json.loads(row[name]) for name in texts} for row in theirs]
        assert _sorted(theirs) == _sorted(mine), table
