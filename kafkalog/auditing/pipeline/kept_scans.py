"""Scans that last: kept as files of an audit's output, for a run that goes on from it and for the next night's audit.

A segment that was closed changes by compaction or deletion only. One that is the same in all that identifies it need
not be read again: cluster, node, topic and its id, partition, base offset, size, modification time, and the CRCs of its
first and last batch's headers; where the cleaner may have been also its inode or ETag, as a cleaner's pass can keep all
of these; with --hash its SHA-256. Neither path nor inode count elsewhere: nightly copies change both. Nothing is taken
of a segment below 256 KiB, of two with one identity, and of another version of kafkalog or other limits.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from kafkalog.auditing.partition import (
    MESSAGE_ROWS,
    SCAN_VERSION,
    KeptAbout,
    SegmentScan,
    kept_about,
    kept_bytes,
    kept_scan,
    may_be_compacted,
    may_be_kept,
    scan_messages,
    scan_segment,
)
from kafkalog.auditing.pipeline.places import KnownSegment, LogPlace, SegmentPlace
from kafkalog.auditing.pipeline.provenance_files import sha256_of
from kafkalog.auditing.topics import cluster_metadata, policies
from kafkalog.columns.wire import WireError
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import open_tree
from kafkalog.files.limits import Limits
from kafkalog.files.names import is_remote, local_path
from kafkalog.files.opening import FileSource, open_source
from kafkalog.files.tree import DirectoryEntry, FileIdentity
from kafkalog.kernel.buffers import BATCH_OVERHEAD
from kafkalog.kernel.slots import secret_bits
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.version import VERSION

__all__ = [
    "LEAST_SCAN",
    "Fingerprint",
    "Keeping",
    "KeptScans",
    "LocalFolder",
    "PlaceScan",
    "ScanFolder",
    "fingerprint",
]


# Folders of files that last, on a disk: where an audit keeps its scans. Spark has one for object stores.


class ScanFolder(Protocol):
    """A folder of kept scans; it goes to tasks."""

    @property
    def path(self) -> str:
        """Return its path or URI."""

    def put(self, name: str, data: bytes) -> None:
        """Write a file that appears under its name when it is whole."""

    def take_over(self, path: str, name: str, data: bytes) -> None:
        """Keep here too what another folder has at a path; its content is `data`."""


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """A folder of kept scans on a disk."""

    path: str

    def put(self, name: str, data: bytes) -> None:
        """Write a file under another name, then give it its own."""
        temporary = f"{self.path}/.{name}.{secret_bits(32):08x}"
        try:
            with open(temporary, "xb", buffering=0) as file:
                file.write(data)
            os.replace(temporary, f"{self.path}/{name}")
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise

    def take_over(self, path: str, name: str, data: bytes) -> None:
        """Link the file, or write it again where that is not possible; one that is here already stays."""
        try:
            os.link(local_path(path), f"{self.path}/{name}")
        except FileExistsError:
            return
        except OSError:  # another file system, another owner
            self.put(name, data)


# What tells a file from others without reading it: its inode, size and time, its ETag, checksums of some of its bytes.
#
# Whether a file is still the one that was read before is asked here. What a broker never changes in place, it need not
# read again.


class Fingerprint(NamedTuple):
    """A file as it is now: which one it is, its version in an object store ("" elsewhere), CRCs of its headers."""

    identity: FileIdentity
    etag: str
    sums: tuple[int, ...]


def fingerprint(path: str, positions: Sequence[int]) -> Fingerprint:
    """Look at a file and at the batch headers at some `positions`. Raises UnreadableError."""
    if is_remote(path):
        from kafkalog.files.object_stores import look_at  # pyarrow, which local files do not need

        identity, etag, pieces = look_at(path, positions, BATCH_OVERHEAD)
    else:
        source = FileSource(path)
        try:
            identity, etag = source.identity, ""
            pieces = [source.read_bytes(position, BATCH_OVERHEAD) for position in positions]
        finally:
            source.close()
    return Fingerprint(identity, etag, tuple(map(zlib.crc32, pieces)))


LEAST_BYTES: Final = 256 << 10  # of a segment: a smaller one is scanned in less time than a kept scan is looked at

_SUFFIX: Final = ".scan"

_KEY: Final = 40  # hexadecimal digits

_GROWTH: Final = 16  # a scan takes at most so many times its segment's bytes

LEAST_SCAN: Final = 1 << 20

# As many bytes of a segment cost as one of a kept scan: measured with batches of 155 bytes.
_TAKEN: Final = 8
_SHARED_OUT: Final = 40  # its transactions are given to the shares of a large log, each anew


@dataclass(slots=True)
class PlaceScan:
    """A segment's scan; `scanned_ms` is when it was scanned, -1 for now. `sha256` is None unless it was asked for.

    `kept` is the name of its file in the audit's own folder, empty without one.
    """

    scan: SegmentScan
    scanned_ms: int = -1
    sha256: str | None = None
    kept: str = ""
    _messages: list[bytes] | None = None

    def messages(self) -> list[bytes]:
        """Return the messages of the scan."""
        if self._messages is None:
            self._messages = list(scan_messages(self.scan, MESSAGE_ROWS))
        return self._messages

    def bare(self) -> PlaceScan:
        """Return it without its messages, to cross to another process."""
        self._messages = None
        return self


@dataclass(frozen=True, slots=True)
class Keeping:
    """How tasks scan: what they find goes to `folder`, if there is one.

    `hashed` means that all bytes are read, and that only a kept scan with the same SHA-256 is taken. On another machine
    than that which the files were `listed_on` they may have other inodes, as with FUSE, CSI or a copy for each node:
    there a file is itself by its size, its time, and the CRCs of its first and last batch's headers.
    """

    folder: ScanFolder | None = None
    hashed: bool = False
    listed_on: str = field(default_factory=platform.node)

    @property
    def is_elsewhere(self) -> bool:
        """Say whether this is another machine than that which the files were listed on."""
        return platform.node() != self.listed_on

    def _as_listed(self, now: FileIdentity, then: FileIdentity) -> FileIdentity:
        """Return which file is there now, with an inode that can be compared with the listed one's."""
        return now._replace(inode=then.inode) if self.is_elsewhere else now

    def scan(self, place: SegmentPlace, limits: Limits) -> PlaceScan:
        """Take a segment's scan where it was kept, or scan the segment."""
        sha256 = sha256_of(place.segment) if self.hashed else None
        found = self.taken(place, sha256)
        if found is None:
            found = PlaceScan(scan_segment(place, place.segment, limits), sha256=sha256)
            self._keep(place, found)
        return found

    def taken(self, place: SegmentPlace, sha256: str | None = None) -> PlaceScan | None:
        """Take a segment's scan where one is kept and the segment is still the same; else None."""
        known = place.known
        if known is None or (self.hashed and sha256 is None):
            return None
        mine = None if self.folder is None else f"{self.folder.path}/{_name(known.key, known.file.inode)}"
        for path in (known.candidate, mine):  # the latter of an attempt at this task that was lost
            found = None if path is None else self.scan_of_same_file(place, known, path, sha256)
            if found is not None:
                return found
        return None

    def scan_of_same_file(
        self, place: SegmentPlace, known: KnownSegment, path: str, sha256: str | None
    ) -> PlaceScan | None:
        """Return the scan that is kept at `path` if the segment is still the file that it was made of, else None."""
        try:
            data = _content(path, place.segment)
            about = kept_about(data)
            if about.key != known.key or (self.hashed and about.sha256 != sha256):
                return None
            now = fingerprint(place.segment.path, (0, about.last_position))
            identity = self._as_listed(now.identity, known.file)
            same = identity.inode == about.inode != 0 or now.etag == about.etag != ""
            if identity != known.file or now.sums != (about.first_sum, about.last_sum):
                return None
            if known.by_inode and not same:
                return None
            scan = kept_scan(data)
        except (UnreadableError, WireError):
            return None
        if (scan.segment.base_offset, scan.segment.size) != (place.segment.base_offset, place.segment.size):
            return None
        scan.segment = place.segment
        found = PlaceScan(scan, about.scanned_ms, sha256)
        if self.folder is not None:
            found.kept = _name(known.key, about.inode)
            self.folder.take_over(path, found.kept, data)
        return found

    def again(self, name: str, segment: Segment) -> SegmentScan:
        """Read a scan that was kept by this audit, as ``PlaceScan.kept``. Raises UnreadableError."""
        assert self.folder is not None  # it was kept there
        path = f"{self.folder.path}/{name}"
        try:
            data = _content(path, segment)
            if not name.startswith(kept_about(data).key):
                raise WireError("kept-scan: it is another segment's")
            scan = kept_scan(data)
        except WireError as error:
            raise UnreadableError(
                f"{path}: was damaged since it was written ({error}): run the same command again"
            ) from error
        scan.segment = segment
        return scan

    def _keep(self, place: SegmentPlace, found: PlaceScan) -> None:
        """Keep a scan, unless the segment is another one by now than the one that was listed."""
        known, scan = place.known, found.scan
        if self.folder is None or known is None or not may_be_kept(scan):
            return
        try:
            now = fingerprint(place.segment.path, (0, scan.last_position))
        except UnreadableError:
            return
        if self._as_listed(now.identity, known.file) == known.file:
            first, last = now.sums
            about = KeptAbout(
                time.time_ns() // 1_000_000, known.file.inode, scan.last_position, first, last, known.key, now.etag,
                found.sha256 or "",
            )  # fmt: skip
            data = kept_bytes(about, found.messages())
            found.kept = _name(known.key, known.file.inode)
            self.folder.put(found.kept, data)


