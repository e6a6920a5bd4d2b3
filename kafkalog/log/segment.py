"""A segment as chunks of batches: every byte is a batch's, damaged, preallocated or left over at the end.

After damage the reader goes on (``format.resync``): a damaged batch's declared end is believed only where a whole batch
that continues its offsets starts there, or the file ends there and no whole batches lie inside; otherwise its length is
the suspect and the next whole batch is searched from inside it.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Unpack

from kafkalog.findings import Finding, Where
from kafkalog.format import kernel
from kafkalog.format.batch import Block
from kafkalog.format.layout import MESSAGE_V0, RECORD_BATCH
from kafkalog.format.resync import Extent, Resync
from kafkalog.log.files import BytesSource, FileSource, Source
from kafkalog.log.records import RecordBlock, decode_records

__all__ = ["Chunk", "Limits", "scan", "scan_source"]

_WINDOW: Final = 1 << 20
_CAPACITY: Final = 4096
_SLACK: Final = 1 << 16  # read behind a big batch, so that the next header is there without a copy
_SHORTEST: Final = 17  # bytes that hold a length and a magic
_INT64: Final = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings for what one batch may take, in bytes; what is over them is a finding."""

    max_batch_bytes: int = 128 << 20
    max_decompressed_bytes: int = 128 << 20


class Chunk:
    """Batches that lie behind one another, and what was found wrong behind them.

    `heads` holds the kernel's table of them, `buf` their bytes, `position` that of ``buf[0]`` in the file. Both are
    used again for the next chunk: copy what must last.
    """

    __slots__ = ("buf", "file", "findings", "heads", "limits", "position")

    def __init__(self, file: str, buf: memoryview, position: int, heads: Block, limits: Limits) -> None:
        self.file = file
        self.buf = buf
        self.position = position
        self.heads = heads
        self.limits = limits
        self.findings: list[Finding] = []

    def skip(self, row: int) -> None:
        """Leave a batch's records out of `records`."""
        self.heads.set(kernel.SECTION_START, row, -1)

    def records(self) -> Iterator[RecordBlock]:
        """Decode the records of the batches that were not skipped, in order, some thousand at a time."""
        return decode_records(self.file, self.buf, self.heads, self.limits.max_decompressed_bytes)


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
    source: Source = BytesSource(file) if isinstance(file, bytes) else FileSource(file)
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
    return _Scan(source, limits or Limits(), base_offset, hints).chunks()


