"""Collects evidence: which files a bundle has, why each is in it, and how they are copied.

Everything is listed first, so that sizes are known before a byte is written; each segment is copied up to the size that
it had then. The files of a partition are opened together: what a broker replaces or deletes while they are copied is
copied as it was. A partition whose files moved before that is listed again, which the manifest says.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.bundles.bundle_manifest import BUNDLE_DATA, BUNDLE_REMOTE, BundleFile, BundleManifest, Cut, LeftOut
from kafkalog.bundles.cuts import (
    Bounds,
    CutLog,
    WrittenTo,
    cut_log,
    index_up_to,
    with_epochs,
    with_offsets,
    written_to,
)
from kafkalog.columns.table import AFTER_ALL
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.names import INDEX_CACHE, METADATA_TOPIC, STATE_TOPIC, FileKind, is_remote, local_path, parse_name
from kafkalog.files.opening import open_stored, read_small
from kafkalog.files.recognition import CHECKPOINTS
from kafkalog.files.watch import watch
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.moving import READINGS, list_again, movement
from kafkalog.log_dirs.remote_store import given_remote
from kafkalog.log_dirs.tiers import REMOTE_METADATA_TOPIC
from kafkalog.log_dirs.walk import walk
from kafkalog.quantities import When, at_newest, iso, many
from kafkalog.queries.evidence import Asked, Needed, needed_for
from kafkalog.unread import leaves_complete, not_read
from kafkalog.version import VERSION

if TYPE_CHECKING:
    from kafkalog.auditing.transactions import Audit
    from kafkalog.bundles.bundle_writer import BundleSink
    from kafkalog.files.opening import SizedSource
    from kafkalog.files.tree import FileIdentity

__all__ = ["AUDIT_COMMAND", "Collected", "Collection", "collect_files", "plan_collection"]

AUDIT_COMMAND: Final = "kafkalog txn-audit BUNDLE"
_PIECE: Final = 1 << 20
_OPEN_AT_ONCE: Final = 256  # files
_SHOWN: Final = 10
_INDEXES: Final = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)
_MOST_UNINDEXED: Final = 64 << 20  # bytes behind the last entry of an index
_MARK: Final = ".kafka_cleanshutdown"
_OF_ROOT: Final = {
    "meta.properties": "which cluster, node and directory it is",
    _MARK: "the broker's mark of a clean stop",
    ".lock": "it says that a broker used the directory",
    "bootstrap.checkpoint": "the metadata that a new cluster began with",
    "log-start-offset-checkpoint": "where the broker says that logs begin",
    "replication-offset-checkpoint": "the high watermarks that the broker had written down",
    "recovery-point-offset-checkpoint": "up to where the broker had flushed its logs",
    "cleaner-offset-checkpoint": "up to where the cleaner had come",
}
_OF_PARTITION: Final = {
    FileKind.OFFSET_INDEX: "an index beside its segment",
    FileKind.TIME_INDEX: "an index beside its segment",
    FileKind.TXN_INDEX: "the aborted transactions of its segment, as the broker gives them to consumers",
    FileKind.PRODUCER_SNAPSHOT: "the producers' states at this offset",
    FileKind.KRAFT_SNAPSHOT: "a snapshot of the metadata",
    FileKind.LEADER_EPOCH_CHECKPOINT: "the log's leader epochs",
    FileKind.PARTITION_METADATA: "the topic's id",
    FileKind.QUORUM_STATE: "the controllers' votes",
}
_SAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_WHOLE: Final = (METADATA_TOPIC, STATE_TOPIC, REMOTE_METADATA_TOPIC)  # of them the newest records are about all times
_NOT_ASKED: Final = "not of the question"


class _Planned(NamedTuple):
    """A file to copy: `size` bytes from `start` on, or its new `content`; `identity` is which file it was."""

    path: str
    source: str
    size: int
    why: str
    start: int = 0
    cut: Cut | None = None
    content: bytes | None = None
    identity: FileIdentity | None = None


@dataclass(slots=True)
class _Place:
    """What is copied together: a partition's directory, or without one a log directory's own files."""

    node: LogDirectory
    home: str  # in the bundle
    directory: PartitionDirectory | None
    why: str
    files: list[_Planned] = field(default_factory=list)
    cut: CutLog | None = None


@dataclass(slots=True)
class Collection:
    """A plan: what is copied, what is left out on purpose, what could not be read, and what nobody can know from it."""

    selection: dict[str, Any]
    source: list[str]
    places: list[_Place]
    left_out: list[LeftOut]
    unread: list[Finding]
    unknowable: list[str]
    since: int | None
    until: int | None
    listed_ms: tuple[int, int]
    now_ms: int | None = None

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(one.size for place in self.places for one in place.files)

    @property
    def count(self) -> int:
        """Return how many files there are."""
        return sum(len(place.files) for place in self.places)

    def rows(self) -> Iterator[tuple[str, int, int, str]]:
        """Yield what is copied of each directory: its path in the bundle, files, bytes, and why."""
        for place in self.places:
            if place.files:
                yield place.home, len(place.files), sum(one.size for one in place.files), place.why


@dataclass(slots=True)
class Collected:
    """What was written: the manifest, and what could not be copied."""

    manifest: BundleManifest
    unread: list[Finding]


def plan_collection(
    paths: Sequence[str], asked: Asked, *, since: When | None = None, until: When | None = None,
    jobs: int | None = None, selection: Mapping[str, Any],
) -> Collection:  # fmt: skip
    """List what a bundle for a question has; nothing is written.

    Relative times are before the newest that a broker wrote. Raises NothingMatchesError where the question names
    nothing that is here, UnreadableError where no input can be read.
    """
    begun = _now()
    clusters, refused = open_clusters(paths, every_copy=True)
    nodes = [node for cluster in clusters for node in cluster.nodes if not node.is_remote_alone]
    nodes.sort(key=lambda node: (node.node_id or "", node.home))  # the order of the inputs says nothing
    ended = _now()
    if not nodes:
        raise UnreadableError("; ".join(f"{one.file}: {one.message}" for one in refused) or "nothing is here")
    asked.refuse_several([(one.topic, one.partition) for node in nodes for one in node.partitions])
    needed, audited, newest = None, None, -1
    if asked or (since, until) != (None, None):
        from kafkalog.auditing.pipeline import audit
        from kafkalog.auditing.transactions import AuditOptions

        audited = audit(paths, AuditOptions(jobs=jobs))
        newest = max((one.now for one in audited.clusters), default=-1)
        needed = needed_for(audited, asked, paths) if asked else None
    begins = None if since is None else at_newest(since, newest)
    ends = None if until is None else at_newest(until, newest)
    times = {"since": None if begins is None else iso(begins), "until": None if ends is None else iso(ends)}
    remote = given_remote()
    layout = None if remote is None or remote.layout is None else remote.layout.pattern
    said = {**selection, **times, "remote_layout": layout}
    now = None if needed is None or ends is not None else newest
    plan = Collection(said, list(paths), [], [], list(refused), [], begins, ends, (begun, ended), now)
    planner = _Planner(plan, needed, audited, asked)
    for node, name in zip(nodes, _names_of(nodes), strict=True):
        planner.add_node(node, f"{BUNDLE_DATA}/{name}")
    planner.add_remote(nodes)
    planner.end()
    return plan


def _now() -> int:
    return time.time_ns() // 1_000_000


def _names_of(nodes: Sequence[LogDirectory]) -> Iterator[str]:
    """Name the log directories in a bundle: by their nodes, the others by their own names; no name twice."""
    met: set[str] = set()
    for node in nodes:
        own = os.path.basename(node.home.rstrip("/")) or "data"
        name = _SAFE.sub("_", f"node-{node.node_id}" if node.node_id else own).strip(".") or "data"
        number, chosen = 1, name
        while chosen in met:
            number += 1
            chosen = f"{name}.{number}"
        met.add(chosen)
        yield chosen


class _Planner:
    """Goes through log directories, and plans what is copied of each."""

    def __init__(self, plan: Collection, needed: Needed | None, audited: Audit | None, asked: Asked) -> None:
        self._plan = plan
        self._asked = asked
        self._needed = needed
        self._begun = _begun_transactions(audited)
        self._partitions = self._kept = 0
        self._uncut: list[str] = []

    def _is_meant(self, directory: PartitionDirectory) -> bool:
        if directory.topic == METADATA_TOPIC or self._needed is None:
            return True
        return (directory.topic, directory.partition) in self._needed.why

    def add_node(self, node: LogDirectory, home: str) -> None:
        """Plan a log directory: its own files, and its partitions that are needed."""
        plan = self._plan
        plan.unread += [one for one in node.findings if not leaves_complete(one.code)]
        root = _Place(node, home, None, "the log directory's own files")
        cache = _Place(node, f"{home}/{INDEX_CACHE}", None, "the broker's copies of remote segments' indexes")
        plan.places += [root, cache]
        by_name = {os.path.basename(one.log.rstrip("/")): one for one in node.partitions}
        found: dict[str, list[tuple[str, str, int]]] = {name: [] for name in by_name}
        own: list[tuple[str, str, int]] = []
        report = partial(_note_unread, plan.unread)
        base = len(node.path.rstrip("/")) + 1
        for one in walk(node.path, report):
            parts = one.path[base:].split("/")
            if one.is_outside:
                plan.left_out.append(LeftOut(one.path, "a link out of the directory, which is not followed"))
            elif node.alone and len(parts) == 1:
                found[os.path.basename(node.path.rstrip("/"))].append((parts[0], one.path, one.size))
            elif len(parts) == 1:
                own.append((parts[0], one.path, one.size))
            elif len(parts) == 2 and parts[0] == INDEX_CACHE and self._needed is None:
                cache.files.append(_Planned(f"{cache.home}/{parts[1]}", one.path, one.size, cache.why))
            elif len(parts) == 2 and parts[0] in found:
                found[parts[0]].append((parts[1], one.path, one.size))
            else:
                plan.left_out.append(LeftOut(one.path, "no file of a log directory by its place"))
        if node.alone:
            own = [(name, path, os.path.getsize(path)) for name in _OF_ROOT
                   if os.path.isfile(path := os.path.join(node.home, name)) and not os.path.islink(path)]  # fmt: skip
        for name, directory in by_name.items():
            self._add_partition(node, f"{home}/{name}", directory, found[name])
        self._add_root(root, own)

    def _add_partition(
        self, node: LogDirectory, home: str, directory: PartitionDirectory, files: Sequence[tuple[str, str, int]]
    ) -> None:
        plan = self._plan
        counts = not directory.suffix
        self._partitions += counts
        if not self._is_meant(directory):
            plan.left_out.append(LeftOut(directory.log, _NOT_ASKED, home))
            return
        self._kept += counts
        place = _Place(node, home, directory, self._why(directory))
        plan.places.append(place)
        self._fill(place, files)

    def _fill(self, place: _Place, files: Sequence[tuple[str, str, int]]) -> None:
        directory = place.directory
        assert directory is not None
        place.cut = self._cut(directory)
        if place.cut is not None:
            self._add_cut(place, files)
            return
        sizes = {segment.path: segment.size for segment in directory.segments}
        for name, path, size in sorted(files):
            parsed = parse_name(name)
            if parsed.kind is FileKind.UNKNOWN:
                self._plan.left_out.append(LeftOut(path, "no file of Kafka's by its name"))
                continue
            why = place.why if parsed.kind is FileKind.LOG else _OF_PARTITION.get(parsed.kind, place.why)
            if parsed.removed:
                why = f"what the broker put aside ({parsed.removed})"
            place.files.append(
                _Planned(f"{place.home}/{name}", path, sizes.get(path, size), why, identity=directory.files.get(name))
            )

    def _why(self, directory: PartitionDirectory) -> str:
        if self._needed is None:
            return "everything was asked for"
        return self._needed.why.get(
            (directory.topic, directory.partition), "it has the topics, leaders and settings: every answer needs it"
        )

    # Cuts.

    def _cut(self, directory: PartitionDirectory) -> CutLog | None:
        plan, name = self._plan, f"{directory.topic}-{directory.partition}"
        is_meant = self._asked.narrowing.log(directory.topic, directory.partition)
        offsets = self._asked.offsets if is_meant else (None, None)
        bounds = Bounds(None if directory.topic.startswith("__") else plan.since, plan.until, *offsets)
        if bounds == Bounds() or directory.suffix:
            return None
        if directory.topic in _WHOLE:
            if offsets != (None, None):
                self._uncut.append(f"{name}, whose newest records are about all times")
            return None
        if directory.tier is not None:
            self._uncut.append(f"{name}, which has a remote tier")
            return None
        segments = [(one.path, one.base_offset, one.size) for one in directory.local().segments]
        try:
            return cut_log(segments, bounds, self._begun.get(directory.log, ()))
        except UnreadableError as error:
            self._uncut.append(f"{name}, which could not be read: {error}")
            return None

    def _add_cut(self, place: _Place, files: Sequence[tuple[str, str, int]]) -> None:
        """Plan what is left of a log: side files of what is cut off are left out, a broker makes them again."""
        cut, directory = place.cut, place.directory
        assert cut is not None
        assert directory is not None
        by_name = {name: (path, size) for name, path, size in files}
        sizes = {segment.path: segment.size for segment in directory.segments}
        whole = {os.path.basename(one.path).partition(".")[0] for one in cut.segments if not one.is_cut}
        for one in cut.segments:
            begins = one.first_offset if cut.is_cut_at_start and one is cut.segments[0] else None
            ends = one.last_offset if cut.is_cut_at_end and one is cut.segments[-1] else None
            about = None if (begins, ends) == (None, None) else Cut(begins, ends, sizes[one.path], one.start)
            place.files.append(_Planned(
                f"{place.home}/{one.name}", one.path, one.stop - one.start, place.why, one.start, about,
                identity=directory.files.get(os.path.basename(one.path)),
            ))  # fmt: skip
        if not cut.segments:
            name = f"{cut.first_offset:020}.log"
            first = directory.segments[0].path
            place.files.append(
                _Planned(
                    f"{place.home}/{name}",
                    first,
                    0,
                    place.why,
                    0,
                    Cut(None, max(cut.end_offset - 1, 0), sizes[first], 0),
                    b"",
                )
            )
        for name, (path, size) in sorted(by_name.items()):
            parsed = parse_name(name)
            why = _OF_PARTITION.get(parsed.kind, place.why)
            stays = parsed.kind in (FileKind.PARTITION_METADATA, FileKind.LEADER_EPOCH_CHECKPOINT)
            if parsed.kind is FileKind.PRODUCER_SNAPSHOT and parsed.offset is not None:
                stays = cut.first_offset <= parsed.offset <= cut.end_offset and not parsed.removed
            elif parsed.kind in _INDEXES:
                stays = name.partition(".")[0] in whole and not parsed.removed
            if parsed.kind is FileKind.LOG and not parsed.removed:
                continue
            if not stays:
                self._plan.left_out.append(LeftOut(path, "beside what was cut off: a broker makes it again"))
            elif parsed.kind is FileKind.LEADER_EPOCH_CHECKPOINT:
                self._add_changed(place, name, path, why, lambda data: with_epochs(data, cut))
            else:
                place.files.append(
                    _Planned(f"{place.home}/{name}", path, size, why, identity=directory.files.get(name))
                )
        self._say_cut(directory, cut)

    def _say_cut(self, directory: PartitionDirectory, cut: CutLog) -> None:
        plan, name = self._plan, f"{directory.topic}-{directory.partition}"
        if cut.is_cut_at_start:
            line = f"{name} begins at offset {cut.first_offset}: what was before is unknown"
            if cut.moved_for_open is not None:
                line += f" (asked for from {cut.moved_for_open} on; a transaction that began before is whole)"
            plan.unknowable.append(line)
        if cut.is_cut_at_end:
            plan.unknowable.append(f"{name} ends before offset {cut.end_offset}: what came after is unknown")

    def _add_changed(self, place: _Place, name: str, path: str, why: str, change: Any) -> None:
        """Plan a small file that says what is in the bundle, and no more."""
        try:
            data = read_small(path)
        except UnreadableError as error:
            _note_unread(self._plan.unread, not_read(path, error))
            self._plan.left_out.append(LeftOut(path, "it could not be read", f"{place.home}/{name}"))
            return
        changed = change(data)
        cut = None if changed == data else Cut(None, None, len(data), 0)
        text = why if changed == data else f"{why}; without what is not in the bundle"
        place.files.append(_Planned(f"{place.home}/{name}", path, len(changed), text, 0, cut, changed))

    def _add_root(self, root: _Place, own: Sequence[tuple[str, str, int]]) -> None:
        plan = self._plan
        here = [one for one in root.node.partitions if not one.suffix]
        left_out = {(one.topic, one.partition) for one in here if not self._is_meant(one)}
        cut = {
            (place.directory.topic, place.directory.partition): place.cut
            for place in plan.places
            if place.node is root.node and place.directory is not None and place.cut is not None
        }
        for name, path, size in sorted(own):
            why = _OF_ROOT.get(name)
            if why is None and parse_name(name).kind is not FileKind.KRAFT_SNAPSHOT:
                plan.left_out.append(LeftOut(path, "no file of a log directory by its name"))
            elif name == _MARK and (plan.until is not None or any(one.is_cut_at_end for one in cut.values())):
                plan.left_out.append(
                    LeftOut(path, "the logs end before the stop that it is about", f"{root.home}/{name}")
                )
            elif name in CHECKPOINTS.values() and (left_out or cut):
                of_start = name == CHECKPOINTS["log_start"]
                change = partial(with_offsets, left_out=left_out, cut=cut, of_start=of_start)
                self._add_changed(root, name, path, why or "", change)
            else:
                root.files.append(_Planned(f"{root.home}/{name}", path, size, why or "a snapshot of the metadata"))

    # The remote store, and what is said of all.

    def add_remote(self, nodes: Sequence[LogDirectory]) -> None:
        """Plan the objects that the partitions have in the remote store that was given."""
        remote = given_remote()
        if remote is None:
            return
        root = _Place(nodes[0], BUNDLE_REMOTE, None, "what the partitions have in the remote store")
        top, met = f"{remote.path.rstrip('/')}/", set[str]()
        for node in nodes:
            for directory in node.partitions:
                for segment in (
                    () if directory.tier is None or not self._is_meant(directory) else directory.tier.segments
                ):
                    for one in segment.objects:
                        if one.path.startswith(top) and one.path not in met:
                            met.add(one.path)
                            why = f"{directory.topic}-{directory.partition} has it in the remote store"
                            root.files.append(
                                _Planned(f"{BUNDLE_REMOTE}/{one.path[len(top) :]}", one.path, one.size, why)
                            )
        self._plan.places.append(root)

    def end(self) -> None:
        """Say what cannot be known from the bundle."""
        plan = self._plan
        if self._needed is not None:
            plan.selection["partitions_kept"], plan.selection["partitions_there"] = self._kept, self._partitions
            for missing in self._needed.missing:
                plan.unknowable.append(f"not among the inputs: {missing}")
            if self._kept < self._partitions:
                plan.unknowable.append(
                    f"the bundle has {self._kept} of {self._partitions} partitions: what the others have is unknown"
                )
        if plan.until is not None:
            plan.unknowable.append(
                f"the logs end at {iso(plan.until)}: what came after is unknown, but for the metadata and the"
                " coordinator's records, which are whole"
            )
        if plan.since is not None:
            plan.unknowable.append("internal topics are whole at their beginning: their records are about all times")
        plan.unknowable += [f"not cut: {one}" for one in self._uncut]


def _begun_transactions(audited: Audit | None) -> dict[str, list[tuple[int, int]]]:
    """Return the transactions of each log by its path: the first offset of each, and its marker's."""
    found: dict[str, list[tuple[int, int]]] = {}
    for cluster in audited.clusters if audited is not None else ():
        for log in cluster.logs:
            rows = log.verdicts.rows
            rows = rows.where(fold.has_data)
            ends = fold.ends(rows, AFTER_ALL)
            found[log.partition.directory.log] = list(zip(rows["first_offset"].tolist(), ends.tolist(), strict=True))
    return found


