"""Judging tasks that run twice: each row is in the tables once, and the manifest lists the files of one attempt."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import misbehaving
import pytest
from held import ALL_TABLES, held, listed, rows_in, rows_of, run
from on_cluster import TABLES

from kafkalog.auditing.pipeline.run import audit
from kafkalog_spark import executor, parts
from kafkalog_spark.output import Output
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES: Final = ("k4-f-marker-leaderless", "made-damaged", "v2.3-txn-java-clean", "v2.8-hanging")
CHOSEN: Final = sorted(str(data) for case in CASES for data in (FIXTURES / case).glob("data*"))


def test_an_executor_is_lost_in_the_middle_of_judging(needs_spark: None, tmp_path: Path) -> None:
    """What it had judged is judged again by another; files that it left are no rows."""
    script = Path(__file__).with_name("on_cluster_judging.py")
    argv = [sys.executable, script, tmp_path, *CHOSEN]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=400, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr[-4000:]
    begun = Counter(path.name.split(".")[1] for path in (tmp_path / "killed.seen").glob("judge.*"))
    assert max(begun.values()) > 1  # as another attempt, or as the first one of a stage that was run again
    found = audit(CHOSEN)
    for table in TABLES:
        assert rows_in(tmp_path / "killed", table) == rows_of(found, table), table
    assert set(listed(tmp_path / "killed")) == set(TABLES)


def test_the_files_of_one_attempt_count(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task's work is done twice and both wrote whole files: half of them become the tables."""
    there: list[str] = []
    really = Output.commit

    def commit(output: Output, some: list[parts.PartFile], *how: Any) -> None:
        there.extend(path.name for path in (tmp_path / "out" / "_work").rglob("*.parquet"))
        really(output, some, *how)

    monkeypatch.setattr(Output, "commit", commit)
    monkeypatch.setattr(executor.tasks, "Judge", misbehaving.JudgeTwice)
    done = run(spark, CHOSEN, tmp_path / "out")

    held(done, tmp_path / "out", audit(CHOSEN))
    of_driver = sum("driver" in name for name in there)
    of_tasks = sum(map(len, listed(tmp_path / "out").values())) - of_driver
    assert len(there) - of_driver == 2 * of_tasks > 0
    assert set(listed(tmp_path / "out")) == set(ALL_TABLES)