class _Scan:
    """The window that moves over one source, and what the batches before it said."""

    def __init__(self, source: Source, limits: Limits, base_offset: int | None, hints: Callable[[], list[int]]) -> None:
        self.source = source
        self.limits = limits
        self.buffer = bytearray(_WINDOW)
        self.position = 0  # of buffer[0] in the file
        self.start = 0  # of the next batch in the buffer
        self.stop = 0
        self.at_end = False
        self.heads = Block(len(kernel.BATCH_COLUMNS), _CAPACITY)
        low, high = _INT64 if base_offset is None else (base_offset, base_offset + 2**31 - 1)
        self.state = array("q", [kernel.NONE, -1, low, min(high, _INT64[1]), 0, 0, 0])
        self.make_hints = hints
        self.made_resync: Resync | None = None
        self.legacy = True  # may old messages lie here: until batches of magic 2 were seen and none of the others

    @property
    def resync(self) -> Resync:
        if self.made_resync is None:
            self.made_resync = Resync(self.source.read, self.limits.max_batch_bytes, self.make_hints())
        return self.made_resync

    @property
    def here(self) -> int:
        """The next batch's position in the file."""
        return self.position + self.start

    def chunks(self) -> Iterator[Chunk]:
        self.fill(0)
        while True:
            rows, at, why = kernel.headers(
                self.buffer, self.start, self.stop, self.position, self.heads.cells, _CAPACITY, 0
            )
            if rows:
                self.start = at
                self.heads.count = rows
                self.legacy = self.heads.cell(kernel.MAGIC, rows - 1) < 2 or self.heads.cell(kernel.MAGIC, 0) < 2
                yield self.ordered(self.chunk())
            if why == kernel.END and not self.at_end:
                if self.next_fits_limit():
                    self.fill(self.next_size())
                    continue
            elif why == kernel.END and self.start == self.stop:
                break
            if why != kernel.FULL:
                yield from self.damaged()
        yield from self.closing()

    def chunk(self, buf: bytearray | None = None, position: int | None = None) -> Chunk:
        view = memoryview(self.buffer if buf is None else buf)
        where = self.position if position is None else position
        return Chunk(self.source.name, view, where, self.heads, self.limits)

    def next_size(self) -> int:
        """Return the size that the next header declares, 0 where not enough of it is there."""
        if self.stop - self.start < _SHORTEST:
            return 0
        length = int.from_bytes(self.buffer[self.start + 8 : self.start + 12], "big", signed=True)
        return length + kernel.LOG_OVERHEAD

    def next_fits_limit(self) -> bool:
        """Say whether the next batch may be read whole: within the limit, and within the file if its size is known."""
        size = self.next_size()
        end = self.source.size
        return size <= self.limits.max_batch_bytes and (end is None or self.here + size <= end)

    def fill(self, needed: int) -> None:
        """Move the next batch to the buffer's front and read on, at least `needed` bytes from its start."""
        kept = self.stop - self.start
        if self.start:
            self.buffer[:kept] = self.buffer[self.start : self.stop]
            self.position += self.start
        want = max(_WINDOW, needed + _SLACK) if needed > _WINDOW // 8 else _WINDOW
        if want > len(self.buffer):
            self.buffer.extend(bytes(want - len(self.buffer)))
        self.start = 0
        self.source.release(self.position)
        view = memoryview(self.buffer)
        got = self.source.read_into(self.position + kept, view[kept:want])
        self.stop = kept + got
        self.at_end = got < want - kept

    def go_to(self, position: int) -> None:
        """Make `position` in the file the next batch's."""
        if position <= self.position + self.stop:
            self.start = position - self.position
            if self.start < self.stop or self.at_end:
                return
        self.position, self.start, self.stop = position, 0, 0
        self.fill(0)

    def finding(self, code: str, message: str, **where: Unpack[Where]) -> Finding:
        return Finding.of(code, self.source.name, message, **where)

    def ordered(self, chunk: Chunk) -> Chunk:
        """Hold the chunk's batches against those before."""
        row = 0
        while row < self.heads.count:
            before, epoch = self.state[0], self.state[1]
            row, rule = kernel.order(self.heads.cells, _CAPACITY, row, self.heads.count, self.state)
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
                    f"{missing} offsets are missing in {gaps} gap{'s' * (gaps > 1)} between batches,"
                    f" the first before position {position}",
                    position=position,
                    needed=0,
                    found=missing,
                )
            )
        if changes := self.source.changes():
            chunk.findings.append(self.finding("file-changed", f"the file {changes}; read as at opening"))
        if chunk.findings:
            yield chunk

    # What is no whole batch.

    def damaged(self) -> Iterator[Chunk]:
        """Tell what is wrong at the next batch and go on behind it."""
        here = self.here
        head = self.source.read(here, RECORD_BATCH.size)
        size = self.next_size()
        magic = head[16] if len(head) >= _SHORTEST else -1
        whole = size > 0 and len(self.source.read(here + size - 1, 1)) == 1
        self.heads.count = 0
        if magic != 2 and whole and self.resync.holds(here, size):
            yield self.wrong_magic(here, size, magic)
            return
        if not any(head) and (zeros := self.zeros(here)) is not None:
            yield self.lone(self.preallocated(here, zeros))
            self.go_to(here + zeros)
            return
        smallest = RECORD_BATCH.size if magic >= 2 else 26 + 8 * max(magic, 0)
        if magic < 0 or size < smallest:
            yield from self.unreadable(here, head)
        elif size > self.limits.max_batch_bytes and whole and self.source.size is not None:
            yield from self.over_limit(here, size, head)
        else:
            yield from self.broken(here, size, head, whole)

    def lone(self, *findings: Finding) -> Chunk:
        chunk = self.chunk()
        chunk.findings += findings
        return chunk

    def wrong_magic(self, here: int, size: int, magic: int) -> Chunk:
        data = bytearray(self.source.read(here, size))
        data[16] = 2
        kernel.headers(data, 0, size, here, self.heads.cells, _CAPACITY, 0)
        self.heads.count = 1
        if magic > 2:
            self.heads.set(kernel.MAGIC, 0, magic)
        chunk = self.ordered(self.chunk(data, here))
        offset = self.heads.cell(kernel.BASE_OFFSET, 0)
        chunk.findings.append(
            self.finding(
                "magic-wrong",
                f"the batch at offset {offset} says magic {magic}, its checksum is that of a magic 2 batch",
                position=here + 16,
                length=1,
                offset=offset,
                needed=2,
                found=magic,
            )
        )
        self.go_to(here + size)
        return chunk

    def zeros(self, here: int) -> int | None:
        """Return how many bytes are left if all of them are zero."""
        position = here
        while data := self.source.read(position, _WINDOW):
            if data.count(0) != len(data):
                return None
            position += len(data)
        return position - here if position - here >= _SHORTEST else None

    def preallocated(self, here: int, zeros: int) -> Finding:
        return self.finding(
            "tail-preallocated", f"the file ends in {zeros} zero bytes", position=here, length=zeros, found=zeros
        )

    def next_whole(self, start: int, stop: int | None = None) -> Extent | None:
        above = None if self.state[0] == kernel.NONE else self.state[0]
        end = self.source.size
        far = start + self.limits.max_batch_bytes if end is None else end
        return self.resync.next_whole(start, far if stop is None else stop, above, legacy=self.legacy)

    def unreadable(self, here: int, head: bytes) -> Iterator[Chunk]:
        """Pass over bytes that are no header to the next whole batch, or to the end."""
        found = self.next_whole(here + 1)
        if found is None and len(head) < RECORD_BATCH.size:
            yield self.lone(self.truncated(here, RECORD_BATCH.size, len(head)))
            self.go_to(here + len(head))
            return
        end = self.end_of_file(here) if found is None else found.position
        zero = self.all_zero(here, end)
        code = "bytes-zero" if zero else "bytes-unreadable"
        what = "zero bytes" if zero else "bytes that are no batch"
        then = "to the end of the file" if found is None else f"before the batch at offset {found.last_offset}"
        yield self.lone(
            self.finding(
                code, f"{end - here} {what} {then}", position=here, length=end - here, needed="a batch", found=what
            )
        )
        self.go_to(end)

    def end_of_file(self, here: int) -> int:
        if self.source.size is not None:
            return self.source.size
        while self.source.read(here, 1):
            here += len(self.source.read(here, _WINDOW))
            self.source.release(here)
        return here

    def all_zero(self, start: int, stop: int) -> bool:
        return all(not any(self.source.read(at, min(_WINDOW, stop - at))) for at in range(start, stop, _WINDOW))

    def truncated(self, here: int, needed: int, found: int) -> Finding:
        last = self.state[0]
        behind = "" if last == kernel.NONE else f" behind offset {last}"
        return self.finding(
            "batch-truncated",
            f"the file ends inside a batch{behind}: {needed} bytes needed, {found} there",
            position=here,
            length=found,
            needed=needed,
            found=found,
        )

    def header_row(self, here: int, size: int, head: bytes) -> None:
        """Put the header's facts into the table although its batch is not whole: the checksum does not hold."""
        padded = bytearray(head.ljust(RECORD_BATCH.size, b"\0"))
        declared = RECORD_BATCH.size if padded[16] >= 2 else MESSAGE_V0.size + 8 * (1 + padded[16])
        padded[8:12] = (declared - kernel.LOG_OVERHEAD).to_bytes(4, "big")
        kernel.headers(padded, 0, declared, here, self.heads.cells, _CAPACITY, 0)
        self.heads.set(kernel.SIZE, 0, size)
        self.heads.set(kernel.VALID, 0, 0)
        self.heads.set(kernel.SECTION_START, 0, -1)
        self.heads.count = 1

    def over_limit(self, here: int, size: int, head: bytes) -> Iterator[Chunk]:
        """A batch above the limit: its checksum is taken in pieces, its records are not read."""
        if not (head[16] == 2 and self.resync.holds(here, size)):
            yield from self.broken(here, size, head, whole=True)
            return
        self.header_row(here, size, head)
        self.heads.set(kernel.VALID, 0, 1)
        chunk = self.ordered(self.chunk())
        chunk.findings.append(
            self.finding(
                "batch-over-limit",
                f"a batch of {size} bytes is over --max-batch-bytes {self.limits.max_batch_bytes}",
                position=here,
                length=size,
                offset=self.heads.cell(kernel.BASE_OFFSET, 0),
                needed=self.limits.max_batch_bytes,
                found=size,
            )
        )
        yield chunk
        self.go_to(here + size)

    def broken(self, here: int, size: int, head: bytes, whole: bool) -> Iterator[Chunk]:
        """A header whose extent fails its checksum or runs past the end: is it its length that is wrong?"""
        end = here + size
        if whole and size <= self.limits.max_batch_bytes and self.end_is_believed(here, size, head):
            yield self.mismatch(here, size, head, decode=True)
            self.go_to(end)
            return
        found = self.next_whole(here + 1)
        if found is None and not whole:
            left = self.end_of_file(here) - here
            yield self.lone(self.truncated(here, size, left))
            self.go_to(here + left)
        elif whole and (found is None or found.position >= end):
            # Nothing whole inside: the extent may be right, and what follows it is looked at on its own.
            yield self.mismatch(here, size, head, decode=size <= self.limits.max_batch_bytes)
            self.go_to(end)
        else:
            assert found is not None  # else one of the two branches above
            self.header_row(here, size, head)
            chunk = self.chunk()
            lost = found.position - here
            chunk.findings.append(
                self.finding(
                    "batch-length-wrong",
                    f"the batch says it has {size} bytes, a whole batch begins {lost} bytes behind its start",
                    position=here,
                    length=lost,
                    offset=self.heads.cell(kernel.LAST_OFFSET, 0),
                    needed=lost,
                    found=size,
                )
            )
            yield chunk
            self.go_to(found.position)

    def end_is_believed(self, here: int, size: int, head: bytes) -> bool:
        """Apply the rule at the module's head to a batch that fails its checksum."""
        end = here + size
        if not self.source.read(end, 1):
            inside = self.next_whole(here + 1, end)
            return not (inside is not None and self.resync.chain_reaches(inside, end))
        following = self.resync.whole(end)
        if following is None:
            return False
        if head[16] < 2:
            offset = int.from_bytes(head[:8], "big", signed=True)
            return following.base_offset is None or following.base_offset == offset + 1
        base, *_, delta, _, _, _, _, _, _ = RECORD_BATCH.packed.unpack(head)
        return bool(following.base_offset == base + delta + 1)

    def mismatch(self, here: int, size: int, head: bytes, *, decode: bool) -> Chunk:
        if decode:
            data = bytearray(self.source.read(here, size))
            kernel.headers(data, 0, size, here, self.heads.cells, _CAPACITY, 0)
            self.heads.count = 1
            chunk = self.chunk(data, here)
        else:
            self.header_row(here, size, head)
            chunk = self.chunk()
        stored = self.heads.cell(kernel.CRC, 0)
        first = 21 if head[16] >= 2 else 16
        computed = self.checksum(here + first, here + size, legacy=head[16] < 2)
        offset = self.heads.cell(kernel.LAST_OFFSET, 0)
        chunk.findings.append(
            self.finding(
                "crc-mismatch",
                f"the batch ending at offset {offset} says its checksum is {stored}, its bytes have {computed}",
                position=here,
                length=size,
                offset=offset,
                needed=stored,
                found=computed,
            )
        )
        if self.state[0] != kernel.NONE and offset > self.state[0]:
            self.state[0] = max(self.state[0], min(offset, self.following_offset(here + size, offset)))
        return chunk

    def following_offset(self, end: int, offset: int) -> int:
        """Return the last offset that the damaged batch can have held by the batch behind it."""
        following = self.resync.whole(end)
        if following is None or following.base_offset is None:
            return self.state[0]
        return min(offset, following.base_offset - 1)

    def checksum(self, start: int, stop: int, *, legacy: bool) -> int:
        crc = 0
        sum_of = kernel.crc32 if legacy else kernel.crc32c
        for at in range(start, stop, _WINDOW):
            data = self.source.read(at, min(_WINDOW, stop - at))
            crc = sum_of(data, 0, len(data), crc)
        return crc
