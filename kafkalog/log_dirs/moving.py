"""Whether a partition's files moved since they were listed: a broker deletes, replaces and truncates files meanwhile.

A file is known by its inode, its size and its modification time. The last segment may grow, and the broker may write
to its indexes: what was read is what was there when it was listed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists, identities, identity_of, leaving, open_tree
from kafkalog.files.names import FileKind, local_path, parse_name
from kafkalog.files.recognition import is_marked
from kafkalog.files.tree import FileIdentity
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import (
    Home,
    LogDirectory,
    PartitionDirectory,
    Segment,
    checkpoints_now,
    identity_now,
    list_partition,
)
from kafkalog.log_dirs.tiers import tier_again, with_tier
from kafkalog.unread import NOT_READ, is_not_read, not_read

__all__ = [
    "PAUSES",
    "READINGS",
    "Movement",
    "is_lost",
    "is_same_file",
    "is_unsettled",
    "list_again",
    "lost_directories",
    "movement",
    "stays",
    "unseen",
    "with_gone",
]

READINGS: Final = 3
PAUSES: Final = (0.0, 0.05, 0.2)  # seconds before each: the broker renames the files of a segment one by one
_RECENT_S: Final = 2.0
# Tuples: a set hashes what is looked up, which for a member of an enumeration is a call of Python.
_INDEXES: Final = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)
_OF_THE_LOG: Final = (
    FileKind.LOG, FileKind.PRODUCER_SNAPSHOT, FileKind.KRAFT_SNAPSHOT, FileKind.LEADER_EPOCH_CHECKPOINT, *_INDEXES,
)  # fmt: skip


class Movement(NamedTuple):
    """The names of the files that moved; `is_gone` says that the directory was deleted, or renamed to be deleted."""

    files: frozenset[str]
    is_gone: bool = False


def movement(node: LogDirectory, directory: PartitionDirectory) -> Movement | None:
    """Compare a partition's files with its listing; None if what was read since then is of one moment.

    Raises UnreadableError if they can't be listed and no broker deleted them.
    """
    if directory.is_remote_alone:
        return None
    try:
        now = _files_now(node, directory)
    except UnreadableError:
        if _is_deleted(node, directory):
            return Movement(frozenset(), is_gone=True)
        raise
    last = os.path.basename(directory.segments[-1].path) if directory.segments else ""
    changed = [name for name, then in directory.files.items() if then is None or not _alike(then, now.get(name))]
    moved = {name for name in changed if _moved(name, directory.files[name], now.get(name), is_last=name == last)}
    moved |= {name for name in now.keys() - directory.files.keys() if _is_new_part(name, directory)}
    if not moved and checkpoints_now(node, directory) != directory.checkpoints:
        moved.add("cleaner-offset-checkpoint")
    return Movement(frozenset(moved)) if moved else None


def list_again(node: LogDirectory, directory: PartitionDirectory) -> PartitionDirectory:
    """List one partition of a log directory again, and its remote tier."""
    if directory.tier is not None and directory.is_remote_alone:
        return with_tier(replace(directory, segments=(), snapshots={}), tier_again(directory.tier, []))
    key = (directory.topic, directory.partition)
    rows = {kind: {key: offset} for kind, offset in checkpoints_now(node, directory).items()}
    home = Home(node.path, rows, directory.running, directory.clean_shutdown)
    tree = open_tree(directory.log, deep=False)
    found, _ = list_partition(tree, directory.log, f"{directory.topic}-{directory.partition}", home)
    newer = found or replace(directory, segments=(), snapshots={}, files={}, tier=None)
    return newer if directory.tier is None else with_tier(newer, tier_again(directory.tier, []))


def with_gone(moved: Movement | None, directory: PartitionDirectory, findings: Iterable[Finding]) -> Movement | None:
    """Add the remote segments that could not be read because they are not there any more: a broker deletes them."""
    remote = {segment.path for segment in directory.segments if segment.is_remote}
    unread = {found.file for found in findings if is_not_read(found) and found.file in remote}
    gone = frozenset(os.path.basename(path) for path in unread if not exists(path))
    if not gone:
        return moved
    return Movement(gone) if moved is None else moved._replace(files=moved.files | gone)


def _is_deleted(node: LogDirectory, directory: PartitionDirectory) -> bool:
    """Say whether a broker deleted a partition's directory: it is gone, and the log directory around it is not."""
    if exists(directory.log) or not node.identity.is_marked:
        return False
    try:
        return node.identity.is_still(identity_now(node))
    except UnreadableError:
        return False


