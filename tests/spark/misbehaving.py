"""Tasks that go wrong in their first attempts, in the middle of their work, and then do what they should.

They stand in the driver for what ``kafkalog_spark`` has in ``scan_tasks`` and ``tasks``; workers import both unchanged.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

from kafkalog_spark import judge_tasks, scan_tasks

if TYPE_CHECKING:
    import pyarrow as pa


class Trouble:
    """What goes wrong; `folder` is where each attempt of a task leaves a file with its first rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def attempts(self, stage: str) -> list[int]:
        """List the numbers of the attempts that there were."""
        return sorted(int(path.name.split(".")[2]) for path in self.folder.glob(f"{stage}.*"))

    def tasks(self, stage: str) -> list[int]:
        """List the task of each attempt that there was."""
        return sorted(int(path.name.split(".")[1]) for path in self.folder.glob(f"{stage}.*"))

    def started(self, stage: str) -> int:
        """Leave word of an attempt that has rows, and return its number."""
        context = TaskContext.get()
        assert context is not None  # a task asks
        number = context.attemptNumber()
        (self.folder / f"{stage}.{context.partitionId()}.{number}.{os.getpid()}.{time.time_ns()}").touch()
        return number

    def strikes(self, attempt: int) -> None:
        """Go wrong, or not: the task has worked for a while, or is done with all that it had to do."""


class KilledWorker(Trouble):
    """The first attempt's worker is killed."""

    def strikes(self, attempt: int) -> None:
        if attempt == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Failure(Trouble):
    """Two attempts end with an exception."""

    def strikes(self, attempt: int) -> None:
        if attempt < 2:
            raise RuntimeError(f"attempt {attempt} was meant to fail")


class Wait(Trouble):
    """The first attempts work on until somebody says that they may end."""

    GO = "go"

    def strikes(self, attempt: int) -> None:
        for _ in range(600):
            if attempt or (self.folder / self.GO).exists():
                return
            time.sleep(0.1)
        raise TimeoutError("nobody said go")


class Scan:
    """Stands for ``scan_tasks.scan``."""

    def __init__(self, trouble: Trouble) -> None:
        self.trouble = trouble

    def __call__(self, batches: Iterable[pa.RecordBatch], *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        yield from _with_trouble("scan", self.trouble, scan_tasks.scan(batches, *args, **options))


class ScanOfSome:
    """Stands for ``scan_tasks.scan``: each attempt scans some segments of a task, and then fails."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, batches: Iterable[pa.RecordBatch], *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        yield from scan_tasks.scan((batch.slice(0, self.most) for batch in batches), *args, **options)
        raise RuntimeError("enough was scanned")


class Judge:
    """Stands for ``judge_tasks.Judge``."""

    def __init__(self, trouble: Trouble, *args: Any) -> None:
        self.trouble = trouble
        self.args = args

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _with_trouble("judge", self.trouble, judge_tasks.Judge(*self.args)(batches))


class JudgeTwice:
    """Stands for ``judge_tasks.Judge``: the work is done twice, as by two attempts side by side; the second counts."""

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        some = list(batches)
        for _ in judge_tasks.Judge(*self.args)(some):
            pass
        yield from judge_tasks.Judge(*self.args)(some)


class JudgeWithoutFolder:
    """Stands for ``judge_tasks.Judge``: the folder that it writes to is gone."""

    def __init__(self, *args: Any) -> None:
        self.args = (*args[:3], f"{args[3]}/gone", *args[4:])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from judge_tasks.Judge(*self.args)(batches)


def _with_trouble(stage: str, trouble: Trouble, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield some rows, meet trouble, and yield the others. A task without rows, as Spark 3.5 makes some, meets none."""
    for number, some in enumerate(rows):
        attempt = trouble.started(stage) if number == 0 else None
        yield some
        if attempt is not None:
            trouble.strikes(attempt)
