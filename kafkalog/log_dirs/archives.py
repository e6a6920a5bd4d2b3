"""Archives and compressed files among the inputs: unpacked into a folder of their own, which is removed at the end.

A run holds the lock of its folders. What a run that was killed has left, nobody holds: the next one removes it.

What was in ``backup.tar.gz`` is named ``backup.tar.gz!/T-0/….log`` everywhere, and may be asked for by that name.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from kafkalog.errors import UnreadableError
from kafkalog.files.names import FileKind, is_remote, local_path, parse_name, place_unpacked
from kafkalog.files.off_limits import temporary_folder
from kafkalog.files.opening import open_file
from kafkalog.files.watch import watch
from kafkalog.kafka.compression import DecompressionError
from kafkalog.kafka.unpacking import PACKED, UnpackedStream

if TYPE_CHECKING:
    from kafkalog.log_dirs.archive_members import Ceilings

__all__ = ["is_archive", "remove_left", "unpacked"]

MAX_UNPACKED_BYTES: Final = 8 << 30
_TAR_MAGIC: Final = 257, b"ustar"
_ZIP: Final = b"PK\x03\x04"
_TARS: Final = (".tar", ".tgz", ".tzst")
_HEAD: Final = 512
_PREFIX: Final = "kafkalog-unpacked-"  # of folders


@contextmanager
def unpacked(paths: Sequence[str], max_bytes: int = MAX_UNPACKED_BYTES) -> Iterator[list[str]]:
    """Give the paths, with those inside in the place of archives and compressed files.

    An archive stands for what is in it; directories that contain nothing but one directory are passed. At most
    `max_bytes` are unpacked of all. Raises UnreadableError for an archive that is broken, or would write elsewhere.

    >>> with kafkalog.unpacked(["fixtures/v2.8-hanging/data"]) as paths:  # one that is no archive is as it was
    ...     kafkalog.open(paths).audit().verdict.word
    'SUSPICIOUS'
    """
    archives = _Archives(max_bytes)
    try:
        yield [archives.path(path) for path in paths]
    finally:
        try:
            archives.remove()
        except (KeyboardInterrupt, SystemExit):  # a signal came meanwhile: the next one is ignored
            archives.remove()
            raise


def is_archive(path: str) -> bool:
    """Say whether a path is a file that `unpacked` reads."""
    return _kind(path) != ""


class _Archives:
    """The archives of a run: the folder of each and its lock, by the name that stands for it."""

    def __init__(self, max_bytes: int) -> None:
        from kafkalog.log_dirs.archive_members import Ceilings

        self._ceilings = Ceilings(max_bytes)
        self._folders: dict[str, str] = {}
        self._locks: list[int] = []

    def path(self, path: str) -> str:
        """Return what a path stands for; an archive is unpacked when it is named first."""
        file, inside, rest = path.partition("!/")
        if inside and os.path.lexists(local_path(path)):
            file, rest = path, ""
        kind = _kind(file)
        if not kind:
            return path
        root = f"{file}!"
        if root not in self._folders:
            remove_left()
            folder = self._new_folder(root)
            _unpack(file, kind, folder, self._ceilings)
            place_unpacked(root, folder)
        return f"{root}/{rest}" if rest else _beginning(root, kind)

    def _new_folder(self, root: str) -> str:
        """Make the folder of an archive; it is known before it is made, so that a signal can't leave it there."""
        import secrets  # most commands get no archive

        while True:
            folder = os.path.join(temporary_folder(), f"{_PREFIX}{secrets.token_hex(8)}")
            self._folders[root] = folder
            try:
                os.mkdir(folder, 0o700)
            except OSError as error:  # it is not there, or another's
                del self._folders[root]
                raise UnreadableError(f"{root[:-1]}: cannot be unpacked in {folder}: {error.strerror}") from error
            try:
                self._locks.append(_locked(folder))
            except (BlockingIOError, FileNotFoundError):  # another run took it for one that is left
                continue
            except OSError:  # a file system without locks: nobody else removes it
                pass
            return folder

    def remove(self) -> None:
        """Forget the archives, and remove their folders."""
        for root, folder in self._folders.items():
            place_unpacked(root, None)
            _remove(folder)
        while self._locks:
            os.close(self._locks.pop())


def remove_left() -> None:
    """Remove the folders of runs that were killed."""
    with suppress(OSError):
        for name in os.listdir(temporary_folder()):
            if name.startswith(_PREFIX):
                _remove_left(os.path.join(temporary_folder(), name))


