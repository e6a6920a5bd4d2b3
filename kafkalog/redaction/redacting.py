"""A bundle, or log directories, written again so that they may leave the house.

Files are copied by what is known of them: a kind that is not known does not leave. The salt under which contents become
other contents is made for one redaction, and kept nowhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final

from kafkalog.auditing.topics import assigned_to, cluster_metadata
from kafkalog.bundles.bundle_inputs import bundle_remote
from kafkalog.bundles.bundle_manifest import (
    BUNDLE,
    BUNDLE_DATA,
    BUNDLE_README,
    BUNDLE_REMOTE,
    BundleFile,
    BundleManifest,
    Cut,
    LeftOut,
    is_bundle,
    manifest_of,
)
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.directories import is_directory, open_tree
from kafkalog.files.limits import Limits
from kafkalog.files.names import INDEX_CACHE, METADATA_TOPIC, SEGMENTS, FileKind, local_path, parse_name
from kafkalog.files.opening import read_small
from kafkalog.files.recognition import DirectoryKind, partition_name, recognized
from kafkalog.files.tree import DirectoryEntry
from kafkalog.files.watch import watch
from kafkalog.log_dirs.log_directory import LogDirectory, open_log_directory
from kafkalog.log_dirs.nodes import node_number
from kafkalog.log_dirs.remote_store import (
    LOCAL_TIERED_STORAGE,
    LayoutError,
    PartitionKey,
    Remote,
    RemoteLayout,
    Stored,
)
from kafkalog.log_dirs.walk import search, walk
from kafkalog.quantities import by_number
from kafkalog.redaction.keyed_bytes import SALT_BYTES
from kafkalog.redaction.new_names import COORDINATORS, NameChoice, NameKind, NewNames
from kafkalog.redaction.rewritten_segment import Contents, Places, rewrite
from kafkalog.redaction.shifted_times import ShiftedTimes
from kafkalog.redaction.side_bytes import SideBytes, is_id, new_index
from kafkalog.segments.internal_blocks import TOPICS
from kafkalog.version import VERSION

__all__ = ["POSITIONS", "ZEROED", "Damaged", "Redaction", "RedactionChoice", "redact"]

POSITIONS: Final = "positions.ndjson"
ZEROED: Final = "zeroed.ndjson"
_INDEXES: Final = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)
_STATE_FILES: Final = (".kafka_cleanshutdown", ".lock")
_CLEAN: Final = re.compile(rb'\{"version":\d{1,2},"brokerEpoch":-?\d{1,19}\}')
_SUFFIX: Final = r"(?:\.deleted|\.cleaned|\.swap|\.tmp)?"
_OFFSET_NAME: Final = re.compile(rf"\d{{1,20}}\.(?:log|index|timeindex|txnindex|snapshot){_SUFFIX}")
_KRAFT_NAME: Final = re.compile(rf"\d{{1,20}}-\d{{1,10}}\.checkpoint(?:\.part)?{_SUFFIX}")
_CACHED: Final = re.compile(
    r"(?P<offset>\d{1,20})_(?P<id>[A-Za-z0-9_-]{22})\.(?P<type>index|timeindex|txnindex)(?:\.deleted)?"
)
_OF_STORE: Final = {
    "log": FileKind.LOG, "index": FileKind.OFFSET_INDEX, "timeindex": FileKind.TIME_INDEX,
    "txnindex": FileKind.TXN_INDEX, "snapshot": FileKind.PRODUCER_SNAPSHOT,
    "leader_epoch_checkpoint": FileKind.LEADER_EPOCH_CHECKPOINT,
}  # fmt: skip
_PUT_ASIDE: Final = re.compile(r"\.[0-9a-f]{32}(-delete|-future|-stray)")
_DEFAULT_PARTITIONS: Final = 50  # of a coordinator's topic
_ZEROS: Final = bytes(4096)


class Damaged(StrEnum):
    """What becomes of damaged bytes."""

    ZERO = "zero"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class RedactionChoice:
    """What is chosen: what becomes of names, and of damaged bytes; `limits` are those of a batch.

    `given` are new names by their kinds, the old before the new, as `Redaction` has them; all times are moved by
    `shift_ms`.
    """

    names: NameChoice = NameChoice.HASH
    damaged: Damaged = Damaged.ZERO
    limits: Limits = field(default_factory=Limits)
    given: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    shift_ms: int = 0


@dataclass(slots=True)
class Redaction:
    """What was done. Sizes are bytes; `zeroed_bytes` had something in them, and are zeros now.

    `unknown_records` counts the records of internal topics of which only types and versions passed; `new_names` are the
    names by their kinds, the old before the new, and `nodes` the directories of the output by those they were; `unread`
    says what could not be read, `zeroed` which bytes became zeros. These four stay at home.
    """

    files: list[BundleFile] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    original_bytes: int = 0
    bytes: int = 0
    zeroed_bytes: int = 0
    moved_files: int = 0
    unknown_records: int = 0
    new_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    zeroed: list[str] = field(default_factory=list)


def redact(bundle: str, out: Path, choice: RedactionChoice | None = None) -> Redaction:
    """Write a bundle, or the log directories at or below a path, into the empty directory `out`.

    Raises UnreadableError if no log directory is there or it can't be listed, UnsupportedError if bytes are damaged and
    the choice is to refuse them.
    """
    chosen = choice or RedactionChoice()
    bundle = _bundle_below(bundle)
    original = manifest_of(bundle) if is_bundle(bundle) else None
    root = bundle if original is None else os.path.join(bundle, BUNDLE_DATA)
    found = search(open_tree(root), root)
    if not found.places:
        raise UnreadableError(found.message)
    nodes = [open_log_directory(place) for place in found.places]
    segments = [segment.size for node in nodes for partition in node.partitions for segment in partition.segments]
    watch().begin(sum(segments), len(segments))
    redacting = _Redacting(out, chosen, nodes)
    if (remote := bundle_remote(bundle)) is not None:  # before the metadata, which has the sizes of its segments
        redacting.remote(*remote)
    for number, place in enumerate(found.places, start=1):
        redacting.node(place, _node_name(root, place, number, chosen.names))
    for finding in found.findings:
        if finding.code != "log-directories-below":
            redacting.not_read("a file or directory", f"{finding.file}: {finding.message}")
    return redacting.finish(original)


def _bundle_below(path: str) -> str:
    """Return the bundle that is alone in an archive that was unpacked, otherwise the path."""
    if not is_bundle(path) and is_directory(path):
        entries = open_tree(path).entries(path)
        if len(entries) == 1 and entries[0].is_directory and is_bundle(entries[0].path):
            return entries[0].path
    return path


def _node_name(root: str, place: str, number: int, names: NameChoice) -> str:
    """Return the name of a node's directory: its own may be anything."""
    if names is NameChoice.KEEP and place != root:
        return os.path.relpath(place, root)
    return f"node-{number}"


