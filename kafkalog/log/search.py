"""The log directories that a path stands for: itself, or those below it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.links import leaving
from kafkalog.log.names import FileKind, is_remote, local_path, parse_name
from kafkalog.log.recognition import DirectoryKind, recognized
from kafkalog.log.tree import DirectoryEntry, Tree

__all__ = ["DEPTH", "Search", "search"]

DEPTH: Final = 4  # levels below a path
_SHOWN: Final = 5
_NOT_KAFKA_S: Final = "lost+found"  # a file system's own, at its root, and closed to all but the superuser


@dataclass(slots=True)
class Search:
    """What was found at or below a path: log directories or a partition's, and what is wrong on the way.

    Without `places`, `message` says what was seen instead.
    """

    places: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    message: str = ""


def search(tree: Tree, root: str) -> Search:
    """Find the log directories at `root`, or else up to `DEPTH` levels below; nothing is looked for inside of one.

    Symbolic links are not followed: one that leads inside is found by its own path, one that leaves is reported.
    Raises UnreadableError where `root` can't be listed.
    """
    found = Search()
    entries = _sorted(tree.entries(root))
    if recognized(tree, _own_name(root), entries) is not DirectoryKind.OTHER:
        found.places.append(root)
        return found
    level = _below(entries, root, found)
    for _ in range(DEPTH):
        deeper: list[DirectoryEntry] = []
        for entry in level:
            try:
                inside = _sorted(tree.entries(entry.path))
            except UnreadableError as error:
                found.findings.append(Finding.of("file-unreadable", entry.path, str(error)))
                continue
            if recognized(tree, entry.name, inside) is DirectoryKind.LOG_DIRECTORY:
                found.places.append(entry.path)
            else:
                deeper += _below(inside, root, found)
        level = deeper
    found.places.sort()
    if found.places:
        if len(found.places) > 1:
            message = f"{len(found.places)} log directories below were read: {', '.join(found.places)}"
            found.findings.append(Finding.of("log-directories-below", root, message, found=len(found.places)))
    else:
        found.message = _nothing(root, entries, found.findings, level)
    return found


def _sorted(entries: Sequence[DirectoryEntry]) -> list[DirectoryEntry]:
    return sorted(entries, key=lambda entry: entry.name)


def _own_name(root: str) -> str:
    return os.path.basename(root.rstrip("/") if is_remote(root) else os.path.abspath(local_path(root)))


def _below(entries: Sequence[DirectoryEntry], root: str, found: Search) -> list[DirectoryEntry]:
    """Return the directories among the entries of one that is no log directory; a link to a file is none of them."""
    links = (leaving(entry, root) for entry in entries if entry.is_link and not os.path.isfile(local_path(entry.path)))
    found.findings += [finding for finding in links if finding is not None]
    return [entry for entry in entries if entry.is_directory and not entry.is_link and entry.name != _NOT_KAFKA_S]


def _nothing(
    root: str, entries: Sequence[DirectoryEntry], findings: Sequence[Finding], deeper: Sequence[DirectoryEntry]
) -> str:
    """Say what was seen where no log directory is, and what to try."""
    folders = [entry.name for entry in entries if entry.is_directory]
    files = [entry.name for entry in entries if not entry.is_directory]
    segments = [
        name for name in files if (parsed := parse_name(name)).kind is FileKind.LOG and parsed.offset is not None
    ]
    seen = [_named(what, names) for what, names in (("directory", folders), ("file", files)) if names]
    parts = [f"it holds {' and '.join(seen)}" if seen else "it is empty"]
    if deeper:
        verb = "directory {} levels down was" if len(deeper) == 1 else "directories {} levels down were"
        parts.append(f"{len(deeper)} {verb.format(DEPTH + 1)} not opened")
    parts += [f"{finding.message} ({finding.code})" for finding in findings[:_SHOWN]]
    if segments:
        advice = "read its segments with `kafkalog dump FILE` or `kafkalog verify FILE`, or name it like its partition"
    else:
        advice = "name a directory of the broker's log.dirs, or one above it"
    return f"{root}: no log directory in it or up to {DEPTH} levels below: {'; '.join(parts)}; {advice}"


def _named(what: str, names: Sequence[str]) -> str:
    many = {"directory": "directories", "file": "files"}[what]
    more = ", …" if len(names) > _SHOWN else ""
    return f"{len(names)} {what if len(names) == 1 else many} ({', '.join(names[:_SHOWN])}{more})"
