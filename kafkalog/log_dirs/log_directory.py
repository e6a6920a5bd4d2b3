"""A broker's log directories: their partitions and segments, and what the files beside these say.

No segment is opened here. The files that a broker keeps beside its partitions (meta.properties, checkpoints, the mark
of a clean stop) are read; a file that can't be read is a finding.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, TypeVar, Unpack

from kafkalog.bundles.bundle_inputs import FromBundle, bundle_around
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import device_and_inode, exists, identity_of, is_outside, leaving, open_tree
from kafkalog.files.names import NAMED_BY_OFFSET, FileKind, is_remote, is_virtual, local_path, parse_name
from kafkalog.files.opening import confine
from kafkalog.files.recognition import (
    CHECKPOINTS,
    INDEX_CACHE,
    DirectoryKind,
    is_marked,
    is_odd,
    partition_name,
    recognized,
)
from kafkalog.files.tree import DirectoryEntry, DirectoryIdentity, FileIdentity, Tree
from kafkalog.findings import Finding, Where
from kafkalog.kafka.checkpoint import NO_UUID, java_uuid
from kafkalog.log_dirs.remote_segments import Tier
from kafkalog.quantities import by_number
from kafkalog.segments.readers import read_checkpoint, read_properties
from kafkalog.unread import not_read

__all__ = [
    "Home",
    "LogDirectory",
    "PartitionDirectory",
    "Place",
    "Segment",
    "checkpoints_now",
    "identity_now",
    "is_inside",
    "list_partition",
    "nested",
    "open_log_directory",
    "remote_part",
]


# A partition's directory: its segments, and what the small files beside them say.
#
# No segment is opened here. On a running broker a file may be gone between the listing and its opening: then the
# directory is listed again.


_RECENT_NS: Final = 60 * 10**9  # the clock of a file server may be another one

_PACKED: Final = ("gz", "zst", "lz4")

_LISTINGS: Final = 3  # of a directory whose files vanish while they are read

Checkpoints = Mapping[str, Mapping[tuple[str, int], int]]

_T = TypeVar("_T")

_T_co = TypeVar("_T_co", covariant=True)


class _Reader(Protocol[_T_co]):
    def __call__(self, path: str, /, *, on_finding: Callable[[Finding], object]) -> _T_co: ...


class Home(NamedTuple):
    """What a log directory says about its partitions: its offsets by kind, and how its broker stopped.

    `is_brokers` says that it has a meta.properties: then each directory in it is a partition's.
    """

    path: str
    checkpoints: Checkpoints
    running: bool
    clean_shutdown: bool
    is_brokers: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment file: its base offset and its size when it was listed.

    One of the remote tier is read up to `size` where the next segment has its last offsets, too; `beside` are its side
    files by their suffixes.
    """

    path: str
    base_offset: int
    size: int
    is_remote: bool = False
    beside: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    def file(self, suffix: str) -> str:
        """Return the path of the segment's file with another suffix; it may not be there."""
        return dict(self.beside).get(suffix) or self.path.removesuffix(".log") + suffix


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """A partition's directory. `log` is its path as a user would type it; `suffix` is that of a directory put aside.

    Segments are in the order of their offsets. `snapshots` are paths by offset, `left_over` files that a broker treats
    specially when it loads the log, `orphans` offsets of index files without a segment, `txn_indexes` offsets that have
    a transaction index. `checkpoints` are the log directory's offsets for this partition, by ``log_start``,
    ``high_watermark``, ``recovery_point`` and ``cleaner``. `running` says that the broker was running or was killed:
    its lock is there, its mark of a clean stop is not; `clean_shutdown` that the mark is there. If both are False, it
    is not known. `topic_id` is the one in partition.metadata, None where a broker could not read it. `files` are all
    files by their names, as they were when they were listed: None for one that vanished meanwhile. `itself` is the
    directory as it was then, None if it had changed so recently that another change may not show. `tier` is the remote
    tier, if it was given: then the segments that it alone has are before the local ones. `metadata_version` is that of
    partition.metadata.
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
    files: Mapping[str, FileIdentity | None] = field(default_factory=dict, compare=False, repr=False)
    itself: FileIdentity | None = field(default=None, compare=False, repr=False)
    tier: Tier | None = field(default=None, compare=False, repr=False)
    metadata_version: str | None = field(default=None, compare=False, repr=False)

    def finding(self, code: str, file: str, message: str, **where: Unpack[Where]) -> Finding:
        """Make a finding about a file of the partition."""
        return Finding.of(code, file, message, **where)._replace(
            log=self.log, topic=self.topic, partition=self.partition
        )

    @property
    def log_start_offset(self) -> int:
        """Return where the log starts: its checkpoint or its first segment; with a remote tier the former alone."""
        checkpoint = self.checkpoints.get("log_start")
        local = self.local_start_offset
        if self.tier is not None:
            return self.tier.log_start(checkpoint, local)
        return max(checkpoint or 0, local)

    @property
    def remote_holes(self) -> list[tuple[int, int]]:
        """Return the offsets before the local segments that the remote tier should have and has not."""
        if self.tier is None or not (self.segments or self.is_remote_alone):
            return []
        return self.tier.holes(self.log_start_offset, self.local_start_offset)

    @property
    def local_start_offset(self) -> int:
        """Return the first offset of the local segments, without any the one after the last remote one, or 0."""
        none = 0 if self.tier is None else self.tier.highest_remote_offset + 1
        return next((segment.base_offset for segment in self.segments if not segment.is_remote), none)

    @property
    def is_remote_alone(self) -> bool:
        """Say whether no broker's directory of it is among the inputs: its log is what the remote store has."""
        return self.tier is not None and self.log == self.tier.log_name

    def local(self) -> PartitionDirectory:
        """Return the same with the segments on the broker's disk alone."""
        if self.tier is None:
            return self
        return replace(self, segments=tuple(segment for segment in self.segments if not segment.is_remote))

    @property
    def size(self) -> int:
        """Return the bytes of all segments."""
        return sum([segment.size for segment in self.segments])  # a list, because there is mostly one

    @property
    def covered_to(self) -> int:
        """Return the offset up to which the newest KRaft snapshot of a metadata log has the state, -1 without one."""
        named = (parse_name(name) for name in self.files if name.endswith(FileKind.KRAFT_SNAPSHOT.value))
        return max((found.offset for found in named if found.offset is not None), default=-1)


