"""A broker's log directories: their partitions and segments, and what the files beside these say.

No segment is opened here. The files that a broker keeps beside its partitions (meta.properties, checkpoints, the mark
of a clean stop) are read; a file that can't be read is a finding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.names import is_remote, is_virtual, local_path
from kafkalog.log.partition import Home, PartitionDirectory, Segment, is_inside, list_partition, nested, read_small_file
from kafkalog.log.readers import read_checkpoint, read_properties
from kafkalog.log.recognition import CHECKPOINTS, DirectoryKind, is_marked, partition_name, recognized
from kafkalog.log.storage import device_and_inode, exists, open_tree
from kafkalog.log.tree import DirectoryEntry, DirectoryIdentity, Tree

__all__ = [
    "LogDirectory",
    "PartitionDirectory",
    "Place",
    "Segment",
    "checkpoints_now",
    "identity_now",
    "list_again",
    "nested",
    "open_log_directory",
]

Report = Callable[[Finding], object]
_MOVING: Final = ("cleaner", "log_start")
# Checkpoints of log directories that were read last, by their paths: some hundred partitions share one.
_read_before: dict[str, tuple[tuple[int, int, int], dict[tuple[str, int], int]]] = {}


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One argument: a log directory of a broker, or one partition's directory.

    Without a meta.properties each argument is a cluster and a node of its own. `home` is the log directory, also if
    the argument is a partition's. `directory_id` is its id in the cluster's metadata, if brokers have several.
    `all_checkpoints` are all offsets by kind, also those of partitions that are not here. `identity` is which directory
    it was when it was listed; that of a partition's directory alone, if no log directory is around it.
    """

    path: str
    home: str
    cluster_id: str | None
    node_id: str | None
    clean_shutdown: bool
    locked: bool
    partitions: list[PartitionDirectory] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    directory_id: str | None = None
    all_checkpoints: dict[str, dict[tuple[str, int], int]] = field(default_factory=dict)
    identity: DirectoryIdentity = field(kw_only=True)

    @property
    def alone(self) -> bool:
        """Say whether one partition's directory was given, not the log directory that contains it."""
        return self.home != self.path

    @property
    def running(self) -> bool:
        """Say whether the broker was running, or had been killed, when this was read or copied."""
        return self.locked and not self.clean_shutdown


def open_log_directory(path: str | os.PathLike[str], tree: Tree | None = None) -> LogDirectory:
    """List a log directory or one partition's directory; `tree` is a tree that contains it, if one is open already.

    Raises UnreadableError if it is not a directory or can't be listed.
    """
    root = os.fspath(path)
    tree = tree or open_tree(root)
    findings: list[Finding] = []
    itself = device_and_inode(root)
    entries = tree.entries(root)
    above, own_name = os.path.split(_absolute(root))
    alone = recognized(tree, own_name, entries) is DirectoryKind.PARTITION
    home = above if alone else root
    names = _names(home, findings) if alone else {entry.name for entry in entries}
    about = _properties(os.path.join(home, "meta.properties"), findings) if "meta.properties" in names else {}
    around = names if not alone or about else ()
    directory = LogDirectory(
        root, home, about.get("cluster.id"), about.get("node.id", about.get("broker.id")),
        ".kafka_cleanshutdown" in names, ".lock" in names, findings=findings, directory_id=about.get("directory.id"),
        identity=_identity(itself if home == root or not about else device_and_inode(home), about, around),
    )  # fmt: skip
    if directory.running:
        findings.append(
            Finding.of(
                "read-while-running",
                home,
                "the directory has the broker's .lock but no .kafka_cleanshutdown; each segment is read up to the size"
                " that it had when it was listed",
            )
        )
    checkpoints = {
        kind: _checkpoint(os.path.join(home, name), findings) for kind, name in CHECKPOINTS.items() if name in names
    }
    directory.all_checkpoints.update(checkpoints)
    if alone:
        places = [(root, own_name)]
    else:
        entries.sort(key=lambda entry: entry.name)
        places = [(entry.path, entry.name) for entry in entries if _is_directory(entry, root, findings)]
    about_all = Home(root, checkpoints, directory.running, directory.clean_shutdown)
    for found, wrong in tree.each(lambda place: list_partition(tree, *place, about_all), places):
        findings += wrong
        if found is not None:
            directory.partitions.append(found)
    return directory


