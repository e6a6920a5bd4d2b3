"""What a job sets in a session and in the workers that Spark uses again, and what it leaves as it was."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from pyspark import InheritableThread

from kafkalog_spark.between_tasks import begin_task
from kafkalog_spark.frames import fetched
from kafkalog_spark.session import JobPlan, at_work

if TYPE_CHECKING:
    import pyarrow as pa
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


def test_a_session_of_somebody_else_stays_as_it_is(spark: SparkSession) -> None:
    """A job's settings are those of a session of its own; of the caller's nothing is other while it works."""
    before = spark.sql("SET").collect()
    context = spark.sparkContext
    context.setJobGroup("night", "of somebody else")
    context.addJobTag("theirs")
    try:
        with at_work(spark, JobPlan()) as mine:
            assert mine.conf.get("spark.sql.codegen.wholeStage") == "false"
            assert mine.conf.get("spark.sql.adaptive.enabled") == "true"
            assert spark.sql("SET").collect() == before
            fetched(mine.range(1), "count", print)
            assert context.getLocalProperty("spark.jobGroup.id") == "night"
            assert context.getLocalProperty("spark.job.description") == "of somebody else"
            assert context.getLocalProperty("spark.job.tags") == "theirs"
            assert context.statusTracker().getJobIdsForGroup("night")  # the job is of the caller's group
    finally:
        context.clearJobTags()
        for name in ("spark.jobGroup.id", "spark.job.description"):
            context.setLocalProperty(name, None)


def _waits(batches: Iterable[pa.RecordBatch], until: str) -> Iterator[pa.RecordBatch]:
    Path(f"{until}.begun").touch()
    while not Path(until).exists():
        time.sleep(0.02)
    yield from batches


def test_an_interrupt_cancels_no_job_of_somebody_else(spark: SparkSession, tmp_path: Path) -> None:
    """Theirs goes on to its end, ours does not; what Spark logs afterwards is what it logged before."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    level = spark.sparkContext._jvm.org.apache.log4j.Logger.getRootLogger().getLevel  # type: ignore[union-attr]
    logged = level().toString()
    found: list[int] = []
    waiting = spark.range(0, 3, 1, 1).mapInArrow(partial(_waits, until=str(theirs)), "id long")
    other = InheritableThread(target=lambda: found.append(waiting.count()))
    other.start()

    def interrupt() -> None:
        while not (Path(f"{ours}.begun").exists() and Path(f"{theirs}.begun").exists()):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)

    def of_spark(*_: object) -> None:
        spark.sparkContext.cancelAllJobs()
        raise KeyboardInterrupt

    of_spark.__module__ = "pyspark.core.context"
    signal.signal(signal.SIGINT, of_spark)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt), at_work(spark, JobPlan()) as mine:
            fetched(mine.range(0, 1, 1, 1).mapInArrow(partial(_waits, until=str(ours)), "id long"), "wait", print)
        assert signal.getsignal(signal.SIGINT) is of_spark
    finally:
        signal.signal(signal.SIGINT, handler)
        ours.touch()
        theirs.touch()
        other.join()

    assert found == [3]
    assert level().toString() == logged
