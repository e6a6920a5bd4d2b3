"""A bundle's manifest, ``bundle.json``: what was asked for, each file and why it is here, what was left out.

The layout of a bundle is in this module, and nowhere else. Log directories are below ``data/``, as Kafka has them, so
that every command reads a bundle like any other input; objects of a remote store are below ``remote/``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists, is_outside
from kafkalog.files.names import is_remote
from kafkalog.files.opening import read_small
from kafkalog.tables.manifest import sealed, unsealed
from kafkalog.untrusted import is_count

__all__ = [
    "BUNDLE",
    "BUNDLE_DATA",
    "BUNDLE_README",
    "BUNDLE_REMOTE",
    "SCHEMA_VERSION",
    "BundleFile",
    "BundleManifest",
    "Cut",
    "LeftOut",
    "is_bundle",
    "manifest_of",
]

BUNDLE: Final = "bundle.json"
BUNDLE_README: Final = "README.txt"
BUNDLE_DATA: Final = "data"  # log directories, each below a name of its own
BUNDLE_REMOTE: Final = "remote"  # objects of tiered storage
SCHEMA_VERSION: Final = 1


class Cut(NamedTuple):
    """What of a file is in the bundle: its offsets, and the bytes from `position` on of the `source_size` it had.

    `from_offset` is where its log begins in the bundle, if what was before it was cut off; `to_offset` is its last one,
    if what came after was.
    """

    from_offset: int | None
    to_offset: int | None
    source_size: int
    position: int


class BundleFile(NamedTuple):
    """A file: its path in the bundle, where it was, its size and SHA-256 there, why it is in it, what was cut."""

    path: str
    source: str
    size: int
    sha256: str
    why: str
    cut: Cut | None = None

    def change(self, size: int, sha256: str | None) -> str | None:
        """Say what is another thing now in a file of this size and checksum, None if nothing is."""
        if size != self.size:
            return f"it has {size} bytes; {BUNDLE} says {self.size}"
        if sha256 not in (None, self.sha256):
            return f"its {size} bytes were changed: their SHA-256 is {sha256}; {BUNDLE} says {self.sha256}"
        return None


class LeftOut(NamedTuple):
    """What is not in the bundle, and why; `path` is where it would be, empty for what has no place there."""

    source: str
    why: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """What a bundle is: `docs/bundles.md` has each field."""

    kafkalog_version: str
    created: str  # UTC, ISO-8601
    selection: Mapping[str, Any]
    source: list[str]
    files: list[BundleFile]
    left_out: list[LeftOut] = field(default_factory=list)
    unknowable: list[str] = field(default_factory=list)
    moment: Mapping[str, Any] = field(default_factory=dict)
    redacted: Mapping[str, Any] | None = None
    audit_command: str = ""
    schema_version: int = SCHEMA_VERSION

    def text(self) -> str:
        """Write it."""
        files = [{**file._asdict(), "cut": None if file.cut is None else file.cut._asdict()} for file in self.files]
        return sealed(
            {
                "schema_version": self.schema_version,
                "kafkalog_version": self.kafkalog_version,
                "created": self.created,
                "selection": dict(self.selection),
                "source": self.source,
                "files": files,
                "left_out": [one._asdict() for one in self.left_out],
                "unknowable": self.unknowable,
                "moment": dict(self.moment),
                "redacted": None if self.redacted is None else dict(self.redacted),
                "audit_command": self.audit_command,
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> BundleManifest:
        """Read it. Raises ValueError, KeyError or TypeError for anything else."""
        said = unsealed(data)
        if said["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"its schema_version is {said['schema_version']!r:.40}, not {SCHEMA_VERSION}")
        redacted = said["redacted"]
        return cls(
            _text(said["kafkalog_version"]), _text(said["created"]), _object(said["selection"]), _texts(said["source"]),
            [_file(one) for one in said["files"]], [_left_out(one) for one in said["left_out"]],
            _texts(said["unknowable"]), _object(said["moment"]), None if redacted is None else _object(redacted),
            _text(said["audit_command"]),
        )  # fmt: skip


def is_bundle(path: str) -> bool:
    """Say whether a path is a bundle's directory: it has a manifest."""
    return exists(os.path.join(path, BUNDLE))


def manifest_of(path: str) -> BundleManifest:
    """Read the manifest of the bundle at a path.

    Raises UnreadableError if it is missing, leads out of the bundle, or is damaged.
    """
    place = os.path.join(path, BUNDLE)
    if not is_remote(place) and is_outside(place, path):
        raise UnreadableError(f"{place}: a symbolic link out of the bundle; it was not followed")
    try:
        return BundleManifest.parse(read_small(place))
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"{place}: no manifest of a bundle: {error}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.200} is no text")
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.200} is no list")
    return [_text(one) for one in value]


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r:.200} is no object")
    return value


def _left_out(entry: Mapping[str, Any]) -> LeftOut:
    return LeftOut(_text(entry["source"]), _text(entry["why"]), _text(entry.get("path", "")))


def _file(entry: Mapping[str, Any]) -> BundleFile:
    path, size, cut = _text(entry["path"]), entry["size"], entry["cut"]
    parts = path.split("/")
    if {"", ".", ".."} & set(parts) or "\0" in path or path == BUNDLE:
        raise ValueError(f"{path!r:.200} is not in the bundle")
    if not is_count(size):
        raise TypeError(f"{entry!r:.200} has no size")
    return BundleFile(
        path, _text(entry["source"]), size, _text(entry["sha256"]), _text(entry["why"]),
        None if cut is None else _cut(cut),
    )  # fmt: skip


def _cut(entry: Mapping[str, Any]) -> Cut:
    first, last, size, position = (entry[name] for name in Cut._fields)
    if not all(one is None or is_count(one) for one in (first, last)) or not (is_count(size) and is_count(position)):
        raise TypeError(f"{entry!r:.200} is no cut")
    return Cut(first, last, size, position)
