"""A broker's log directories: which partitions and segments lie in them, and what the files beside them say.

Nothing here opens a segment. What a broker leaves beside its partitions (meta.properties, checkpoints, the mark of a
clean stop) is read; what can't be read is a finding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.names import FileKind, is_remote, local_path, parse_name
from kafkalog.log.readers import read_checkpoint, read_properties
from kafkalog.log.storage import exists, open_tree
from kafkalog.log.tree import DirectoryEntry, Tree

__all__ = ["LogDirectory", "PartitionDirectory", "Place", "Segment", "open_log_directory"]

_SUFFIXED: Final = re.compile(r"(?P<name>\S+-\S+)\.\S+(?P<suffix>-delete|-future|-stray)")
_NAME: Final = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")
_CHECKPOINTS: Final = {
    "log_start": "log-start-offset-checkpoint",
    "high_watermark": "replication-offset-checkpoint",
    "recovery_point": "recovery-point-offset-checkpoint",
    "cleaner": "cleaner-offset-checkpoint",
}

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

    Segments are in the order of their offsets. `snapshots` are paths by offset, `left_over` files that a broker's
    loader would treat on its own, `orphans` offsets of index files without a segment, `txn_indexes` those that have a
    transaction index. `checkpoints` are the root's
    offsets for this partition, by ``log_start``, ``high_watermark``, ``recovery_point`` and ``cleaner``. `running` says
    that the broker ran, or had been killed: its lock is there, its mark of a clean stop is not; `clean_shutdown` that
    the mark is there. Where both are False nothing tells.
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
    """One argument: a log directory of a broker, or a partition's alone.

    Without a meta.properties each argument is a cluster and a node of its own. `home` is the log directory, also where
    the argument is a partition's. `directory_id` is what the metadata knows it by, where brokers have more than one.
    `all_checkpoints` are all offsets by kind, also of partitions that are not here.
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
        """Say whether one partition's directory was named, without the log directory that it lies in."""
        return self.home != self.path

    @property
    def running(self) -> bool:
        """Say whether the broker ran, or had been killed, when this was read or copied."""
        return self.locked and not self.clean_shutdown


def open_log_directory(path: str | os.PathLike[str]) -> LogDirectory:
    """List what lies in a log directory, or in one partition's directory.

    Raises UnreadableError where it is no directory or can't be listed.
    """
    root = os.fspath(path)
    tree = open_tree(root)
    findings: list[Finding] = []
    entries = tree.entries(root)
    alone = any(parse_name(entry.name).kind is FileKind.LOG for entry in entries)
    home, own_name = os.path.split(_absolute(root)) if alone else (root, "")
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
                "the broker's .lock is here, its .kafka_cleanshutdown is not; segments are read up to the sizes that"
                " they had when they were listed",
            )
        )
    checkpoints = {
        kind: _checkpoint(os.path.join(home, name), findings) for kind, name in _CHECKPOINTS.items() if name in names
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
    """What the names around a partition's directory say: whose it is, and by meta.properties on which node."""

    topic: str
    partition: int
    node_id: str | None

    @classmethod
    def of(cls, home: str) -> Place | None:
        """Look at the directory `home`; None where it is no partition's."""
        path = _absolute(home)
        match = _NAME.fullmatch(os.path.basename(path))
        if match is None:
            return None
        about = os.path.join(os.path.dirname(path), "meta.properties")
        values = _properties(about, []) if exists(about) else {}
        return cls(match["topic"], int(match["partition"]), values.get("node.id", values.get("broker.id")))


def _names(path: str, findings: list[Finding]) -> set[str]:
    """List the directory that a partition's lies in; it may be closed where the partition's is not."""
    try:
        return {entry.name for entry in open_tree(path, deep=False).entries(path)}
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return set()


def _absolute(path: str) -> str:
    return path.rstrip("/") if is_remote(path) else os.path.abspath(local_path(path))


def _is_directory(entry: DirectoryEntry, root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is a directory to walk into; a symbolic link is followed inside the root only."""
    if not entry.is_link:
        return entry.is_directory
    return _is_inside(entry, root, findings) and os.path.isdir(local_path(entry.path))


def _is_inside(entry: DirectoryEntry, root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is no symbolic link that leads out of the root; one that does is told."""
    if not entry.is_link or not os.path.exists(local_path(entry.path)):
        return True  # what leads nowhere is told where it is opened
    target = Path(local_path(entry.path)).resolve()
    if target.is_relative_to(Path(local_path(root)).resolve()):
        return True
    findings.append(Finding.of("link-leaves", entry.path, f"a symbolic link to {target}, which lies elsewhere"))
    return False


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
    """List a partition's directory, None where the name is no partition's; say what is wrong with its small files."""
    findings: list[Finding] = []
    suffix = ""
    if match := _SUFFIXED.fullmatch(name):
        name, suffix = match["name"], match["suffix"]
    match = _NAME.fullmatch(name)
    if not match:
        return None, findings
    topic, partition = match["topic"], int(match["partition"])
    try:
        entries = [entry for entry in tree.entries(path) if _is_inside(entry, node.path, findings)]
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return None, findings
    segments, snapshots, left_over, indexed = [], {}, [], set()
    for entry in entries:
        parsed = parse_name(entry.name)
        if parsed.removed:
            left_over.append(entry.name)
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
