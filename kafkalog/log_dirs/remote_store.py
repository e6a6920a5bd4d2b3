"""A remote store of tiered storage: how its objects are named, and which a partition has.

A layout is a pattern of an object's name below the store's root. That of Kafka's LocalTieredStorage, and that of
Aiven's plugin, are found by the names that are there; any other one is given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from string import Formatter
from typing import Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists, is_directory, is_file, open_tree
from kafkalog.files.names import is_remote
from kafkalog.files.tree import DirectoryEntry, Tree
from kafkalog.findings import Finding

__all__ = [
    "LOCAL_TIERED_STORAGE",
    "LayoutError",
    "PartitionKey",
    "Remote",
    "RemoteLayout",
    "RemoteObject",
    "Stored",
    "give_remote",
    "given_remote",
    "remote_given",
    "remote_of",
]

LOCAL_TIERED_STORAGE: Final = "{topic}-{partition}-{topic_id}/{start_offset:020}-{segment_id}.{type}"
AIVEN: Final = "{topic}-{topic_id}/{partition}/{start_offset:020}-{segment_id}.{type}"

_FIELDS: Final = {
    "topic": r"[a-zA-Z0-9._-]+",
    "topic_id": r"[A-Za-z0-9_-]{22}",
    "partition": r"\d{1,10}",
    "segment_id": r"[A-Za-z0-9_-]{22}",
    "start_offset": r"\d{1,20}",
    "type": r"[A-Za-z_-]+",
}
_OF_SEGMENT: Final = ("segment_id", "start_offset", "type")
# What stores call the types of objects, by the suffix that a broker's own file has.
_TYPES: Final = {
    "offset": "index", "offset_index": "index", "time": "timeindex", "time_index": "timeindex",
    "transaction": "txnindex", "txn_index": "txnindex", "transaction_index": "txnindex",
    "producer_snapshot": "snapshot", "leader_epoch": "leader_epoch_checkpoint", "segment": "log",
}  # fmt: skip
_HIGHEST: Final = 2**63 - 1
_MOST_BELOW: Final = 64  # directories of a root that are looked into


class LayoutError(ValueError):
    """A pattern is none: it has a field that no object's name has, or says too little."""


class PartitionKey(NamedTuple):
    """A partition: its topic and number, and its topic's id, None where partition.metadata does not say it."""

    topic: str
    partition: int
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """An object: its type, its path or URI, its size when it was listed."""

    type: str
    path: str
    size: int


class Stored(NamedTuple):
    """A segment's objects, by what their names say: its id and start offset, None and -1 where they do not."""

    segment_id: str | None
    start_offset: int
    objects: tuple[RemoteObject, ...]


@dataclass(frozen=True, slots=True)
class RemoteLayout:
    """How objects are named: a pattern of a name, whose fields are those of ``_FIELDS``."""

    pattern: str

    @classmethod
    def of(cls, pattern: str) -> RemoteLayout:
        """Check a pattern. Raises LayoutError."""
        fields = [name for _, name in _parts(pattern) if name is not None]
        if not {"topic", "topic_id"} & set(fields) or "partition" not in fields:
            raise LayoutError("the pattern needs {topic} or {topic_id}, and {partition}")
        if not {"segment_id", "start_offset"} & set(fields):
            raise LayoutError("the pattern needs {segment_id} or {start_offset:020}")
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise LayoutError("the pattern is of a name below the store's root")
        return cls(pattern)

    @property
    def name(self) -> str:
        """Return what the layout is called in a report."""
        known = {LOCAL_TIERED_STORAGE: "LocalTieredStorage", AIVEN: "Aiven's tiered-storage-for-apache-kafka"}
        return known.get(self.pattern, self.pattern)

    @property
    def is_packed(self) -> bool:
        """Say whether a log object may be in chunks, compressed or encrypted."""
        return self.pattern == AIVEN

    def _split(self) -> tuple[str, str]:
        """Return the part of the pattern that a partition's objects have in common, and the rest."""
        parts = self.pattern.split("/")
        at = next(n for n, part in enumerate(parts) if any(f"{{{name}" in part for name in _OF_SEGMENT))
        return "/".join(parts[:at]), "/".join(parts[at:])

    @property
    def has_folders(self) -> bool:
        """Say whether each partition's objects are in a directory of their own."""
        return "{partition}" in self._split()[0]

    def folder(self, key: PartitionKey) -> str | None:
        """Return the directory of a partition below the root; None where its topic's id is needed and not known."""
        common, _ = self._split()
        if "{topic_id}" in common and key.topic_id is None:
            return None
        return common.format(topic=key.topic, partition=key.partition, topic_id=key.topic_id)

    @property
    def depth(self) -> int:
        """Return how many levels of directories a partition's directory has."""
        return self._split()[1].count("/")

    def matcher(self, key: PartitionKey) -> re.Pattern[str]:
        """Return the expression that the rest of a partition's object's name matches."""
        known = {"topic": key.topic, "partition": str(key.partition)}
        return _expression(self._split()[1], known | ({} if key.topic_id is None else {"topic_id": key.topic_id}))


