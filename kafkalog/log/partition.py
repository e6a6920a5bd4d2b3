"""A partition's directory: its segments, and what the small files beside them say.

No segment is opened here. On a running broker a file may be gone between the listing and its opening: then the
directory is listed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeVar

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format.checkpoint import NO_UUID, java_uuid
from kafkalog.log.links import leaving
from kafkalog.log.names import NAMED_BY_OFFSET, FileKind, parse_name
from kafkalog.log.readers import read_checkpoint, read_properties
from kafkalog.log.recognition import DirectoryKind, is_odd, partition_name, recognized
from kafkalog.log.storage import exists, identity_of
from kafkalog.log.tree import DirectoryEntry, FileIdentity, Tree

__all__ = ["Home", "PartitionDirectory", "Segment", "is_inside", "list_partition", "nested", "read_small_file"]

_RECENT_NS: Final = 60 * 10**9  # the clock of a file server may be another one
_LISTINGS: Final = 3  # of a directory whose files vanish while they are read

Checkpoints = Mapping[str, Mapping[tuple[str, int], int]]
_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class _Reader(Protocol[_T_co]):
    def __call__(self, path: str, /, *, on_finding: Callable[[Finding], object]) -> _T_co: ...


class Home(NamedTuple):
    """What a log directory says about its partitions: its offsets by kind, and how its broker stopped."""

    path: str
    checkpoints: Checkpoints
    running: bool
    clean_shutdown: bool


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
    is not known. `topic_id` is the one in partition.metadata, None where a broker could not read it. `files` are all
    files by their names, as they were when they were listed: None for one that vanished meanwhile. `itself` is the
    directory as it was then, None if it had changed so recently that another change may not show.
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
            findings.append(Finding.of("file-name-odd", path, message))
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
        findings.append(Finding.of("file-unreadable", path, str(error)))
        return None, findings, True
    kind = recognized(tree, name, every)
    if kind is DirectoryKind.LOG_DIRECTORY:
        return None, [nested(path)], True
    known = {kind: rows[topic, partition] for kind, rows in home.checkpoints.items() if (topic, partition) in rows}
    if every and kind is DirectoryKind.OTHER and not suffix and not known:
        return None, findings, True
    entries = [entry for entry in every if not entry.is_link or is_inside(entry, home.path, findings)]
    if findings:
        findings = [finding._replace(log=path, topic=topic, partition=partition) for finding in findings]
    files = {entry.name: _identity(entry, findings) for entry in entries}
    by_name = _by_name(entries, findings)
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
    )
    return found, findings, is_whole


def _settled(path: str) -> FileIdentity | None:
    """Return which directory it is, None if an entry came or went in the last minute.

    File systems count in steps of up to two seconds: a change that follows another at once may leave the time as it is.
    Raises UnreadableError if the file system can't say.
    """
    found = identity_of(path)
    return None if found is None or abs(time.time_ns() - found.mtime_ns) < _RECENT_NS else found


def _identity(entry: DirectoryEntry, findings: list[Finding]) -> FileIdentity | None:
    try:
        return entry.identity
    except UnreadableError as error:
        findings.append(Finding.of("file-unreadable", entry.path, str(error)))
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


def _by_name(entries: Sequence[DirectoryEntry], findings: list[Finding]) -> _ByName:
    found = _ByName()
    for entry in entries:
        parsed = parse_name(entry.name)
        if parsed.removed:
            found.left_over.append(entry.name)
        elif parsed.kind in NAMED_BY_OFFSET and parsed.offset is None:
            message = "its name holds no offset that a broker could have written; it is not read as a part of the log"
            findings.append(Finding.of("file-name-odd", entry.path, message))
        elif parsed.offset is None:
            continue
        elif parsed.kind is FileKind.LOG:
            found.segments.append(Segment(entry.path, parsed.offset, entry.size))
        elif parsed.kind is FileKind.PRODUCER_SNAPSHOT:
            found.snapshots[parsed.offset] = entry.path
        elif parsed.kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX):
            found.indexed.add((parsed.offset, parsed.kind))
    return found


def read_small_file(path: str, read: _Reader[_T], findings: list[Finding]) -> _T | None:
    """Read one of a broker's small files; None where it can't be read, with a finding unless it vanished."""
    try:
        return read(path, on_finding=findings.append)
    except UnreadableError as error:
        if exists(path):
            findings.append(Finding.of("file-unreadable", path, str(error)))
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