def _name(key: str, inode: int) -> str:
    """Return the name of a kept scan, which says of which file it is: where the cleaner may have been, that counts."""
    return f"{key}-{inode:x}{_SUFFIX}"


def _content(path: str, segment: Segment) -> bytes:
    """Read a kept scan. Raises UnreadableError, also for a file that is too big to be one of this segment."""
    most = LEAST_SCAN + _GROWTH * segment.size
    with closing(open_source(path)) as source:
        if source.size > most:
            raise UnreadableError(f"{path}: {source.size} bytes are no scan of {segment.size}")
        return source.read_bytes(0, source.size)


@dataclass(frozen=True, slots=True)
class KeptScans:
    """The kept scans of an audit: how its tasks keep them, and the folders of `earlier` ones that it may take.

    The audit was begun at `begun_ms`, by the run that this one goes on from if there was one.
    """

    keeping: Keeping = field(default_factory=Keeping)
    earlier: tuple[str, ...] = ()
    begun_ms: int = 0

    def known(
        self, clusters: Sequence[Cluster], logs: Sequence[LogPlace], limits: Limits
    ) -> dict[tuple[int, int], KnownSegment]:  # fmt: skip
        """Return what identifies each segment, by its log's number and its place there, and where it may be kept.

        It is empty if scans are neither kept nor taken. Segments below 256 KiB are left out, and those of which two
        have the same identity.
        """
        if self.keeping.folder is None and not self.earlier:
            return {}
        kept = self.may_be_taken()
        compacted = _compacted(clusters, logs, limits) if kept else set()
        keys = {(log.number, at): _key(log, segment, limits) for log, at, segment in _segments(logs)}
        often = Counter(keys.values())
        found = {}
        for log, at, segment in _segments(logs):
            key, file = keys[log.number, at], log.directory.files.get(os.path.basename(segment.path))
            if segment.size >= LEAST_BYTES and file is not None and file.size == segment.size and often[key] == 1:
                by_inode = log.number in compacted
                candidate = kept.get(_name(key, file.inode) if by_inode else key)
                work = segment.size
                if candidate is not None and not self.keeping.hashed:
                    work = min(work, candidate.size * (_TAKEN if log.shares == 1 else _SHARED_OUT))
                path = None if candidate is None else candidate.path
                found[log.number, at] = KnownSegment(key, file, by_inode, path, work)
        return found

    def may_be_taken(self) -> dict[str, DirectoryEntry]:
        """Return the files of the scans that may be taken, by their segments' keys, and by their whole names."""
        found = {}
        for folder in self.earlier:
            with suppress(UnreadableError):
                for entry in open_tree(folder, deep=False).entries(folder):
                    if entry.name.endswith(_SUFFIX):  # a temporary file's name goes on
                        found[entry.name[:_KEY]] = found[entry.name] = entry
        return found


