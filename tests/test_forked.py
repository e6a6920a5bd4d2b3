"""Tasks that a process and its forks do together: who does them, what crosses, and how they end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalog.errors import UnreadableError
from kafkalog.files.processes import HelperLostError, in_processes


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


def test_what_is_bigger_than_a_pipe_crosses() -> None:
    """Results wait for a reader who is at work, and are the same in any process."""
    with in_processes(lambda size: bytes([size % 251]) * size, list(range(0, 3_000_000, 100_000)), 3) as results:
        assert [len(set(data)) < 2 and len(data) for data in results] == list(range(0, 3_000_000, 100_000))


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


def test_an_error_that_cannot_cross_comes_as_its_words() -> None:
    """Some packages' exceptions can be written, but not read."""
    mine = os.getpid()

    def odd(_: int) -> None:
        time.sleep(0.01)
        if os.getpid() != mine:
            raise OddError(1, 2)

    with pytest.raises(RuntimeError, match="odd 1 2"), in_processes(odd, range(20), 2) as results:
        list(results)


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