class _Redacting:
    """Writes one directory after the other."""

    def __init__(self, out: Path, choice: RedactionChoice, nodes: list[LogDirectory]) -> None:
        salt = secrets.token_bytes(SALT_BYTES)
        self.done = Redaction()
        self._out = out
        self._choice = choice
        self._names = NewNames(choice.names, salt, _partitions(nodes), choice.given)
        self._times = ShiftedTimes(choice.shift_ms)
        self._contents = Contents(salt, self._names, self._times)
        self._side = SideBytes(self._names, _directories(nodes), self._times)
        self._tables: dict[str, BinaryIO] = {}
        self._remote_places: dict[str, Places] = {}  # of remote segments, by their ids
        self._homes: dict[str, str] = {}  # of the log directories, by their names in the original

    def node(self, place: str, name: str) -> None:
        """Write a log directory, or a partition's directory that was given alone."""
        self.done.nodes[place] = self._homes[os.path.basename(place.rstrip("/"))] = f"{BUNDLE_DATA}/{name}"
        entries = _sorted(place)
        own = os.path.basename(os.path.abspath(place))
        if recognized(open_tree(place), own, entries) is DirectoryKind.PARTITION:
            self._partition(place, own, f"{BUNDLE_DATA}/{name}")
            return
        for entry in entries:
            if entry.is_link:
                self.not_read(f"{BUNDLE_DATA}/{name}/(a symbolic link)", f"{entry.path}: a symbolic link: not followed")
            elif entry.is_directory and entry.name == INDEX_CACHE:
                self._index_cache(entry.path, f"{BUNDLE_DATA}/{name}/{INDEX_CACHE}")
            elif entry.is_directory:
                self._partition(entry.path, entry.name, f"{BUNDLE_DATA}/{name}")
            else:
                self._file(entry, f"{BUNDLE_DATA}/{name}", None)

    def leave_out(self, source: str, why: str) -> None:
        """Say what is not in the output."""
        self.done.left_out.append(LeftOut(source, why))

    def not_read(self, source: str, why: str) -> None:
        """Say what could not be read: at home what it is, in the output that something is missing."""
        self.done.unread.append(why)
        self.leave_out(source, "it could not be read")

    def finish(self, original: BundleManifest | None) -> Redaction:
        """Write the tables, the manifest and the text about them."""
        for file in self._tables.values():
            file.close()
        done = self.done
        done.unknown_records = self._contents.internal.unknown.total()
        done.new_names = {
            kind.value: {_text(old): _text(new) for old, new in names.items()}
            for kind, names in self._names.made.items()
        }
        (self._out / BUNDLE).write_text(self._manifest(original).text())
        (self._out / BUNDLE_README).write_text(_README)
        return done

    def _same_time(self, source: str, target: Path) -> None:
        """Give a file the time of the one that it stands for: audits ask when a copy was made."""
        with suppress(OSError):
            when = os.stat(local_path(source)).st_mtime_ns + self._times.ms * 1_000_000
            os.utime(target, ns=(0, when))

    def _manifest(self, original: BundleManifest | None) -> BundleManifest:
        """Return the manifest. Sentences and selections of the original have names in them, and do not leave.

        What an audit asks of it does: what was cut, what was left out on purpose, and the newest time.
        """
        done = self.done
        cuts, left_out, selection, moment = self._carried_over(original)
        files = [file._replace(cut=cuts.get(file.path)) for file in done.files]
        redacted = {
            "names": self._choice.names.value,
            "damaged": self._choice.damaged.value,
            "times_shifted": self._choice.shift_ms != 0,
            "original_bytes": done.original_bytes,
            "bytes": done.bytes,
            "zeroed_bytes": done.zeroed_bytes,
            "moved_files": done.moved_files,
            "unknown_records": done.unknown_records,
            "positions": POSITIONS if POSITIONS in self._tables else None,
            "zeroed": ZEROED if ZEROED in self._tables else None,
            "was_cut": original is not None and any(file.cut is not None for file in original.files),
            "left_out_before": 0 if original is None else len(original.left_out),
            "unknowable_before": 0 if original is None else len(original.unknowable),
        }
        created = datetime.fromtimestamp(self._now() / 1000, UTC).isoformat(timespec="seconds")
        return BundleManifest(
            VERSION, created, selection, [], files, [*left_out, *done.left_out], [], moment, redacted,
            f"kafkalog txn-audit {BUNDLE_DATA}",
        )  # fmt: skip

    def _now(self) -> int:
        """Return the time of all that is written now; 1970 where times moved: who knows it has the amount."""
        return 0 if self._times.ms else time.time_ns() // 1_000_000

    def _carried_over(
        self, original: BundleManifest | None
    ) -> tuple[dict[str, Cut], list[LeftOut], dict[str, int], dict[str, int]]:
        """Return what the original's manifest says in numbers, under the new names."""
        if original is None:
            return {}, [], {}, {}
        cuts = {self._renamed(file.path): file.cut for file in original.files if file.cut is not None}
        left_out = [
            LeftOut("", "it was left out of the bundle before", path)
            for one in original.left_out
            if (path := self._renamed(one.path))
        ]
        names = ("partitions_kept", "partitions_there")
        moment = {name: self._times.of(ms) for name, ms in _numbers(original.moment, ("now_ms",)).items()}
        return cuts, left_out, _numbers(original.selection, names), moment

    def _renamed(self, path: str) -> str:
        """Return where a file or a partition of the original is now; empty for what has no place."""
        data, _, rest = path.partition("/")
        node, _, rest = rest.partition("/")
        folder, _, name = rest.partition("/")
        home = self._homes.get(node)
        if data != BUNDLE_DATA or home is None or (name and not _name_passes(name, parse_name(name).kind)):
            return ""
        renamed = self._folder(folder)
        return "" if renamed is None else f"{home}/{renamed}{'/' if name else ''}{name}"

    # A remote store.

    def remote(self, place: str, pattern: str | None) -> None:
        """Write the objects of a remote store, under the names that Kafka's LocalTieredStorage gives them."""
        every = {one.path for one in walk(place, lambda _: None)}
        why = "it belongs to no segment whose ids are known"
        try:
            store = Remote(place, None if pattern is None else RemoteLayout.of(pattern)).found([])
            if store.layout is not None and store.layout.is_packed:
                why = "its objects are in chunks, which may be encrypted, and can't be redacted"
                raise UnreadableError(why)
            for key in store.partitions():
                for segment in store.stored(key, []).values():
                    every -= self._stored(key, segment)
        except (UnreadableError, LayoutError) as error:
            self.done.unread.append(f"{place}: {error}")
        for _ in every:
            self.leave_out(f"{BUNDLE_REMOTE}/(an object)", why)

    def _stored(self, key: PartitionKey, segment: Stored) -> set[str]:
        """Write a segment's objects, and return which they were."""
        if not (key.topic_id and is_id(key.topic_id) and segment.segment_id and is_id(segment.segment_id)):
            return set()
        renamed = _text(self._names.of(NameKind.TOPIC, key.topic.encode()))
        folder = RemoteLayout(LOCAL_TIERED_STORAGE).folder(key._replace(topic=renamed))
        written, number = set(), max(segment.start_offset, 0)
        for one in sorted(segment.objects, key=lambda one: one.type != "log"):
            path = f"{BUNDLE_REMOTE}/{folder}/{number:020}-{segment.segment_id}.{one.type}"
            kind = _OF_STORE.get(one.type)
            if kind is FileKind.LOG:
                made = self._segment(one.path, path, TOPICS.get(key.topic))
                self._remote_places[segment.segment_id] = made
                self._contents.internal.remote_grown[segment.segment_id] = made.size - made.original_size
            elif kind is not None:
                self._beside(one.path, path, kind, number, self._remote_places.get(segment.segment_id))
            written |= {one.path} if kind is not None else set()
        return written

    def _index_cache(self, place: str, home: str) -> None:
        """Write a broker's copies of remote segments' indexes."""
        for entry in _sorted(place):
            match = _CACHED.fullmatch(entry.name)
            if match is None or not is_id(match["id"]) or entry.is_link or entry.is_directory:
                self.leave_out(f"{home}/(a file)", "it is no index of a remote segment by its name")
                continue
            kind, beside = parse_name(f"{0:020}.{match['type']}").kind, self._remote_places.get(match["id"])
            try:
                self._beside(entry.path, f"{home}/{entry.name}", kind, int(match["offset"]), beside)
            except UnreadableError as error:
                self.not_read(f"{home}/(a file)", str(error))

    # One partition.

    def _folder(self, name: str) -> str | None:
        """Return the new name of a partition's directory, None for one of another name."""
        named = partition_name(name)
        if named is None:
            return None
        topic = _text(self._names.of(NameKind.TOPIC, named.topic.encode("utf-8", "surrogateescape")))
        aside = ""
        if named.suffix:
            match = _PUT_ASIDE.search(name)
            aside = match[0] if match is not None else f".{'0' * 32}{named.suffix}"
        return f"{topic}-{named.partition}{aside}"

    def _partition(self, place: str, name: str, home: str) -> None:
        renamed, named = self._folder(name), partition_name(name)
        if renamed is None or named is None:
            self.leave_out(f"{home}/(a directory)", "it is not the directory of a partition")
            return
        folder = f"{home}/{renamed}"
        places: dict[str, Places] = {}
        try:
            entries = _sorted(place)
        except UnreadableError as error:
            self.not_read(folder, str(error))
            return
        internal = TOPICS.get(named.topic)
        for entry in sorted(entries, key=lambda one: parse_name(one.name).kind not in SEGMENTS):
            if entry.is_link:
                self.not_read(f"{folder}/(a symbolic link)", f"{entry.path}: a symbolic link: not followed")
            elif entry.is_directory:
                self.leave_out(f"{folder}/(a directory)", "a broker has none in a partition's directory")
            else:
                self._file(entry, folder, (internal, places))

    def _file(self, entry: DirectoryEntry, folder: str, partition: tuple[Any, dict[str, Places]] | None) -> None:
        """Write one file, if what it is passes and it can be read."""
        try:
            self._known_file(entry, folder, partition)
        except UnreadableError as error:
            self.not_read(f"{folder}/(a file)", str(error))
            with suppress(FileNotFoundError):
                (self._out / folder / entry.name).unlink()

    def _known_file(self, entry: DirectoryEntry, folder: str, partition: tuple[Any, dict[str, Places]] | None) -> None:
        name, kind = entry.name, parse_name(entry.name).kind
        if name in _STATE_FILES and partition is None:
            data = read_small(entry.path)
            self._write_small(entry.path, f"{folder}/{name}", data if _CLEAN.fullmatch(data) else b"", len(data))
        elif not _name_passes(name, kind) or (kind in _INDEXES and partition is None):
            self.leave_out(f"{folder}/(a file)", f"kafkalog does not know this kind of file: {entry.size} bytes")
        elif kind in SEGMENTS:
            internal, places = partition or (TOPICS[METADATA_TOPIC], {})
            if kind is FileKind.KRAFT_SNAPSHOT:
                internal = TOPICS[METADATA_TOPIC]
            places[name] = self._segment(entry.path, f"{folder}/{name}", internal)
        else:
            beside = None if partition is None else _segment_of(name, partition[1])
            self._beside(entry.path, f"{folder}/{name}", kind, parse_name(name).offset or 0, beside)

    def _beside(self, source: str, path: str, kind: FileKind, number: int, segment: Places | None) -> None:
        """Write a small file; an index without its segment is judged by its own entries."""
        data = read_small(source)
        if kind in _INDEXES:
            made: bytes | None = new_index(kind, data, number, segment or Places(), self._times)
        else:
            made = self._side.of(kind, data)
        if made is None:
            self.leave_out(f"{os.path.dirname(path)}/(a file)", "kafkalog does not know what is in it")
        else:
            self._write_small(source, path, made, len(data))

    def _segment(self, source: str, path: str, internal: Any) -> Places:
        """Write a segment again, and note what moved and what became zeros."""
        digest, target = hashlib.sha256(), self._out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            sparse = _Sparse(file, digest)
            places = rewrite(source, sparse.write, self._contents, internal, self._choice.limits)
            sparse.end()
        self._same_time(source, target)
        self._count(path, places.original_size, places.size, digest.hexdigest())
        for zeroed in places.zeroed:
            if self._choice.damaged is Damaged.REFUSE:
                raise UnsupportedError(
                    f"{source}: {zeroed.size} bytes at position {zeroed.position} are in no whole batch, and damaged"
                    f" bytes can't be redacted: --damaged {Damaged.ZERO} makes zeros of them"
                )
            self.done.zeroed_bytes += zeroed.size
            self.done.zeroed.append(f"{source}: {zeroed.size} bytes at position {zeroed.position}: {zeroed.why}")
            self._row(ZEROED, {"path": path, **zeroed._asdict()})
        for number, batch in enumerate(places.moved()):
            self.done.moved_files += number == 0
            self._row(POSITIONS, {"path": path, **batch._asdict()})
        return places

    def _write_small(self, source: str, path: str, data: bytes, original: int) -> None:
        target = self._out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with open(target, "xb") as file:
            sparse = _Sparse(file, digest)
            sparse.write(data)
            sparse.end()
        self._same_time(source, target)
        self._count(path, original, len(data), digest.hexdigest())

    def _count(self, path: str, original: int, size: int, sha256: str) -> None:
        self.done.files.append(BundleFile(path, "", size, sha256, "redacted"))
        self.done.original_bytes += original
        self.done.bytes += size

    def _row(self, table: str, row: Mapping[str, Any]) -> None:
        if table not in self._tables:
            self._tables[table] = open(self._out / table, "xb")  # noqa: SIM115  # closed at the end
        self._tables[table].write(json.dumps(row).encode() + b"\n")


