"""Bundles among the inputs: whether their files are those that were collected, and what was left out of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkalog.bundles.bundle_manifest import (
    BUNDLE,
    BUNDLE_DATA,
    BUNDLE_README,
    BUNDLE_REMOTE,
    BundleManifest,
    is_bundle,
    manifest_of,
)
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists, is_directory, open_tree
from kafkalog.files.hashing import HashedSource
from kafkalog.files.opening import confine, open_stored
from kafkalog.findings import Finding
from kafkalog.quantities import many
from kafkalog.unread import not_read

__all__ = ["HASHED_BYTES", "FromBundle", "bundle_around", "bundle_findings", "bundle_remote"]

HASHED_BYTES: Final = 4 << 30  # of a bundle: of a larger one the sizes alone are compared
_SHOWN: Final = 5
_DEEPEST: Final = 6


class FromBundle(NamedTuple):
    """What a bundle says of one of its log directories: which partitions' directories were left out of it on purpose.

    `now_ms` is the newest time that a broker had written in all that the bundle was taken from, -1 where it is cut.
    `cut_at_start` and `cut_at_end` are the names of the directories whose logs have no beginning, and no end.
    """

    left_out: frozenset[str] = frozenset()
    now_ms: int = -1
    cut_at_start: frozenset[str] = frozenset()
    cut_at_end: frozenset[str] = frozenset()

    def is_cut_at_start(self, log: str) -> bool:
        """Say whether the beginning of a log was cut off, by its directory's path."""
        return bool(self.cut_at_start) and os.path.basename(log.rstrip("/")) in self.cut_at_start

    def is_cut_at_end(self, log: str) -> bool:
        """Say whether the end of a log was cut off, by its directory's path."""
        return bool(self.cut_at_end) and os.path.basename(log.rstrip("/")) in self.cut_at_end


NO_BUNDLE: Final = FromBundle()


def bundle_around(home: str) -> FromBundle:
    """Return what the bundle around a log directory says of it; nothing without one, or where it can't be read."""
    above, name = os.path.split(home.rstrip("/"))
    root, data = os.path.split(above)
    if data != BUNDLE_DATA or not root or not is_bundle(root):
        return NO_BUNDLE
    try:
        manifest = manifest_of(root)
    except UnreadableError:  # a finding of the bundle
        return NO_BUNDLE
    within = f"{BUNDLE_DATA}/{name}/"
    left = (one.path.removeprefix(within) for one in manifest.left_out if one.path.startswith(within))
    now = manifest.moment.get("now_ms")
    cut = [
        (file.path.removeprefix(within).partition("/")[0], file.cut)
        for file in manifest.files
        if file.cut is not None and file.path.startswith(within) and file.path.endswith(".log")
    ]
    return FromBundle(
        frozenset(one for one in left if "/" not in one), now if isinstance(now, int) else -1,
        frozenset(name for name, about in cut if about.from_offset is not None),
        frozenset(name for name, about in cut if about.to_offset is not None),
    )  # fmt: skip


def bundle_remote(path: str) -> tuple[str, str | None] | None:
    """Return the remote store that is in a bundle, and the pattern of its objects' names if one was given."""
    place = os.path.join(path, BUNDLE_REMOTE)
    if not is_bundle(path) or not is_directory(place):
        return None
    try:
        layout = manifest_of(path).selection.get("remote_layout")
    except UnreadableError:
        layout = None
    return place, layout if isinstance(layout, str) else None


def bundle_findings(root: str) -> Iterator[Finding]:
    """Yield what is wrong with the files of a bundle by its manifest, then a note that says what it is a part of."""
    confine(root)
    try:
        manifest = manifest_of(root)
    except UnreadableError as error:
        yield not_read(os.path.join(root, BUNDLE), error)
        return
    is_hashed = sum(file.size for file in manifest.files) <= HASHED_BYTES
    for file in manifest.files:
        path = os.path.join(root, file.path)
        if not exists(path):
            yield Finding.of("output-changed", path, f"it is gone; {BUNDLE} lists it", needed=file.size)
            continue
        try:
            source = open_stored(path)
        except UnreadableError as error:
            yield not_read(path, error)
            continue
        try:
            hashed = is_hashed and source.size == file.size
            change = file.change(source.size, HashedSource(source, "sha256").hexdigest() if hashed else None)
        except UnreadableError as error:
            yield not_read(path, error)
            continue
        finally:
            source.close()
        if change is not None:
            yield Finding.of("output-changed", path, change, needed=file.size)
    known = {file.path for file in manifest.files} | {BUNDLE, BUNDLE_README}
    for path in _files(root):
        if path not in known:
            yield Finding.of("output-unlisted", os.path.join(root, path), f"{BUNDLE} does not list it")
    if said := said_of(manifest):
        yield Finding.of("bundle-in-part", os.path.join(root, BUNDLE), said)


def said_of(manifest: BundleManifest) -> str:
    """Say of what a bundle is a part, and whether it was redacted; nothing where it is whole and as it was."""
    kept, there = (manifest.selection.get(f"partitions_{what}") for what in ("kept", "there"))
    parts = []
    if isinstance(kept, int) and isinstance(there, int) and kept < there:
        parts.append(
            f"The bundle has {kept} of {many(there, 'partition', grouped=True)}; the others were left out on purpose."
        )
    if any(file.cut is not None and file.path.endswith(".log") for file in manifest.files):
        parts.append("Logs were cut: what was before and after is not known.")
    if manifest.redacted is not None:
        parts.append(f"It is redacted{', and all times were moved' * bool(manifest.redacted.get('times_shifted'))}.")
    rest = [one for one in manifest.unknowable if not one.startswith("the bundle has ")]
    if rest:
        more = f", and {len(rest) - _SHOWN} more" if len(rest) > _SHOWN else ""
        parts.append(f"Not to be known from it: {'; '.join(rest[:_SHOWN])}{more}.")
    return " ".join(parts)


def _files(root: str) -> Iterator[str]:
    """Yield the files below a bundle's data and remote objects, by their paths in it; links as what they are."""
    waiting = [(name, 1) for name in (BUNDLE_DATA, BUNDLE_REMOTE) if is_directory(os.path.join(root, name))]
    while waiting:
        folder, depth = waiting.pop()
        try:
            entries = open_tree(os.path.join(root, folder)).entries(os.path.join(root, folder))
        except UnreadableError:  # who lists it reports it
            continue
        for entry in sorted(entries, key=lambda one: one.name):
            path = f"{folder}/{entry.name}"
            if entry.is_directory and depth < _DEEPEST:
                waiting.append((path, depth + 1))
            elif not entry.is_directory:
                yield path
