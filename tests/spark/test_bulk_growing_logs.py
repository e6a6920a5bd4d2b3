"""Bulk audits that take the scans of an earlier one: their tables are those of a local audit that reads everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import small_pieces
from growing_log import GrowingLog
from held import ALL_TABLES, held
from kafkalog.auditing.pipeline import kept_scans, scans_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog_spark import scan_tasks
from kafkalog_spark.bulk_audit import bulk_audit
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _night(
    spark: SparkSession, roots: Sequence[str], folder: Path, *previous: Path, share_bytes: int
) -> set[str]:  # fmt: skip
    """Run a bulk audit, hold it against a local one, and return the names of the scans that it kept."""
    output = Output(str(folder))
    output.make_directory(overwrite=False, arguments=("some",))
    scans = output.kept([scans_of_audit(str(one)) for one in previous], hashed=False)
    done = bulk_audit(spark, roots, output, tables=ALL_TABLES, kept=scans, plan=JobPlan(share_bytes=share_bytes))
    output.write_text("_SUCCESS", "")
    held(done, folder, audit(roots))
    return {path.name for path in (folder / "_work" / "scans").glob("*.scan")}


@pytest.mark.parametrize(
    ("share_bytes", "by_name"),
    [pytest.param(1 << 30, True, marks=pytest.mark.exhaustive), (3000, False)],
    ids=["scans are read again", "shares are sent"],
)
def test_nights_of_bulk_audits(
    share_bytes: int, by_name: bool, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Of whole logs, and of shares of their producers: what can be taken is, and all rows are of today."""
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)
    if by_name:
        monkeypatch.setattr(scan_tasks, "scan", small_pieces.Scan())
    logs = [GrowingLog(tmp_path / f"broker-{seed}", seed) for seed in (range(0, 16, 2) if by_name else range(0, 6, 2))]
    roots = [str(log.root) for log in logs]
    known: set[str] = set()
    for night in range(3):
        for log in logs:
            log.grow(60 + 25 * night)
            if night:
                log.decide()
            if night == 2:
                log.lose()
        folders = [tmp_path / str(at) for at in range(night)][-1:]
        files = _night(spark, roots, tmp_path / str(night), *folders, share_bytes=share_bytes)
        assert files
        assert bool(files & known) == bool(night)
        known = files
