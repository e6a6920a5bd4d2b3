"""Calls of the system that macOS lacks, or limits where Linux does not: one function for each, the same on both."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["may_fork", "read_at", "waiter", "write_at"]

_MACOS: Final = sys.platform == "darwin"

_MOST: Final = 1 << 30  # bytes of one call: macOS refuses 2 GiB, Linux does a part

# Libraries that start threads, pyarrow when it is imported. On macOS these, and Apple's libraries that they call, may
# hold locks that nobody opens again in a fork, and Apple's end a fork that calls them. A thread that is Python's alone,
# as the progress bar's, stops where a fork may be made, and no fork needs what it holds.
_THREADED: Final = ("pyarrow", "duckdb")


def may_fork() -> bool:
    """Say whether forks of this process may work; if not, it does all of the work.

    On macOS not once a library with threads is there.
    """
    return not _MACOS or not any(name in sys.modules for name in _THREADED)


def read_at(descriptor: int, view: memoryview, position: int) -> int:
    """Read bytes from a position of a file on; return how many: 0 at its end, and otherwise perhaps not all.

    Raises OSError.
    """
    if len(view) > _MOST:
        view = view[:_MOST]
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [view], position)
    data = os.pread(descriptor, len(view), position)  # before macOS 11
    view[: len(data)] = data
    return len(data)


def write_at(descriptor: int, data: ReadableBuffer, position: int) -> None:
    """Write all of `data` to a file, from a position on. Raises OSError."""
    rest = memoryview(data).cast("B")
    while rest:
        written = os.pwrite(descriptor, rest[:_MOST], position)
        position, rest = position + written, rest[written:]


def waiter(descriptor: int) -> Callable[[float | None], bool]:
    """Return what waits so many seconds, without an end for None, for bytes to read, and says whether there are any."""
    if _MACOS or not hasattr(select, "poll"):  # macOS's poll doesn't know terminals
        return lambda seconds: bool(select.select([descriptor], (), (), seconds)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return lambda seconds: bool(poll.poll(None if seconds is None else seconds * 1000))
