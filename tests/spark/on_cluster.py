"""Bulk audits on executors that are processes of their own, and are killed: ``on_cluster.py FOLDER JOB,JOB DIR...``.

For each job FOLDER gets a directory with the tables, and beside it what the job returned, what was killed and how
often a segment's scan was begun.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import psutil

import misbehaving
from coordinated import coordinated
from held import home_of_links, run
from kafkalog_spark import judge_tasks, scan_tasks
from kafkalog_spark.bulk_audit import BulkAudit
from kafkalog_spark.session import open_session
from misbehaving import Trouble, Wait

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("transactions", "findings", "coordinator")
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.rpc.message.maxSize": "1",  # MiB: what is in a task or a plan is small
    "spark.ui.enabled": "false",
}


@dataclass(frozen=True)
class Report:
    """What became of a job: `scans` and `judges` count attempts that were begun by task, `killed` the executors."""

    done: BulkAudit
    killed: list[int]
    scans: Counter[int]
    judges: Counter[int]


def executors() -> list[psutil.Process]:
    """List our own executors."""
    below = psutil.Process().children(recursive=True)
    return [one for one in below if one.name() == "java" and "CoarseGrainedExecutorBackend" in " ".join(one.cmdline())]


def kill(one: psutil.Process) -> int:
    """Kill an executor, and wait until it is gone."""
    one.kill()
    one.wait(60)
    return one.pid


@contextmanager
def watched(scan: Trouble, judge: Trouble) -> Iterator[None]:
    """Let the tasks leave word of their attempts."""
    real = scan_tasks.scan, judge_tasks.Judge
    scan_tasks.scan = misbehaving.Scan(scan)  # type: ignore[assignment]  # as long as a job runs
    judge_tasks.Judge = partial(misbehaving.Judge, judge)  # type: ignore[assignment,misc]  # ditto
    try:
        yield
    finally:
        scan_tasks.scan, judge_tasks.Judge = real  # type: ignore[misc]  # ditto


def kill_one_that(stage: str, seen: Path, killed: list[int]) -> None:
    """Kill the executor of the first task of a stage, which waits, and let the others go on."""
    deadline = time.monotonic() + 120
    while not (begun := list(seen.glob(f"{stage}.*"))):
        if time.monotonic() > deadline:
            return
        time.sleep(0.05)
    worker = int(begun[0].name.split(".")[3])
    above = {one.pid for one in psutil.Process(worker).parents()}
    killed.extend(kill(one) for one in executors() if one.pid in above)
    (seen / Wait.GO).touch()


def fault(session: SparkSession, folder: Path, name: str, paths: Sequence[str]) -> None:
    """Run a job in which executors are lost: none, in the middle of a stage, or when a stage's rows are there."""
    seen = folder / f"{name}.seen"
    seen.mkdir()
    stage = {"map": "scan", "judge": "judge"}.get(name)
    troubles = [Wait(seen) if stage == one else Trouble(seen) for one in ("scan", "judge")]
    killed: list[int] = []

    def kill_when_told(line: str) -> None:
        if name == "behind" and line.startswith(("scanned", "judged")):
            killed.extend(kill(one) for one in executors())  # a single one may have none of the rows

    killer = None if stage is None else Thread(target=kill_one_that, args=(stage, seen, killed))
    if killer is not None:
        killer.start()
    with watched(*troubles):
        done = run(session, paths, folder / name, tables=TABLES, split_bytes=1 << 20, progress=kill_when_told)
    if killer is not None:
        killer.join()
    done.session = done.output = None  # type: ignore[assignment]  # who reads it has neither
    report = Report(done, killed, *(Counter(Trouble(seen).tasks(one)) for one in ("scan", "judge")))
    (folder / f"{name}.pickle").write_bytes(pickle.dumps(report))


def main() -> None:
    """Run the jobs in one session."""
    folder, jobs, *paths = Path(sys.argv[1]), sys.argv[2].split(","), *sys.argv[3:]
    os.environ["SPARK_HOME"] = str(home_of_links(folder))
    session = open_session("local-cluster[2,1,1024]", SETTINGS)
    try:
        for name in jobs:
            fault(session, folder, name, [str(coordinated(folder / "made"))] if name == "coordinated" else paths)
    finally:
        session.stop()


if __name__ == "__main__":
    # What is pickled here is read by a process that imports this module.
    from on_cluster import main as run_all

    run_all()
