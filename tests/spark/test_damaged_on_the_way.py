"""Kept scans that are damaged between scanning and judging: no wrong row, words that say what to do, and then all rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import small_pieces
from held import ALL_TABLES
from kafkalog.auditing.pipeline import kept_scans
from kafkalog.errors import UnreadableError
from kafkalog_spark import scan_tasks
from kafkalog_spark.bulk_audit import BulkAudit, bulk_audit
from kafkalog_spark.ended_jobs import jvm_in_words
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan
from kept import broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARGUMENTS = ("--input", "some")


def _run(spark: SparkSession, root: Path, folder: Path, *, damaged: int) -> BulkAudit:
    """Run a bulk audit; when all was scanned, a bit of some of its kept scans changes."""

    def damage(line: str) -> None:
        if line.startswith("scanned"):
            for path in sorted((folder / "_work" / "scans").glob("*.scan"))[:damaged]:
                data = path.read_bytes()
                path.write_bytes(data[:-1] + bytes([data[-1] ^ 4]))

    output = Output(str(folder))
    output.make_directory(overwrite=False, arguments=ARGUMENTS)
    return bulk_audit(
        spark, [str(root)], output, tables=ALL_TABLES, kept=output.kept([], hashed=False), plan=JobPlan(progress=damage)
    )  # fmt: skip


def test_a_scan_that_is_damaged_before_it_is_judged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job fails and says so; test_bulk_nights.py has what the same command does then."""
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)
    monkeypatch.setattr(scan_tasks, "scan", small_pieces.Scan())
    root = broker(tmp_path)
    said = r"the job failed: .*\.scan: was damaged since it was written .*: run the same command again$"
    with pytest.raises(UnreadableError, match=said), jvm_in_words():
        _run(spark, root, tmp_path / "out", damaged=3)
    assert not (tmp_path / "out" / "_SUCCESS").exists()
