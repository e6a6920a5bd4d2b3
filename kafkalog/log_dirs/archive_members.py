"""The members of an archive, checked one by one before anything is made of them.

No name is absolute or has ``..``, no link leads out, nothing is a device; members, directories, links and bytes have
ceilings. What breaks a rule refuses the whole archive: it was not made by copying a log directory.
"""

from __future__ import annotations

import copy
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from contextlib import suppress
from typing import Any, BinaryIO, Final, Protocol

from kafkalog.kafka.compression import DecompressionError
from kafkalog.kafka.unpacking import UnpackedStream, bzip2, zip_lzma

__all__ = [
    "MOST_DIRECTORIES",
    "MOST_LINKS",
    "MOST_MEMBERS",
    "ArchiveError",
    "Ceilings",
    "Folder",
    "unpack_tar",
    "unpack_zip",
]


_PIECE: Final = 1 << 20

_ZEROS: Final = bytes(_PIECE)

MOST_MEMBERS: Final = 100_000  # 4,000 partitions with 6 segments each

MOST_DIRECTORIES: Final = 25_000

MOST_LINKS: Final = 10_000

_MOST_TIMES: Final = 1000  # an archive's size; gzip reaches that of zeros

_ALWAYS: Final = 1 << 30  # bytes that any archive may unpack to: 50 partitions whose indexes are preallocated

_MOST_LIST: Final = 64 << 20  # bytes of a zip's list of members

_LISTED: Final = b"PK\x01\x02"

_ZIP64_ENDS: Final = 76  # bytes between the list and the last record

_MARKS_ITS_END: Final = 2  # a flag of LZMA

_LONGEST_NAME: Final = 4096

_DEEPEST: Final = 64

_LONGEST_HEADER: Final = 1 << 20  # bytes of a long name, or of extended attributes

_BETWEEN: Final = 3 << 20  # bytes of tar between the data of two members


class ArchiveError(ValueError):
    """An archive is broken, breaks a rule, or is over a limit."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, fewer than `size` only at the end."""


class Ceilings:
    """What the archives of one run may have together. What a link leads to counts again: it is read again."""

    def __init__(self, max_bytes: int) -> None:
        self._most = {
            "members": MOST_MEMBERS, "directories": MOST_DIRECTORIES, "links": MOST_LINKS,
            "bytes (--max-unpacked-bytes)": max_bytes,
        }  # fmt: skip
        self._found = dict.fromkeys(self._most, 0)

    def count(self, *, members: int = 0, directories: int = 0, links: int = 0, size: int = 0) -> None:
        """Count what is to be unpacked. Raises ArchiveError for what is over a ceiling."""
        for (what, most), more in zip(self._most.items(), (members, directories, links, size), strict=True):
            self._found[what] += more
            if self._found[what] > most:
                raise ArchiveError(f"it has more than {most:,} {what}, with what was unpacked before it")


class Folder:
    """A new folder that members are put into; links are made last, so that nothing is written through one."""

    def __init__(self, path: str, packed_size: int, ceilings: Ceilings) -> None:
        self._path = path
        self._packed_size = packed_size
        self._ceilings = ceilings
        self._left = _ALWAYS + _MOST_TIMES * packed_size
        self._made = {path}
        self._links: list[tuple[str, str]] = []

    def _take_bytes(self, size: int) -> None:
        self._ceilings.count(size=size)
        self._left -= size
        if self._left < 0:
            raise ArchiveError(
                f"its {self._packed_size:,} bytes unpack to more than {_ALWAYS >> 30} GiB and {_MOST_TIMES:,} times"
                " their number: if that is right, unpack it and name the directory"
            )

    def _make(self, path: str) -> None:
        """Make a directory and those above it."""
        missing = []
        while path not in self._made:
            missing.append(path)
            path = os.path.dirname(path)
        self._ceilings.count(directories=len(missing))
        for one in reversed(missing):
            os.mkdir(one, mode=0o700)
            self._made.add(one)

    def _place(self, name: str) -> str:
        """Return the place of a member, whose directory is made. Raises ArchiveError for a name that leads out."""
        self._ceilings.count(members=1)
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
        if not parts:
            return self._path
        self._make(os.path.dirname(path))
        return path

    def directory(self, name: str) -> None:
        """Make a directory."""
        self._make(self._place(name))

    def file(self, name: str, stream: Readable, size: int | None, modified: float | None = None) -> None:
        """Write a file of `size` bytes, or to the stream's end; a later member of the name replaces an earlier one."""
        path, done = self._place(name), 0
        if size is not None and size > self._left:
            self._take_bytes(size)  # which refuses it before the first byte
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "xb", opener=_only_ours) as file:
            while data := stream.read(_PIECE):
                done += len(data)
                self._take_bytes(len(data))
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
            self._ceilings.count(links=1)
            self._take_bytes(os.lstat(known).st_size)
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
        self._ceilings.count(links=1)
        self._links.append((self._place(name), target))

    def link(self) -> None:
        """Make the symbolic links, and count what they lead to."""
        for path, target in self._links:
            home = os.path.dirname(path)
            if os.path.realpath(home) != os.path.join(
                os.path.realpath(self._path), os.path.relpath(home, self._path)
            ).removesuffix("/."):
                raise ArchiveError(f"the link {_shown(os.path.basename(path))} is in a directory that is a link")
            if not os.path.lexists(path):
                os.symlink(target, path)
        known: dict[str, tuple[int, int]] = {}
        for path, _ in self._links:
            real = os.path.realpath(path)
            if real not in known:
                known[real] = _read_again(real)
            members, size = known[real]
            self._ceilings.count(members=members)
            self._take_bytes(size)


