"""What a file's name says: where it is, its kind, its offset, and what a broker did to it.

Paths are kept as the user wrote them, local or URI: ``os.path`` keeps them, ``pathlib.Path`` makes one slash of two.
Digits may be the decimal digits of any locale, because brokers write them so under some JVM locales; a suffix that a
broker gives a file before it deletes it or swaps it in (``.deleted``, ``.cleaned``, ``.swap``) is read apart from the
rest of the name.
"""

from __future__ import annotations

import os
import re
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = [
    "INDEX_CACHE",
    "METADATA_TOPIC",
    "NAMED_BY_OFFSET",
    "OFFSETS_TOPIC",
    "SEGMENTS",
    "SHARE_TOPIC",
    "STATE_TOPIC",
    "FileKind",
    "FileName",
    "given_again",
    "is_remote",
    "is_virtual",
    "local_path",
    "parse_name",
    "place_unpacked",
    "sibling",
    "unpacked_places",
    "why_no_place",
]

# Internal topics, as in the names of their directories.
METADATA_TOPIC: Final = "__cluster_metadata"
OFFSETS_TOPIC: Final = "__consumer_offsets"
SHARE_TOPIC: Final = "__share_group_state"
STATE_TOPIC: Final = "__transaction_state"
INDEX_CACHE: Final = "remote-log-index-cache"  # of tiered storage; its files are named OFFSET_ID.index

_LOCAL: Final = "file://"
_REMOTE: Final = ("s3://", "s3a://", "gs://", "abfs://", "abfss://", "hdfs://")


def is_remote(path: str) -> bool:
    """Say whether a path is a URI that pyarrow's file systems read."""
    return path.startswith(_REMOTE)


# What other programs call a place, and how it is written here.
_WRITTEN: Final = {
    "dbfs": "/dbfs/…, where a cluster mounts it, or /Volumes/…",
    "file": "file:///…, or the path alone",
    "gcs": "gs://…",
    "oss": "s3://… with --endpoint: such a store speaks S3",
    "s3n": "s3a://…",
    "viewfs": "hdfs://NAMENODE/…",
    "wasb": "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/…",
    "wasbs": "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/…",
}
_URI: Final = re.compile("([A-Za-z][A-Za-z0-9+.-]+):/")


def why_no_place(path: str) -> str | None:
    """Say what is wrong with a URI that no file system here reads or writes; None for other paths.

    The operating system would take it for a path: an output would be a folder named ``wasbs:`` where the command runs.
    """
    uri = _URI.match(path)
    if uri is None or is_remote(path) or path.startswith(_LOCAL) or os.path.lexists(path):
        return None
    known = _WRITTEN.get(uri[1].lower())
    if f"{uri[1]}://" in _REMOTE:
        return (
            f"{path}: write {uri[1]}://…, with two slashes and what comes first there (a bucket, a container, a host)"
        )
    instead = f"write {known}" if known else "kafkalog reads and writes " + ", ".join((*_REMOTE, _LOCAL))
    return f"{uri[1]}: is no file system that kafkalog knows: {instead}"


_unpacked: dict[str, str] = {}  # folders of archives that are unpacked, by the name that stands for each


def place_unpacked(root: str, folder: str | None) -> None:
    """Let paths at and below `root`, an archive's name, mean the folder that it was unpacked into; None ends it."""
    if folder is None:
        _unpacked.pop(root, None)
    else:
        _unpacked[root] = folder


def unpacked_places() -> dict[str, str]:
    """Return the folders of all unpacked archives by the names that stand for them."""
    return dict(_unpacked)


def given_again(path: str) -> str:
    """Return what a command can be given for a path: of what is in an archive the archive."""
    inside = (root for root in _unpacked if path == root or path.startswith(f"{root}/"))
    return next(inside, f"{path}!").removesuffix("!")


def is_virtual(path: str) -> bool:
    """Say whether a path is no path of the operating system: a URI, or inside an archive."""
    return is_remote(path) or any(path == root or path.startswith(f"{root}/") for root in _unpacked)


def local_path(path: str) -> str:
    """Return a local path for the operating system: without ``file://``, of what is in an archive where it was put."""
    if _unpacked:
        for root, folder in _unpacked.items():
            if path == root or path.startswith(f"{root}/"):
                return folder + path[len(root) :]
    return path.removeprefix(_LOCAL)


def sibling(path: str, name: str) -> str:
    """Return the path of another file in the same directory."""
    return os.path.join(os.path.dirname(path), name)


