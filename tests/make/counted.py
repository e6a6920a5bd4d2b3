"""How many steps some work takes, which does not depend on how fast the machine is: calls, or lines of Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

TraceFunction = Callable[[FrameType, str, Any], Any]
T = TypeVar("T")


def counted(work: Callable[[], T]) -> tuple[T, int]:
    """Do some work in this process; answer its result, and how many functions of Python's and of C's it called."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # what it finalizes would be counted
    sys.setprofile(count)
    try:
        result = work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return result, calls


def counted_lines(work: Callable[[], object]) -> int:
    """Do some work in this process; answer how many lines of Python it ran, those of loops each time."""
    lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
