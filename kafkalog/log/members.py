"""The members of an archive, checked one by one before anything is made of them.

No name is absolute or has ``..``, no link leads out, nothing is a device, and the sum of all bytes has a ceiling. What
breaks a rule refuses the whole archive: it was not made by copying a log directory.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from typing import Any, BinaryIO, Final, Protocol

__all__ = ["ArchiveError", "Folder", "Readable", "unpack_tar", "unpack_zip"]

_PIECE: Final = 1 << 20
_ZEROS: Final = bytes(_PIECE)
_MOST_MEMBERS: Final = 1_000_000
_MOST_DIRECTORY: Final = 64 << 20  # bytes of a zip's list of members
_LONGEST_NAME: Final = 4096
_DEEPEST: Final = 64
_LONGEST_HEADER: Final = 1 << 20  # bytes of a long name, or of extended attributes
_BETWEEN: Final = 8 << 20  # bytes of tar between the data of two members


class ArchiveError(ValueError):
    """An archive is broken, breaks a rule, or is over a limit."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, fewer than `size` only at the end."""


class Folder:
    """A new folder that members are put into; links are made last, so that nothing is written through one."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._left = max_bytes
        self._members = 0
        self._links: list[tuple[str, str]] = []

    def _place(self, name: str) -> str:
        """Return the place of a member, whose directory is made. Raises ArchiveError for a name that leads out."""
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise ArchiveError(f"it has more than {_MOST_MEMBERS} members")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\0" in name:
            raise ArchiveError(
                f"the member {_shown(name)} would be written outside of the folder that it is unpacked into"
            )
        if len(name) > _LONGEST_NAME or len(parts) > _DEEPEST:
            raise ArchiveError(
                f"the member {_shown(name)} has a name of {len(name)} characters and {len(parts)} levels"
            )
        path = os.path.join(self._path, *parts)
        os.makedirs(os.path.dirname(path) if parts else path, mode=0o700, exist_ok=True)
        return path

    def directory(self, name: str) -> None:
        """Make a directory."""
        os.makedirs(self._place(name), mode=0o700, exist_ok=True)

    def file(self, name: str, stream: Readable, size: int | None, modified: float | None = None) -> None:
        """Write a file of `size` bytes, or to the stream's end; a later member of the name replaces an earlier one."""
        path, done = self._place(name), 0
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "xb", opener=_only_ours) as file:
            while data := stream.read(_PIECE):
                done += len(data)
                self._left -= len(data)
                if self._left < 0:
                    raise ArchiveError(f"it has more than {self._max_bytes} bytes (--max-unpacked-bytes)")
                if data == _ZEROS[: len(data)]:  # as at the end of a preallocated segment: a hole
                    file.seek(len(data), os.SEEK_CUR)
                else:
                    file.write(data)
            file.truncate(done)
        if size is not None and done != size:
            raise ArchiveError(f"it is cut short in {_shown(name)}: {size} bytes are needed, {done} are there")
        if modified is not None and 0 <= modified < 1 << 33:
            os.utime(path, (modified, modified))

    def hard_link(self, name: str, target: str) -> None:
        """Give a file that was written before another name."""
        path, known = self._place(name), self._place(target)
        if not os.path.lexists(known) or not stat.S_ISREG(os.lstat(known).st_mode):
            raise ArchiveError(f"the link {_shown(name)} leads to {_shown(target)}, which is no file before it")
        if path != known:
            if os.path.lexists(path):
                os.unlink(path)
            os.link(known, path)

    def symbolic_link(self, name: str, target: str) -> None:
        """Remember a symbolic link. Raises ArchiveError for one that leads out."""
        parts = [part for part in target.split("/") if part not in ("", ".")]
        up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
        home = [part for part in name.split("/")[:-1] if part not in ("", ".")]
        if target.startswith("/") or ".." in parts[up:] or up > len(home) or "\0" in target:
            raise ArchiveError(f"the link {_shown(name)} leads out, to {_shown(target)}")
        self._links.append((self._place(name), target))

    def link(self) -> None:
        """Make the symbolic links."""
        for path, target in self._links:
            home = os.path.dirname(path)
            if os.path.realpath(home) != os.path.join(
                os.path.realpath(self._path), os.path.relpath(home, self._path)
            ).removesuffix("/."):
                raise ArchiveError(f"the link {_shown(os.path.basename(path))} is in a directory that is a link")
            if not os.path.lexists(path):
                os.symlink(target, path)