def _segments(logs: Sequence[LogPlace]) -> list[tuple[LogPlace, int, Segment]]:
    return [(log, at, segment) for log in logs for at, segment in enumerate(log.directory.segments)]


def _key(log: LogPlace, segment: Segment, limits: Limits) -> str:
    """Digest what identifies a segment without a look into it, and what else its scan depends on."""
    node, directory = log.node, log.directory
    file = directory.files.get(os.path.basename(segment.path))
    about = (
        node.cluster_id, node.node_id, directory.topic_id, directory.topic, directory.partition, segment.base_offset,
        segment.size, None if file is None else file.mtime_ns, VERSION, SCAN_VERSION, limits.max_batch_bytes,
        limits.max_decompressed_bytes, limits.max_expansion,
    )  # fmt: skip
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:_KEY]


def _compacted(clusters: Sequence[Cluster], logs: Sequence[LogPlace], limits: Limits) -> set[int]:
    """Return the numbers of the logs in which the cleaner may have replaced segments, or it is not known."""
    nodes = {node.path: node for cluster in clusters for node in cluster.nodes}
    metadata = [cluster_metadata(cluster.nodes, limits) for cluster in clusters]
    return {
        log.number
        for log in logs
        if may_be_compacted(log.directory, nodes[log.node.path], policies(metadata[log.cluster], log.directory.topic))
    }
