"""Symbolic links in evidence: followed inside the given directory, and reported if they lead out of it."""

from __future__ import annotations

import os

from kafkalog.findings import Finding
from kafkalog.log.names import local_path
from kafkalog.log.tree import DirectoryEntry

__all__ = ["leaving"]


def leaving(entry: DirectoryEntry, root: str) -> Finding | None:
    """Return the finding for a symbolic link that leads out of `root` or to nothing; None if it may be followed."""
    path, top = local_path(entry.path), os.path.realpath(local_path(root))
    target = os.path.realpath(path)
    if os.path.commonpath([target, top]) != top:
        message = f"a symbolic link to {target}, which is outside {root}; it was not followed"
        return Finding.of("link-leaves", entry.path, message)
    if not os.path.exists(path):
        return Finding.of("link-leaves", entry.path, f"a symbolic link to {target}, which does not exist")
    return None