def _read_again(place: str) -> tuple[int, int]:
    """Return how many files a link leads to, and their bytes; a link to a directory in there is not followed again."""
    files = [os.path.join(home, name) for home, _, names in os.walk(place) for name in names] or [place]
    sizes = []
    for file in files:
        with suppress(OSError):  # a link to nothing, or to itself
            sizes.append(os.stat(file).st_size)
    return len(files), sum(sizes)


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
    # What tarfile raises besides its own errors is of numbers, texts and maps of sparse files that are no such thing.
    try:
        with tarfile.open(fileobj=counted, mode="r|", bufsize=1 << 16, tarinfo=_Member) as tar:  # type: ignore[call-overload]  # it reads, no more
            while (member := tar.next()) is not None:
                tar.members.clear()  # it would keep all
                counted.allow(member.size)
                _unpack_member(tar, member, folder)
                counted.allow(0 if member.isreg() else member.size)
    except (ArchiveError, DecompressionError):
        raise
    except (tarfile.TarError, ArithmeticError, EOFError, LookupError, RecursionError, TypeError, ValueError) as error:
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
    except (ArchiveError, DecompressionError):
        raise
    # What zipfile raises for damage, an unknown method, a password, a damaged stream, an early end, a name, a number.
    except (
        zipfile.BadZipFile, ArithmeticError, EOFError, LookupError, RuntimeError, TypeError, ValueError, struct.error,
        zlib.error,
    ) as error:  # fmt: skip
        raise ArchiveError(f"it is broken, encrypted or of a kind that is not read: {error}") from error


def _refuse_long_list(file: BinaryIO) -> None:
    """Refuse a zip whose list of members would take too much memory, before zipfile reads the same list."""
    end: Any = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # of several ends the one that zipfile takes
    if end is None:
        return
    length, stop = end[zipfile._ECD_SIZE], end[zipfile._ECD_LOCATION]  # type: ignore[attr-defined]  # as above
    if length > _MOST_LIST:
        raise ArchiveError(f"its list of members has {length:,} bytes, more than {_MOST_LIST:,}")
    file.seek(max(0, stop - length - _ZIP64_ENDS))
    if file.read(length + _ZIP64_ENDS).count(_LISTED) > MOST_MEMBERS:
        raise ArchiveError(f"it has more than {MOST_MEMBERS:,} members")


def _unpack_zipped(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Folder) -> None:
    mode = member.external_attr >> 16
    if not member.filename:
        raise ArchiveError("a member has no name")
    if member.is_dir():
        folder.directory(member.filename)
    elif stat.S_ISLNK(mode):
        folder.symbolic_link(member.filename, os.fsdecode(_content(archive, member).read(_LONGEST_NAME)))
    elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise ArchiveError(f"the member {_shown(member.filename)} is a device or a FIFO")
    else:
        folder.file(member.filename, _content(archive, member), member.file_size)


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Readable:
    """Return a member's bytes. Of bzip2 and LZMA zipfile decompresses in one piece what it has read."""
    if member.compress_type not in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        return archive.open(member)
    stored = copy.copy(member)
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, member.compress_size
    stored.CRC = None  # type: ignore[assignment]  # that of the plain bytes, which zipfile does not see
    if member.compress_type == zipfile.ZIP_BZIP2:
        return _Summed(UnpackedStream(archive.open(stored), "bzip2", bzip2()), member)
    decoder = zip_lzma(None if member.flag_bits & _MARKS_ITS_END else member.file_size)
    return _Summed(UnpackedStream(archive.open(stored), "lzma", decoder), member)


class _Summed:
    """A stream whose CRC is compared at its end with the one that a zip has for it."""

    def __init__(self, stream: Readable, member: zipfile.ZipInfo) -> None:
        self._stream = stream
        self._member = member
        self._sum = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._sum = zlib.crc32(data, self._sum)
        if not data and self._sum != self._member.CRC:
            raise ArchiveError(f"it is broken: the CRC of {_shown(self._member.filename)} is wrong")
        return data