def list_partition(
    tree: Tree, path: str, name: str, home: Home
) -> tuple[PartitionDirectory | None, list[Finding]]:  # fmt: skip
    """List a partition's directory, and say what is wrong with its small files; None if it is not a partition's.

    An empty directory with a partition's name is a partition's: a broker creates it before the first segment. One that
    vanishes meanwhile is one of a deleted topic.
    """
    for _ in range(_LISTINGS):
        found, findings, is_whole = _listed(tree, path, name, home)
        if is_whole:
            break
    return found, findings


def _listed(
    tree: Tree, path: str, name: str, home: Home
) -> tuple[PartitionDirectory | None, list[Finding], bool]:  # fmt: skip
    """List it once; the last value says whether all files were still there when they were read."""
    findings: list[Finding] = []
    named = partition_name(name)
    if named is None:
        if is_odd(name):
            message = "its name holds no partition that a broker could have written; it was not read"
            findings.append(Finding.of("file-name-odd", path, message, needed="TOPIC-PARTITION"))
        elif home.is_brokers and name != INDEX_CACHE:
            message = "its name is no partition's, at which a broker stops when it starts; it was not read"
            findings.append(Finding.of("file-name-odd", path, message, needed="TOPIC-PARTITION"))
        return None, findings, True
    topic, partition, suffix = named
    try:
        itself = _settled(path)
        every = tree.entries(path)
    except UnreadableError as error:
        if not exists(path):
            gone = PartitionDirectory(
                path, topic, partition, suffix or "-delete", (), {}, (), (), None, (), {}, home.running,
                home.clean_shutdown, frozenset(),
            )  # fmt: skip
            return gone, findings, True
        findings.append(not_read(path, error))
        return None, findings, True
    kind = recognized(tree, name, every)
    if kind is DirectoryKind.LOG_DIRECTORY:
        return None, [nested(path)], True
    known = {kind: rows[topic, partition] for kind, rows in home.checkpoints.items() if (topic, partition) in rows}
    if every and kind is DirectoryKind.OTHER and not suffix and not known:
        return None, findings, True
    entries = [entry for entry in every if not entry.is_link or is_inside(entry, home.path, findings)]
    files = {entry.name: _partition_identity(entry, findings) for entry in entries}
    by_name = _by_name(entries, files, findings)
    if findings:
        findings = [finding._replace(log=path, topic=topic, partition=partition) for finding in findings]
    folder = path if path.endswith("/") else f"{path}/"
    epochs, is_whole = _epochs(folder, files, findings)
    about: dict[str, str] = {}
    if "partition.metadata" in files:
        read = read_small_file(f"{folder}partition.metadata", read_properties, findings)
        about, is_whole = read or {}, is_whole and read is not None
    topic_id = java_uuid(about.get("topic_id", ""))
    found = PartitionDirectory(
        path,
        topic,
        partition,
        suffix,
        tuple(sorted(by_name.segments, key=lambda segment: segment.base_offset)),
        by_name.snapshots,
        tuple(sorted(by_name.left_over)),
        by_name.orphans(),
        None if topic_id == NO_UUID else topic_id,
        epochs,
        known,
        home.running,
        home.clean_shutdown,
        frozenset(offset for offset, kind in by_name.indexed if kind is FileKind.TXN_INDEX),
        files,
        itself,
        metadata_version=about.get("version"),
    )
    return found, findings, is_whole


