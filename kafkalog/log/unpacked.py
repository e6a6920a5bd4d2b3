"""Archives and compressed files among the inputs: unpacked into a folder of their own, which is removed at the end.

What was in ``backup.tar.gz`` is named ``backup.tar.gz!/T-0/….log`` everywhere, and may be asked for by that name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final

from kafkalog.errors import UnreadableError
from kafkalog.format.compression import DecompressionError
from kafkalog.format.unpacking import PACKED, UnpackedStream
from kafkalog.log.files import open_file
from kafkalog.log.names import FileKind, is_remote, local_path, parse_name, place_unpacked
from kafkalog.log.watch import watch

__all__ = ["MAX_UNPACKED_BYTES", "is_archive", "unpacked"]

MAX_UNPACKED_BYTES: Final = 8 << 30
_TAR_MAGIC: Final = 257, b"ustar"
_ZIP: Final = b"PK\x03\x04"
_TARS: Final = (".tar", ".tgz", ".tzst")
_HEAD: Final = 512


@contextmanager
def unpacked(paths: Sequence[str], max_bytes: int = MAX_UNPACKED_BYTES) -> Iterator[list[str]]:
    """Give the paths, with those inside in the place of archives and compressed files.

    An archive stands for what is in it; directories that contain nothing but one directory are passed. At most
    `max_bytes` are unpacked of all. Raises UnreadableError for an archive that is broken, or would write elsewhere.
    """
    folders: dict[str, str] = {}
    try:
        yield [_unpacked(path, max_bytes, folders) for path in paths]
    finally:
        for root in folders:
            place_unpacked(root, None)
        _remove(folders.values())


def is_archive(path: str) -> bool:
    """Say whether a path is a file that `unpacked` reads."""
    return _kind(path) != ""


def _unpacked(path: str, max_bytes: int, folders: dict[str, str]) -> str:
    file, inside, rest = path.partition("!/")
    if inside and os.path.lexists(local_path(path)):
        file, rest = path, ""
    kind = _kind(file)
    if not kind:
        return path
    root = f"{file}!"
    if root not in folders:
        folder = _new_folder(root, folders)
        _unpack(file, kind, folder, max_bytes - sum(map(_size, folders.values())))
        place_unpacked(root, folder)
    return f"{root}/{rest}" if rest else _beginning(root, kind)


def _new_folder(root: str, folders: dict[str, str]) -> str:
    """Make the folder of an archive; it is known before it is made, so that a signal can't leave it there."""
    import secrets  # most commands get no archive
    import tempfile

    folder = os.path.join(tempfile.gettempdir(), f"kafkalog{secrets.token_hex(8)}")
    folders[root] = folder
    try:
        os.mkdir(folder, 0o700)
    except OSError:  # it is not there, or another's
        del folders[root]
        raise
    return folder


def _remove(folders: Collection[str]) -> None:
    if folders:
        import shutil  # imports every codec of the standard library

        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _size(folder: str) -> int:
    return sum(os.lstat(os.path.join(home, name)).st_size for home, _, names in os.walk(folder) for name in names)


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


def _unpack(path: str, kind: str, folder: str, max_bytes: int) -> None:
    """Unpack a file into a new folder. Raises UnreadableError."""
    from kafkalog.log.members import ArchiveError, Folder, unpack_tar, unpack_zip

    into = Folder(folder, max_bytes)
    watch().begin(os.path.getsize(local_path(path)), 1)
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
    from kafkalog.log.recognition import DirectoryKind, recognized  # most commands get no archive
    from kafkalog.log.storage import is_directory, open_tree

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
