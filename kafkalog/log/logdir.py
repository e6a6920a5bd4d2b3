"""A broker's log directories: their partitions and segments, and what the files beside these say.

No segment is opened here. The files that a broker keeps beside its partitions (meta.properties, checkpoints, the mark
of a clean stop) are read; a file that can't be read is a finding.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.links import leaving
from kafkalog.log.names import NAMED_BY_OFFSET, FileKind, is_remote, local_path, parse_name
from kafkalog.log.readers import read_checkpoint, read_properties
from kafkalog.log.recognition import CHECKPOINTS, DirectoryKind, partition_name, recognized
from kafkalog.log.storage import exists, open_tree
from kafkalog.log.tree import DirectoryEntry, Tree

__all__ = ["LogDirectory", "PartitionDirectory", "Place", "Segment", "nested", "open_log_directory"]

Report = Callable[[Finding], object]


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment file: its base offset and its size when it was listed."""

    path: str
    base_offset: int
    size: int


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """A partition's directory. `log` is its path as a user would type it; `suffix` is that of a directory put aside.

    Segments are in the order of their offsets. `snapshots` are paths by offset, `left_over` files that a broker treats
    specially when it loads the log, `orphans` offsets of index files without a segment, `txn_indexes` offsets that have
    a transaction index. `checkpoints` are the log directory's offsets for this partition, by ``log_start``,
    ``high_watermark``, ``recovery_point`` and ``cleaner``. `running` says that the broker was running or was killed:
    its lock is there, its mark of a clean stop is not; `clean_shutdown` that the mark is there. If both are False, it
    is not known.
    """

    log: str
    topic: str
    partition: int
    suffix: str
    segments: tuple[Segment, ...]
    snapshots: dict[int, str]
    left_over: tuple[str, ...]
    orphans: tuple[int, ...]
    topic_id: str | None
    leader_epochs: tuple[tuple[int, int], ...]
    checkpoints: dict[str, int]
    running: bool
    clean_shutdown: bool
    txn_indexes: frozenset[int]

    @property
    def size(self) -> int:
        """Return the bytes of all segments."""
        return sum(segment.size for segment in self.segments)


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One argument: a log directory of a broker, or one partition's directory.

    Without a meta.properties each argument is a cluster and a node of its own. `home` is the log directory, also if
    the argument is a partition's. `directory_id` is its id in the cluster's metadata, if brokers have several.
    `all_checkpoints` are all offsets by kind, also those of partitions that are not here.
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
    entries = tree.entries(root)
    above, own_name = os.path.split(_absolute(root))
    alone = recognized(tree, own_name, entries) is DirectoryKind.PARTITION
    home = above if alone else root
    names = _names(home, findings) if alone else {entry.name for entry in entries}
    about = _properties(os.path.join(home, "meta.properties"), findings) if "meta.properties" in names else {}
    directory = LogDirectory(
        root, home, about.get("cluster.id"), about.get("node.id", about.get("broker.id")),
        ".kafka_cleanshutdown" in names, ".lock" in names, findings=findings, directory_id=about.get("directory.id"),
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
    for found, wrong in tree.each(lambda place: _partition(tree, *place, checkpoints, directory), places):
        findings += wrong
        if found is not None:
            directory.partitions.append(found)
    return directory


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


def nested(path: str) -> Finding:
    """Report a log directory inside another one, which is not read with it."""
    return Finding.of("log-directory-inside", path, "a log directory inside another log directory; it was not read")


def _names(path: str, findings: list[Finding]) -> set[str]:
    """List the parent of a partition's directory; it may be unreadable although the partition's directory is not."""
    try:
        return {entry.name for entry in open_tree(path, deep=False).entries(path)}
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return set()


def _absolute(path: str) -> str:
    return path.rstrip("/") if is_remote(path) else os.path.abspath(local_path(path))


def _is_directory(entry: DirectoryEntry, root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is a directory to read; a symbolic link is followed only inside the root."""
    if not entry.is_link:
        return entry.is_directory
    return _is_inside(entry, root, findings) and os.path.isdir(local_path(entry.path))


def _is_inside(entry: DirectoryEntry, root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is inside the root; a symbolic link that leads out or to nothing is reported."""
    if not entry.is_link:
        return True
    finding = leaving(entry, root)
    if finding is not None:
        findings.append(finding)
    return finding is None


def _properties(path: str, findings: list[Finding]) -> dict[str, str]:
    try:
        return read_properties(path, on_finding=findings.append)
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return {}


def _checkpoint(path: str, findings: list[Finding]) -> dict[tuple[str, int], int]:
    try:
        rows = read_checkpoint(path, on_finding=findings.append).rows
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return {}
    return {(row.topic, row.partition): row.offset for row in rows}


def _partition(
    tree: Tree,
    path: str,
    name: str,
    checkpoints: dict[str, dict[tuple[str, int], int]],
    node: LogDirectory,
) -> tuple[PartitionDirectory | None, list[Finding]]:
    """List a partition's directory, and say what is wrong with its small files; None if it is not a partition's.

    An empty directory with a partition's name is a partition's: a broker creates it before the first segment.
    """
    findings: list[Finding] = []
    named = partition_name(name)
    if named is None:
        return None, findings
    topic, partition, suffix = named
    try:
        every = tree.entries(path)
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return None, findings
    kind = recognized(tree, name, every)
    if kind is DirectoryKind.LOG_DIRECTORY:
        return None, [nested(path)]
    known = suffix or any((topic, partition) in rows for rows in checkpoints.values())
    if every and kind is DirectoryKind.OTHER and not known:
        return None, findings
    entries = [entry for entry in every if _is_inside(entry, node.path, findings)]
    findings = [finding._replace(log=path, topic=topic, partition=partition) for finding in findings]
    segments, snapshots, left_over, indexed = [], {}, [], set()
    for entry in entries:
        parsed = parse_name(entry.name)
        if parsed.removed:
            left_over.append(entry.name)
        elif parsed.kind in NAMED_BY_OFFSET and parsed.offset is None:
            message = "its name holds no offset that a broker could have written; it is not read as a part of the log"
            findings.append(Finding.of("file-name-odd", entry.path, message))
        elif parsed.kind is FileKind.LOG and parsed.offset is not None:
            segments.append(Segment(entry.path, parsed.offset, entry.size))
        elif parsed.kind is FileKind.PRODUCER_SNAPSHOT and parsed.offset is not None:
            snapshots[parsed.offset] = entry.path
        elif parsed.kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX):
            indexed.add((parsed.offset, parsed.kind))
    bases = {segment.base_offset for segment in segments}
    names = {entry.name for entry in entries}
    epochs = _epochs(path, findings) if "leader-epoch-checkpoint" in names else ()
    about = _properties(os.path.join(path, "partition.metadata"), findings) if "partition.metadata" in names else {}
    found = PartitionDirectory(
        path,
        topic,
        partition,
        suffix,
        tuple(sorted(segments, key=lambda segment: segment.base_offset)),
        snapshots,
        tuple(sorted(left_over)),
        tuple(sorted({offset for offset, _ in indexed if offset is not None and offset not in bases})),
        about.get("topic_id"),
        epochs,
        {kind: rows[topic, partition] for kind, rows in checkpoints.items() if (topic, partition) in rows},
        node.running,
        node.clean_shutdown,
        frozenset(offset for offset, kind in indexed if offset is not None and kind is FileKind.TXN_INDEX),
    )
    return found, findings


def _epochs(path: str, findings: list[Finding]) -> tuple[tuple[int, int], ...]:
    name = os.path.join(path, "leader-epoch-checkpoint")
    try:
        return tuple((row.epoch, row.start_offset) for row in read_checkpoint(name, on_finding=findings.append).rows)
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", name, str(error)))
        return ()
