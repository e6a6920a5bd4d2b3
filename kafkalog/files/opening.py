"""Read-only sources of bytes: files, local or in an object store, and bytes in memory.

Evidence is opened for reading only, never mapped, never waited for (a FIFO named like a segment must not hang), and its
access time does not change if the system allows that. A file ends where it ended when it was opened. Below a directory
that was `confined` no link leads out, also one that somebody put there after the listing.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import closing
from typing import TYPE_CHECKING, Final, Protocol

from kafkalog.errors import UnreadableError
from kafkalog.files.ledger import note_opening, note_refusal
from kafkalog.files.names import is_remote, local_path
from kafkalog.files.packed_segments import PackedSource, index_part, manifest_path, read_manifest
from kafkalog.files.system_calls import read_at
from kafkalog.files.tree import FileIdentity

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "MOST_OF_SIDE_FILE",
    "BytesSource",
    "FileSource",
    "SizedSource",
    "Source",
    "confine",
    "open_file",
    "open_source",
    "open_stored",
    "open_unnoticed",
    "read_small",
]

MOST_OF_SIDE_FILE: Final = 64 << 20  # bytes: what is after them is not read


class Source(Protocol):
    """Bytes that can be read at any position, in any order, up to `size`; None while a stream's end is unknown."""

    name: str
    is_cut: bool  # whether the reader asked for an end before the file's own

    @property
    def size(self) -> int | None: ...

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        """Fill `view` with the bytes from `position` on, or with those that are there without waiting.

        Returns how many these are: fewer than `least` only at the end.
        """

    def read_bytes(self, position: int, size: int) -> bytes:
        """Return the bytes from `position` on, fewer than `size` only at the end."""

    def release(self, position: int) -> None:
        """Declare that no byte before `position` will be read again."""

    def close(self) -> None: ...

    def changes(self) -> str | None:
        """Say in words what happened to the file since it was opened, None if nothing did."""


class SizedSource(Source, Protocol):
    """A source whose end is known from the start."""

    @property
    def size(self) -> int: ...


class BytesSource:
    """Bytes in memory."""

    is_cut = False

    def __init__(self, data: bytes | bytearray | memoryview, name: str = "<bytes>") -> None:
        self.name = name
        self._data = memoryview(data)

    @property
    def size(self) -> int:
        return len(self._data)

    def read_into(self, position: int, view: memoryview, _least: int, /) -> int:
        piece = self._data[position : position + len(view)]
        view[: len(piece)] = piece
        return len(piece)

    def read_bytes(self, position: int, size: int) -> bytes:
        return bytes(self._data[position : position + size])

    def release(self, position: int) -> None: ...

    def close(self) -> None: ...

    def changes(self) -> None: ...


_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NO_ATIME: Final[int] = getattr(os, "O_NOATIME", 0)
_OF_A_SOCKET: Final = (errno.ENXIO, errno.EOPNOTSUPP)  # what Linux, and what macOS says to who opens one


_STEP: Final = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)  # macOS has no O_PATH
_A_LINK: Final = (errno.ELOOP, errno.ENOTDIR)  # what a system says of one that is not to be followed

_OUT: Final = "a symbolic link out of"

_confined: set[str] = set()  # directories of this process and of its forks, as their paths were given


def confine(path: str) -> None:
    """Let no link lead out of a local directory, from now on, where something below it is opened by its path."""
    if not is_remote(path):
        _confined.add(local_path(path).rstrip("/") or "/")


def open_unnoticed(name: str, flags: int = 0) -> int:
    """Open a local file or directory for reading, and leave its access time unchanged where the system allows that.

    Raises OSError, also for what a link leads to out of the innermost directory around it that is confined.
    """
    path, flags = local_path(name), flags | _READ
    root = _confined_around(path)
    if root is None:
        return _open_at(path, flags, None)
    try:
        return _open_below(root, path[len(root) :], flags)
    except OSError as error:
        if error.errno not in _A_LINK:
            raise
    target, top = os.path.realpath(path), os.path.realpath(root)
    if not target.startswith(f"{top.rstrip('/')}/"):
        raise OSError(errno.ELOOP, f"{_OUT} {root}, which is not followed")
    return _open_below(top, target[len(top) :], flags)