def _numbers(said: Mapping[str, Any], names: Collection[str]) -> dict[str, int]:
    """Return what is a number of what a manifest says."""
    return {name: said[name] for name in names if isinstance(said.get(name), int)}


class _Sparse:
    """Writes a file, with holes for its many zeros; `digest` is that of its bytes."""

    def __init__(self, file: BinaryIO, digest: Any) -> None:
        self._file = file
        self._digest = digest
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write bytes, or leave a hole."""
        self._digest.update(data)
        self._size += len(data)
        if len(data) >= len(_ZEROS) and not any(data):
            self._file.seek(self._size)
        else:
            self._file.write(data)

    def end(self) -> None:
        """Give the file its size, also where it ends in a hole."""
        self._file.truncate(self._size)


def _partitions(nodes: list[LogDirectory]) -> dict[NameKind, tuple[int, ...]]:
    """Return how many partitions the coordinators' topics have: by the metadata, otherwise by what is here."""
    metadata = cluster_metadata(nodes)
    found: dict[NameKind, tuple[int, ...]] = {}
    for kind, topic in COORDINATORS.items():
        ids = () if metadata is None else metadata.ids.get(topic, ())
        numbers = [number for one in ids for number in metadata.partitions.numbers(one)] if metadata is not None else []
        if numbers:
            found[kind] = (max(numbers) + 1,)
        else:
            here = [one.partition for node in nodes for one in node.partitions if one.topic == topic]
            found[kind] = (_DEFAULT_PARTITIONS, max(here, default=0) + 1)  # an audit guesses the second
    return found


