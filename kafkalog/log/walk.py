"""Every file below a directory; links are followed inside it only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkalog.findings import Finding

__all__ = ["Entry", "walk"]


class Entry(NamedTuple):
    """A file; `is_outside` says that it is a symbolic link that leads out of the directory, and is not followed."""

    path: str
    size: int
    is_outside: bool


def walk(root: str, report: Callable[[Finding], object]) -> Iterator[Entry]:
    """Yield every file below `root` that is no directory, in the order of names.

    A directory that links lead to twice is walked once.
    """
    top = os.path.realpath(root)
    seen = {top}
    waiting = [root]
    while waiting:
        home = waiting.pop()
        try:
            with os.scandir(home) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            report(Finding.of("file-unreadable", home, f"{home}: {(error.strerror or str(error)).lower()}"))
            continue
        below = []
        for entry in entries:
            outside = entry.is_symlink() and not _inside(entry.path, top)
            if outside:
                report(Finding.of("link-leaves", entry.path, f"a symbolic link to {os.path.realpath(entry.path)}"))
            if not outside and _is_directory(entry):
                real = os.path.realpath(entry.path)
                if real not in seen:
                    seen.add(real)
                    below.append(entry.path)
            else:
                yield Entry(entry.path, 0 if outside else _size(entry), outside)
        waiting += reversed(below)


def _inside(path: str, top: str) -> bool:
    real = os.path.realpath(path)
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads back to itself
        return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return 0
