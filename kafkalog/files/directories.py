"""The entries of directories, on a disk or in an object store: names, kinds and sizes.

A local directory is listed when it is needed. A tree in an object store is listed once, completely: one request gives
a thousand names, in however many directories they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from kafkalog.errors import UnreadableError
from kafkalog.escape import command_line
from kafkalog.files.ledger import note_listing, note_refusal
from kafkalog.files.names import is_remote, local_path
from kafkalog.files.opening import open_unnoticed
from kafkalog.files.packed_segments import owner_of_part
from kafkalog.files.tree import DirectoryEntry, FileIdentity, Tree
from kafkalog.findings import Finding

__all__ = [
    "device_and_inode",
    "exists",
    "expand",
    "identities",
    "identity_of",
    "is_directory",
    "is_file",
    "is_outside",
    "leaving",
    "open_tree",
]


_In = TypeVar("_In")

_Out = TypeVar("_Out")

_MAGIC: Final = frozenset("*?[")

_NOTHING_THERE: Final = (FileNotFoundError, NotADirectoryError, ValueError)  # all else says nothing about what is there


class _LocalEntry:
    """An entry of ``os.scandir``; its size and times are asked for when they are needed, once."""

    __slots__ = ("_place", "_status", "is_directory", "is_link", "name", "path")

    def __init__(self, folder: str, place: str, entry: os.DirEntry[str]) -> None:
        self.name = name = entry.name
        self.path = folder + name
        self._place = place + name
        self.is_link = entry.is_symlink()
        self.is_directory = entry.is_dir(follow_symlinks=False)
        self._status: FileIdentity | bool | None = False  # not asked for yet

    @property
    def size(self) -> int:
        try:
            known = self.identity
        except UnreadableError:
            return 0
        return 0 if known is None else known.size

    @property
    def identity(self) -> FileIdentity | None:
        if isinstance(self._status, bool):
            self._status = _identity(self._place)
        return self._status


def _identity(place: str) -> FileIdentity | None:
    """Return which file is there, None if nothing is. Raises UnreadableError if the file system can't say."""
    try:
        return FileIdentity.of(os.stat(place))
    except _NOTHING_THERE:
        return None
    except OSError as error:
        raise UnreadableError(f"{place}: {(error.strerror or str(error)).lower()}") from error


class _LocalTree:
    """Directories of a file system, whose access times stay as they were."""

    def entries(self, path: str, /) -> list[DirectoryEntry]:
        try:
            descriptor = open_unnoticed(path, os.O_DIRECTORY)
            try:
                folder = path if path.endswith("/") else f"{path}/"
                place = local_path(folder)
                note_listing(path)
                with os.scandir(descriptor) as entries:
                    return [_LocalEntry(folder, place, entry) for entry in entries]
            finally:
                os.close(descriptor)
        except NotADirectoryError as error:
            shown = command_line("kafkalog dump", path) or "kafkalog dump FILE"
            raise UnreadableError(f"{path}: not a directory: did you mean `{shown}`?") from error
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            note_refusal(path, why)
            raise UnreadableError(f"{path}: {why}") from error

    def each(self, function: Callable[[_In], _Out], items: Iterable[_In], /) -> list[_Out]:
        return [function(item) for item in items]


def open_tree(path: str, *, deep: bool = True) -> Tree:
    """Open a directory for listing; without `deep`, only its own entries are needed.

    Raises UnreadableError if an object store can't be reached.
    """
    if not is_remote(path):
        return _LocalTree()
    from kafkalog.files.object_stores import RemoteTree

    return RemoteTree(path, deep=deep)


def exists(path: str) -> bool:
    """Say whether anything is there; also True where a file system or a store fails, which proves nothing."""
    path = owner_of_part(path) or path
    try:
        if is_remote(path):
            return _remote_kind(path) != ""
        os.lstat(local_path(path))
    except _NOTHING_THERE:
        return False
    except (OSError, UnreadableError):
        return True
    return True


def identity_of(path: str) -> FileIdentity | None:
    """Say which local file or directory is there; None if nothing is there, or if it is an object.

    Raises UnreadableError if the file system can't say.
    """
    return None if is_remote(path) else _identity(local_path(path))


def device_and_inode(path: str) -> tuple[int, int]:
    """Say which local directory is there; zeros for one of an object store. Raises UnreadableError if none is."""
    if is_remote(path):
        return 0, 0
    try:
        status = os.stat(local_path(path))
    except OSError as error:
        raise UnreadableError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    return status.st_dev, status.st_ino


def identities(folder: str, names: Iterable[str]) -> dict[str, FileIdentity | None]:
    """Say which files are in a local directory under these names. Raises UnreadableError as ``identity_of``."""
    place = f"{local_path(folder)}/"
    return {name: _identity(place + name) for name in names}


def is_directory(path: str) -> bool:
    """Say whether a directory is there; False if a store can't be reached."""
    if not is_remote(path):
        return os.path.isdir(local_path(path))
    try:
        return _remote_kind(path) == "directory"
    except UnreadableError:
        return False


def is_file(path: str) -> bool:
    """Say whether a file is there. Raises UnreadableError if a store can't be reached."""
    return _remote_kind(path) == "file" if is_remote(path) else os.path.isfile(local_path(path))


def _remote_kind(path: str) -> str:
    from kafkalog.files.object_stores import kind_of

    return kind_of(path)


def expand(pattern: str) -> list[str]:
    """Return the paths that match a pattern of ``*``, ``?`` and ``[…]``; the pattern itself if nothing matches."""
    if not _MAGIC & set(pattern) or exists(pattern):
        return [pattern]
    if is_remote(pattern):
        scheme, _, rest = pattern.partition("://")
        bucket, *parts = rest.strip("/").split("/")
        found = [f"{scheme}://{bucket}"]
    else:
        start = len(pattern) - len(local_path(pattern).lstrip("/"))
        found, parts = [pattern[:start]], pattern[start:].split("/")
    for part in parts:
        found = [path for folder in found for path in _matching(folder, part)]
    return found or [pattern]


def _matching(folder: str, part: str) -> list[str]:
    """Return the paths in `folder` that match a part of a pattern, as a shell does: not those that begin with a dot."""
    between = "/" if folder and not folder.endswith("/") else ""
    if not _MAGIC & set(part):
        path = folder + between + part
        return [path] if is_remote(path) or exists(path) else []
    try:
        entries = open_tree(folder, deep=False).entries(folder or ".")
    except UnreadableError:  # reported when the pattern itself is read as a path
        return []
    from fnmatch import fnmatchcase

    names = (entry.name for entry in entries if part.startswith(".") or not entry.name.startswith("."))
    return sorted(folder + between + name for name in names if fnmatchcase(name, part))


# Symbolic links in evidence: followed inside the given directory, and reported if they lead out of it.


def leaving(entry: DirectoryEntry, root: str) -> Finding | None:
    """Return the finding for a symbolic link that leads out of `root` or to nothing; None if it may be followed."""
    path = local_path(entry.path)
    if is_outside(entry.path, root):
        message = f"a symbolic link to {os.path.realpath(path)}, which is outside {root}; it was not followed"
    elif not os.path.exists(path):
        message = f"a symbolic link to {os.path.realpath(path)}, which does not exist"
    else:
        return None
    note_refusal(entry.path, message, "link")
    return Finding.of("link-leaves", entry.path, message)


def is_outside(path: str, root: str) -> bool:
    """Say whether links lead from a path out of a local directory; nothing does in an object store."""
    if is_remote(path):
        return False
    target, top = os.path.realpath(local_path(path)), os.path.realpath(local_path(root))
    return os.path.commonpath([target, top]) != top
