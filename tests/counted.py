"""How many calls some work takes: steps, which do not depend on how fast the machine is."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

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
