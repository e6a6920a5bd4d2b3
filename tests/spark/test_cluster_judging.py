"""Judging tasks that run twice: each row is in the tables once, and the manifest lists the files of one attempt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import misbehaving
from held import ALL_TABLES, held, listed, run
from kafkalog.auditing.pipeline.run import audit
from kafkalog_spark import executor, parts
from kafkalog_spark.job_output import Output
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES: Final = ("k4-f-marker-leaderless", "made-damaged", "v2.3-txn-java-clean", "v2.8-hanging")
CHOSEN: Final = sorted(str(data) for case in CASES for data in (FIXTURES / case).glob("data*"))


@pytest.mark.exhaustive  # test_output.py has what decides it
def test_the_files_of_one_attempt_count(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task's work is done twice and both wrote whole files: half of them become the tables."""
    there: list[str] = []
    really = Output.commit

    def commit(output: Output, some: list[parts.PartFile], *how: Any) -> None:
        there.extend(path.name for path in (tmp_path / "out" / "_work").rglob("*.parquet"))
        really(output, some, *how)

    monkeypatch.setattr(Output, "commit", commit)
    monkeypatch.setattr(executor.judge_tasks, "Judge", misbehaving.JudgeTwice)
    done = run(spark, CHOSEN, tmp_path / "out")

    held(done, tmp_path / "out", audit(CHOSEN))
    of_driver = sum("driver" in name for name in there)
    of_tasks = sum(map(len, listed(tmp_path / "out").values())) - of_driver
    assert len(there) - of_driver == 2 * of_tasks > 0
    assert set(listed(tmp_path / "out")) == set(ALL_TABLES)