def remote_part(directory: PartitionDirectory) -> Iterator[Finding]:
    """Say from which offset on a log of a broker with tiered storage is local.

    Its first segments were deleted here and nothing of them is left, but the log's start and the leader epochs are
    those of the whole log. Where a snapshot or an index of them is left, they were lost. Where retention deleted them
    for good, it raised the first leader epoch.
    """
    start = directory.checkpoints.get("log_start", -1)
    if directory.suffix or not directory.segments or start < 0 or directory.tier is not None:
        return
    local = directory.segments[0].base_offset
    has_epochs = any(first < local for _, first in directory.leader_epochs)
    if start >= local or not has_epochs or any(offset < local for offset in (*directory.orphans, *directory.snapshots)):
        return
    yield directory.finding(
        "log-partly-remote",
        directory.log,
        f"the log begins at offset {start} and is local from offset {local} on; offsets {start} to {local - 1} are in"
        " remote storage: they were not read, nor were their transactions",
        offset=start,
        last_offset=local - 1,
    )


def _settled(path: str) -> FileIdentity | None:
    """Return which directory it is, None if an entry came or went in the last minute.

    File systems count in steps of up to two seconds: a change that follows another at once may leave the time as it is.
    Raises UnreadableError if the file system can't say.
    """
    found = identity_of(path)
    return None if found is None or abs(time.time_ns() - found.mtime_ns) < _RECENT_NS else found


def _partition_identity(entry: DirectoryEntry, findings: list[Finding]) -> FileIdentity | None:
    try:
        return entry.identity
    except UnreadableError as error:
        findings.append(not_read(entry.path, error))
        return None


@dataclass(slots=True)
class _ByName:
    """A partition's files by what their names say."""

    segments: list[Segment] = field(default_factory=list)
    snapshots: dict[int, str] = field(default_factory=dict)
    left_over: list[str] = field(default_factory=list)
    indexed: set[tuple[int, FileKind]] = field(default_factory=set)

    def orphans(self) -> tuple[int, ...]:
        """Return the offsets of indexes without a segment."""
        bases = {segment.base_offset for segment in self.segments}
        return tuple(sorted({offset for offset, _ in self.indexed if offset not in bases}))