def _note_unread(unread: list[Finding], finding: Finding) -> None:
    if not leaves_complete(finding.code) and finding not in unread:
        unread.append(finding)


# Copying.


def collect_files(plan: Collection, sink: BundleSink) -> Collected:
    """Copy what was planned; what changed meanwhile is in the manifest."""
    copier = _Copier(plan, sink)
    watch().begin(plan.size, plan.count)
    for place in plan.places:
        copier.copy(place)
    manifest = copier.manifest()
    sink.finish(manifest, readme(manifest))
    return Collected(manifest, copier.unread)


class _Copier:
    def __init__(self, plan: Collection, sink: BundleSink) -> None:
        self._plan = plan
        self._sink = sink
        self._files: dict[str, BundleFile] = {}
        self._changed: list[dict[str, str]] = []
        self.unread = list(plan.unread)
        self._left_out = list(plan.left_out)

    def copy(self, place: _Place) -> None:
        """Copy the files of a directory, opened together as they were listed."""
        for start in range(0, len(place.files), _OPEN_AT_ONCE):
            with ExitStack() as opened:
                pairs = self._opened(place, place.files[start : start + _OPEN_AT_ONCE], opened)
                newest = _newest(pairs) if place.node.running and place.cut is None else None
                for file, source in pairs:
                    known = file if newest is None else _as_listed(file, source, newest)
                    self._copy(place, known, None if known.content is not None else source)

    def _opened(
        self, place: _Place, files: Sequence[_Planned], opened: ExitStack
    ) -> list[tuple[_Planned, SizedSource | None]]:
        """Open files; where one is another one than was listed, the directory is listed again."""
        for reading in range(READINGS):
            pairs: list[tuple[_Planned, SizedSource | None]] = []
            moved: list[tuple[_Planned, UnreadableError | None]] = []
            for file in files:
                source = None
                if file.content is None:
                    try:
                        source = open_stored(file.source)
                        opened.callback(source.close)
                    except UnreadableError as error:
                        moved.append((file, error))
                        continue
                    if not _is_same(file, source):
                        moved.append((file, None))
                pairs.append((file, source))
            if not moved or place.directory is None or reading == READINGS - 1:
                break
            newer = self._again(place)
            if newer is None:
                break
            files = newer
        for file, why in moved:
            if why is not None:
                self._lost(place, file, why)
        return pairs

    def _again(self, place: _Place) -> list[_Planned] | None:
        """List a directory again, and plan its files; None where that can't be done."""
        directory = place.directory
        assert directory is not None
        try:
            moved = movement(place.node, directory)
            if moved is None or place.cut is not None:
                return None
            if moved.is_gone:
                what = "the partition was deleted before it was copied"
                self._changed.append({"path": place.home, "what": what})
                return []
            newer = list_again(place.node, directory)
        except UnreadableError:
            return None
        when = iso(_now())
        if directory.segments and not (newer.segments or newer.suffix):  # no broker leaves a log without any
            why = f"{directory.log}: its segments were there when it was listed, and none is now"
            _note_unread(self.unread, not_read(directory.log, why))
        what = f"files moved before they were copied; it was listed again at {when}"
        self._changed.append({"path": place.home, "what": what})
        entries = [(name, os.path.join(directory.log, name), 0 if known is None else known.size)
                   for name, known in newer.files.items()]  # fmt: skip
        place.directory, place.files = newer, []
        sizes = {segment.path: segment.size for segment in newer.segments}
        for name, path, size in sorted(entries):
            parsed = parse_name(name)
            if parsed.kind is not FileKind.UNKNOWN:
                why = place.why if parsed.kind is FileKind.LOG else _OF_PARTITION.get(parsed.kind, place.why)
                place.files.append(
                    _Planned(f"{place.home}/{name}", path, sizes.get(path, size), why, identity=newer.files.get(name))
                )
        return place.files

    def _lost(self, place: _Place, file: _Planned, error: UnreadableError) -> None:
        """Note a file that can't be copied; that a broker deletes what it had put aside is nothing to note."""
        parsed = parse_name(os.path.basename(file.source))
        directory = place.directory
        if exists(file.source):
            _note_unread(self.unread, not_read(file.source, error))
            self._left_out.append(LeftOut(file.source, f"it could not be read: {error}", file.path))
        elif directory is not None and not exists(directory.log) and exists(place.node.home):
            if place.home not in {one["path"] for one in self._changed}:
                self._changed.append({"path": place.home, "what": "the partition was deleted before it was copied"})
        elif not parsed.removed:
            self._changed.append({"path": file.path, "what": "it was deleted before it was copied"})
            if parsed.kind is FileKind.LOG:
                _note_unread(self.unread, not_read(file.source, error))

    def _copy(self, place: _Place, file: _Planned, source: SizedSource | None) -> None:
        identity = _state_of(file, source)
        size = file.size
        if source is not None and not _is_log(file):
            size = source.size  # brokers replace their small files as a whole, and write to indexes
        known = self._sink.kept(file.path, size, identity)
        if known is None:
            now = file.identity or getattr(source, "identity", None)
            modified = _modified(file) if now is None else now.mtime_ns / 1e9
            pieces = iter([file.content or b""]) if source is None else self._pieces(file, source, size)
            try:
                known = self._sink.put(file.path, pieces, size, modified, identity)
            except UnreadableError as error:
                self._lost(place, file, error)
                return
        else:
            watch().done(file.source, size)
        if source is not None and known.size < size:
            self._changed.append({"path": file.path, "what": f"it shrank to {known.size} bytes while it was copied"})
        elif source is not None and (state := _written_to(file, source)):
            self._changed.append({"path": file.path, "what": state})
        self._files[file.path] = BundleFile(file.path, file.source, known.size, known.sha256, file.why, file.cut)

    def _pieces(self, file: _Planned, source: SizedSource, size: int) -> Iterator[bytes]:
        position, stop = file.start, file.start + size
        while position < stop and (data := source.read_bytes(position, min(_PIECE, stop - position))):
            position += len(data)
            watch().at(file.source, position - file.start)
            yield data

    def manifest(self) -> BundleManifest:
        """Return what the bundle is."""
        plan = self._plan
        begun, ended = plan.listed_ms
        moment = {
            "listed_from": iso(begun), "listed_to": iso(ended), "listed_in_ms": ended - begun,
            "copied_to": iso(_now()), "changed": self._changed,
            "was_running": any(place.node.running for place in plan.places), "now_ms": plan.now_ms,
        }  # fmt: skip
        return BundleManifest(
            VERSION, iso(_now()), plan.selection, plan.source, list(self._files.values()), self._left_out,
            plan.unknowable, moment, None, AUDIT_COMMAND,
        )  # fmt: skip


