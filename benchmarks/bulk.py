"""The bulk audit in a warm session of two cores, beside the local engine with two jobs, in the same rounds."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from files import Files
from goals import BULK_LAYOUTS, BULK_SHAPES, BULK_TIME, SMALL_SEGMENTS, SMALL_SIZE
from measure import ENVIRONMENT, CandidateError, command
from report import Result
from shapes import SHAPES, Layout, size_text

__all__ = ["Run", "Session", "bulk", "open_session"]

_SESSION = Path(__file__).with_name("bulk_session.py")
_LOCAL = (sys.executable, "-m", "kafkalog_cli", "txn-audit", "--exit-zero", "--jobs", "2")
_WARM = 64 << 10
_WARM_UPS = 3
_GIB, _MIB = 1 << 30, 1 << 20


@dataclass
class Run:
    """One bulk audit: when it ran, and what Spark's event log says of that time."""

    seconds: float
    core_seconds: float
    began_ms: int
    ended_ms: int
    told: list[str]
    totals: str
    shuffle_bytes: int = 0
    tasks: int = 0


@dataclass
class _Case:
    """What is audited, and what was measured of it, round by round."""

    file: str
    path: Path
    goal: bool
    runs: list[Run] = field(default_factory=list)
    local: list[float] = field(default_factory=list)


class Session:
    """The process with the Spark session."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def answer(self) -> dict[str, Any]:
        """Read an answer. Raises CandidateError if the process ended instead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CandidateError("the Spark session ended: it needs Java 17 and pyspark")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def warm_up(self, path: Path, folder: Path) -> None:
        """Audit a directory of several partitions until the JVM, and a Python worker for each core, have started."""
        for number in range(_WARM_UPS):
            self.audit(path, folder / f"warm-{number}", split_bytes=1)

    def audit(self, path: Path, output: Path, **more: Any) -> Run:
        """Audit a directory."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"paths": [str(path)], "output": str(output)} | more) + "\n")
        self._process.stdin.flush()
        said = self.answer()
        return Run(
            said["seconds"], said["core_seconds"], said["began_ms"], said["ended_ms"], said["told"], said["totals"]
        )


@contextmanager
def open_session(events: Path, master: str = "local[2]") -> Iterator[Session]:
    """Start a session; when it has ended, its event log is whole."""
    argv = [sys.executable, _SESSION, "--events", events, "--master", master]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, text=True, env=ENVIRONMENT, **pipes) as process:  # type: ignore[call-overload]  # pipes by name
        session = Session(process)
        session.answer()
        yield session


def bulk(files: Files, size: int, rounds: int) -> list[Result]:
    """Measure audits of `size` bytes, and of many small segments; if Spark is not available, say so."""
    cases = [
        _Case(f"{SHAPES[shape].title}, {layout}; {size_text(size)}", files.directory(shape, layout, size), goal)
        for shape in BULK_SHAPES
        for layout, goal in BULK_LAYOUTS
    ]
    small = files.directory("155B", SMALL_SEGMENTS, SMALL_SIZE)
    number = sum(1 for _ in small.rglob("*.log"))
    cases.append(_Case(f"155 B, {number:,} segments of 16 KiB; {size_text(SMALL_SIZE)}", small, False))
    warm = files.directory("155B", Layout(10, 8), _WARM)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        try:
            with open_session(here / "events") as session:
                session.warm_up(warm, here)
                for number in range(rounds):
                    for case in cases:
                        _round(session, case, here, number)
        except CandidateError as error:
            return [Result("bulk audit", str(error), BULK_TIME.unit, BULK_TIME)]
        _read_events(here / "events", [run for case in cases for run in case.runs])
    return [result for case in cases for result in _results(case)]


def _round(session: Session, case: _Case, here: Path, number: int) -> None:
    output = here / f"local-{number}-{case.path.name}"
    case.local.append(command([*_LOCAL, case.path, "-o", output]).seconds)
    case.runs.append(session.audit(case.path, here / "bulk"))
    said = json.loads((output / "verdict.json").read_text(encoding="utf-8"))["totals"]
    if said != case.runs[-1].totals:
        raise CandidateError(f"Spark says {case.runs[-1].totals}, the local engine {said}")


def _read_events(folder: Path, runs: Sequence[Run]) -> None:
    """Add up what the stages that ended during each run wrote for others, and their tasks."""
    for log in folder.iterdir():
        if log.is_dir():
            continue
        for line in log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] != "SparkListenerStageCompleted":
                continue
            stage = event["Stage Info"]
            for run in runs:
                if run.began_ms <= stage["Submission Time"] <= run.ended_ms:
                    run.tasks += stage["Number of Tasks"]
                    run.shuffle_bytes += _written(stage)


def _written(stage: dict[str, Any]) -> int:
    named = {one["Name"]: one["Value"] for one in stage["Accumulables"]}
    return int(named.get("internal.metrics.shuffle.write.bytesWritten", 0))


def _results(case: _Case) -> list[Result]:
    size = sum(file.stat().st_size for file in case.path.rglob("*.log"))
    seconds, cores = (median(getattr(run, name) for run in case.runs) for name in ("seconds", "core_seconds"))
    ratio = median(run.seconds / local for run, local in zip(case.runs, case.local, strict=True))
    last = case.runs[-1]
    return [
        Result("bulk audit on local[2]", ratio, BULK_TIME.unit, BULK_TIME if case.goal else None, case.file),
        Result("its time", seconds, "s", None, case.file),
        Result("two local jobs", median(case.local), "s", None, case.file),
        Result("its cost", cores / (size / _GIB), "core seconds a GiB", None, case.file),
        Result("its shuffles", last.shuffle_bytes / _MIB, "MiB (shuffled)", None, case.file),
        Result("its tasks", last.tasks, "tasks", None, case.file),
    ]
