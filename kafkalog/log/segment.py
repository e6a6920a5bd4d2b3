"""A segment as chunks of batches: every byte is a batch's, damaged, preallocated or left over at the end."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator
from typing import Final, Unpack

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Where
from kafkalog.format import batch_headers, kernel
from kafkalog.format.batch import CellTable
from kafkalog.format.batch_start import magic_of, smallest_size
from kafkalog.format.layout import OFFSET_INDEX_ENTRY
from kafkalog.format.resync import Resync
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.damage import Damage
from kafkalog.log.files import BytesSource, Source, open_source
from kafkalog.log.names import FileKind, parse_name, sibling
from kafkalog.log.window import Window

__all__ = ["batch_positions", "chunks_of_source", "scan", "scan_source", "segment_chunks"]

_CAPACITY: Final = 1048  # rows: in the cache, and no power of two, whose columns would fight for the same lines
_EACH: Final = 1000  # damaged places of a file that are each looked at closely; behind them what is together is one
_DOUBTED: Final = 1 << 16  # bytes of a batch that is summed by its prefixes first, in a file of more damage than that
_INDEX_BYTES: Final = 16 << 20  # of an offset index that are looked at; a broker's has 10 MiB
_INT64: Final = (-(2**63), 2**63 - 1)


def scan(
    file: str | os.PathLike[str] | bytes,
    *,
    records: bool = False,
    limits: Limits | None = None,
    base_offset: int | None = None,
) -> Iterator[Chunk]:
    """Read a segment, given by path or as bytes, in chunks; with `records` also decode every record on the way.

    Damage is told in the chunks' `findings`. `base_offset`, where known, is the lowest offset that belongs here.
    Raises UnreadableError where the file can't be opened or read.
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
) -> Iterator[Chunk]:
    """Read a segment from `source` in chunks. `hints` gives positions of batches by the segment's index, if asked."""
    return Scan(source, limits or Limits(), base_offset, hints).chunks()