class FileKind(Enum):
    """What a file is, by its name."""

    LOG = ".log"
    OFFSET_INDEX = ".index"
    TIME_INDEX = ".timeindex"
    TXN_INDEX = ".txnindex"
    PRODUCER_SNAPSHOT = ".snapshot"
    KRAFT_SNAPSHOT = ".checkpoint"
    OFFSET_CHECKPOINT = "offset-checkpoint"
    LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
    PARTITION_METADATA = "partition.metadata"
    META_PROPERTIES = "meta.properties"
    QUORUM_STATE = "quorum-state"
    UNKNOWN = ""


SEGMENTS: Final = (FileKind.LOG, FileKind.KRAFT_SNAPSHOT)  # the kinds of files that have batches


class FileName(NamedTuple):
    """A file's kind, the offset in its name (segments, snapshots), a KRaft snapshot's epoch, and its extra suffix.

    The offset is None where the name has none, or one that Kafka's 64 bits cannot hold; a side file's has 20 digits.
    `stops` says that a broker stops at the name when it loads a partition: it looks for an offset there.
    """

    kind: FileKind
    offset: int | None = None
    epoch: int | None = None
    removed: str = ""
    stops: bool = False


_REMOVED: Final = (".deleted", ".cleaned", ".swap", ".tmp")
_BY_SUFFIX: Final = {
    kind.value: kind
    for kind in (
        FileKind.LOG,
        FileKind.OFFSET_INDEX,
        FileKind.TIME_INDEX,
        FileKind.TXN_INDEX,
        FileKind.PRODUCER_SNAPSHOT,
    )
}
NAMED_BY_OFFSET: Final = tuple(_BY_SUFFIX.values())
_BY_NAME: Final = {
    "recovery-point-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "replication-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "log-start-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "cleaner-offset-checkpoint": FileKind.OFFSET_CHECKPOINT,
    "leader-epoch-checkpoint": FileKind.LEADER_EPOCH_CHECKPOINT,
    "partition.metadata": FileKind.PARTITION_METADATA,
    "meta.properties": FileKind.META_PROPERTIES,
    "quorum-state": FileKind.QUORUM_STATE,
    "bootstrap.checkpoint": FileKind.KRAFT_SNAPSHOT,
}
_KRAFT: Final = re.compile(r"(\d{1,20})-(\d{1,10})(?:-[^.]*)?\.checkpoint(?:\.part)?")
_DIGITS: Final = re.compile(r"\d{20}")
_DIGITS_OF_SEGMENT: Final = re.compile(r"\d{1,20}")  # a broker takes as many, and looks for the side files of 20
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}")
_HIGHEST_OFFSET: Final = 2**63 - 1
_HIGHEST_EPOCH: Final = 2**31 - 1


@lru_cache(maxsize=4096)  # most names are those of every partition
def parse_name(name: str) -> FileName:
    """Say what a file is by `name`, the last part of its path."""
    return _parsed(name)._replace(stops=_stops(name))


def _stops(name: str) -> bool:
    """Say whether a broker takes what is before the first dot for an offset, and it is no number of 64 bits.

    Follows LogLoader.removeTempFilesAndCollectSwapFiles and loadSegmentFiles, and ProducerStateManager.
    """
    if not name.endswith((*_BY_SUFFIX, ".cleaned", ".swap")):
        return False
    number = _NUMBER.fullmatch(name.partition(".")[0])
    return number is None or not -_HIGHEST_OFFSET - 1 <= int(number[0]) <= _HIGHEST_OFFSET


def _parsed(name: str) -> FileName:
    removed = ""
    for suffix in _REMOVED:
        if name.endswith(suffix):
            name, removed = name.removesuffix(suffix), suffix
            break
    if name in _BY_NAME:
        return FileName(_BY_NAME[name], removed=removed)
    if match := _KRAFT.fullmatch(name):
        offset, epoch = int(match[1]), int(match[2])
        if offset > _HIGHEST_OFFSET or epoch > _HIGHEST_EPOCH:
            return FileName(FileKind.UNKNOWN, removed=removed)
        return FileName(FileKind.KRAFT_SNAPSHOT, offset, epoch, removed)
    stem, dot, suffix = name.rpartition(".")
    kind = _BY_SUFFIX.get(dot + suffix)
    if kind is None:
        return FileName(FileKind.UNKNOWN, removed=removed)
    first = stem.partition(".")[0]
    digits = _DIGITS_OF_SEGMENT if kind is FileKind.LOG else _DIGITS
    number = int(first) if digits.fullmatch(first) else None
    return FileName(kind, None if number is None or number > _HIGHEST_OFFSET else number, removed=removed)
