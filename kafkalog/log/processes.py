"""How many processes read segments: as many as pay, of the processors that this process may use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["POOL_BYTES", "job_count", "processors"]

POOL_BYTES: Final = 256 << 20  # below, starting processes costs more than they save
_MOST: Final = 4  # by default: disks serve few readers at once
_CPU_MAX: Final = Path("/sys/fs/cgroup/cpu.max")


def job_count(wanted: int | None, size: int) -> int:
    """Return the number of processes that read `size` bytes.

    None stands for the default, 1 below 256 MiB and else at most 4; 0 for all processors.
    """
    if wanted is None:
        return 1 if size < POOL_BYTES else min(_MOST, processors())
    return wanted or processors()


def processors() -> int:
    """Return how many processors affinity and control group allow, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CPU_MAX.read_text().split()
        allowed = min(allowed, max(1, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass  # no control group, or "max": no limit
    return allowed
