"""A segment as Aiven's tiered-storage-for-apache-kafka stores it: chunks, each a zstd frame where it compresses.

A ``.rsm-manifest`` beside the log object says how it was made. This is built from the plugin's documentation; no object
of its own was at hand. What it has encrypted can't be read.
"""

from __future__ import annotations

import os
import re
from typing import IO, Any, Final, NamedTuple, Protocol, cast

from kafkalog.errors import UnreadableError
from kafkalog.untrusted import is_count, untrusted_json

__all__ = ["PackedSource", "SegmentManifest", "manifest_path", "read_manifest"]

_NAME: Final = re.compile(r"\d{20}-[A-Za-z0-9_-]{22}\.log")
_SUFFIX: Final = ".rsm-manifest"
_LARGEST: Final = 2**31 - 1  # bytes of a segment: Kafka counts them in 32 bits
_PIECE: Final = 1 << 20
_BACK: Final = 1 << 20  # bytes before those that are read which stay: a reader goes back a little


class SegmentManifest(NamedTuple):
    """How a log object was made: the segment's size in bytes, and whether its chunks are zstd frames."""

    size: int
    is_compressed: bool


def manifest_path(path: str) -> str | None:
    """Return where the manifest of a log object would be; None if the name is no such object's."""
    return path.removesuffix(".log") + _SUFFIX if _NAME.fullmatch(os.path.basename(path)) else None


def read_manifest(data: bytes, path: str) -> SegmentManifest:
    """Read a manifest. Raises UnreadableError if it is none, and of a segment that is encrypted."""
    wrong = f"{path}: no manifest of a remote segment"
    try:
        said = untrusted_json(data)
        size, is_compressed = said["chunkIndex"]["originalFileSize"], said["compression"]
        encryption = said.get("encryption")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableError(f"{wrong}: {type(error).__name__}: {error}") from error
    if not is_count(size) or size > _LARGEST or not isinstance(is_compressed, bool):
        raise UnreadableError(f"{wrong}: {size!r:.100} bytes, compression {is_compressed!r:.100}")
    if encryption is not None:
        raise UnreadableError(f"{path}: the segment is encrypted: only the key in the plugin's settings opens it")
    return SegmentManifest(size, is_compressed)


class _Object(Protocol):
    """The log object as it is stored."""

    name: str

    def read(self, position: int, size: int) -> bytes: ...
    def close(self) -> None: ...
    def changes(self) -> str | None: ...


class _Bytes:
    """The object's bytes, one after the other."""

    def __init__(self, source: _Object) -> None:
        self._source = source
        self._at = 0

    def read(self, size: int) -> bytes:
        data = self._source.read(self._at, size)
        self._at += len(data)
        return data


class PackedSource:
    """A segment of compressed chunks, read in order; to go back further than a piece begins at the start again.

    Raises UnreadableError where the chunks are no zstd, or fewer bytes than the manifest says.
    """

    def __init__(self, source: _Object, manifest: SegmentManifest, *, max_bytes: int | None = None) -> None:
        self.name = source.name
        self._source = source
        self._whole = manifest.size
        self._size = manifest.size if max_bytes is None else min(manifest.size, max_bytes)
        self.is_cut = self._size < manifest.size
        self._begin()

    @property
    def size(self) -> int:
        return self._size

    def _begin(self) -> None:
        import zstandard

        raw = cast("IO[bytes]", _Bytes(self._source))  # nothing but its read is called
        self._stream: Any = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        self._kept, self._start = bytearray(), 0

    def read_into(self, position: int, view: memoryview, _least: int, /) -> int:
        view = view[: max(0, self._size - position)]
        if position < self._start:
            self._begin()
        while self._start + len(self._kept) < position + len(view):
            self._next(position)
        at = position - self._start
        view[:] = memoryview(self._kept)[at : at + len(view)]
        return len(view)

    def _next(self, position: int) -> None:
        """Decompress a piece more, and forget what is far before a position."""
        import zstandard

        try:
            piece = self._stream.read(_PIECE)
        except zstandard.ZstdError as error:
            raise UnreadableError(f"{self.name}: its chunks can't be decompressed: {error}") from error
        if not piece:
            reached = self._start + len(self._kept)
            raise UnreadableError(f"{self.name}: its chunks have {reached} bytes, its manifest says {self._whole}")
        self._kept += piece
        if (old := min(position - self._start, len(self._kept)) - _BACK) > 0:
            del self._kept[:old]
            self._start += old

    def read(self, position: int, size: int) -> bytes:
        data = bytearray(max(0, min(size, self._size - position)))
        return bytes(memoryview(data)[: self.read_into(position, memoryview(data), size)])

    def release(self, position: int) -> None: ...

    def close(self) -> None:
        self._kept.clear()
        self._source.close()

    def changes(self) -> str | None:
        return self._source.changes()