def lost_directories(nodes: Iterable[LogDirectory]) -> Iterator[Finding]:
    """Yield a finding for each log directory that is not where it was listed, once all that was wanted was read.

    What is not there any more may have been read in part, or as the files of another directory.
    """
    for node in nodes:
        if node.is_remote_alone:
            continue
        try:
            if node.identity.is_still(identity_now(node)):
                continue
            now = "another directory is there now"
        except UnreadableError as error:
            now = f"now: {error}"
        message = f"{node.path} was renamed, unmounted or deleted while it was read, so not all of it was read; {now}"
        yield not_read(node.path, message)


def is_lost(log: str) -> bool:
    """Say whether a partition's directory is gone, and no log directory is around it from which a broker took it."""
    if exists(log):
        return False
    above = os.path.dirname(log.rstrip("/"))
    try:
        return not is_marked(entry.name for entry in open_tree(above, deep=False).entries(above))
    except UnreadableError:
        return True


def unseen(directory: PartitionDirectory) -> Iterator[Finding]:
    """Yield a finding if a partition that another machine took for deleted is still here: it read nothing of it."""
    if exists(directory.log):
        message = f"{directory.log} was not there on the machine that had to read it, and is here: is it mounted there?"
        yield directory.finding(NOT_READ, directory.log, message)


def _files_now(node: LogDirectory, directory: PartitionDirectory) -> dict[str, FileIdentity | None]:
    """Return a partition's files; where no entry came or went since they were listed, they are not listed again.

    Raises UnreadableError if they can't be listed.
    """
    if directory.itself is not None and identity_of(directory.log) == directory.itself:
        return identities(directory.log, (name for name in directory.files if parse_name(name).kind in _OF_THE_LOG))
    entries = open_tree(directory.log, deep=False).entries(directory.log)
    return {e.name: e.identity for e in entries if not e.is_link or leaving(e, node.path) is None}


def _moved(name: str, then: FileIdentity | None, now: FileIdentity | None, *, is_last: bool) -> bool:
    parsed = parse_name(name)
    if parsed.kind not in _OF_THE_LOG or parsed.removed not in ("", ".swap"):
        return False
    if then is None or now is None or then.inode not in (0, now.inode):
        return True
    if parsed.kind is FileKind.LOG:
        if now.size > then.size:
            return not is_last
        return now.size < then.size or now.mtime_ns != then.mtime_ns
    if parsed.kind in _INDEXES:  # the broker writes to those of the last segment, and cuts them when it rolls
        return False
    return not _alike(then, now)


def _is_new_part(name: str, directory: PartitionDirectory) -> bool:
    """Say whether a file that the listing does not have is a segment, or an index of a closed one."""
    parsed = parse_name(name)
    if parsed.removed or parsed.offset is None:
        return parsed.kind is FileKind.LEADER_EPOCH_CHECKPOINT and not parsed.removed
    closed = {segment.base_offset for segment in directory.segments[:-1]}
    return parsed.kind is FileKind.LOG or (parsed.kind in _INDEXES and parsed.offset in closed)


def is_unsettled(directory: PartitionDirectory) -> bool:
    """Say whether a broker may be between two renames: a segment's files are there in part, and were not long ago."""
    if not directory.running or not (directory.orphans or any(name.endswith(".swap") for name in directory.left_over)):
        return False
    try:
        changed = os.stat(local_path(directory.log)).st_mtime
    except OSError:
        return False
    return abs(time.time() - changed) < _RECENT_S


def is_same_file(then: Mapping[str, FileIdentity | None], now: Mapping[str, FileIdentity | None], name: str) -> bool:
    """Say whether a file is the same in two listings, byte for byte; also if it is in neither."""
    before, after = then.get(name), now.get(name)
    return _alike(before, after) and (name not in then or before is not None)


def _alike(then: FileIdentity | None, now: FileIdentity | None) -> bool:
    """Say whether two listings have the same file; one of another machine has no inode that could be compared."""
    if then is not None and now is not None and not then.inode:
        now = now._replace(inode=0)
    return then == now


def stays(segment: Segment, then: PartitionDirectory, now: PartitionDirectory) -> bool:
    """Say whether a segment of a newer listing has the bytes that were read by the older one."""
    return segment in then.segments and is_same_file(then.files, now.files, os.path.basename(segment.path))
