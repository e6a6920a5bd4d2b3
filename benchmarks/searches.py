"""Searches over a log directory, and records written out of one: bytes of segments for each second of CPU.

What ``extract`` takes is also compared with a dump of the same records and columns in the same rounds.
"""

from __future__ import annotations

import sys
from functools import partial
from statistics import median
from typing import NamedTuple

from files import Files
from goals import EXTRACT_RATE, EXTRACT_TIME, FIND_RATE, LAYOUTS, Goal
from measure import CandidateError, command, per_round, rounds
from report import Result
from shapes import size_text

__all__ = ["searches"]

_MB = 10**6
_ABSENT = "no record has this text"
_NOT_FOUND = 1  # the status of a search that read everything and found nothing


class _Run(NamedTuple):
    options: tuple[str, ...]
    goal: Goal | None


_RUNS = {
    "find --value": _Run(("find", "--value", _ABSENT), FIND_RATE),
    "find --value-regex": _Run(("find", "--value-regex", rf"{_ABSENT} \d"), FIND_RATE),
    "find --key": _Run(("find", "--key", _ABSENT), FIND_RATE),
    "extract to ndjson": _Run(("extract",), EXTRACT_RATE),
    "extract to csv": _Run(("extract", "--format", "csv"), None),
}
# What extract writes by default.
_COLUMNS = (
    "log,topic,partition,offset,timestamp_ms,timestamp_type,transactional_id,producer_id,outcome,visible,key,"
    "key_base64,value,value_base64,headers"
)
_FORMS = ("ndjson", "json", "csv", "parquet")


def searches(files: Files, size: int, number: int) -> list[Result]:
    """Measure ``kafkalog find`` and ``kafkalog extract`` of `size` bytes, whole commands in one process."""
    results = []
    for shape in ("155B", "16KiB"):
        path = files.directory(shape, LAYOUTS[0], size)
        program, output = (sys.executable, "-m", "kafkalog_cli"), files.output("search")
        runs = {
            name: partial(command, [*program, *run.options, "--jobs", "1", path], output, (0, _NOT_FOUND))
            for name, run in _RUNS.items()
        }
        samples = rounds(runs, number)
        for name, (_, goal) in _RUNS.items():
            taken, where = samples[name], f"{shape}, {LAYOUTS[0]}; {size_text(size)}"
            if isinstance(taken, CandidateError):
                results.append(Result(name, str(taken), FIND_RATE.unit, goal, where))
                continue
            rate = size / _MB / median(sample.cpu_seconds for sample in taken)
            results.append(Result(name, rate, FIND_RATE.unit, goal, where))
        results += _beside_dump(files, shape, size, number)
        files.remove_outputs()
    return results


def _beside_dump(files: Files, shape: str, size: int, number: int) -> list[Result]:
    """Measure ``kafkalog extract`` beside a dump of the same records and columns in the same form."""
    path, results = files.directory(shape, LAYOUTS[0], size), []
    asked = {"extract": ("extract",), "dump": ("dump", "--columns", _COLUMNS)}
    for form in _FORMS:
        shown = ("--format", form, "-o", "/dev/null", path)
        samples = rounds(
            {
                name: partial(command, [sys.executable, "-m", "kafkalog_cli", *options, *shown])
                for name, options in asked.items()
            },
            number,
        )
        try:
            took: float | str = per_round(
                samples, ["extract", "dump"], lambda extract, dump: extract / dump, of_cpu=True
            )  # fmt: skip
        except CandidateError as error:
            took = str(error)
        where = f"{shape}, {LAYOUTS[0]}; {size_text(size)}"
        results.append(Result(f"extract to {form}", took, EXTRACT_TIME.unit, EXTRACT_TIME, where))
    return results