def _by_name(
    entries: Sequence[DirectoryEntry], files: Mapping[str, FileIdentity | None], findings: list[Finding]
) -> _ByName:
    found = _ByName()
    for entry in entries:
        parsed = parse_name(entry.name)
        if parsed.stops and not entry.is_directory:
            message = "its name begins with no offset, at which a broker stops when it starts; it was not read"
            findings.append(Finding.of("file-name-odd", entry.path, message, needed="an offset"))
        if parsed.removed:
            found.left_over.append(entry.name)
        elif parsed.kind in NAMED_BY_OFFSET and parsed.offset is None and not parsed.stops:
            message = "its name holds no offset that a broker could have written; it is not read as a part of the log"
            findings.append(Finding.of("file-name-odd", entry.path, message))
        elif parsed.offset is None:
            if _is_packed_segment(entry.name):
                message = "a compressed segment: it was not read; decompress it in a copy of the directory"
                findings.append(not_read(entry.path, message))
        elif parsed.kind is FileKind.LOG:
            identity = files[entry.name]
            found.segments.append(Segment(entry.path, parsed.offset, 0 if identity is None else identity.size))
        elif parsed.kind is FileKind.PRODUCER_SNAPSHOT:
            found.snapshots[parsed.offset] = entry.path
        elif parsed.kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX):
            found.indexed.add((parsed.offset, parsed.kind))
    return found


def _is_packed_segment(name: str) -> bool:
    """Say whether a file is a segment that somebody compressed, by its name."""
    inner, _, ending = name.rpartition(".")
    found = parse_name(inner) if ending in _PACKED else None
    return found is not None and found.kind is FileKind.LOG and found.offset is not None and not found.removed


def read_small_file(path: str, read: _Reader[_T], findings: list[Finding]) -> _T | None:
    """Read one of a broker's small files; None where it can't be read, with a finding unless it vanished."""
    try:
        return read(path, on_finding=findings.append)
    except UnreadableError as error:
        if exists(path):
            findings.append(not_read(path, error))
        return None


def nested(path: str) -> Finding:
    """Report a log directory inside another one, which is not read with it."""
    return Finding.of("log-directory-inside", path, "a log directory inside another log directory; it was not read")


def is_inside(entry: DirectoryEntry, root: str, findings: list[Finding]) -> bool:
    """Say whether an entry is inside the root; a symbolic link that leads out or to nothing is reported."""
    if not entry.is_link:
        return True
    finding = leaving(entry, root)
    if finding is not None:
        findings.append(finding)
    return finding is None


def _epochs(
    folder: str, files: Mapping[str, FileIdentity | None], findings: list[Finding]
) -> tuple[tuple[tuple[int, int], ...], bool]:  # fmt: skip
    if "leader-epoch-checkpoint" not in files:
        return (), True
    read = read_small_file(f"{folder}leader-epoch-checkpoint", read_checkpoint, findings)
    rows = () if read is None else read.rows
    return tuple((row.epoch, row.start_offset) for row in rows), read is not None


Report = Callable[[Finding], object]

_MOVING: Final = ("cleaner", "log_start")

_OWN_FILES: Final = frozenset({"meta.properties", ".kafka_cleanshutdown", ".lock", *CHECKPOINTS.values()})

