"""Tasks that a process and its forks do together: how many work, who does what, what crosses, and how they end."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.columns.table import NONE, Columns, one_cell
from kafkalog.errors import UnreadableError
from kafkalog.files import processes
from kafkalog.files.processes import POOL_BYTES, HelperLostError, bundles, in_processes, job_count, processors

NAMES = ("a", "b", "c")
CELLS = st.tuples(*[st.integers(NONE, 2**63 - 1) | st.integers(0, 3)] * 3)


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
    monkeypatch.setattr(processes, "CPU_MAX", tmp_path / "cpu.max")
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: set(range(8)))

    assert processors() == expected


@given(st.lists(st.integers(0, 100 << 20), max_size=40))
def test_small_things_go_together_and_the_biggest_goes_first(sizes: list[int]) -> None:
    """Each thing is in one task; a big one is alone, or with small ones, in the first task."""
    things = list(enumerate(sizes))
    tasks = bundles(things, lambda thing: thing[1])

    assert sorted(thing for task in tasks for thing in task) == things
    assert [sum(size for _, size in task) for task in tasks] == sorted(
        (sum(size for _, size in task) for task in tasks), reverse=True
    )
    assert len(tasks) <= 1 + sum(size + (256 << 10) for size in sizes) // (32 << 20)


def children() -> set[str]:
    """Return the processes that this one has started and not yet waited for."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


@pytest.fixture
def before() -> set[str]:
    """Return the processes that other tests have started, as Spark's."""
    return children()


def who(seconds: float) -> int:
    """Say which process does a task."""
    time.sleep(seconds)
    return os.getpid()


@pytest.mark.process
@pytest.mark.parametrize("count", [1, 2, 3])
def test_this_process_is_one_of_those_that_work(count: int, before: set[str]) -> None:
    """Two processes are this one and one more: nobody only waits, and nothing of them is left."""
    with in_processes(who, [0.02] * 24, count) as results:
        seen = set(results)

    assert os.getpid() in seen
    assert len(seen) == count
    assert children() <= before


def test_one_task_starts_no_process(before: set[str]) -> None:
    """A fork for nothing costs more than it saves."""
    with in_processes(lambda _: children(), [0], 4) as results:
        assert all(found <= before for found in results)


@pytest.mark.sweep
@pytest.mark.process
def test_what_is_bigger_than_a_pipe_crosses() -> None:
    """Results wait for a reader who is at work, and are the same in any process."""
    with in_processes(lambda size: bytes([size % 251]) * size, list(range(0, 3_000_000, 100_000)), 3) as results:
        assert [len(set(data)) < 2 and len(data) for data in results] == list(range(0, 3_000_000, 100_000))


@pytest.mark.process
def test_results_of_one_size_are_not_taken_for_each_other() -> None:
    """A helper uses the memory of results again only when these were read."""
    with in_processes(lambda number: number, range(200, 3000), 3) as results:
        assert list(results) == list(range(200, 3000))


def refused(number: int) -> int:
    """Raise in the 5th task."""
    time.sleep(0.005)
    if number == 5:
        raise UnreadableError("x.log: it is gone")
    return number


@pytest.mark.process
def test_an_error_is_raised_where_the_result_would_be(before: set[str]) -> None:
    """It does not matter which process met it: what came before is given, and nothing of the helpers is left."""
    for _ in range(8):
        seen = 0
        with pytest.raises(UnreadableError, match="it is gone"), in_processes(refused, range(50), 3) as results:
            for seen, number in enumerate(results, 1):
                assert number == seen - 1
        assert seen == 5
        assert children() <= before


class OddError(Exception):
    """An exception that can't be made of its arguments."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"odd {one} {other}")


@pytest.mark.process
def test_an_error_that_cannot_cross_comes_as_its_words() -> None:
    """Some packages' exceptions can be written, but not read."""
    mine = os.getpid()

    def odd(_: int) -> None:
        time.sleep(0.01)
        if os.getpid() != mine:
            raise OddError(1, 2)

    with pytest.raises(RuntimeError, match="odd 1 2"), in_processes(odd, range(20), 2) as results:
        list(results)


