"""Partitions of internal topics decoded to text, ndjson and Parquet, beside the official tool's text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import kafkalog
from files import GENERATION
from goals import DECODER_TIME, TEXT_TIME
from kafka_tool import same_output
from measure import CandidateError, command, per_round, rounds
from report import Result
from shapes import SEGMENT_NAME, size_text

__all__ = ["offsets"]

_FIXTURES = Path(__file__).parent.parent / "fixtures"
_DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}
_KAFKALOG = (sys.executable, "-m", "kafkalog_cli")
_FORMS = {"ndjson": "ndjson", "Parquet": "parquet"}
_OFFICIAL = "the official tool"


def offsets(data: Path, size: int, number: int, tool: list[str] | str) -> list[Result]:
    """Measure decoding of `size` bytes of each topic; `tool` is the official tool's command line.

    Where that can't run, it is the reason. Goals are about seconds of a core, of whole processes.
    """
    return [result for topic in _DECODERS for result in _decoded(data, topic, size, number, tool)]


def _decoded(data: Path, topic: str, size: int, number: int, tool: list[str] | str) -> list[Result]:
    option, lines = _DECODERS[topic], data / "output-offsets"
    path = data / f"{topic}-{size_text(size)}-{GENERATION}" / f"{topic}-0" / SEGMENT_NAME
    if not path.exists():
        path.parent.mkdir(parents=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.writelines(_batches(topic, size))
        part.rename(path)
    dump = [*_KAFKALOG, "dump", option]
    runs = {"text": lambda: command([*dump, path], lines)}
    for name, form in _FORMS.items():
        runs[name] = partial(command, [*dump, "--format", form, "--table", "internal", path], lines)
    if not isinstance(tool, str):
        runs[_OFFICIAL] = lambda: command([*tool, option, "--files", path], data / "output-official")
    samples = rounds(runs, number)
    results = []
    where = f"{topic}; {size_text(size)}"
    for name, base, goal in (("text", _OFFICIAL, DECODER_TIME), *((name, "text", TEXT_TIME) for name in _FORMS)):
        measured: float | str
        if base == _OFFICIAL and isinstance(tool, str):
            measured = tool
        else:
            try:
                names = [base, name] if base == _OFFICIAL else [name, base]
                measured = per_round(samples, names, lambda one, other: one / other, of_cpu=True)
            except CandidateError as error:
                measured = str(error)
        results.append(Result(f"{option[2:]}: {name}", measured, goal.unit, goal, where))
    if not isinstance(tool, str) and not any(isinstance(taken, CandidateError) for taken in samples.values()):
        for name in ("text", _OFFICIAL):
            runs[name]()
        said = same_output(lines, data / "output-official") or "the same"
        results.append(Result(f"{option[2:]}: bytes of the text", said, "", None, where))
    for output in (lines, data / "output-official"):
        output.unlink(missing_ok=True)
    return results


def _batches(topic: str, size: int) -> Iterator[bytes]:
    """Yield the same brokers' batches many times, with base offsets that continue and leader epoch 0.

    No checksum covers these. Clusters' epochs one after the other would go down, which is a finding.
    """
    found: list[tuple[bytes, int]] = []
    for path in sorted(_FIXTURES.glob(f"[kv]*/data*/{topic}-*/*.log")):
        data = path.read_bytes()
        for batch in kafkalog.batches(path, on_finding=lambda _: None):
            if not batch.is_control and batch.magic == 2:
                whole = data[batch.position : batch.position + batch.size]
                found.append((whole, batch.last_offset - batch.base_offset + 1))
    offset = done = 0
    for whole, records in cycle(found):
        if done >= size:
            return
        yield offset.to_bytes(8, "big") + whole[8:12] + bytes(4) + whole[16:]
        offset += records
        done += len(whole)
