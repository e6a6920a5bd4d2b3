"""A segment as chunks of batches: every byte is a batch's, damaged, preallocated or left over at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import FileKind, parse_name, sibling
from kafkalog.files.opening import BytesSource, Source, open_source
from kafkalog.files.watch import watch
from kafkalog.findings import Finding
from kafkalog.kafka.layout import OFFSET_INDEX_ENTRY
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.cursor import Cursor

__all__ = ["batch_positions", "chunks_of_source", "possible_chunks", "scan", "scan_source", "segment_chunks"]

_INDEX_BYTES: Final = 16 << 20  # of an offset index that are read; a broker's has 10 MiB


def scan(
    file: str | os.PathLike[str] | bytes,
    *,
    records: bool = False,
    limits: Limits | None = None,
    base_offset: int | None = None,
) -> Iterator[Chunk]:
    """Read a segment, given by path or as bytes, in chunks; with `records` also decode every record on the way.

    Damage is reported in the chunks' `findings`. `base_offset`, if known, is the lowest offset that belongs here.
    Raises UnreadableError if the file can't be opened or read.

    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> [chunk.heads.count for chunk in kafkalog.scan(path)]
    [7]
    """
    source: Source = BytesSource(file) if isinstance(file, bytes) else open_source(file)
    try:
        for chunk in scan_source(source, limits=limits, base_offset=base_offset):
            if records:
                for block in chunk.records():
                    chunk.findings += block.findings
            yield chunk
    finally:
        source.close()


def scan_source(
    source: Source,
    *,
    limits: Limits | None = None,
    base_offset: int | None = None,
    hints: Callable[[], list[int]] = list,
    room: int | None = None,
) -> Iterator[Chunk]:
    """Read a segment from `source` in chunks of at most `room` batches, by default CHUNK_ROOM.

    `hints` gives positions of batches by the segment's index, if asked.

    `base_offset` is as in `scan`. `limits` bound the memory of a batch, in bytes; by default they are those of
    `Limits()`.

    >>> with open("fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log", "rb") as file:
    ...     source = kafkalog.BytesSource(file.read(), "ledger")
    >>> sum(chunk.heads.count for chunk in kafkalog.scan_source(source))
    7
    """
    return _chunks(Cursor(source, limits or Limits(), base_offset, hints, room))


def _chunks(cursor: Cursor) -> Iterator[Chunk]:
    window, heads = cursor.window, cursor.heads
    watched, file = watch(), cursor.source.name
    window.fill(0)
    while True:
        watched.at(file, window.here)
        if cursor.has_much_damage:
            from kafkalog.segments.damage import read_over_damage

            chunk, why, start, stop = read_over_damage(cursor)
            rows = heads.count
            if rows or chunk.findings:
                yield chunk
        else:
            start, stop = window.start, window.stop
            rows, at, why = headers.read_headers(window.buffer, start, stop, window.position, heads.cells, 0)
            if rows:
                window.start = at
                heads.count = rows
                cursor.legacy = heads.cell(buffers.MAGIC, rows - 1) < 2 or heads.cell(buffers.MAGIC, 0) < 2
                yield cursor.ordered(cursor.make_chunk())
        if rows and why == headers.END and stop < window.stop:
            continue
        if window.start == window.stop and window.is_whole and why == headers.END:
            watched.at(file, window.here)
            break
        if why == headers.END and stop > start and not window.at_end:
            if cursor.next_fits():
                window.fill(window.next_size())
                continue
        elif why == headers.END and window.start == window.stop:
            break
        if why != headers.FULL:
            before = window.here
            from kafkalog.segments.damage import next_damage  # a whole segment does not need it

            chunk = next_damage(cursor)
            yield chunk
            window.go_to(chunk.resumed[-1].position)
            if window.here <= before:  # the file shrank meanwhile: go on after what was read
                window.go_to(window.position + window.stop)
                if window.here <= before:
                    break
    yield from _closing(cursor)


def _closing(cursor: Cursor) -> Iterator[Chunk]:
    """Report what only the whole file shows."""
    found: list[Finding] = []
    if gaps := cursor.order.gaps(cursor.source.name):
        found.append(gaps)
    if cursor.passed_over:
        found.append(
            cursor.finding(
                "search-over-budget",
                f"{cursor.passed_over} headers of large batches in damaged bytes were not examined: there are too many",
                found=cursor.passed_over,
            )
        )
    found += cursor.expansion.findings(cursor.source.name)
    if changes := cursor.source.changes():
        found.append(cursor.finding("file-changed", f"the file {changes}"))
    if found:
        cursor.heads.count = 0
        chunk = cursor.make_chunk()
        chunk.findings += found
        yield chunk


def segment_chunks(
    path: str | os.PathLike[str],
    *,
    limits: Limits | None = None,
    max_bytes: int | None = None,
    room: int | None = None,
) -> Iterator[Chunk]:
    """Read a segment or KRaft snapshot in chunks, with what its name and the index beside it say.

    `max_bytes` makes the file end there; a chunk has at most `room` batches. Raises UnreadableError if the file can't
    be opened or read.

    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> [chunk.heads.count for chunk in kafkalog.segment_chunks(path)]
    [7]
    """
    source = open_source(os.fspath(path), max_bytes=max_bytes)
    try:
        yield from chunks_of_source(source, path, limits=limits, room=room)
    finally:
        source.close()


def possible_chunks(
    path: str | os.PathLike[str],
    *,
    limits: Limits | None = None,
    max_bytes: int | None = None,
    room: int | None = None,
) -> Iterator[Chunk]:
    """Read as ``segment_chunks``, but batches whose offsets no log has are not whole, though their CRC may match."""
    for chunk in segment_chunks(path, limits=limits, max_bytes=max_bytes, room=room):
        chunk.only_possible()
        yield chunk


def chunks_of_source(
    source: Source, path: str | os.PathLike[str], *, limits: Limits | None = None, room: int | None = None
) -> Iterator[Chunk]:
    """Read a segment from an open `source`, with what the name and the index beside `path` say."""
    file = os.fspath(path)
    name = parse_name(os.path.basename(file))
    base_offset = name.offset if name.kind is FileKind.LOG else None
    return scan_source(source, limits=limits, base_offset=base_offset, hints=lambda: batch_positions(file), room=room)


def batch_positions(path: str | os.PathLike[str]) -> list[int]:
    """Return where batches begin by the offset index beside a segment; an empty list if there is no index."""
    file = os.fspath(path)
    name = os.path.basename(file)
    if parse_name(name).kind is not FileKind.LOG:
        return []
    try:
        source = open_source(sibling(file, name.partition(".")[0] + ".index"), max_bytes=_INDEX_BYTES)
    except UnreadableError:  # hints only
        return []
    try:
        entries = source.read_bytes(0, source.size).rstrip(b"\0")
    except UnreadableError:
        return []
    finally:
        source.close()
    entries = entries.ljust(-(-len(entries) // OFFSET_INDEX_ENTRY.size) * OFFSET_INDEX_ENTRY.size, b"\0")
    return sorted({position for _, position in OFFSET_INDEX_ENTRY.packed.iter_unpack(entries) if position > 0})