def _identity(itself: tuple[int, int], about: Mapping[str, str], names: Collection[str]) -> DirectoryIdentity:
    said = "".join(f"{name}={value}\n" for name, value in sorted(about.items()))
    return DirectoryIdentity(*itself, said, is_marked=is_marked(names))


def identity_now(node: LogDirectory) -> DirectoryIdentity:
    """Return which directory is now where a log directory was. Raises UnreadableError if there is none."""
    place = node.path if node.alone and not node.identity.properties else node.home
    itself = device_and_inode(place)
    names = {entry.name for entry in open_tree(place, deep=False).entries(place)}
    about, known = "meta.properties", node.identity.properties  # else it could not be read when it was listed
    return _identity(itself, read_properties(os.path.join(place, about)) if known and about in names else {}, names)


class Place(NamedTuple):
    """What the names around a partition's directory say: its topic and partition, and its node by meta.properties."""

    topic: str
    partition: int
    node_id: str | None

    @classmethod
    def of(cls, home: str) -> Place | None:
        """Look at the directory `home`; None if it is not a partition's."""
        path = _absolute(home)
        found = partition_name(os.path.basename(path))
        if found is None or found.suffix:
            return None
        about = os.path.join(os.path.dirname(path), "meta.properties")
        values = _properties(about, []) if exists(about) else {}
        return cls(found.topic, found.partition, values.get("node.id", values.get("broker.id")))


def _names(path: str, findings: list[Finding]) -> set[str]:
    """List the parent of a partition's directory; it may be unreadable although the partition's directory is not."""
    try:
        return {entry.name for entry in open_tree(path, deep=False).entries(path)}
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return set()


def _absolute(path: str) -> str:
    return path.rstrip("/") if is_virtual(path) else os.path.abspath(local_path(path))


def _is_directory(entry: DirectoryEntry, root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is a directory to read; a symbolic link is followed only inside the root."""
    if not entry.is_link:
        return entry.is_directory
    return is_inside(entry, root, findings) and os.path.isdir(local_path(entry.path))


def _properties(path: str, findings: list[Finding]) -> dict[str, str]:
    return read_small_file(path, read_properties, findings) or {}


def _checkpoint(path: str, findings: list[Finding]) -> dict[tuple[str, int], int]:
    read = read_small_file(path, read_checkpoint, findings)
    return {} if read is None else {(row.topic, row.partition): row.offset for row in read.rows}


def checkpoints_now(node: LogDirectory, directory: PartitionDirectory) -> dict[str, int]:
    """Return a partition's offsets by kind, those that bear on a running broker's logs as they are now.

    These are the cleaner's and the log's start, and are read again on a disk alone.
    """
    if is_remote(node.home):
        return directory.checkpoints
    key = (directory.topic, directory.partition)
    found = {kind: offset for kind, offset in directory.checkpoints.items() if kind not in _MOVING}
    for kind, path in _moving_in(local_path(node.home)):
        if (offset := _checkpoint_now(path).get(key)) is not None:
            found[kind] = offset
    return found


@lru_cache(maxsize=16)  # asked for each partition of a few directories
def _moving_in(home: str) -> tuple[tuple[str, str], ...]:
    return tuple((kind, os.path.join(home, CHECKPOINTS[kind])) for kind in _MOVING)


def list_again(node: LogDirectory, directory: PartitionDirectory) -> PartitionDirectory:
    """List one partition of a log directory again."""
    key = (directory.topic, directory.partition)
    rows = {kind: {key: offset} for kind, offset in checkpoints_now(node, directory).items()}
    home = Home(node.path, rows, directory.running, directory.clean_shutdown)
    tree = open_tree(directory.log, deep=False)
    found, _ = list_partition(tree, directory.log, f"{directory.topic}-{directory.partition}", home)
    return found or replace(directory, segments=(), snapshots={}, files={})


def _checkpoint_now(path: str) -> dict[tuple[str, int], int]:
    """Read a checkpoint again if it is another file than the one that was read before."""
    try:
        status = os.stat(path)
    except OSError:
        return {}
    known = _read_before.get(path)
    version = (status.st_ino, status.st_size, status.st_mtime_ns)
    if known is None or known[0] != version:
        known = _read_before[path] = (version, _checkpoint(path, []))
    return known[1]
