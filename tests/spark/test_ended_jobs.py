"""What ends a job is said in one line, with its cause and what to do, and has its exit status."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pyarrow as pa
import pytest

from invoke import kafkalog
from kafkalog.errors import OutputError, UnreadableError
from kafkalog.exit_status import Exit
from kafkalog_cli import submit
from kafkalog_cli.submit import bulk_audit, bulk_space
from kafkalog_spark import frames
from kafkalog_spark.ended_jobs import jvm_in_words
from official import FIXTURES, ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HANGING = str(FIXTURES / "v2.8-hanging" / "data")
COMMANDS = {"audit": bulk_audit, "space": bulk_space}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_output_that_only_the_driver_sees(
    name: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors don't find what the driver wrote for them: the output's place is named, and the status is the output's."""
    write = frames.write_sent

    def elsewhere(folder: str, *others: object) -> int:
        number = write(folder, *others)  # type: ignore[arg-type]  # as it is called
        shutil.move(folder.removeprefix("file://"), tmp_path / "driver")
        return number

    monkeypatch.setattr(frames, "write_sent", elsewhere)
    ended = kafkalog("--input", HANGING, "-o", tmp_path / "out", command=COMMANDS[name])
    last = ended.err.splitlines()[-1]

    assert ended.status == Exit.OUTPUT_FAILED
    assert f"{tmp_path / 'out'}/_work/" in last
    assert (
        "the executors do not see what the driver wrote there: name an output on a disk that all machines share" in last
    )
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("said", "status", "line"),
    [
        (
            "An exception was thrown from the Python worker.\nTraceback (most recent call last):\n"
            "ModuleNotFoundError: No module named 'crc32c'\n\n\tat org.apache.spark.api.python.X",
            Exit.INCOMPLETE, "the job failed: the executors lack the Python package crc32c: ship kafkalog with",
        ),
        (
            "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different "
            "version: 3.12 than that in driver: 3.11, PySpark cannot run with different minor versions.",
            Exit.INCOMPLETE, "executors run Python 3.12, the driver 3.11: set PYSPARK_PYTHON",
        ),
        (
            "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File \"/x/worker.py\", line 3\n"
            "    process()\nImportError: cannot import name 'heads' from 'kafkalog_spark.scan_tasks' (/x.zip)\n\n\tat java.x",
            Exit.INCOMPLETE, "ended with ImportError: cannot import name 'heads' from 'kafkalog_spark.scan_tasks' (/x.zip): do "
            "driver and executors have the same kafkalog?",
        ),
        (
            "An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.\n: java.lang.IllegalStateException: "
            "LiveListenerBus is stopped.\n\tat org.apache.x",
            Exit.INCOMPLETE, "the job failed: the cluster ended the application, as where no executor starts: the master's",
        ),
        (
            'java.io.IOException: Cannot run program "python9": error=2, No such file or directory',
            Exit.INCOMPLETE, "executors have no program python9: set PYSPARK_PYTHON",
        ),
        (
            "Job aborted\n\tCaused by: java.io.IOException: No space left on device\n",
            Exit.INCOMPLETE, "No space left on device: give Spark another place for what it keeps (spark.local.dir",
        ),
        (
            "An error occurred while calling o190.getResult.\n: org.apache.spark.SparkException: Exception thrown in awaitResult:"
            " \n\tat x\nCaused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 7 in stage 3.0 failed"
            " 4 times, most recent failure: Lost task 7.3 in stage 3.0 (TID 9) (10.0.0.7 executor 2): ExecutorLostFailure"
            " (executor 2 exited caused by one of the running tasks) Reason: Container killed by YARN for exceeding limits.\n",
            Exit.INCOMPLETE, "the job failed (stage 3, 4 attempts, the last one on 10.0.0.7): an executor was lost: Container "
            "killed by YARN for exceeding limits; for want of memory, spark.executor.memoryOverhead gives executors more",
        ),
        (
            "An error occurred while calling o78.getResult.\nCaused by: org.apache.spark.SparkException: Job aborted due to stage"
            " failure: Total size of serialized results of 1 tasks (400.8 KiB) is bigger than spark.driver.maxResultSize (1024.0 B)",
            Exit.INCOMPLETE, "1 tasks send 400.8 KiB to the driver, more than spark.driver.maxResultSize (1024.0 B): raise that",
        ),
        (
            "An error occurred while calling o1.getResult.\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat x",
            Exit.INCOMPLETE, "a JVM has no memory left (Java heap space): raise spark.driver.memory",
        ),
        (
            "Job aborted\nOSError: kafkalog can't write its output: [Errno 2] Failed to open local file '/out/_work/a'. "
            "Detail: [errno 2] No such file or directory\n\tat x",
            Exit.OUTPUT_FAILED, "No such file or directory; name an output on a disk that all machines share",
        ),
        (
            "Job aborted\nOSError: kafkalog can't write its output: When initiating multiple part upload for key 'a': AWS "
            "Error ACCESS_DENIED during CreateMultipartUpload operation: Access Denied\n\tat x",
            Exit.OUTPUT_FAILED, "Access Denied: check the credentials (environment, ~/.aws, role) and what they may do",
        ),
        (
            "Job aborted\nOSError: kafkalog can't write its output: Unable to load libjvm dlopen(/lib/libjvm.so) failed: x",
            Exit.OUTPUT_FAILED, "Unable to load libjvm: HDFS needs Hadoop's own libraries here (JAVA_HOME,",
        ),
    ],
    ids=["package", "python", "other", "ended", "program", "disk", "executor", "results", "memory", "output", "store", "hadoop"],
)  # fmt: skip
def test_the_cause_is_found_in_a_trace(said: str, status: Exit, line: str, needs_spark: None) -> None:
    """Spark 3.5, 4.0 and 4.3 put it far below lines of their own."""
    from pyspark.errors import PySparkException

    kind = OutputError if status is Exit.OUTPUT_FAILED else UnreadableError
    with pytest.raises(kind) as raised, jvm_in_words():
        raise PySparkException(f"Job aborted due to stage failure\n{said}")
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def _killed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from ()