def _remove_left(folder: str) -> None:
    with suppress(OSError):  # a run is reading it, or it is somebody else's
        if os.lstat(folder).st_uid == os.getuid():
            lock = _locked(folder)
            _remove(folder)
            os.close(lock)


def _locked(folder: str) -> int:
    """Lock a folder. Raises OSError where another process holds it, or it is no longer there."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(folder: str) -> None:
    import shutil  # imports every codec of the standard library

    shutil.rmtree(folder, ignore_errors=True)


def _kind(path: str) -> str:
    """Say what a file is: zip, tar, or the codec that it is compressed with; "" for anything else."""
    local = local_path(path)
    if is_remote(path) or parse_name(os.path.basename(local)).kind is not FileKind.UNKNOWN:
        return ""
    try:
        if not stat.S_ISREG(os.stat(local).st_mode):
            return ""
        with open_file(path) as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):  # reported where it is read
        return ""
    if head.startswith(_ZIP):
        return "zip"
    codec = next((name for magic, name in PACKED.items() if head.startswith(magic)), "")
    if codec and not _is_tar_name(path) and not _is_tar(path, codec) and _inner(path) is None:
        return ""
    return codec or ("tar" if _is_tar_head(head) or path.endswith(".tar") else "")


def _is_tar_name(path: str) -> bool:
    name = os.path.basename(path).lower()
    return name.endswith(_TARS) or ".tar." in name


def _is_tar_head(head: bytes) -> bool:
    at, magic = _TAR_MAGIC
    return head[at : at + len(magic)] == magic


def _is_tar(path: str, codec: str) -> bool:
    try:
        with open_file(path) as file:
            return _is_tar_head(UnpackedStream(file, codec).read(_HEAD))
    except (DecompressionError, OSError):
        return False


def _inner(path: str) -> str | None:
    """Return the name of the file that a compressed one contains, None if it is not one of Kafka's."""
    name = os.path.basename(path).rpartition(".")[0]
    return None if parse_name(name).kind is FileKind.UNKNOWN else name


def _unpack(path: str, kind: str, folder: str, ceilings: Ceilings) -> None:
    """Unpack a file into a new folder. Raises UnreadableError."""
    from kafkalog.log_dirs.archive_members import ArchiveError, Folder, unpack_tar, unpack_zip

    size = os.path.getsize(local_path(path))
    into = Folder(folder, size, ceilings)
    watch().begin(size, 1)
    try:
        with open_file(path) as file:
            watched = _Watched(file, path)
            if kind == "zip":
                unpack_zip(file, into)
            elif kind == "tar":
                unpack_tar(watched, into)
            else:
                stream = UnpackedStream(watched, kind)
                if _is_tar_name(path) or _is_tar_head(stream.peek(_HEAD)):
                    unpack_tar(stream, into)
                else:
                    into.file(_inner(path) or "", stream, None)
        into.link()
    except (ArchiveError, DecompressionError) as error:
        raise UnreadableError(f"{path}: {error}; nothing of it was read") from error
    except OSError as error:
        raise UnreadableError(
            f"{path}: cannot be unpacked in {folder}: {error.strerror or error}; TMPDIR chooses another place"
        ) from error
    _name_the_loose(path, folder)


class _Watched:
    """A file that says how far it is read."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self._at = 0

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._at += len(data)
        watch().at(self._path, self._at)
        return data


def _name_the_loose(path: str, folder: str) -> None:
    """Put a partition's files that are in no directory into one with the archive's name, which may be the log's."""
    names = os.listdir(folder)
    stem = os.path.basename(path).partition(".tar")[0].removesuffix(".tgz").removesuffix(".zip")
    if any(parse_name(name).offset is not None for name in names) and _is_tar_name(path) and stem not in names:
        os.mkdir(os.path.join(folder, stem))
        for name in names:
            os.rename(os.path.join(folder, name), os.path.join(folder, stem, name))


def _beginning(root: str, kind: str) -> str:
    """Return the first directory, or the only file, that says anything."""
    from kafkalog.files.directories import is_directory, open_tree
    from kafkalog.files.recognition import DirectoryKind, recognized  # most commands get no archive

    path, tree = root, open_tree(root)
    while True:
        entries = tree.entries(path)
        if len(entries) != 1 or entries[0].is_link:
            return path
        name = os.path.basename(path)
        if not is_directory(entries[0].path):
            return entries[0].path if path == root and kind in PACKED.values() else path
        if recognized(tree, name, entries) is not DirectoryKind.OTHER:
            return path
        path = entries[0].path
