"""What the user named: Kafka's files by name and content, and a clear line for anything else."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Final

import kafkalog
from kafkalog import Chunk, FileKind, FileName, Finding, Limits, UnreadableError
from kafkalog.files.names import local_path, sibling
from kafkalog.files.opening import open_source

__all__ = [
    "STDIN",
    "check_segment",
    "check_side_file",
    "check_there",
    "check_unknown",
    "chunks_of",
    "known_size",
    "name_of",
]

STDIN: Final = "-"
_HEAD: Final = 512
_OFFSET: Final = 8  # bytes of a segment's first field
_GZIP: Final = b"\x1f\x8b\x08"  # deflate is the only method; as an index's first offset it would be 529 million
_LOOKS: Final = (
    (b"\x1f\x8b", "gzip-compressed data: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data: decompress it first"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PAR1", "a Parquet file"),
)


def name_of(file: str) -> FileName:
    """Say what a file is by its name; standard input is a segment."""
    return FileName(FileKind.LOG) if file == STDIN else kafkalog.parse_name(_base_name(file))


def _base_name(file: str) -> str:
    return os.path.basename(file.rstrip("/"))


def known_size(file: str) -> int | None:
    """Return a local file's size, None for anything else and where it is not there."""
    try:
        status = os.stat(local_path(file))
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def chunks_of(
    file: str,
    limits: Limits,
    max_bytes: int | None,
    before_waiting: Callable[[], object],
    room: int | None = None,
) -> Iterator[Chunk]:
    """Read a segment, or standard input as one; `before_waiting` is called when that has no more bytes for now.

    A chunk has at most `room` batches. Raises UnreadableError if it cannot be a segment.
    """
    if file != STDIN:
        yield from kafkalog.segment_chunks(file, limits=limits, max_bytes=max_bytes, room=room)
        return
    if sys.stdin is None:
        raise UnreadableError("standard input is closed")
    stream = sys.stdin.buffer
    stream = getattr(stream, "raw", stream)
    source = kafkalog.StreamSource(stream, STDIN, max_bytes=max_bytes, before_waiting=before_waiting)
    with contextlib.closing(source):
        beginning = source.read_bytes(0, _OFFSET)  # does not wait for more of a segment
        if _what(beginning) is not None or (not beginning and not source.is_cut):
            _refuse(STDIN, source.read_bytes(0, _HEAD))
        yield from kafkalog.scan_source(source, limits=limits, room=room)


def _refuse(file: str, head: bytes) -> None:
    """Raise UnreadableError for bytes that no segment begins with, and say what they are."""
    if not head:
        raise UnreadableError(f"{file}: an empty file")
    what = _what(head)
    if what is not None:
        raise UnreadableError(f"{file}: {what}")


def _what(head: bytes) -> str | None:
    """Say what begins with these bytes, None if it may be a segment."""
    for magic, what in _LOOKS:
        if head.startswith(magic):
            return what
    if not _is_text(head):
        return None
    return "the text of a dump, not a segment" if head.startswith(b"Dumping ") else "a text file, not a segment"


def _is_text(head: bytes) -> bool:
    """Say whether all of it is printable UTF-8; a segment begins with a small number's zero bytes."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
        text = head[: error.start].decode()
    return bool(text) and all(character.isprintable() or character in "\t\n\r\f" for character in text)


def _head(file: str) -> bytes:
    with contextlib.closing(open_source(file, max_bytes=_HEAD)) as source:
        return source.read_bytes(0, _HEAD)


def check_segment(file: str, name: FileName) -> None:
    """Refuse what cannot be a segment; an empty one beside a broker's other files is legal.

    Raises UnreadableError with what was found.
    """
    head = _head(file)
    if head or not (name.removed or _has_company(file)):
        _refuse(file, head)


def _has_company(file: str) -> bool:
    from kafkalog.files.directories import exists

    stem = _base_name(file).partition(".")[0]
    beside = (f"{stem}.index", f"{stem}.timeindex", "leader-epoch-checkpoint", "partition.metadata")
    return any(exists(sibling(file, other)) for other in beside)


def check_side_file(file: str) -> None:
    """Refuse what is not a regular file, or is compressed.

    Raises UnreadableError with what was found.
    """
    head = _head(file)
    if head.startswith(_GZIP):
        raise UnreadableError(f"{file}: gzip-compressed data: decompress it first")


def check_there(file: str) -> None:
    """Raise UnreadableError for a file that can't be opened."""
    if file != STDIN:
        open_source(file, max_bytes=0).close()


def check_unknown(file: str) -> Finding:
    """Return the finding for a file, or a missing file, whose name Kafka does not use.

    Raises UnreadableError if the path exists and is not a file, or looks like something else.
    """
    from kafkalog.files.directories import exists

    if exists(file):
        head = _head(file)
        if head:
            _refuse(file, head)
    return Finding.of("file-unknown", file, "its name is not that of a Kafka file; it was ignored")
