"""Every file of a log directory; links are followed only inside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists, leaving, open_tree
from kafkalog.files.names import local_path
from kafkalog.files.recognition import DirectoryKind, recognized
from kafkalog.files.tree import DirectoryEntry
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import nested
from kafkalog.quantities import by_number

__all__ = ["Found", "walk"]


class Found(NamedTuple):
    """A file; `is_outside` says that it is a symbolic link that leads out or to nothing, and is not followed."""

    path: str
    size: int
    is_outside: bool


def walk(root: str, report: Callable[[Finding], object]) -> Iterator[Found]:
    """Yield every file below `root`, in the order of names.

    A directory that several links lead to is walked once; a log directory inside this one is reported and skipped.
    """
    tree = open_tree(root)
    top = os.path.realpath(local_path(root))
    seen = {top}
    waiting = [root]
    while waiting:
        home = waiting.pop()
        try:
            entries = sorted(tree.entries(home), key=lambda entry: by_number(entry.name))
        except UnreadableError as error:
            if home == root or exists(home):  # a broker deletes directories of topics
                report(Finding.of("file-unreadable", home, str(error)))
            continue
        if home != root and recognized(tree, os.path.basename(home), entries) is DirectoryKind.LOG_DIRECTORY:
            report(nested(home))
            continue
        below = []
        for entry in entries:
            real = os.path.realpath(local_path(entry.path)) if entry.is_link else ""
            finding = leaving(entry, root) if entry.is_link else None
            outside = finding is not None
            if finding is not None:
                report(finding)
            if not outside and _is_directory(entry, real):
                if real not in seen:
                    below.append(entry.path)
                seen |= {real} if real else set()
            else:
                yield Found(entry.path, 0 if outside else entry.size, outside)
        waiting += reversed(below)


def _is_directory(entry: DirectoryEntry, real: str) -> bool:
    return os.path.isdir(real) if entry.is_link else entry.is_directory