def _expression(pattern: str, known: Mapping[str, str]) -> re.Pattern[str]:
    """Return the expression of names by a pattern, of whose fields some are known."""
    expression, met = "", set()
    for literal, name in _parts(pattern):
        expression += re.escape(literal)
        if name is not None and name in known:
            expression += re.escape(known[name])
        elif name in met:
            expression += f"(?P={name})"
        elif name is not None:
            expression += f"(?P<{name}>{_FIELDS[name]})"
            met.add(name)
    return re.compile(expression)


def _parts(pattern: str) -> Iterator[tuple[str, str | None]]:
    """Yield the literal parts of a pattern, each with the field after it. Raises LayoutError."""
    try:
        parts = list(Formatter().parse(pattern))
    except ValueError as error:
        raise LayoutError(f"{pattern!r}: {error}") from error
    for literal, name, form, conversion in parts:
        if name is not None and (
            name not in _FIELDS or conversion is not None or form not in ("", "020")
            or (form and name != "start_offset")
        ):  # fmt: skip
            known = ", ".join(f"{{{one}}}" for one in _FIELDS).replace("{start_offset}", "{start_offset:020}")
            raise LayoutError(f"{{{name}{f':{form}' if form else ''}}} is no field of a layout: they are {known}")
        yield literal, name


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote store: its root, local or a URI, and how its objects are named; without a `layout` it is found."""

    path: str
    layout: RemoteLayout | None = None

    def found(self, keys: Sequence[PartitionKey]) -> Remote:
        """Find the layout by the names of some partitions' directories, and the root that has them.

        Without any partition it is that of the objects that are there. Raises UnreadableError if the store can't be
        listed or has no layout that is known.
        """
        if not is_remote(self.path) and not is_directory(self.path):
            raise UnreadableError(f"{self.path}: the remote store is no directory")
        root = self.path.rstrip("/") or self.path
        entries = open_tree(root, deep=False).entries(root)
        if self.layout is not None:
            return self
        below = [f"{root}/{entry.name}" for entry in entries if entry.is_directory]
        for place in (root, *below[:_MOST_BELOW]):
            names = {entry.name for entry in entries}
            if place != root:
                try:
                    names = {entry.name for entry in open_tree(place, deep=False).entries(place)}
                except UnreadableError:
                    continue
            for pattern in (LOCAL_TIERED_STORAGE, AIVEN):
                layout = RemoteLayout(pattern)
                if any((folder := layout.folder(key)) and folder.partition("/")[0] in names for key in keys):
                    return Remote(place, layout)
                of_names = Remote(place, layout)
                if not keys and any(of_names.stored(key, []) for key in islice(of_names.partitions(), 1)):
                    return of_names
        raise UnreadableError(
            f"{self.path}: no directory of a partition of these inputs is here, as LocalTieredStorage or Aiven's plugin"
            " names them; say with --remote-layout how its objects are named"
        )

    def partitions(self) -> Iterator[PartitionKey]:
        """Yield the partitions that the names of directories and objects say; a topic that no name says is its id.

        Raises UnreadableError if the store can't be listed.
        """
        assert self.layout is not None  # it was found
        common, rest = self.layout._split()
        met = set()
        for place, said in self._folders(self.path.rstrip("/") or "/", common.split("/") if common else [], {}):
            of_files: Iterable[Mapping[str, str]] = ({},)
            if not self.layout.has_folders or not {"topic", "topic_id"} & said.keys():
                expression, depth = _expression(rest, said), self.layout.depth
                files = _files(open_tree(place, deep=depth > 0), place, "", depth)
                of_files = (match.groupdict() for name, _ in files if (match := expression.fullmatch(name)))
            for of_file in of_files:
                fields = {**said, **of_file}
                topic_id = fields.get("topic_id")
                key = PartitionKey(fields.get("topic") or topic_id or "", int(fields["partition"]), topic_id)
                if key not in met:
                    met.add(key)
                    yield key

    def _folders(
        self, place: str, parts: Sequence[str], said: Mapping[str, str]
    ) -> Iterator[tuple[str, Mapping[str, str]]]:  # fmt: skip
        """Yield the directories below one whose names are by the parts of a pattern, with what they say."""
        if not parts:
            yield place, said
            return
        expression = _expression(parts[0], said)
        for entry in open_tree(place, deep=False).entries(place):
            match = expression.fullmatch(entry.name)
            if match is not None and not entry.is_link and (entry.is_directory or len(parts) == 1):
                yield from self._folders(f"{place.rstrip('/')}/{entry.name}", parts[1:], {**said, **match.groupdict()})

    def stored(self, key: PartitionKey, report: list[Finding]) -> dict[tuple[str | None, int], Stored]:
        """List the objects of a partition, by their segments' ids and start offsets.

        None is there where its directory is not; a file in its place is reported. Raises UnreadableError if it can't be
        listed.
        """
        assert self.layout is not None  # it was found
        folder = self.layout.folder(key)
        if folder is None:
            return {}
        place = f"{self.path.rstrip('/')}/{folder}".rstrip("/")
        depth, matcher = self.layout.depth, self.layout.matcher(key)
        try:
            tree = open_tree(place, deep=depth > 0)
            names = list(_files(tree, place, "", depth))
        except UnreadableError:
            if not exists(place):
                return {}
            if not is_file(place):
                raise
            message = f"{place}: a file is where the objects should be"
            report.append(Finding.of("remote-directory-odd", place, message, topic=key.topic, partition=key.partition))
            return {}
        found: dict[tuple[str | None, int], list[RemoteObject]] = {}
        for name, entry in names:
            match = matcher.fullmatch(name)
            if match is None:
                continue
            said: Mapping[str, str] = match.groupdict()
            start = int(said["start_offset"]) if "start_offset" in said else -1
            if start > _HIGHEST:
                continue
            kind = said.get("type", "log").lower().replace("-", "_")
            one = RemoteObject(_TYPES.get(kind, kind), entry.path, entry.size)
            found.setdefault((said.get("segment_id"), start), []).append(one)
        return {
            named: Stored(*named, tuple(sorted(objects, key=lambda one: one.type))) for named, objects in found.items()
        }


_given: ContextVar[Remote | None] = ContextVar("remote store", default=None)


@contextmanager
def remote_given(remote: Remote | None) -> Iterator[None]:
    """Let all inputs that are opened in the context have this remote store: it is a property of the inputs."""
    before = _given.set(remote)
    try:
        yield
    finally:
        _given.reset(before)


def give_remote(remote: Remote) -> None:
    """Let all inputs that are opened in this context from now on have this remote store."""
    _given.set(remote)


def given_remote() -> Remote | None:
    """Return the remote store that was given with the inputs."""
    return _given.get()


def remote_of(path: str | os.PathLike[str] | None, pattern: str | None) -> Remote | None:
    """Return the store at a path with a pattern of its objects' names, if one is given. Raises LayoutError."""
    if path is None:
        if pattern is not None:
            raise LayoutError("it describes what --remote names: give that, too")
        return None
    return Remote(os.fspath(path), None if pattern is None else RemoteLayout.of(pattern))


def _files(tree: Tree, place: str, prefix: str, depth: int) -> Iterable[tuple[str, DirectoryEntry]]:
    for entry in tree.entries(place):
        if entry.is_directory and depth > 0:
            yield from _files(tree, f"{place}/{entry.name}", f"{prefix}{entry.name}/", depth - 1)
        elif not entry.is_directory and not entry.is_link:
            yield f"{prefix}{entry.name}", entry
