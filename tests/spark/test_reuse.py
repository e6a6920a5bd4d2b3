"""What a job sets in a session and in the workers that Spark uses again, and what it leaves as it was."""

from __future__ import annotations

import gc
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from kafkalog.files.object_stores import StorageOptions
from kafkalog_spark.between_tasks import begin_task
from kafkalog_spark.session import at_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def collected_over(each: object) -> bool:
    """Whether a collection would look at it: what is frozen stands in no generation."""
    return any(other is each for other in gc.get_objects())


def test_modules_are_spared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only after an import: what a task itself leaves must stay collectable."""
    begin_task()
    kept: list[int] = []
    begin_task()
    assert collected_over(kept)
    monkeypatch.setitem(sys.modules, "imported_since", ModuleType("imported_since"))
    begin_task()
    assert not collected_over(kept)
    gc.unfreeze()


def test_a_session_gets_its_settings_back(spark: SparkSession) -> None:
    """Spark changes no plan whose stages say how many tasks they have; where they leave it to Spark, it may."""
    adaptive = "spark.sql.adaptive.enabled"
    for before in ("true", "false"):
        spark.conf.set(adaptive, before)
        with at_work(spark, StorageOptions()):
            assert spark.conf.get(adaptive) == before
        with at_work(spark, StorageOptions(), planned=True):
            assert spark.conf.get(adaptive) == "false"
        assert spark.conf.get(adaptive) == before
    spark.conf.unset(adaptive)