def test_a_worker_that_was_killed_is_named_with_its_host(spark: SparkSession) -> None:
    """Each attempt of a task: the stage, the host, and what gives it more memory."""
    with pytest.raises(UnreadableError) as raised, jvm_in_words():
        frames.fetched(frames.mapped(spark.range(1), _killed, pa.schema({"id": pa.int64()})), "work", print)

    assert re.search(
        r"^the job failed \(stage \d+, 4 attempts, the last one on \S+\): a Python worker", str(raised.value)
    )
    assert "spark.executor.memoryOverhead" in str(raised.value)


def test_a_setting_that_does_not_exist_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A mistyped one would be left out silently; one of the other command may be there, for a cluster has one file."""
    arguments = ("--input", HANGING, "-o", tmp_path / "out")
    spark.conf.set("spark.kafkalog.split.byte", "1")
    try:
        ended = kafkalog(*arguments, command=bulk_audit)
    finally:
        spark.conf.unset("spark.kafkalog.split.byte")
    assert ended.status == Exit.USAGE
    assert "spark.kafkalog.split.byte does not exist: did you mean spark.kafkalog.split.bytes?" in ended.err
    assert not (tmp_path / "out").exists()

    spark.conf.set("spark.kafkalog.keys", "true")
    spark.conf.set("spark.kafkalog.table", "next_start")
    try:
        assert kafkalog(*arguments, "--exit-zero", command=bulk_space).status == Exit.FINE
    finally:
        spark.conf.unset("spark.kafkalog.keys")
        spark.conf.unset("spark.kafkalog.table")
    assert [path.name for path in (tmp_path / "out").iterdir() if path.is_dir()] == ["next_start"]


def test_settings_say_what_txn_audit_has_no_option_for(spark: SparkSession, tmp_path: Path) -> None:
    """How much a task reads, and that damage stops the job: as they do for the program for spark-submit."""
    data = FIXTURES / "made-damaged" / "data"
    said = {"spark.kafkalog.split.bytes": "1", "spark.kafkalog.on.corrupt": "fail"}
    for name, value in said.items():
        spark.conf.set(name, value)
    try:
        ended = kafkalog("txn-audit", "--engine", "spark", data, "-o", tmp_path / "out")
    finally:
        for name in said:
            spark.conf.unset(name)
    assert f"({len(list(data.rglob('*.log')))} tasks, " in ended.err
    assert ended.status == Exit.FINDINGS
    assert "nothing was written" in ended.err


def test_a_verdict_that_nobody_reads_is_no_failed_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where `head` ended: the output is whole, and the status is that of other commands."""
    monkeypatch.setattr(submit, "print", Mock(side_effect=BrokenPipeError), raising=False)
    (tmp_path / "empty").mkdir()
    ended = kafkalog("--input", tmp_path / "empty", "-o", tmp_path / "out", command=bulk_audit)

    assert ended.status == Exit.CLOSED_PIPE
    assert "failed" not in ended.err
    assert (tmp_path / "out" / "_SUCCESS").exists()


def test_a_launcher_without_packages_says_so(tmp_path: Path) -> None:
    """A driver whose Python lacks kafkalog ends as a failed job does, not with the status of findings."""
    for name in ("bulk_audit.py", "bulk_space.py"):
        argv = [sys.executable, "-I", "-S", ROOT / "spark" / name]
        ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert ended.returncode == Exit.INCOMPLETE
        assert (
            ended.stderr
            == "kafkalog: error: the driver lacks the Python package kafkalog_cli: see docs/bulk-audit.md\n"
        )


def test_a_signal_ends_a_job_at_once(spark: SparkSession) -> None:
    """The job is cancelled: nobody waits for its tasks, and its description was on Spark's page meanwhile."""
    told: list[str] = []
    slow = spark.range(0, 2, 1, 2).selectExpr("java_method('java.lang.Thread', 'sleep', 60000L) as slept")
    started = time.monotonic()
    signal.signal(signal.SIGALRM, _ended)
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        with pytest.raises(SystemExit):
            frames.fetched(slow, "sleep", told.append)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        spark.sparkContext.setLogLevel("WARN")

    assert time.monotonic() - started < 40


def _ended(*_: object) -> None:
    raise SystemExit(143)


def test_a_long_job_tells_how_far_it_is(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each half minute, here each tenth of a second, its tasks are counted; Spark's page has what it does."""
    monkeypatch.setattr(frames, "SILENT_S", 0.1)
    told: list[str] = []
    described: set[str] = set()

    def tell(line: str) -> None:
        told.append(line)
        for job in spark.sparkContext.statusTracker().getActiveJobsIds():
            described.add(spark.sparkContext._jsc.sc().statusStore().job(job).description().get())

    slow = spark.range(0, 2, 1, 2).selectExpr("java_method('java.lang.Thread', 'sleep', 1000L) as slept")
    frames.fetched(slow, "wait", tell)
    assert "wait: 0 of 2 tasks done" in told
    assert described == {"kafkalog: wait"}