class _Newest(NamedTuple):
    """The segment that the broker writes to: its name without the suffix, and where it ended when it was listed."""

    stem: str
    end: WrittenTo


def _newest(pairs: Sequence[tuple[_Planned, SizedSource | None]]) -> _Newest | None:
    """Return the newest segment among open files; None without one, or where too much of it would be read."""
    by_name = {os.path.basename(file.source): (file, source) for file, source in pairs if source is not None}
    logs = [name for name in by_name if (parsed := parse_name(name)).kind is FileKind.LOG and not parsed.removed]
    if not logs:
        return None
    name = max(logs)
    stem, (file, log) = name.partition(".")[0], by_name[name]
    _, index = by_name.get(f"{stem}.index", (None, None))
    try:
        entries = b"" if index is None else index.read_bytes(0, index.size)
        read = partial(_bounded, log)
        return _Newest(stem, written_to(parse_name(name).offset or 0, file.size, read, entries))
    except (UnreadableError, _TooMuchError):  # who copies it says the first
        return None


class _TooMuchError(Exception):
    """A segment without an index that is large."""


def _bounded(log: SizedSource, start: int, size: int) -> bytes:
    if size > _MOST_UNINDEXED:
        raise _TooMuchError
    return log.read_bytes(start, size)


def _as_listed(file: _Planned, source: SizedSource | None, newest: _Newest) -> _Planned:
    """Return an index of the newest segment as it was when that was listed: the broker writes on to both."""
    parsed = parse_name(os.path.basename(file.source))
    is_beside = os.path.basename(file.source).partition(".")[0] == newest.stem and not parsed.removed
    if source is None or parsed.kind not in _INDEXES or not is_beside:
        return file
    try:
        data = source.read_bytes(0, source.size)
    except UnreadableError:  # who copies it says so
        return file
    content = index_up_to(parsed.kind, data, newest.end)
    if content == data:
        return file
    return file._replace(content=content, size=len(content), cut=Cut(None, None, len(data), 0))