def _confined_around(path: str) -> str | None:
    """Return the innermost confined directory that a path is below; a confined directory itself is opened as any."""
    if not _confined or path in _confined:
        return None
    above = path.rstrip("/")
    if above in _confined:
        return None
    while "/" in above:
        above = above.rpartition("/")[0] or "/"
        if above in _confined:
            return above
        if above == "/":
            break
    return None


def _open_below(root: str, rest: str, flags: int) -> int:
    """Open what is below a directory, part by part; raises OSError at a link."""
    *folders, name = (part for part in rest.split("/") if part)
    at = os.open(root, _STEP)
    try:
        for folder in folders:
            deeper = os.open(folder, _STEP | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = deeper
        return _open_at(name, flags | os.O_NOFOLLOW, at)
    finally:
        os.close(at)


def _open_at(path: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(path, flags | _NO_ATIME, dir_fd=folder)
    except PermissionError:  # only the owner may, and root
        return os.open(path, flags, dir_fd=folder)


def open_file(name: str) -> io.BufferedReader:
    """Open a local file for reading as Python has files, its access time unchanged.

    Raises UnreadableError if it can't be opened or is not a regular file.
    """
    return io.BufferedReader(_NotedFile(name))


class _NotedFile(io.FileIO):
    """A file whose reads the ledger has."""

    def __init__(self, name: str) -> None:
        descriptor, status = _open(name)
        super().__init__(descriptor, "rb")
        self._note_read = note_opening(name, status.st_size)

    def readinto(self, view: WriteableBuffer) -> int:
        """Read what is next."""
        return self._counted(super().readinto(view) or 0)

    def readall(self) -> bytes:
        """Read the rest."""
        rest = super().readall() or b""
        self._counted(len(rest))
        return rest

    def _counted(self, got: int) -> int:
        self._note_read(self.tell(), got)
        return got


def _open(name: str) -> tuple[int, os.stat_result]:
    """Open a regular file; what can't be is in the ledger. Raises UnreadableError."""
    try:
        return _opened(name)
    except UnreadableError as error:
        note_refusal(name, str(error), "link" if _OUT in str(error) else "refused")
        raise


def _opened(name: str) -> tuple[int, os.stat_result]:
    try:
        descriptor = open_unnoticed(name)
    except OSError as error:
        what = "a socket" if error.errno in _OF_A_SOCKET else (error.strerror or str(error)).lower()
        raise UnreadableError(f"{name}: {what}") from error
    except ValueError as error:  # a NUL in the name
        raise UnreadableError(f"{name!r}: {error}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        what = next((words for is_kind, words in _KINDS if is_kind(status.st_mode)), "not a regular file")
        raise UnreadableError(f"{name}: {what}")
    return descriptor, status


class FileSource:
    """A regular file, read up to its size at opening.

    Raises UnreadableError if it can't be opened, is not a regular file, or a read fails.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int | None = None) -> None:
        self.name = os.fspath(path)
        self._descriptor, self._status = _open(self.name)
        self._note_read = note_opening(self.name, self._status.st_size)
        self._size = self._status.st_size if max_bytes is None else min(self._status.st_size, max_bytes)
        self.is_cut = self._size < self._status.st_size

    @property
    def size(self) -> int:
        return self._size

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        if len(view) > self._size - position:
            view = view[: max(0, self._size - position)]
        done, least = 0, min(least, len(view))
        while done < least:
            try:
                got = read_at(self._descriptor, view[done:] if done else view, position + done)
            except OSError as error:
                why = f"cannot read at position {position + done}: {error.strerror}"
                self._note_read(position + done, done)
                note_refusal(self.name, why)
                raise UnreadableError(f"{self.name}: {why}") from error
            if not got:
                break
            done += got
        self._note_read(position + done, done)
        return done

    def read_bytes(self, position: int, size: int) -> bytes:
        data = bytearray(max(0, min(size, self._size - position)))
        got = self.read_into(position, memoryview(data), size) if data else 0
        return bytes(data) if got == len(data) else bytes(data[:got])

    def release(self, position: int) -> None: ...

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def identity(self) -> FileIdentity:
        """Return which file it was when it was opened."""
        return FileIdentity.of(self._status)

    def state(self) -> str:
        """Say in one word what happened to the file since it was opened."""
        now = os.fstat(self._descriptor)
        if now.st_size != self._status.st_size:
            return "grew" if now.st_size > self._status.st_size else "shrank"
        if now.st_mtime_ns != self._status.st_mtime_ns:
            return "written"
        try:
            there = os.stat(local_path(self.name))
        except OSError:
            return "vanished"
        return "whole" if (there.st_dev, there.st_ino) == (now.st_dev, now.st_ino) else "replaced"

    def changes(self) -> str | None:
        state = self.state()
        if state in ("grew", "shrank"):
            now = os.fstat(self._descriptor).st_size
            return f"{state} from {self._status.st_size} to {now} bytes while it was read"
        words = {"written": "was written to", "vanished": "vanished", "replaced": "was replaced"}
        return None if state == "whole" else f"{words[state]} while it was read"


def open_source(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> SizedSource:
    """Open a file by its path or its URI; with `max_bytes` it ends there at the latest.

    Raises UnreadableError if it can't be opened or is not a regular file.
    """
    name = os.fspath(path)
    if (part := index_part(name, read_small)) is not None:
        return BytesSource(part[:max_bytes], name)
    beside = manifest_path(name)
    if beside is not None and _is_there(beside):
        manifest = read_manifest(read_small(beside), beside)
        if manifest.is_compressed:
            return PackedSource(_open_source(name, None), manifest, max_bytes=max_bytes)
    return _open_source(name, max_bytes)


def _is_there(name: str) -> bool:
    if not is_remote(name):
        return os.path.isfile(local_path(name))
    from kafkalog.files.object_stores import is_object

    return is_object(name)


def open_stored(name: str) -> SizedSource:
    """Open a file as it is stored, whatever packs it. Raises UnreadableError as ``open_source``."""
    return _open_source(name, None)


def _open_source(name: str, max_bytes: int | None) -> SizedSource:
    if not is_remote(name):
        return FileSource(name, max_bytes=max_bytes)
    from kafkalog.files.object_stores import RemoteSource  # pyarrow, which local files do not need

    return RemoteSource(name, max_bytes=max_bytes)


def read_small(path: str | os.PathLike[str]) -> bytes:
    """Read a whole side file, at most 64 MiB of it.

    Raises UnreadableError if it can't be opened or read, or is not a regular file.
    """
    name = os.fspath(path)
    if (part := index_part(name, read_small)) is not None:
        return part
    if is_remote(name):
        with closing(open_source(name, max_bytes=MOST_OF_SIDE_FILE)) as source:
            return source.read_bytes(0, source.size)
    descriptor, status = _open(name)
    try:
        left = min(status.st_size, MOST_OF_SIDE_FILE)
        data = os.read(descriptor, left)
        note_opening(name, status.st_size)(left, left)
        if len(data) == left:  # as always, but where the file shrank, or the file system gives less
            return data
        parts = [data]
        while (left := left - len(parts[-1])) and (part := os.read(descriptor, left)):
            parts.append(part)
        return b"".join(parts)
    except OSError as error:
        raise UnreadableError(f"{name}: cannot read: {error.strerror}") from error
    finally:
        os.close(descriptor)
