"""A partition of ``__consumer_offsets`` decoded to text, lines and Parquet, beside the official tool's text."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import kafkalog
from measure import CandidateError, command, per_round, rounds
from report import Result
from shapes import SEGMENT_NAME, size_text

__all__ = ["offsets"]

_FIXTURES = Path(__file__).parent.parent / "fixtures"
_OPTION = "--offsets-decoder"
_KAFKALOG = (sys.executable, "-m", "kafkalog_cli")
_UNIT = "x kafka-dump-log's time"
_MIB = 1 << 20


def offsets(data: Path, size: int, number: int, tool: list[str] | str) -> list[Result]:
    """Measure decoding of `size` bytes; `tool` is the official tool's command line, or why there is none."""
    log = data / f"offsets-{size_text(size)}" / "__consumer_offsets-0"
    path, lines, parquet = log / SEGMENT_NAME, data / "output-offsets", data / "output-offsets-tables"
    if not path.exists():
        log.mkdir(parents=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.writelines(_batches(size))
        part.rename(path)
    runs = {
        "text": lambda: command([*_KAFKALOG, "dump", _OPTION, path], lines),
        "ndjson": lambda: command([*_KAFKALOG, "dump", _OPTION, "--format", "ndjson", path], lines),
        "Parquet": lambda: command(
            [*_KAFKALOG, "groups", "--exit-zero", "--table", "offsets", "-o", _new(parquet), log]
        ),
    }
    if not isinstance(tool, str):
        runs["the official tool"] = lambda: command([*tool, _OPTION, "--files", path], lines)
    samples = rounds(runs, number)
    results = []
    for name in runs:
        where = f"{name}; {size_text(size)}"
        try:
            seconds = per_round(samples, [name], lambda took: took)
            results.append(Result("decoding of __consumer_offsets", seconds, "s", None, where))
            ratio: float | str = tool if isinstance(tool, str) else per_round(
                samples, [name, "the official tool"], lambda took, theirs: took / theirs
            )  # fmt: skip
        except CandidateError as error:
            ratio = str(error)
        results.append(Result("its time", ratio, _UNIT, None, where))
    lines.unlink(missing_ok=True)
    _new(parquet)
    return results


def _new(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _batches(size: int) -> Iterator[bytes]:
    """Yield the same brokers' batches many times, with base offsets that continue: no checksum covers these."""
    found: list[tuple[bytes, int]] = []
    for path in sorted(_FIXTURES.glob("[kv]*/data*/__consumer_offsets-*/*.log")):
        data = path.read_bytes()
        for batch in kafkalog.batches(path, on_finding=lambda _: None):
            if not batch.is_control and not batch.is_transactional and batch.magic == 2:
                whole = data[batch.position : batch.position + batch.size]
                found.append((whole, batch.last_offset - batch.base_offset + 1))
    offset = done = 0
    for whole, records in cycle(found):
        if done >= size:
            return
        yield offset.to_bytes(8, "big") + whole[8:]
        offset += records
        done += len(whole)