def _is_log(file: _Planned) -> bool:
    """Say whether a file has batches that a broker appends to: it is copied up to where it was listed."""
    return file.cut is not None or parse_name(os.path.basename(file.source)).kind is FileKind.LOG


def _is_same(file: _Planned, source: SizedSource) -> bool:
    """Say whether an open file is the one that was listed, with what it had then."""
    now = getattr(source, "identity", None)
    if file.identity is None or now is None:
        return True
    if not _is_log(file):
        return True
    return bool(now.inode == file.identity.inode and now.size >= file.start + file.size)


def _modified(file: _Planned) -> float | None:
    """Return when a file was written that stands in the bundle with other contents, None where nobody knows."""
    with suppress(OSError):
        return os.stat(local_path(file.source)).st_mtime
    return None


def _state_of(file: _Planned, source: SizedSource | None) -> str:
    """Say which file it is, and which of its bytes are copied, for who goes on later."""
    import hashlib

    now = getattr(source, "identity", None)
    if file.content is not None:
        return hashlib.sha256(file.content).hexdigest()
    return f"{file.source} {now and tuple(now)} {file.start}+{file.size}"


def _written_to(file: _Planned, source: SizedSource) -> str | None:
    """Say what happened to a file while it was copied; that the last segment grew changes nothing of its bytes."""
    change = source.changes()
    if change is None or change.startswith(("grew", "vanished", "was replaced")) or is_remote(file.source):
        return None
    kind = parse_name(os.path.basename(file.source)).kind
    if kind in _INDEXES:
        return None  # the broker writes to those of the last segment
    return f"it {change}"


