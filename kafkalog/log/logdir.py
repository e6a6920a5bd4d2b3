"""A broker's log directories: which partitions and segments lie in them, and what the files beside them say.

Nothing here opens a segment. What a broker leaves beside its partitions (meta.properties, checkpoints, the mark of a
clean stop) is read; what can't be read is a finding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.log.names import FileKind, parse_name
from kafkalog.log.readers import read_checkpoint, read_properties

__all__ = ["LogDirectory", "PartitionDirectory", "Segment", "open_log_directory"]

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
    loader would treat on its own, `orphans` offsets of index files without a segment. `checkpoints` are the root's
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

    @property
    def size(self) -> int:
        """Return the bytes of all segments."""
        return sum(segment.size for segment in self.segments)


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One argument: a log directory of a broker, or a partition's alone.

    Without a meta.properties each argument is a cluster and a node of its own.
    """

    path: str
    cluster_id: str | None
    node_id: str | None
    clean_shutdown: bool
    locked: bool
    partitions: list[PartitionDirectory] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def running(self) -> bool:
        """Say whether the broker ran, or had been killed, when this was read or copied."""
        return self.locked and not self.clean_shutdown


def open_log_directory(path: str | os.PathLike[str]) -> LogDirectory:
    """List what lies in a log directory, or in one partition's directory.

    Raises UnreadableError where it is no directory or can't be listed.
    """
    root = os.fspath(path)
    findings: list[Finding] = []
    entries = _list(root)
    alone = any(parse_name(entry.name).kind is FileKind.LOG for entry in entries)
    about = _properties(
        os.path.join(root if not alone else os.path.dirname(os.path.abspath(root)), "meta.properties"), findings
    )
    home = os.path.dirname(os.path.abspath(root)) if alone else root
    names = set(os.listdir(home)) if alone else {entry.name for entry in entries}
    directory = LogDirectory(
        root, about.get("cluster.id"), about.get("node.id", about.get("broker.id")),
        ".kafka_cleanshutdown" in names, ".lock" in names, findings=findings,
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
    checkpoints = {kind: _checkpoint(os.path.join(home, name), findings) for kind, name in _CHECKPOINTS.items()}
    if alone:
        name = os.path.basename(os.path.abspath(root))
        found = _partition(root, root, name, checkpoints, findings, directory)
        if found is not None:
            directory.partitions.append(found)
        return directory
    for entry in sorted(entries, key=lambda entry: entry.name):
        if not _is_directory(entry, root, findings):
            continue
        found = _partition(root, os.path.join(root, entry.name), entry.name, checkpoints, findings, directory)
        if found is not None:
            directory.partitions.append(found)
    return directory


def _list(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except NotADirectoryError as error:
        raise UnreadableError(f"{path}: no directory: did you mean `kafkalog dump {path}`?") from error
    except OSError as error:
        raise UnreadableError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _is_directory(entry: os.DirEntry[str], root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is a directory to walk into; a symbolic link is followed inside the root only."""
    if not entry.is_symlink():
        return entry.is_dir(follow_symlinks=False)
    return _is_inside(entry, root, findings) and os.path.isdir(entry.path)


def _is_inside(entry: os.DirEntry[str], root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is no symbolic link that leads out of the root; one that does is told."""
    if not entry.is_symlink():
        return True
    target, top = os.path.realpath(entry.path), os.path.realpath(root)
    if target == top or target.startswith(top.rstrip(os.sep) + os.sep):
        return True
    findings.append(Finding.of("link-leaves", entry.path, f"a symbolic link to {target}"))
    return False


def _properties(path: str, findings: list[Finding]) -> dict[str, str]:
    if not os.path.exists(path):
        return {}
    try:
        return read_properties(path, on_finding=findings.append)
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return {}


def _checkpoint(path: str, findings: list[Finding]) -> dict[tuple[str, int], int]:
    if not os.path.exists(path):
        return {}
    try:
        rows = read_checkpoint(path, on_finding=findings.append).rows
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return {}
    return {(row.topic, row.partition): row.offset for row in rows}


def _partition(
    root: str,
    path: str,
    name: str,
    checkpoints: dict[str, dict[tuple[str, int], int]],
    findings: list[Finding],
    node: LogDirectory,
) -> PartitionDirectory | None:
    """List a partition's directory; None where the name is no partition's."""
    suffix = ""
    if match := _SUFFIXED.fullmatch(name):
        name, suffix = match["name"], match["suffix"]
    match = _NAME.fullmatch(name)
    if not match:
        return None
    topic, partition = match["topic"], int(match["partition"])
    try:
        entries = _list(path)
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return None
    segments, snapshots, left_over, indexed = [], {}, [], set()
    for entry in entries:
        parsed = parse_name(entry.name)
        if parsed.removed:
            left_over.append(entry.name)
        elif parsed.kind is FileKind.LOG and parsed.offset is not None:
            if not _is_inside(entry, root, findings):
                continue
            try:
                size = entry.stat().st_size
            except OSError:
                size = 0
            segments.append(Segment(entry.path, parsed.offset, size))
        elif parsed.kind is FileKind.PRODUCER_SNAPSHOT and parsed.offset is not None:
            snapshots[parsed.offset] = entry.path
        elif parsed.kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX):
            indexed.add(parsed.offset)
    bases = {segment.base_offset for segment in segments}
    names = {entry.name for entry in entries}
    epochs = _epochs(path, findings) if "leader-epoch-checkpoint" in names else ()
    about = _properties(os.path.join(path, "partition.metadata"), findings) if "partition.metadata" in names else {}
    return PartitionDirectory(
        path,
        topic,
        partition,
        suffix,
        tuple(sorted(segments, key=lambda segment: segment.base_offset)),
        snapshots,
        tuple(sorted(left_over)),
        tuple(sorted(offset for offset in indexed if offset is not None and offset not in bases)),
        about.get("topic_id"),
        epochs,
        {kind: rows[topic, partition] for kind, rows in checkpoints.items() if (topic, partition) in rows},
        node.running,
        node.clean_shutdown,
    )


def _epochs(path: str, findings: list[Finding]) -> tuple[tuple[int, int], ...]:
    name = os.path.join(path, "leader-epoch-checkpoint")
    try:
        return tuple((row.epoch, row.start_offset) for row in read_checkpoint(name, on_finding=findings.append).rows)
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", name, str(error)))
        return ()
