"""Bulk audits on two nodes, which see a path each in their own way: ``on_nodes.py FOLDER``.

A node is a worker whose Python has a name and mounts of its own. `copies` is on each node a copy, whose files have other
inodes than the driver's; `one` is not there on the second; in `none` neither can read a segment. FOLDER gets a
directory with the tables of each, and beside it what the job returned and how much its judges read.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from held import ALL_TABLES, home_of_links
from kafkalog.auditing.pipeline import kept_scans
from kafkalog_spark import judge_tasks
from kafkalog_spark.bulk_audit import BulkAudit, bulk_audit
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan, open_session
from on_cluster import SETTINGS

if TYPE_CHECKING:
    import pyarrow as pa

INPUTS = ("copies", "one", "none")

# Executors work in folders with their numbers. What is mounted is mounted for the worker and its children alone, which
# may not read what its owner may not, as root could.
_WORKER = """#!/bin/sh
node=$(($(basename "$PWD") % 2))
exec unshare --mount --uts sh -c '
    hostname node-'$node'
    for input in {folder}/seen-'$node'/*; do mount --bind "$input" {folder}/"$(basename "$input")"; done
    exec setpriv --bounding-set=-dac_override,-dac_read_search {python} "$@"
' sh "$@"
"""


@dataclass(frozen=True)
class OnNodes:
    """What became of a job: what it returned, and how many bytes its judging tasks read."""

    done: BulkAudit
    judges_read: int


class CountingJudge:
    """Stands for ``judge_tasks.Judge``: leaves word of how much it read from files."""

    def __init__(self, folder: Path, *args: Any) -> None:
        self.folder = folder
        self.args = args

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        some = list(batches)  # they come by a socket, which counts, too
        before = psutil.Process().io_counters().read_chars
        found = list(judge_tasks.Judge(*self.args)(some))
        read = psutil.Process().io_counters().read_chars - before
        (self.folder / f"{os.getpid()}.{id(some)}.{read}").touch()
        yield from found


def main() -> None:
    """Audit each input in one session."""
    folder = Path(sys.argv[1])
    worker = folder / "worker"
    worker.write_text(_WORKER.format(folder=folder, python=sys.executable))
    worker.chmod(0o755)
    os.environ |= {"SPARK_HOME": str(home_of_links(folder)), "PYSPARK_PYTHON": str(worker)}
    kept_scans.LEAST_BYTES = 1  # type: ignore[misc]  # of small segments, too
    session = open_session("local-cluster[2,1,1024]", SETTINGS)
    try:
        for name in INPUTS:
            read, output = folder / f"{name}.read", Output(str(folder / f"{name}.out"))
            read.mkdir()
            judge_tasks.Judge = partial(CountingJudge, read)  # type: ignore[misc,assignment]  # as long as it runs
            output.make_directory(overwrite=False, arguments=("some",))
            plan = JobPlan(split_bytes=1, share_bytes=1 if name == "copies" else None)
            scans = output.kept([], hashed=False)
            done = bulk_audit(session, [str(folder / name)], output, tables=ALL_TABLES, kept=scans, plan=plan)
            done.session = done.output = None  # type: ignore[assignment]  # who reads it has neither
            report = OnNodes(done, sum(int(path.name.split(".")[2]) for path in read.iterdir()))
            (folder / f"{name}.pickle").write_bytes(pickle.dumps(report))
    finally:
        session.stop()


if __name__ == "__main__":
    # What is pickled here is read by a process that imports this module.
    from on_nodes import main as run_all

    run_all()