def _only_ours(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _shown(name: str) -> str:
    return ascii(name if len(name) < 200 else f"{name[:200]}…")


class _Counted:
    """Passes bytes on up to a position that moves with the members."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._at = 0
        self._end = _BETWEEN

    def allow(self, size: int) -> None:
        """Allow `size` more bytes, and what is between two members."""
        self._end = self._at + size + _BETWEEN

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._at += len(data)
        if self._at > self._end:
            raise ArchiveError("its headers are too long")
        return data


class _Member(tarfile.TarInfo):
    """A header of a tar; what tarfile takes for the end of the archive may be damage."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Any:
        """Read a header. Raises ArchiveError if it is broken, missing or too long."""
        try:
            member = super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # tarfile's own, for two blocks of zeros
            raise
        except tarfile.HeaderError as error:
            raise ArchiveError(f"it is broken or cut short: {error}") from error
        if member.size < 0 or (member.type in _LONG and member.size > _LONGEST_HEADER):
            raise ArchiveError(f"a header says that it has {member.size} bytes")
        return member


_LONG: Final = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


def unpack_tar(stream: Readable, folder: Folder) -> None:
    """Unpack a tar: ustar, pax or GNU. Raises ArchiveError."""
    counted = _Counted(stream)
    try:
        with tarfile.open(fileobj=counted, mode="r|", bufsize=1 << 16, tarinfo=_Member) as tar:  # type: ignore[call-overload]  # it reads, no more
            while (member := tar.next()) is not None:
                tar.members.clear()  # it would keep all
                counted.allow(member.size)
                _unpack_member(tar, member, folder)
                counted.allow(0 if member.isreg() else member.size)
    except (tarfile.TarError, RecursionError, OverflowError, UnicodeError, EOFError) as error:
        raise ArchiveError(f"it is broken or cut short: {error}") from error


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Folder) -> None:
    if member.isdir():
        folder.directory(member.name)
    elif member.isreg():
        data = tar.extractfile(member)
        assert data is not None
        folder.file(member.name, data, member.size, float(member.mtime))
    elif member.islnk():
        folder.hard_link(member.name, member.linkname)
    elif member.issym():
        folder.symbolic_link(member.name, member.linkname)
    elif member.isdev():
        raise ArchiveError(f"the member {_shown(member.name)} is a device or a FIFO")


def unpack_zip(file: BinaryIO, folder: Folder) -> None:
    """Unpack a zip. Raises ArchiveError."""
    try:
        _refuse_long_list(file)
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                _unpack_zipped(archive, member, folder)
    # What zipfile raises for damage, an unknown method, a password, a damaged stream, an early end, a name.
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, UnicodeError) as error:
        raise ArchiveError(f"it is broken, encrypted or of a kind that is not read: {error}") from error


def _refuse_long_list(file: BinaryIO) -> None:
    """Refuse a zip whose list of members would take too much memory: its size is in the last record."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    length = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if length == 0xFFFFFFFF and (at := tail.rfind(b"PK\x06\x06")) >= 0:
        length = int.from_bytes(tail[at + 40 : at + 48], "little")
    if length > _MOST_DIRECTORY:
        raise ArchiveError(f"its list of members has {length} bytes")
    file.seek(0)


def _unpack_zipped(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Folder) -> None:
    mode = member.external_attr >> 16
    if not member.filename:
        raise ArchiveError("a member has no name")
    if member.is_dir():
        folder.directory(member.filename)
    elif stat.S_ISLNK(mode):
        with archive.open(member) as stream:
            folder.symbolic_link(member.filename, os.fsdecode(stream.read(_LONGEST_NAME)))
    elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise ArchiveError(f"the member {_shown(member.filename)} is a device or a FIFO")
    else:
        with archive.open(member) as stream:
            folder.file(member.filename, stream, member.file_size)
