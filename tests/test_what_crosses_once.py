"""What crosses from a forked process: as many bytes as the other process holds, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from kafkalog.columns.named import one_cell
from kafkalog.files.processes import in_processes

ROWS = 4_000_000


def _crossed(make: Callable[[], object]) -> list[object]:
    """Let two processes do two tasks each, so that the other one does at least one of them."""

    def task(_: int) -> tuple[int, object]:
        time.sleep(0.05)
        return os.getpid(), make()

    with in_processes(task, range(4), 2) as results:
        return [made for who, made in results if who != os.getpid()]


def test_a_column_of_one_cell_stays_one() -> None:
    """It takes one cell also in the process that gets it."""
    crossed = _crossed(lambda: one_cell(np.full(ROWS, 7)))

    assert crossed
    for column in crossed:
        assert isinstance(column, np.ndarray)
        assert (column.shape, column.strides, column.dtype) == ((ROWS,), (0,), np.dtype(np.int64))
        assert column[0] == column[-1] == 7


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


def test_a_column_is_held_once() -> None:
    """The process that gets a column of 64 MiB takes little more than these, not twice as much."""
    ended = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, check=True, text=True)
    crossed, taken = map(int, ended.stdout.split())

    assert crossed == 1
    assert 60 < taken < 90