# Checkpoints of log directories that were read last, by their paths: some hundred partitions share one.
_read_before: dict[str, tuple[tuple[int, int, int], dict[tuple[str, int], int]]] = {}


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One argument: a log directory of a broker, or one partition's directory.

    Without a meta.properties each argument is a cluster and a node of its own. `home` is the log directory, also if
    the argument is a partition's. `directory_id` is its id in the cluster's metadata, if brokers have several.
    `all_checkpoints` are all offsets by kind, also those of partitions that are not here. `identity` is which directory
    it was when it was listed; that of a partition's directory alone, if no log directory is around it. `offline` says
    that its broker went on without it. `bundle` is what the bundle that it is in says of it.
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
    offline: bool = field(default=False, kw_only=True)
    bundle: FromBundle = field(default=FromBundle(), kw_only=True)

    @property
    def alone(self) -> bool:
        """Say whether one partition's directory was given, not the log directory that contains it."""
        return self.home != self.path

    @property
    def is_remote_alone(self) -> bool:
        """Say whether it stands for a log that only a remote store has: it is no directory of a broker's."""
        return any(directory.is_remote_alone for directory in self.partitions)

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
    confine(root)
    entries = tree.entries(root)
    above, own_name = os.path.split(_absolute(root))
    alone = recognized(tree, own_name, entries) is DirectoryKind.PARTITION
    home = above if alone else root
    confine(home)
    names = _own_files(_around(home, findings), home, findings) if alone else _own_files(entries, home, [])
    about = _properties(os.path.join(home, "meta.properties"), findings) if "meta.properties" in names else {}
    around = names if not alone or about else ()
    directory = LogDirectory(
        root, home, about.get("cluster.id"), about.get("node.id", about.get("broker.id")),
        ".kafka_cleanshutdown" in names, ".lock" in names, findings=findings, directory_id=about.get("directory.id"),
        identity=_identity(itself if home == root or not about else device_and_inode(home), about, around),
        bundle=bundle_around(above if alone else _absolute(root)),
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
        entries.sort(key=lambda entry: by_number(entry.name))
        places = [(entry.path, entry.name) for entry in _directories(entries, root, findings)]
    about_all = Home(
        root, checkpoints, directory.running, directory.clean_shutdown, "meta.properties" in names
    )  # fmt: skip
    for found, wrong in tree.each(lambda place: list_partition(tree, *place, about_all), places):
        findings += wrong
        if found is not None:
            directory.partitions.append(found)
            findings += _cut_off(directory, found)
    return directory


def _cut_off(node: LogDirectory, directory: PartitionDirectory) -> Iterator[Finding]:
    """Yield a note for a log of a bundle that has no beginning, or no end."""
    parts = []
    if node.bundle.is_cut_at_start(directory.log):
        parts.append(f"begins at offset {directory.local_start_offset}")
    if node.bundle.is_cut_at_end(directory.log):
        parts.append("has no end")
    if parts:
        name = f"{directory.topic}-{directory.partition}"
        message = f"{name} {' and '.join(parts)} in the bundle: it was cut, what is missing is not lost"
        yield directory.finding("log-cut-in-bundle", directory.log, message)


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
        values = _properties(about, []) if exists(about) and not is_outside(about, os.path.dirname(path)) else {}
        return cls(found.topic, found.partition, values.get("node.id", values.get("broker.id")))


def _around(path: str, findings: list[Finding]) -> list[DirectoryEntry]:
    """List the parent of a partition's directory; it may be unreadable although the partition's directory is not."""
    try:
        return open_tree(path, deep=False).entries(path)
    except UnreadableError as error:
        findings.append(not_read(path, error))
        return []


def _own_files(entries: Sequence[DirectoryEntry], home: str, findings: list[Finding]) -> set[str]:
    """Return which of a log directory's own files it has; one that is a link out of it is reported, and not believed.

    In a log directory that is read as a whole each link is reported with the partitions.
    """
    return {one.name for one in entries if one.name in _OWN_FILES and is_inside(one, home, findings)}


def _absolute(path: str) -> str:
    return path.rstrip("/") if is_virtual(path) else os.path.abspath(local_path(path))


def _directories(entries: Sequence[DirectoryEntry], root: str, findings: list[Finding]) -> Iterator[DirectoryEntry]:
    """Yield the directories to read: each once, under its own name if it has one here.

    A symbolic link is followed only inside the root.
    """
    top = os.path.realpath(local_path(root))
    read = {os.path.join(top, entry.name) for entry in entries if entry.is_directory}
    for entry in entries:
        if not entry.is_link:
            if entry.is_directory:
                yield entry
            continue
        target = os.path.realpath(local_path(entry.path))
        if is_inside(entry, root, findings) and os.path.isdir(target):
            if target in read:
                message = f"a symbolic link to {target}, which is read under another name; it was not read again"
                findings.append(Finding.of("link-inside", entry.path, message))
            else:
                read.add(target)
                yield entry


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
    found = {kind: offset for kind, offset in directory.checkpoints.items() if kind != "log_start"}
    for kind, path in _moving_in(local_path(node.home)):
        if (offset := _checkpoint_now(path).get(key)) is not None:
            found[kind] = offset
    return found


@lru_cache(maxsize=16)  # asked for each partition of a few directories
def _moving_in(home: str) -> tuple[tuple[str, str], ...]:
    return tuple((kind, os.path.join(home, CHECKPOINTS[kind])) for kind in _MOVING)


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
