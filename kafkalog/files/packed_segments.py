"""A segment as Aiven's tiered-storage-for-apache-kafka stores it: chunks, each a zstd frame where it compresses.

A ``.rsm-manifest`` beside the log object says how it was made, and where in the ``.indexes`` object each index is. This
is built from the plugin's documentation; it was not tried on objects that the plugin wrote. Encrypted ones can't be
read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import IO, Any, Final, NamedTuple, Protocol, cast

from kafkalog.errors import UnreadableError
from kafkalog.untrusted import is_count, untrusted_json

__all__ = ["INDEX_PARTS", "PackedSource", "index_part", "manifest_path", "owner_of_part", "part_path", "read_manifest"]

# Which index is which part of the ``.indexes`` object: by the suffix of a broker's file, its name in the manifest.
INDEX_PARTS: Final = {
    "index": "offset", "timeindex": "timestamp", "snapshot": "producerSnapshot",
    "leader_epoch_checkpoint": "leaderEpoch", "txnindex": "transaction",
}  # fmt: skip
_NAME: Final = re.compile(r"\d{20}-[A-Za-z0-9_-]{22}\.log")
_PART: Final = re.compile(rf"(.*\d{{20}}-[A-Za-z0-9_-]{{22}})\.indexes#({'|'.join(INDEX_PARTS)})", re.DOTALL)
_SUFFIX: Final = ".rsm-manifest"
_LARGEST: Final = 2**31 - 1  # bytes of a segment: Kafka counts them in 32 bits
_PIECE: Final = 1 << 20
_BACK: Final = 1 << 20  # bytes before those that are read which stay: a reader goes back a little


class SegmentManifest(NamedTuple):
    """How a segment was stored: its size in bytes, whether its chunks are zstd frames, where each of its indexes is.

    `parts` are positions and sizes in the object of all indexes, by the suffixes of a broker's files.
    """

    size: int
    is_compressed: bool
    parts: Mapping[str, tuple[int, int]]


def manifest_path(path: str) -> str | None:
    """Return where the manifest of a log object would be; None if the name is no such object's."""
    return path.removesuffix(".log") + _SUFFIX if _NAME.fullmatch(os.path.basename(path)) else None


def part_path(path: str, suffix: str) -> str:
    """Return what an index in an ``.indexes`` object is called, by the suffix of a broker's file."""
    return f"{path}#{suffix}"


def owner_of_part(path: str) -> str | None:
    """Return the object that an index is in; None for any other name."""
    match = _PART.fullmatch(path)
    return None if match is None else f"{match[1]}.indexes"


def index_part(path: str, read: Callable[[str], bytes]) -> bytes | None:
    """Read an index of an ``.indexes`` object, which `read` reads whole; None for any other name.

    One that the manifest does not name is empty. Raises UnreadableError if the manifest or the object has it not whole.
    """
    match = _PART.fullmatch(path)
    if match is None:
        return None
    beside, owner = match[1] + _SUFFIX, f"{match[1]}.indexes"
    parts = read_manifest(read(beside), beside).parts
    if not parts:
        raise UnreadableError(f"{beside}: no manifest of a remote segment: it says of no index where it is")
    position, size = parts.get(match[2], (0, 0))
    data = read(owner)
    if position + size > len(data):
        raise UnreadableError(
            f"{owner}: it has {len(data)} bytes; its manifest says that {match[2]} ends at {position + size}"
        )
    return data[position : position + size]


def _parts(said: Any) -> dict[str, tuple[int, int]]:
    """Return where indexes are by a manifest. Raises KeyError, TypeError or ValueError."""
    found = {}
    for suffix, name in INDEX_PARTS.items():
        about = (said or {}).get(name)
        if about is not None:
            position, size = about["position"], about["size"]
            if not is_count(position) or not is_count(size):
                raise ValueError(f"{name} at {position!r:.100}, {size!r:.100} bytes")
            found[suffix] = position, size
    return found


def read_manifest(data: bytes, path: str) -> SegmentManifest:
    """Read a manifest. Raises UnreadableError if the bytes are no manifest, or if its segment is encrypted."""
    wrong = f"{path}: no manifest of a remote segment"
    try:
        said = untrusted_json(data)
        size, is_compressed = said["chunkIndex"]["originalFileSize"], said["compression"]
        encryption, parts = said.get("encryption"), _parts(said.get("segmentIndexes"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableError(f"{wrong}: {type(error).__name__}: {error}") from error
    if not is_count(size) or size > _LARGEST or not isinstance(is_compressed, bool):
        raise UnreadableError(f"{wrong}: {size!r:.100} bytes, compression {is_compressed!r:.100}")
    if encryption is not None:
        raise UnreadableError(f"{path}: the segment is encrypted: only the key in the plugin's settings opens it")
    return SegmentManifest(size, is_compressed, parts)


class _Object(Protocol):
    """The log object as it is stored."""

    name: str

    def read_bytes(self, position: int, size: int) -> bytes: ...
    def close(self) -> None: ...
    def changes(self) -> str | None: ...


class _Bytes:
    """The object's bytes, one after the other."""

    def __init__(self, source: _Object) -> None:
        self._source = source
        self._at = 0

    def read(self, size: int) -> bytes:
        data = self._source.read_bytes(self._at, size)
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
        if not view:
            return 0
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

    def read_bytes(self, position: int, size: int) -> bytes:
        data = bytearray(max(0, min(size, self._size - position)))
        return bytes(memoryview(data)[: self.read_into(position, memoryview(data), size)])

    def release(self, position: int) -> None: ...

    def close(self) -> None:
        self._kept.clear()
        self._source.close()

    def changes(self) -> str | None:
        return self._source.changes()
