"""A Spark that lacks what newer ones have gives the same; one that is too old is refused before a session starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyspark
import pytest

import kafkalog_spark
from held import held, run
from invoke import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.exit_status import Exit
from kafkalog_cli.submit import bulk_audit, bulk_space, check_packages
from kafkalog_spark import frames, session
from official import FIXTURES
from sourced import in_order, library_rows, of_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HANGING = str(FIXTURES / "v2.8-hanging" / "data")
NEW = ("repartitionById", "toArrow")


@pytest.fixture
def older(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A session whose frames lack what came after Spark 3.5, as far as it is used; without data sources, too."""
    for kind in type(spark.range(1)).__mro__:
        for name in NEW:
            if name in vars(kind):
                monkeypatch.delattr(kind, name)
    monkeypatch.setattr(frames, "has_data_sources", lambda: False)
    return spark


def test_a_bulk_audit_is_the_same(older: SparkSession, tmp_path: Path) -> None:
    """Tasks are chosen by hash, rows come one by one; a stage without rows has its columns."""
    done = run(older, [HANGING], tmp_path / "out", split_bytes=1)

    held(done, tmp_path / "out", audit([HANGING]))
    nothing = frames.fetched(older.range(0).selectExpr("id", "cast('' as binary) as content"), "nothing", print)
    assert nothing.schema.types == [pa.int64(), pa.binary()]


@pytest.mark.parametrize("view", ["transactions", "records"])
def test_a_view_is_the_same(view: str, older: SparkSession) -> None:
    """By logs and by segments; the columns' comments are there, too."""
    found = kafkalog_spark.read(older, [HANGING], {"view": view, "splitBytes": 1})

    assert in_order(of_table(view, row.asDict()) for row in found.collect()) == library_rows(view, HANGING)
    assert found.schema["producer_id"].metadata["comment"]


def test_what_can_not_be_asked_is_refused_there_too(older: SparkSession, tmp_path: Path) -> None:
    """By the same errors as the library's."""
    with pytest.raises(UnsupportedError, match="did you mean columns"):
        kafkalog_spark.read(older, HANGING, {"colums": "file"})
    with pytest.raises(UnreadableError, match="no such file"):
        kafkalog_spark.read(older, str(tmp_path / "none"))
    assert kafkalog_spark.read(older, str(tmp_path / "none"), {"view": "findings"}).count() == 1


@pytest.mark.parametrize("command", [bulk_audit, bulk_space], ids=["audit", "space"])
def test_a_spark_that_is_too_old_is_refused(
    command: object, needs_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line with both versions, before a session starts; so is a driver that lacks a package."""

    def never(*_: object) -> None:
        raise AssertionError("a session was started")

    monkeypatch.setattr(session, "open_session", never)
    arguments = ("--input", HANGING, "-o", tmp_path / "out")
    monkeypatch.setattr(pyspark, "__version__", "3.4.4")
    ended = kafkalog(*arguments, command=command)
    assert ended.status == Exit.INCOMPLETE
    assert ended.err == "kafkalog: error: kafkalog needs Spark 3.5 or newer: this is pyspark 3.4.4\n"

    for version in ("3.5.0", "4.0.1", "4.3.0.dev1", "10.0"):
        monkeypatch.setattr(pyspark, "__version__", version)
        check_packages()
    for package in ("pyspark", "pandas", "pyarrow"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(UnreadableError, match=f"{package}.*pip install"):
                check_packages()
    assert not (tmp_path / "out").exists()
