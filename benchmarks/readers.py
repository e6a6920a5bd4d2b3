"""Readers of records side by side, each round one after the other: CPU for each record, with what none goes below.

The fields are those of aiokafka's records. The floors are of the same bytes: a copy of the file in memory, reading it
with its checksum, and what decompresses its codec alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from files import Files
from goals import RECORD_TIME
from measure import CandidateError, Sample, command, library, per_round, rounds
from report import Result
from shapes import CODECS, size_text

__all__ = ["readers"]

_SMALL = 64 << 10
_US = 1_000_000
_LIBRARIES = {
    "kafkalog, records()": "record_objects",
    "kafkalog, to_arrow()": "record_table",
    "aiokafka": "aiokafka",
    "kafka-python": "kafka-python",
    "floor: the file copied in memory": "memcpy",
    "floor: read and checksum": "limit",
    "floor: its codec alone": "bare",
}
_DEEP = ("--deep-iteration", "--print-data-log")
_DUMP = [sys.executable, "-m", "kafkalog_cli", "dump", *_DEEP]
_COUNT = "import kafkalog, sys; print(sum(one.records_count or 0 for one in kafkalog.batches(sys.argv[1])))"


def readers(files: Files, size: int, number: int, tool: list[str] | str) -> list[Result]:
    """Measure files of `size` bytes; `tool` is the official tool, or why it is not here."""
    results = []
    franz = _franz(files.output("franz-go"))
    for shape, codec in (("155B", "none"), *(("16KiB", codec) for codec in CODECS)):
        path, small = (files.segment(shape, codec, some) for some in (size, _SMALL))
        runs: dict[str, Callable[[], Sample]] = {
            name: partial(library, candidate, path, small)
            for name, candidate in _LIBRARIES.items()
            if candidate != "bare" or codec != "none"
        }
        runs["franz-go"] = partial(_started, franz, path, small)
        for name, argv in (("kafkalog dump", _DUMP), ("kafka-dump-log", _with_files(tool))):
            runs[name] = partial(_commanded, argv, path)
            runs[f"start of {name}"] = partial(_commanded, argv, small)
        records = int(subprocess.run([sys.executable, "-c", _COUNT, path], stdout=subprocess.PIPE, check=True).stdout)
        samples = rounds(runs, number)
        for name in (name for name in runs if not name.startswith("start of")):
            of_start = [f"start of {name}"] if f"start of {name}" in runs else []
            try:
                seconds = per_round(samples, [name, *of_start], lambda took, start=0.0: took - start, of_cpu=True)
                took: float | str = seconds * _US / records
            except CandidateError as error:
                took = str(error)
            goal = RECORD_TIME if name == "kafkalog, records()" and codec == "none" else None
            results.append(Result(name, took, RECORD_TIME.unit, goal, f"{shape}, {codec}; {size_text(size)}"))
    files.remove_outputs()
    return results


def _with_files(tool: list[str] | str) -> list[str] | str:
    return tool if isinstance(tool, str) else [*tool, *_DEEP, "--files"]


def _franz(program: Path) -> Path | str:
    """Build franz-go's reader, or return why it can't be built."""
    go = shutil.which("go")
    if go is None:
        return "no go"
    source = Path(__file__).with_name("franz")
    done = subprocess.run([go, "build", "-o", program.resolve(), "."], cwd=source, capture_output=True, check=False)
    return program if done.returncode == 0 else done.stderr.decode(errors="replace").strip().splitlines()[-1]


def _started(program: Path | str, path: Path, small: Path) -> Sample:
    if isinstance(program, str):
        raise CandidateError(program)
    done = subprocess.run([program.resolve(), path, small], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CandidateError(done.stderr.strip().splitlines()[0])
    return Sample(**json.loads(done.stdout))


def _commanded(argv: list[str] | str, path: Path) -> Sample:
    if isinstance(argv, str):
        raise CandidateError(argv)
    return command([*argv, path])
