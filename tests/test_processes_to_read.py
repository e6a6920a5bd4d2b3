"""How many processes read segments."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalog.files import processes
from kafkalog.files.processes import POOL_BYTES, job_count, processors


def test_the_default_depends_on_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small inputs are read by one process, large ones by at most four."""
    monkeypatch.setattr(processes, "processors", lambda: 64)

    assert [job_count(None, size) for size in (0, POOL_BYTES - 1, POOL_BYTES)] == [1, 1, 4]
    assert [job_count(wanted, 0) for wanted in (0, 1, 7)] == [64, 1, 7]


@pytest.mark.parametrize(
    ("quota", "expected"), [("max 100000", 8), ("150000 100000", 1), ("400000 100000", 4), ("10 100000", 1), ("x", 8)]
)
def test_the_control_group_limits_it(
    quota: str, expected: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A quota of processor time is a number of processors, rounded down; without one affinity alone counts."""
    (tmp_path / "cpu.max").write_text(quota + "\n")
    monkeypatch.setattr(processes, "_CPU_MAX", tmp_path / "cpu.max")
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: set(range(8)))

    assert processors() == expected
