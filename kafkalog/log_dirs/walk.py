"""The log directories at a path or below it, and every file of one; links are followed only inside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafkalog.bundles.bundle_inputs import bundle_findings
from kafkalog.bundles.bundle_manifest import BUNDLE, BUNDLE_DATA
from kafkalog.errors import UnreadableError
from kafkalog.escape import command_line
from kafkalog.files.directories import exists, leaving, open_tree
from kafkalog.files.names import FileKind, is_virtual, local_path, parse_name
from kafkalog.files.opening import confine
from kafkalog.files.recognition import DirectoryKind, recognized
from kafkalog.files.tree import DirectoryEntry, Tree
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import nested
from kafkalog.quantities import by_number, listed
from kafkalog.unread import not_read

__all__ = ["Found", "Search", "search", "walk"]

DEPTH: Final = 4  # levels below a path
_SHOWN: Final = 5
_NAMED: Final = 20  # log directories in a message
_NOT_KAFKA_S: Final = "lost+found"  # of the file system, at its root; only root can read it


@dataclass(slots=True)
class Search:
    """What was found at or below a path: log directories or a partition's directory, and findings about the rest.

    Without `places`, `message` says what was found instead.
    """

    places: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    message: str = ""

    @property
    def named(self) -> str:
        """Name the first of the places, and count the others."""
        return listed(self.places, _NAMED)


def search(tree: Tree, root: str) -> Search:
    """Find the log directories at `root`, or else up to `DEPTH` levels below; a log directory itself is not searched.

    Symbolic links are not followed: the target is found by its own path if it is inside, else the link is reported.
    Of a bundle they are those in its directory for them. Raises UnreadableError if `root` can't be listed.
    """
    found = Search()
    confine(root)
    entries = _sorted(tree.entries(root))
    if any(entry.name == BUNDLE for entry in entries):
        return _in_bundle(tree, root)
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
                found.findings.append(not_read(entry.path, error))
                continue
            if recognized(tree, entry.name, inside) is DirectoryKind.LOG_DIRECTORY:
                found.places.append(entry.path)
            else:
                deeper += _below(inside, root, found)
        level = deeper
    found.places.sort(key=by_number)
    if found.places:
        if len(found.places) > 1:
            message = f"{len(found.places)} log directories below it were read: {found.named}"
            found.findings.append(Finding.of("log-directories-below", root, message, found=len(found.places)))
    else:
        found.message = _nothing(root, entries, found.findings, level)
    return found


def _in_bundle(tree: Tree, root: str) -> Search:
    """Find the log directories of a bundle, and what is wrong with its files."""
    wrong = list(bundle_findings(root))
    try:
        found = search(tree, f"{root.rstrip('/')}/{BUNDLE_DATA}")
    except UnreadableError as error:
        return Search(findings=wrong, message=f"{root}: a bundle without log directories: {error}")
    below = [one for one in found.findings if one.code != "log-directories-below"]
    return Search(found.places, [*wrong, *below], found.message)


def _sorted(entries: Sequence[DirectoryEntry]) -> list[DirectoryEntry]:
    return sorted(entries, key=lambda entry: by_number(entry.name))


def _own_name(root: str) -> str:
    return os.path.basename(root.rstrip("/") if is_virtual(root) else os.path.abspath(local_path(root)))


def _below(entries: Sequence[DirectoryEntry], root: str, found: Search) -> list[DirectoryEntry]:
    """Return the subdirectories of a directory that is not a log directory, and report links that lead out."""
    links = (leaving(entry, root) for entry in entries if entry.is_link and not os.path.isfile(local_path(entry.path)))
    found.findings += [finding for finding in links if finding is not None]
    return [entry for entry in entries if entry.is_directory and not entry.is_link and entry.name != _NOT_KAFKA_S]


def _nothing(
    root: str, entries: Sequence[DirectoryEntry], findings: Sequence[Finding], deeper: Sequence[DirectoryEntry]
) -> str:
    """Say what was found instead of log directories, and what to try."""
    folders = [entry.name for entry in entries if entry.is_directory]
    files = [entry.name for entry in entries if not entry.is_directory]
    segments = [
        name for name in files if (parsed := parse_name(name)).kind is FileKind.LOG and parsed.offset is not None
    ]
    seen = [_named(what, names) for what, names in (("directory", folders), ("file", files)) if names]
    parts = [f"it contains {' and '.join(seen)}" if seen else "it is empty"]
    if deeper:
        verb = "directory {} levels down was" if len(deeper) == 1 else "directories {} levels down were"
        parts.append(f"{len(deeper)} {verb.format(DEPTH + 1)} not opened")
    parts += [f"{finding.message} ({finding.code})" for finding in findings[:_SHOWN]]
    if segments:
        path = f"{root.rstrip('/')}/{segments[0]}"
        lines = [command_line(command, path) for command in ("kafkalog dump", "kafkalog verify")]
        by_file = " or ".join(f"`{line}`" for line in lines if line) or "`kafkalog dump FILE`"
        advice = f"read a segment with {by_file}, or name the directory TOPIC-PARTITION"
    else:
        advice = "give a directory of the broker's log.dirs, or one above it"
    return f"{root}: no log directory in it or up to {DEPTH} levels below: {'; '.join(parts)}; {advice}"


def _named(what: str, names: Sequence[str]) -> str:
    many = {"directory": "directories", "file": "files"}[what]
    more = ", …" if len(names) > _SHOWN else ""
    return f"{len(names)} {what if len(names) == 1 else many} ({', '.join(names[:_SHOWN])}{more})"


class Found(NamedTuple):
    """A file; `is_outside` says that it is a symbolic link that leads out or to nothing, and is not followed."""

    path: str
    size: int
    is_outside: bool


def walk(root: str, report: Callable[[Finding], object]) -> Iterator[Found]:
    """Yield every file below `root`, in the order of names.

    A directory that links lead to, too, is walked once; a log directory inside this one is reported and skipped.
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
                report(not_read(home, error))
            continue
        if home != root and recognized(tree, os.path.basename(home), entries) is DirectoryKind.LOG_DIRECTORY:
            report(nested(home))
            continue
        below = []
        seen |= {os.path.realpath(local_path(entry.path)) for entry in entries if entry.is_directory}
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
