"""What a directory is, by its contents: a broker's log directory, a partition's directory, or neither.

A name alone proves nothing: ``data-0`` and ``broker-1`` look like partitions and often contain log directories.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.files.names import FileKind, parse_name
from kafkalog.files.tree import DirectoryEntry, Tree

__all__ = ["CHECKPOINTS", "DirectoryKind", "is_marked", "is_odd", "partition_name", "recognized"]

CHECKPOINTS: Final = {
    "log_start": "log-start-offset-checkpoint",
    "high_watermark": "replication-offset-checkpoint",
    "recovery_point": "recovery-point-offset-checkpoint",
    "cleaner": "cleaner-offset-checkpoint",
}
_MARKS: Final = frozenset({"meta.properties", *CHECKPOINTS.values()})
_OF_A_PARTITION: Final = (FileKind.PARTITION_METADATA, FileKind.LEADER_EPOCH_CHECKPOINT, FileKind.QUORUM_STATE)
_SUFFIXED: Final = re.compile(r"(?P<name>\S+-\S+)\.\S+(?P<suffix>-delete|-future|-stray)")
_NAME: Final = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")
_HIGHEST_PARTITION: Final = 2**31 - 1


class DirectoryKind(Enum):
    """What a directory is."""

    LOG_DIRECTORY = "log-directory"
    PARTITION = "partition"
    OTHER = "other"


class PartitionName(NamedTuple):
    """What the name of a partition's directory says; `suffix` is that of a directory put aside."""

    topic: str
    partition: int
    suffix: str


@lru_cache(maxsize=64)  # of one directory it is asked again and again
def partition_name(name: str) -> PartitionName | None:
    """Read the name of a partition's directory, None if it can't be one."""
    named = _named(name)
    return None if named is None or named.partition > _HIGHEST_PARTITION else named


def is_odd(name: str) -> bool:
    """Say whether a name is that of a partition's directory but for its number, which Kafka's 32 bits cannot hold."""
    named = _named(name)
    return named is not None and named.partition > _HIGHEST_PARTITION


def _named(name: str) -> PartitionName | None:
    suffix = ""
    if match := _SUFFIXED.fullmatch(name):
        name, suffix = match["name"], match["suffix"]
    match = _NAME.fullmatch(name)
    return None if match is None else PartitionName(match["topic"], int(match["partition"]), suffix)


def is_marked(names: Iterable[str]) -> bool:
    """Say whether a directory has a file that brokers keep only in log directories."""
    return not _MARKS.isdisjoint(names)


def recognized(tree: Tree, name: str, entries: Sequence[DirectoryEntry]) -> DirectoryKind:
    """Say what the directory `name` with these `entries` is.

    Its subdirectories are listed only if its own files do not decide it, and only up to the first partition.
    """
    names = {entry.name for entry in entries}
    if is_marked(names):
        return DirectoryKind.LOG_DIRECTORY
    if partition_name(name) is not None and _holds_a_log(names):
        return DirectoryKind.PARTITION
    if any(_is_partition(tree, entry) for entry in entries):
        return DirectoryKind.LOG_DIRECTORY
    return DirectoryKind.OTHER


def _is_partition(tree: Tree, entry: DirectoryEntry) -> bool:
    if partition_name(entry.name) is None or not (entry.is_directory or entry.is_link):
        return False
    try:
        names = {below.name for below in tree.entries(entry.path)}
    except UnreadableError:
        return False
    return _holds_a_log(names) and not is_marked(names)


def _holds_a_log(names: Iterable[str]) -> bool:
    """Say whether files of a partition are among the names: segments, their indexes, its small files."""
    for name in names:
        parsed = parse_name(name)
        if parsed.offset is not None or parsed.kind in _OF_A_PARTITION:
            return True
    return False