@pytest.mark.process
def test_a_helper_that_is_killed_is_an_error(before: set[str]) -> None:
    """Its task is missing: that is said, not waited for."""
    mine = os.getpid()

    def killed(_: int) -> None:
        time.sleep(0.01)
        if os.getpid() != mine:
            os.kill(os.getpid(), signal.SIGKILL)

    with (
        pytest.raises(HelperLostError, match=r"process \d+ ended with signal 9 "),
        in_processes(killed, range(20), 2) as results,
    ):
        list(results)
    assert children() <= before


@pytest.mark.process
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ValueError])
def test_who_leaves_early_waits_for_nobody(stop: Callable[[], BaseException], before: set[str]) -> None:
    """Helpers end in the middle of what they do."""
    begun, mine = time.monotonic(), os.getpid()

    def slow(_: int) -> None:
        time.sleep(0.05 if os.getpid() == mine else 30)

    with pytest.raises(stop), in_processes(slow, range(20), 2) as results:  # type: ignore[call-overload]  # a class
        assert results is not None
        time.sleep(0.1)
        raise stop()
    assert time.monotonic() - begun < 10
    assert children() <= before


# What crosses.


@given(st.lists(CELLS, max_size=5), st.integers(1, 60))
def test_columns_cross_unchanged(rows: list[tuple[int, int, int]], times: int) -> None:
    """None, few and many rows, as arrays of their own and as one table."""
    table = np.array(rows * times, np.int64).reshape(-1, 3).T.copy()
    for columns in (Columns(dict(zip(NAMES, table, strict=True))), Columns.of_table(NAMES, table)):
        found = pickle.loads(pickle.dumps(columns))
        assert found == columns
        assert len(found) == len(rows) * times
        assert list(found) == list(columns)


ROWS = 4_000_000


def _crossed(make: Callable[[], object]) -> list[object]:
    """Let two processes do two tasks each, so that the other one does at least one of them."""

    def task(_: int) -> tuple[int, object]:
        time.sleep(0.05)
        return os.getpid(), make()

    with in_processes(task, range(4), 2) as results:
        return [made for who, made in results if who != os.getpid()]


@pytest.mark.process
def test_a_column_of_one_cell_stays_one() -> None:
    """It takes one cell also in the process that gets it."""
    crossed = _crossed(lambda: one_cell(np.full(ROWS, 7)))

    assert crossed
    for column in crossed:
        assert isinstance(column, np.ndarray)
        assert (column.shape, column.strides, column.dtype) == ((ROWS,), (0,), np.dtype(np.int64))
        assert column[0] == column[-1] == 7


@pytest.mark.process
@pytest.mark.parametrize(
    "column", [np.arange(9), np.arange(9)[::2], np.zeros(0), np.zeros((2, 3)), np.array(["a", None])]
)
def test_other_columns_cross_as_they_are(column: np.ndarray[Any, Any]) -> None:
    """Whatever their strides, dimensions and types."""
    crossed = _crossed(lambda: column)

    assert crossed
    for other in crossed:
        assert isinstance(other, np.ndarray)
        assert other.dtype == column.dtype
        np.testing.assert_array_equal(other, column)


_CODE: Final = """
import os, time
from pathlib import Path
import numpy as np
from kafkalog.files.processes import in_processes

def peak():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)

mine, before = os.getpid(), peak()

def task(number):
    time.sleep(0.2)
    return None if os.getpid() == mine else np.arange(8 << 20)

with in_processes(task, range(2), 2) as results:
    got = [result is not None for result in results]
print(sum(got), (peak() - before) >> 10)
"""


@pytest.mark.process
def test_a_column_is_held_once() -> None:
    """The process that gets a column of 64 MiB takes little more than these, not twice as much."""
    ended = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, check=True, text=True)
    crossed, taken = map(int, ended.stdout.split())

    assert crossed == 1
    assert 60 < taken < 90
