"""Writes a bundle: to a directory, or as a tar to a file or a stream; the manifest comes last.

A file of a directory has its name when it is complete. What a run that ended early has copied is in a list, with what
the source was then: the next run keeps it where both are as they were.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafkalog.bundles.bundle_manifest import BUNDLE, BUNDLE_README, BundleManifest
from kafkalog.errors import UnsupportedError
from kafkalog.provenance import WORK, is_linked
from kafkalog.untrusted import untrusted_json

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["BundleSink", "CopiedBytes", "FolderSink", "TarSink", "packed"]

TAR_FOLDER: Final = "kafkalog-bundle"  # what a tar's members are in
_DONE: Final = f"{WORK}/done.ndjson"
_PIECE: Final = 1 << 20
_BLOCK: Final = 512
_ZEROS: Final = bytes(_PIECE)
_LEVEL: Final = 3  # of zstd: a level more costs more than it saves
_LONGEST: Final = 200  # bytes of a name: a file system takes 255, and a temporary name is longer


class CopiedBytes(NamedTuple):
    """How many bytes a file has in the bundle, and their SHA-256."""

    size: int
    sha256: str


class BundleSink(Protocol):
    """Takes the files of a bundle, one after the other."""

    def kept(self, path: str, size: int, source: str) -> CopiedBytes | None:
        """Return what an earlier run has written of the same `source`, None where that is not there."""

    def put(self, path: str, pieces: Iterable[bytes], size: int, modified: float | None, source: str) -> CopiedBytes:
        """Write a file of `size` bytes; `source` says which file it was, and which of its bytes."""

    def finish(self, manifest: BundleManifest, readme: str) -> None:
        """Write the manifest, and with it say that the bundle is complete."""


class FolderSink:
    """A directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = self._read_done()
        self._here: set[str] = set()

    def _read_done(self) -> dict[str, tuple[str, CopiedBytes]]:
        """Read what an earlier run has copied; a line that was not written to its end ends the list."""
        found: dict[str, tuple[str, CopiedBytes]] = {}
        with suppress(OSError, ValueError, KeyError, TypeError):
            for line in (self._folder / _DONE).read_bytes().splitlines():
                said = untrusted_json(line)
                found[said["path"]] = said["source"], CopiedBytes(said["size"], said["sha256"])
        return found

    def kept(self, path: str, size: int, source: str) -> CopiedBytes | None:
        known, written = self._done.get(path, ("", CopiedBytes(-1, "")))
        place = self._folder / path
        if known != source or written.size != size or is_linked(self._folder, path) or not place.is_file():
            return None
        with place.open("rb") as file:
            is_same = hashlib.file_digest(file, "sha256").hexdigest() == written.sha256
        self._here |= {path} if is_same else set()
        return written if is_same else None

    def put(self, path: str, pieces: Iterable[bytes], size: int, modified: float | None, source: str) -> CopiedBytes:  # noqa: ARG002  # a tar needs the size
        if is_linked(self._folder, path):
            raise UnsupportedError(f"{self._folder / path}: a link is in its place, and is not followed")
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name[:_LONGEST]}.part")
        digest, done = hashlib.sha256(), 0
        try:
            part.unlink(missing_ok=True)
            with open(part, "xb", opener=_only_ours) as out:
                for piece in pieces:
                    digest.update(piece)
                    done += len(piece)
                    if piece == _ZEROS[: len(piece)]:  # as in a preallocated index: a hole
                        out.seek(len(piece), os.SEEK_CUR)
                    else:
                        out.write(piece)
                out.truncate(done)
            if modified is not None:
                os.utime(part, (modified, modified))
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
        self._here.add(path)
        written = CopiedBytes(done, digest.hexdigest())
        with open(self._folder / _DONE, "a", encoding="ascii") as list_of_all:
            list_of_all.write(json.dumps({"path": path, "source": source, **written._asdict()}) + "\n")
        return written

    def finish(self, manifest: BundleManifest, readme: str) -> None:
        for path in self._done.keys() - self._here:  # an earlier run wrote it, and it is not in this bundle
            if not is_linked(self._folder, path):
                (self._folder / path).unlink(missing_ok=True)
        (self._folder / BUNDLE_README).write_text(readme)
        part = self._folder / f"{BUNDLE}.part"
        part.write_text(manifest.text())
        part.replace(self._folder / BUNDLE)


def _only_ours(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


class TarSink:
    """A tar, written from its beginning to its end."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    def kept(self, _path: str, _size: int, _source: str) -> CopiedBytes | None:
        return None

    def put(self, path: str, pieces: Iterable[bytes], size: int, modified: float | None, source: str) -> CopiedBytes:  # noqa: ARG002  # only who goes on needs the source
        member = tarfile.TarInfo(f"{TAR_FOLDER}/{path}")
        member.size, member.mode, member.mtime = size, 0o644, int(modified or 0)
        self._write(member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))
        digest, done = hashlib.sha256(), 0
        for piece in _filled(pieces, size):
            digest.update(piece)
            done += len(piece)
            self._write(piece)
        self._write(bytes(-done % _BLOCK))
        return CopiedBytes(done, digest.hexdigest())

    def finish(self, manifest: BundleManifest, readme: str) -> None:
        for name, text in ((BUNDLE_README, readme), (BUNDLE, manifest.text())):
            data = text.encode()
            self.put(name, [data], len(data), None, "")
        self.end()

    def end(self) -> None:
        """Write the end of the tar, after the last file."""
        self._write(bytes(2 * _BLOCK))


def _filled(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield as many bytes as a member's header says; zeros for those that are not there any more."""
    left = size
    for piece in pieces:
        yield piece[:left]
        left -= min(left, len(piece))
    while left:
        yield _ZEROS[:left]
        left -= min(left, _PIECE)


@contextmanager
def packed(stream: BinaryIO, name: str) -> Iterator[Callable[[bytes], object]]:
    """Give what writes to a stream, compressed as the end of a name says: .tar, .tar.gz, otherwise with zstd."""
    if name.endswith(".tar"):
        yield stream.write
    elif name.endswith((".gz", ".tgz")):
        with gzip.GzipFile("", "wb", 6, stream, mtime=0) as out:
            yield out.write
    else:
        import zstandard

        with zstandard.ZstdCompressor(_LEVEL).stream_writer(stream, closefd=False) as writer:
            yield writer.write