# What people read first.


def readme(manifest: BundleManifest) -> str:
    """Write README.txt: what the bundle is, how it is read, what is not in it."""
    size = sum(file.size for file in manifest.files)
    asked = ", ".join(
        f"{name} {value}" for name, value in manifest.selection.items() if value not in (None, [], (), "")
    )
    lines = [
        "A bundle of Kafka's files, collected with kafkalog to find out what happened to records and transactions.",
        "",
        f"Made {manifest.created} by kafkalog {manifest.kafkalog_version}: {many(len(manifest.files), 'file')},"
        f" {size} bytes.",
        f"Asked for: {asked or 'everything'}.",
        "",
        "Read it with:",
        "",
        f"    {manifest.audit_command}",
        "",
        "BUNDLE is this directory or the archive it came in. bundle.json says of each file where it was, its SHA-256"
        " and why it is here.",
        "",
    ]
    if manifest.redacted is None:
        lines += ["Keys, values, headers and names are in it as they were: nothing was redacted.", ""]
    left = [one for one in manifest.left_out if one.path]
    if manifest.left_out:
        lines += [f"Left out: {len(left)} partitions and files that the question does not need, and"
                  f" {len(manifest.left_out) - len(left)} others; bundle.json names them.", ""]  # fmt: skip
    if manifest.unknowable:
        lines += ["What cannot be known from it:", "", *(f"- {one}" for one in manifest.unknowable), ""]
    changed = manifest.moment.get("changed") or []
    if changed:
        lines += [f"While it was copied {len(changed)} things changed; bundle.json has them under moment.", ""]
    return "\n".join(lines)
