"""Start candidates in processes of their own and measure their time and peak memory.

The process that measures stays small: on Linux a child's peak is never less than its parent's memory when the child
started, here some 20 MiB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from candidates import RSS_UNIT

__all__ = ["ENVIRONMENT", "CandidateError", "Sample", "Samples", "command", "library", "per_round", "rounds"]

# As for a user: compiled modules are kept, so that no start compiles them again.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
CANDIDATES = Path(__file__).with_name("candidates.py")


class CandidateError(Exception):
    """A candidate failed; the message is the last line that it wrote."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one candidate."""

    seconds: float
    peak_rss: int  # bytes
    cpu_seconds: float = 0.0  # of the whole process, or of a library's work; a busy machine changes them less


# By candidate, one sample a round; a candidate that failed has its failure instead.
Samples = dict[str, list[Sample] | CandidateError]


def library(name: str, path: Path, warm: Path) -> Sample:
    """Run a candidate of `candidates.py`; its start-up is not counted."""
    argv: list[str | Path] = [sys.executable, CANDIDATES, name, path, warm]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CandidateError(_last_line(done.stderr, done.returncode))
    return Sample(**json.loads(done.stdout))


def command(argv: Sequence[str | Path], output: Path | None = None, fine: Container[int] = (0,)) -> Sample:
    """Run a command with standard output into a file, or away; the whole process counts.

    Raises CandidateError if its status is not a `fine` one.
    """
    target = Path(os.devnull) if output is None else output
    if output is not None:
        output.unlink(missing_ok=True)  # giving back an old file's pages is not the command's work
    with target.open("wb") as out, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in fine:
            errors.seek(0)
            raise CandidateError(_last_line(errors.read().decode(errors="replace"), process.returncode))
    return Sample(seconds, usage.ru_maxrss * RSS_UNIT, usage.ru_utime + usage.ru_stime)


def rounds(candidates: Mapping[str, Callable[[], Sample]], number: int) -> Samples:
    """Run every candidate once a round, so that all of them meet the same neighbours and the same cache.

    A candidate that fails once is left out of later rounds.
    """
    samples: Samples = {name: [] for name in candidates}
    for _ in range(number):
        for name, run in candidates.items():
            taken = samples[name]
            if isinstance(taken, CandidateError):
                continue
            try:
                taken.append(run())
            except CandidateError as failure:
                samples[name] = failure
    return samples


def per_round(samples: Samples, names: Sequence[str], measure: Callable[..., float], *, of_cpu: bool = False) -> float:
    """Return the median over rounds of what `measure` makes of the seconds of `names` in that round.

    With `of_cpu` these are CPU seconds.

    Raises the CandidateError of any of them.
    """
    columns = []
    for name in names:
        taken = samples[name]
        if isinstance(taken, CandidateError):
            raise taken
        columns.append([sample.cpu_seconds if of_cpu else sample.seconds for sample in taken])
    return median(measure(*seconds) for seconds in zip(*columns, strict=True))


def _last_line(text: str, code: int) -> str:
    lines = text.strip().splitlines()
    return lines[-1].replace(sys.executable, "python") if lines else f"exit status {code}"
