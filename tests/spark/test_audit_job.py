"""The audit as one call of a notebook: what it returns, and an output that the other commands take."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kafkalog.spark
from held import rows_in, rows_of
from invoke import kafkalog as command
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import Summary, narrowed
from kafkalog.errors import NothingMatchesError, UnsupportedError
from kafkalog.files.names import STATE_TOPIC
from kafkalog_cli.options import SHOWN
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NIGHTS = [FIXTURES / "moving" / name for name in ("state-1", "state-2")]
HANGING = FIXTURES / "v2.8-hanging" / "data"


def test_a_call_does_all_that_the_command_does(spark: SparkSession, tmp_path: Path) -> None:
    """Its rows, its files, its status; tables are DataFrames, and a notebook shows the verdict and what it is about."""
    done = kafkalog.spark.audit(spark, str(HANGING), tmp_path / "out")

    found = audit([HANGING])
    for table in SHOWN:
        assert rows_in(tmp_path / "out", table) == rows_of(found, table), table
    assert done.table("transactions").count() == len(rows_of(found, "transactions"))
    ended = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert ended["verdict"] == done.verdict.headline
    assert ended["exit_status"] == 1
    origin = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert {Path(file["file"]).name for file in origin["files"]} == {path.name for path in HANGING.rglob("*.log")}
    assert (tmp_path / "out" / "_SUCCESS").exists()
    shown = done._repr_html_()
    assert re.sub("<[^>]*>", "", shown).startswith(done.verdict.headline)
    assert done.incidents[0]["title"] in re.sub("<[^>]*>", "", shown)
    with pytest.raises(KeyError, match="no table 'offsets'"):
        done.table("offsets")
    with pytest.raises(UnsupportedError, match="exists already"):
        kafkalog.spark.audit(spark, str(HANGING), tmp_path / "out")
    with pytest.raises(UnsupportedError, match="no table offsets: the tables are incidents"):
        kafkalog.spark.audit(spark, str(HANGING), tmp_path / "other", tables=["offsets"])


@pytest.mark.parametrize(
    ("inputs", "output", "said"),
    [
        (HANGING, "wasbs://c@a.blob.core.windows.net/x", "write abfss://CONTAINER@ACCOUNT"),
        (HANGING, "dbfs:/audits/x", "write /dbfs/"),
        (["s3n://bucket/logs"], "x", "write s3a://"),
        ([], "x", "no inputs"),
        ("bundle.tar.zst", "x", "an archive, which is unpacked on one machine alone: unpack it"),
    ],
)
def test_what_can_not_be_read_or_written_is_refused_before_anything_is_made(
    inputs: Any, output: str, said: str, needs_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the commands refuse it; the operating system would take a URI for a folder of this directory."""
    monkeypatch.chdir(tmp_path)
    archive = tmp_path / "bundle.tar.zst"
    archive.write_bytes(b"\x28\xb5\x2f\xfd")
    nothing: Any = None  # no session is asked
    with pytest.raises(UnsupportedError, match=said):
        kafkalog.spark.audit(nothing, inputs, output)
    assert list(tmp_path.iterdir()) == [archive]


def test_other_commands_take_its_output(spark: SparkSession, tmp_path: Path) -> None:
    """`report`, `diff`, `history`, and the next night; as they take what the command writes."""
    for night, earlier in zip(NIGHTS, (None, tmp_path / NIGHTS[0].name), strict=True):
        done = kafkalog.spark.audit(spark, night, tmp_path / night.name, since=earlier)
        assert done.verdict.word == "OK"
    for line in (["report", tmp_path / "state-2"], ["diff", tmp_path / "state-1", tmp_path / "state-2"],
                 ["history", tmp_path]):  # fmt: skip
        ended = command(*line)
        assert ended.status == 0, ended.err
        assert "OK" in ended.text


def test_topics_are_chosen_before_anything_is_scanned(spark: SparkSession, tmp_path: Path) -> None:
    """The rows and the verdict are those of a local audit's filter; other topics are not read, the coordinator's is."""
    data = FIXTURES / "v2.8-hanging" / "data"
    found = audit([data])
    topics = sorted(
        {log.partition.directory.topic for cluster in found.clusters for log in cluster.logs} - {STATE_TOPIC}
    )
    narrowing = kafkalog.spark.Narrowing((topics[0],), (range(1),))
    local = narrowed(found, narrowing)
    done = kafkalog.spark.audit(spark, data, tmp_path / "out", plan=kafkalog.spark.JobPlan(narrowing=narrowing))

    assert done.summary.logs == Summary.of(local).logs
    for table in SHOWN:
        if table != "incidents":
            assert rows_in(tmp_path / "out", table) == rows_of(local, table), table
    assert done.verdict.scope == (f"only topic {topics[0]}, partition 0",)
    read = {Path(file["file"]).parent.name.rpartition("-")[0] for file in done.files}
    assert read == {topics[0], STATE_TOPIC}
    with pytest.raises(NothingMatchesError, match="no topic matches 'ordres'"):
        kafkalog.spark.audit(
            spark,
            data,
            tmp_path / "other",
            plan=kafkalog.spark.JobPlan(narrowing=kafkalog.spark.Narrowing(("ordres",))),
        )
    assert not (tmp_path / "other").exists()
