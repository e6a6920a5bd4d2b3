"""A log in two tiers on Spark: remote objects are splits like any other, and the answers are those of a local run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import kafkalog
import kafkalog_spark
from held import held, rows_in, run
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.space import SpaceOptions
from kafkalog.log_dirs.remote_store import Remote, remote_given
from kafkalog_spark.bulk_space import bulk_space
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = str(FIXTURES / "tiered-missing" / "data")
STORE = str(FIXTURES / "tiered-missing" / "remote")


def test_an_audit_and_a_measurement_of_both_tiers(spark: SparkSession, tmp_path: Path) -> None:
    """Each segment a task, remote ones among them: every table has the local rows; of space that of the tiers.

    One partition is in the store alone.
    """
    data = str(shutil.copytree(DATA, tmp_path / "data", ignore=shutil.ignore_patterns("coupons*")))
    output = Output(str(tmp_path / "space"))
    output.make_directory(overwrite=False)
    with remote_given(Remote(STORE)):
        done, local = run(spark, [data], tmp_path / "out", split_bytes=1), audit([data])
        bulk_space(spark, [data], output, SpaceOptions(), tables=["space_tiers"], plan=JobPlan(1))
        tiers = list(kafkalog.open(data).space().space_tiers)

    held(done, tmp_path / "out", local)
    assert len(rows_in(tmp_path / "out", "remote_segments")) == 15
    assert any("/remote/" in file["file"] for file in done.files)
    assert sorted(pq.read_table(tmp_path / "space" / "space_tiers").to_pylist(), key=str) == sorted(tiers, key=str)


def test_the_data_source_has_the_option(spark: SparkSession) -> None:
    """Records of both tiers, with the store as an option of the read."""
    found = kafkalog_spark.read(spark, DATA, {"view": "records", "remote": STORE, "topic": "coupons*"})
    audited = kafkalog_spark.read(spark, DATA, {"remote": STORE, "topic": "audit*"})

    assert found.count() == 139
    assert audited.select("first_offset").where("state = 'committed'").count() > 5
