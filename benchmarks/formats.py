"""Row formats, Arrow and tables of the library beside our own text, and what people use instead of them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from files import Files
from goals import ARROW_RATE, PARQUET_RATE, PARQUET_TIME, TABLE_TIME, TEXT_TIME, Goal
from measure import CandidateError, Sample, Samples, command, library, per_round, rounds
from report import Result
from shapes import size_text

__all__ = ["formats"]

_KAFKALOG = (sys.executable, "-m", "kafkalog_cli", "dump")
_BATCHES = {
    "text": (),
    "ndjson": ("--format", "ndjson"),
    "csv": ("--format", "csv"),
}
_RECORDS = {
    "text": ("--print-data-log",),
    "ndjson": ("--print-data-log", "--format", "ndjson", "--table", "records"),
    "csv": ("--print-data-log", "--format", "csv"),
    "arrow": ("--format", "arrow", "--table", "records"),
    "parquet": ("--format", "parquet", "--table", "records"),
}
_RATES = {"arrow": ARROW_RATE, "parquet": PARQUET_RATE}
_SMALL = 64 << 10
_MB = 1_000_000
# What a program makes of a line of the official tool's text to have a record's offset, sizes, key and value as JSON.
_JQ = (
    'select(startswith("| offset: ")) | capture("offset: (?<offset>-?[0-9]+) .*keySize: (?<key_size>-?[0-9]+) '
    'valueSize: (?<value_size>-?[0-9]+)(?<rest>.*)")'
)


def formats(files: Files, size: int, tool_size: int, number: int, tool: list[str] | str) -> list[Result]:
    """Measure files of `size` bytes; those of `tool_size` for what is slow. `tool` is the official tool, or why not."""
    results = []
    for shape in ("155B", "16KiB"):
        path, small = (files.segment(shape, "none", some) for some in (size, _SMALL))
        where = f"{shape}; {size_text(size)}"
        for what, forms in (("batches", _BATCHES), ("records", _RECORDS)):
            results += _dumps(what, forms, path, small, where, number)
        runs = {name: partial(library, name, path, small) for name in ("record_table", "records")}
        samples = rounds(runs, number)
        ratio = _measured(samples, ["record_table", "records"], lambda table, records: table / records)
        results.append(_result("record_table", ratio, TABLE_TIME.unit, TABLE_TIME, where, samples["record_table"]))
        few = files.segment(shape, "none", tool_size)
        results.append(_instead(few, f"{shape}; {size_text(tool_size)}", number, tool))
    return results


def _dumps(
    what: str, forms: Mapping[str, Sequence[str]], path: Path, small: Path, where: str, number: int
) -> list[Result]:
    runs: dict[str, Callable[[], Sample]] = {}
    for name, options in forms.items():
        runs[name] = partial(command, (*_KAFKALOG, *options, path))
        if name in _RATES:
            runs[f"start of {name}"] = partial(command, (*_KAFKALOG, *options, small))
    samples = rounds(runs, number)
    results = []
    for name in forms:
        if name in _RATES:
            goal, least = _RATES[name], path.stat().st_size / _MB
            rate = _measured(
                samples, [name, f"start of {name}"], lambda took, start, least=least: least / (took - start)
            )
            results.append(_result(f"dump of {what}: {name}", rate, goal.unit, goal, where, samples[name]))
        if name not in _RATES or name == "parquet":
            goal = {"text": None, "parquet": PARQUET_TIME}.get(name, TEXT_TIME)
            ratio = _measured(samples, [name, "text"], lambda took, text: took / text)
            results.append(_result(f"dump of {what}: {name}", ratio, TEXT_TIME.unit, goal, where, samples[name]))
    return results


def _instead(path: Path, where: str, number: int, tool: list[str] | str) -> Result:
    """Measure the official tool with jq beside ndjson."""
    what = "records as JSON by kafka-dump-log and jq"
    if isinstance(tool, str):
        return Result(what, tool, "x ndjson", None, where)
    line = f"{shlex.join([*tool, *_RECORDS['text'], '--files', str(path)])} | jq -Rc {shlex.quote(_JQ)}"
    runs = {
        "ndjson": partial(command, (*_KAFKALOG, *_RECORDS["ndjson"], path)),
        "jq": partial(command, ("bash", "-o", "pipefail", "-c", line)),
    }
    taken = rounds(runs, number)
    ratio = _measured(taken, ["jq", "ndjson"], lambda theirs, ours: theirs / ours)
    return _result(what, ratio, "x ndjson", None, where, taken["jq"])


def _measured(samples: Samples, names: Sequence[str], measure: Callable[..., float]) -> float | str:
    try:
        return per_round(samples, names, measure, of_cpu=True)
    except CandidateError as error:
        return str(error)


def _result(
    what: str, measured: float | str, unit: str, goal: Goal | None, where: str, taken: list[Sample] | CandidateError
) -> Result:
    if isinstance(taken, CandidateError):
        return Result(what, measured, unit, goal, where)
    seconds = sorted(sample.cpu_seconds for sample in taken)[len(taken) // 2]
    return Result(what, measured, unit, goal, where, seconds, None, max(sample.peak_rss for sample in taken))