class Scan:
    """The window that moves over one source, and what the batches before it said."""

    def __init__(self, source: Source, limits: Limits, base_offset: int | None, hints: Callable[[], list[int]]) -> None:
        self.source = source
        self.limits = limits
        self.window = Window(source, limits.max_batch_bytes)
        self.heads = CellTable(len(kernel.BATCH_COLUMNS), min(_CAPACITY, self.window.size // smallest_size(0) + 1))
        low, high = _INT64 if base_offset is None else (base_offset, base_offset + 2**31 - 1)
        self.state = array("q", [kernel.NONE, -1, low, min(high, _INT64[1]), 0, 0, 0])
        self.make_hints = hints
        self.made_resync: Resync | None = None
        self.damages = 0
        self.legacy = True  # may old messages lie here: until batches of magic 2 were seen and none of the others

    @property
    def resync(self) -> Resync:
        if self.made_resync is None:
            self.made_resync = Resync(
                self.source.read, lambda: self.source.size, self.limits.max_batch_bytes, self.make_hints()
            )
        return self.made_resync

    def chunks(self) -> Iterator[Chunk]:
        window = self.window
        window.fill(0)
        while True:
            start, stop = window.start, self.reach()
            rows, at, why = batch_headers.read(
                window.buffer, window.start, stop, window.position, self.heads.cells, self.heads.capacity, 0
            )
            if rows:
                window.start = at
                self.heads.count = rows
                self.legacy = self.heads.cell(kernel.MAGIC, rows - 1) < 2 or self.heads.cell(kernel.MAGIC, 0) < 2
                yield self.ordered(self.chunk())
            if rows and why == batch_headers.END and stop < window.stop:
                continue
            if why == batch_headers.END and stop > start and not window.at_end:
                if self.next_fits():
                    window.fill(window.next_size())
                    continue
            elif why == batch_headers.END and window.start == window.stop:
                break
            if why != batch_headers.FULL:
                before = window.here
                chunk = Damage(self).chunk()
                yield chunk
                if chunk.resumed is not None:
                    window.go_to(chunk.resumed.position)
                if window.here <= before:  # the bytes went away under the reader: go on behind those it had
                    window.go_to(window.position + window.stop)
                    if window.here <= before:
                        break
        yield from self.closing()

    @property
    def is_crowded(self) -> bool:
        """Say whether the file has so many damaged places that each costs as little as it can."""
        return self.damages > _EACH

    def reach(self) -> int:
        """Return how far in the window batches may be read; its start where the next is none by its checksum.

        Where there is much damage a big batch is read only once its sum is known to hold: many that are none would
        have the same bytes read again and again.
        """
        window = self.window
        if not self.is_crowded:
            return window.stop
        size = window.next_size()
        if size <= _DOUBTED:
            return min(window.stop, window.start + _DOUBTED)
        is_old = magic_of(window.buffer, window.start) < 2
        holds = self.resync.holds_message if is_old else self.resync.holds
        return window.stop if self.next_fits() and holds(window.here, size) else window.start

    def chunk(self, buf: bytearray | None = None, position: int | None = None) -> Chunk:
        """Make a chunk of the rows in the table; their bytes are the window's if no other are given."""
        view = memoryview(self.window.buffer if buf is None else buf)
        where = self.window.position if position is None else position
        return Chunk(self.source.name, view, where, self.heads, self.limits)

    def next_fits(self) -> bool:
        """Say whether the next batch may be read whole: within the limit, and within the file if its size is known."""
        size = self.window.next_size()
        end = self.source.size
        return size <= self.limits.max_batch_bytes and (end is None or self.window.here + size <= end)

    def finding(self, code: str, message: str, **where: Unpack[Where]) -> Finding:
        return Finding.of(code, self.source.name, message, **where)

    def ordered(self, chunk: Chunk) -> Chunk:
        """Hold the chunk's batches against those before."""
        row = 0
        while row < self.heads.count:
            before, epoch = self.state[0], self.state[1]
            row, rule = batch_headers.order(self.heads.cells, self.heads.capacity, row, self.heads.count, self.state)
            if not rule:
                break
            chunk.findings.append(self.out_of_order(row, rule, before, epoch))
            row += 1
        return chunk

    def out_of_order(self, row: int, rule: int, before: int, epoch: int) -> Finding:
        cell = self.heads.cell
        position, size, last = cell(kernel.POSITION, row), cell(kernel.SIZE, row), cell(kernel.LAST_OFFSET, row)
        first = cell(kernel.BASE_OFFSET, row)
        first = last if first == kernel.NONE else first
        if row:
            before = cell(kernel.LAST_OFFSET, row - 1)
            epoch = cell(kernel.LEADER_EPOCH, row - 1)
        if rule == 1:
            return self.finding(
                "offset-not-increasing",
                f"the batch begins at offset {first}, the one before it ends at {before}",
                position=position,
                length=size,
                offset=first,
                needed=before + 1,
                found=first,
            )
        if rule == 2:
            now = cell(kernel.LEADER_EPOCH, row)
            return self.finding(
                "leader-epoch-decreasing",
                f"the batch's leader epoch is {now}, before it was {epoch}",
                position=position,
                length=size,
                offset=first,
                needed=epoch,
                found=now,
            )
        low, high = self.state[2], self.state[3]
        return self.finding(
            "offset-outside-segment",
            f"the batch holds offsets {first} to {last}, the segment may hold {low} to {high}",
            position=position,
            length=size,
            offset=first,
            needed=f"{low}..{high}",
            found=f"{first}..{last}",
        )

    def closing(self) -> Iterator[Chunk]:
        """Tell what only the whole file shows."""
        self.heads.count = 0
        chunk = self.chunk()
        gaps, missing, position = self.state[4:7]
        if gaps:
            chunk.findings.append(
                self.finding(
                    "offset-gap",
                    f"{missing} offset{'s are' if missing > 1 else ' is'} missing in {gaps}"
                    f" gap{'s' * (gaps > 1)} between batches,"
                    f" the first before position {position}",
                    position=position,
                    needed=0,
                    found=missing,
                )
            )
        if self.made_resync is not None and self.made_resync.passed_over:
            chunk.findings.append(
                self.finding(
                    "search-over-budget",
                    f"{self.made_resync.passed_over} headers of big batches were not looked at: too many of them"
                    " behind damage",
                    found=self.made_resync.passed_over,
                )
            )
        if changes := self.source.changes():
            chunk.findings.append(self.finding("file-changed", f"the file {changes}"))
        if chunk.findings:
            yield chunk


def segment_chunks(
    path: str | os.PathLike[str], *, limits: Limits | None = None, max_bytes: int | None = None
) -> Iterator[Chunk]:
    """Read a segment or KRaft snapshot in chunks, with what its name and the index beside it say.

    `max_bytes` makes the file end there. Raises UnreadableError where the file can't be opened or read.
    """
    source = open_source(os.fspath(path), max_bytes=max_bytes)
    try:
        yield from chunks_of_source(source, path, limits=limits)
    finally:
        source.close()


def chunks_of_source(source: Source, path: str | os.PathLike[str], *, limits: Limits | None = None) -> Iterator[Chunk]:
    """Read a segment from an open `source`, with what the name and the index beside `path` say."""
    file = os.fspath(path)
    name = parse_name(os.path.basename(file))
    base_offset = name.offset if name.kind is FileKind.LOG else None
    yield from scan_source(source, limits=limits, base_offset=base_offset, hints=lambda: batch_positions(file))


def batch_positions(path: str | os.PathLike[str]) -> list[int]:
    """Return where batches begin by the offset index beside a segment, nothing where there is none."""
    file = os.fspath(path)
    name = os.path.basename(file)
    if parse_name(name).kind is not FileKind.LOG:
        return []
    try:
        source = open_source(sibling(file, name.partition(".")[0] + ".index"), max_bytes=_INDEX_BYTES)
    except UnreadableError:  # hints only
        return []
    try:
        entries = source.read(0, source.size).rstrip(b"\0")
    except UnreadableError:
        return []
    finally:
        source.close()
    entries = entries.ljust(-(-len(entries) // OFFSET_INDEX_ENTRY.size) * OFFSET_INDEX_ENTRY.size, b"\0")
    return sorted({position for _, position in OFFSET_INDEX_ENTRY.packed.iter_unpack(entries) if position > 0})
