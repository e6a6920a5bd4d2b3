"""The processes that read segments: as many as pay, of the processors that this process may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Final, TypeVar

__all__ = [
    "POOL_BYTES",
    "bundles",
    "job_count",
    "packed_tasks",
    "processors",
]

_Task = TypeVar("_Task")

POOL_BYTES: Final = 256 << 20  # below, starting processes costs more than they save
_TASK_BYTES: Final = 32 << 20  # of small segments, which go to another process together
_OPEN_COST: Final = 256 << 10  # bytes that could be read while a file is opened
_MOST: Final = 4  # by default: disks serve few readers at once
_CPU_MAX: Final = Path("/sys/fs/cgroup/cpu.max")


def job_count(wanted: int | None, size: int) -> int:
    """Return the number of processes that read `size` bytes.

    None stands for the default, 1 below 256 MiB and else at most 4; 0 for all processors.
    """
    if wanted is None:
        return 1 if size < POOL_BYTES else min(_MOST, processors())
    return wanted or processors()


def packed_tasks(sizes: Mapping[int, int], split_bytes: int) -> dict[int, int]:
    """Give numbered things to tasks by their sizes: the biggest first, each to the task that has least so far."""
    total = sum(size + _OPEN_COST for size in sizes.values())
    tasks = max(1, min(len(sizes), -(-total // max(1, split_bytes))))
    heap = [(0, task) for task in range(tasks)]
    found = {}
    for number, size in sorted(sizes.items(), key=lambda one: -one[1]):
        load, found[number] = heappop(heap)
        heappush(heap, (load + size + _OPEN_COST, found[number]))
    return found


def bundles(things: Sequence[_Task], size: Callable[[_Task], int]) -> list[list[_Task]]:
    """Put small things together to tasks of some 32 MiB, the biggest task first."""
    sizes = {number: size(thing) for number, thing in enumerate(things)}
    tasks: dict[int, list[int]] = {}
    for number, task in packed_tasks(sizes, _TASK_BYTES).items():
        tasks.setdefault(task, []).append(number)
    in_order = sorted(tasks.values(), key=lambda task: -sum(sizes[number] for number in task))
    return [[things[number] for number in task] for task in in_order]


def processors() -> int:
    """Return how many processors affinity and control group allow, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CPU_MAX.read_text().split()
        allowed = min(allowed, max(1, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass  # no control group, or "max": no limit
    return allowed