def _directories(nodes: list[LogDirectory]) -> frozenset[str]:
    """Return the ids of log directories that the metadata's records have: these pass there, too."""
    metadata = cluster_metadata(nodes)
    numbers = {number for node in nodes if (number := node_number(node.node_id)) is not None}
    every = (one for number in numbers for one in assigned_to(metadata, number)) if metadata is not None else ()
    return frozenset(one.directory for one in every if one.directory is not None)


def _sorted(place: str) -> list[DirectoryEntry]:
    return sorted(open_tree(place).entries(place), key=lambda entry: by_number(entry.name))


def _name_passes(name: str, kind: FileKind) -> bool:
    """Say whether a file's name is one of Kafka's, without a character of anybody else's."""
    if kind in (*_INDEXES, FileKind.LOG, FileKind.PRODUCER_SNAPSHOT):
        return _OFFSET_NAME.fullmatch(name) is not None
    if kind is FileKind.KRAFT_SNAPSHOT:
        return name == "bootstrap.checkpoint" or _KRAFT_NAME.fullmatch(name) is not None
    return kind is not FileKind.UNKNOWN


def _segment_of(name: str, places: Mapping[str, Places]) -> Places | None:
    """Return what became of the segment that an index is beside."""
    stem, dot, rest = name.partition(".")
    _, _, removed = rest.partition(".")
    return places.get(f"{stem}.log{dot + removed if removed else ''}") or places.get(f"{stem}.log")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


_README: Final = f"""\
This is evidence from Kafka brokers, redacted by kafkalog {VERSION}: log directories below {BUNDLE_DATA}/.

Keys, values and header values are other bytes of the same length. {BUNDLE} says what else was changed, and
what was left out. To audit it:

    kafkalog txn-audit {BUNDLE_DATA}
"""
