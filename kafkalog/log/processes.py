"""The processes that read segments: as many as pay, of the processors that this process may use."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from kafkalog.log.names import place_unpacked, unpacked_places
from kafkalog.log.watch import Watch, set_watch

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

__all__ = [
    "POOL_BYTES",
    "Each",
    "bundles",
    "each_of",
    "job_count",
    "packed_tasks",
    "processors",
    "worker_pool",
]

Each: TypeAlias = Callable[..., Iterator[Any]]  # as `map`
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


@contextmanager
def worker_pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """Give a pool of `count` processes; an interrupt stops them, and does not wait for them.

    A terminal's interrupt goes to all processes of a command: the first one alone acts on it.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, initializer=_begin_work, initargs=(unpacked_places(),))
    wait = True
    try:
        yield pool
    except (KeyboardInterrupt, SystemExit):
        wait = False  # the thread that feeds stopped processes may never end
        for child in set(multiprocessing.active_children()) - others:
            child.kill()
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)


def _begin_work(places: dict[str, str]) -> None:
    """Leave signals and the terminal to the first process, and know its archives."""
    import signal

    gc.freeze()  # what was inherited is not looked through, which would copy it
    for root, folder in places.items():
        place_unpacked(root, folder)
    set_watch(Watch())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def each_of(jobs: int) -> Iterator[Each]:
    """Give what calls a function for each argument: ``map``, or that of a pool of processes if `jobs` is above 1.

    Results come in the order of the arguments. Who leaves early waits only for calls that have begun.
    """
    if jobs == 1:
        yield map
        return
    with worker_pool(jobs) as pool:
        yield pool.map


def processors() -> int:
    """Return how many processors affinity and control group allow, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CPU_MAX.read_text().split()
        allowed = min(allowed, max(1, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass  # no control group, or "max": no limit
    return allowed
