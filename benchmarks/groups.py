"""The groups of many partitions of ``__consumer_offsets``, in one process and in two."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from goals import GROUPS_MEMORY, GROUPS_TIME
from group_logs import write_group_logs
from measure import CandidateError, command, per_round, rounds
from report import Result
from shapes import size_text

__all__ = ["groups"]

_PARTITIONS = 50
_GIB = 1 << 30
_MIB = 1 << 20


def groups(data: Path, size: int, number: int) -> list[Result]:
    """Measure ``kafkalog groups`` of `size` bytes."""
    logs = data / f"groups-{size_text(size)}"
    if not logs.exists():
        part = logs.with_suffix(".part")
        write_group_logs(part, size, _PARTITIONS)
        part.rename(logs)
    argv = (sys.executable, "-m", "kafkalog_cli", "groups", "--format", "ndjson")
    runs = {jobs: partial(command, [*argv, "--jobs", str(jobs), logs], data / "output-groups") for jobs in (1, 2)}
    samples = rounds({f"{jobs} jobs": run for jobs, run in runs.items()}, number)
    results = []
    for jobs in runs:
        where = f"{_PARTITIONS} partitions, {jobs} processes; {size_text(size)}"
        is_asked = jobs == 2 and size == _GIB
        try:
            seconds = per_round(samples, [f"{jobs} jobs"], lambda took: took)
        except CandidateError as error:
            results.append(Result("groups", str(error), "s", None, where))
            continue
        taken = samples[f"{jobs} jobs"]
        assert not isinstance(taken, CandidateError)
        # A process that reads is the largest: all of them have at most as much each.
        memory = (1 + jobs * (jobs > 1)) * max(sample.peak_rss for sample in taken) / _MIB
        results.append(Result("groups", seconds, "s", GROUPS_TIME if is_asked else None, where))
        results.append(Result("their memory, at most", memory, "MiB", GROUPS_MEMORY, where))
    return results
