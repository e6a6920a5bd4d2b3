"""What is no whole batch: how much of it is damaged, and where the next whole batch begins.

A batch's length is outside its checksum. Where the checksum holds up to another whole batch, or up to the file's end,
the length alone is wrong and the batch is read. Else the declared end is believed where something stands there that
belongs behind the batch: a whole batch of higher offsets, the file's end, a zero tail, or a torn or damaged batch that
goes on with the next offset; whole batches inside, as a payload may hold them, are then not looked at. Else the length
is the suspect, and the next whole batch is searched from inside.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kafkalog.findings import Finding
from kafkalog.format import batch_headers, checksums, kernel
from kafkalog.format.batch_start import (
    MAGIC_AT,
    SIZE_UP_TO_MAGIC,
    checked_from,
    last_offset_of,
    magic_of,
    offset_of,
    set_magic,
    set_size,
    size_of,
    smallest_size,
)
from kafkalog.format.layout import RECORD_BATCH
from kafkalog.format.resync import Extent
from kafkalog.log.chunk import Chunk, Resumed
from kafkalog.log.window import WINDOW

if TYPE_CHECKING:
    from kafkalog.log.segment import Scan

__all__ = ["Damage"]

_MANY: Final = 100  # damaged places behind which fewer ends are tried
_FEWER_TRIES: Final = 4
_TRIES: Final = 64  # whole batches behind a broken one that its checksum is tried up to


class Damage:
    """The next bytes of a scan, which are no whole batch."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    def chunk(self) -> Chunk:
        """Tell what is wrong at the next batch, and where reading goes on behind it."""
        here = self.scan.window.here
        self.scan.resync.forget(here)
        self.scan.damages += 1
        self.scan.heads.count = 0
        if self.scan.is_crowded:
            return self.passed(here)
        head = self.scan.source.read(here, RECORD_BATCH.size)
        size = self.scan.window.next_size()
        magic = magic_of(head) if len(head) >= SIZE_UP_TO_MAGIC else -1
        whole = size > 0 and len(self.scan.source.read(here + size - 1, 1)) == 1
        if magic in (0, 1):
            self.scan.legacy = True
        over = size > self.scan.limits.max_batch_bytes
        wrong_magic = magic != 2 and whole and self.scan.resync.holds(here, size)
        if wrong_magic or (whole and over and self.holds(here, size, legacy=magic < 2)):
            head = head[:MAGIC_AT] + b"\x02" + head[SIZE_UP_TO_MAGIC:] if wrong_magic else head
            chunk = self.over_limit(here, size, head) if over else self.one_batch(here, size)
            if wrong_magic:
                self.tell_magic(chunk, here, magic)
            return resumed(chunk, here + size, is_proved=True)
        if not any(head) and (zeros := self.zeros(here)) is not None:
            return resumed(self.lone(self.preallocated(here, zeros)), here + zeros)
        proved = self.with_real_length(here, size, bytes(head))
        if proved is not None:
            return proved
        if magic < 0 or size < smallest_size(magic):
            return self.unreadable(here, head)
        return self.broken(here, size, head, whole)

    def passed(self, here: int) -> Chunk:
        """Pass over all that is no whole batch, as one; an end that is believed is still not looked behind."""
        zeros = self.zeros(here) if not any(self.scan.source.read(here, RECORD_BATCH.size)) else None
        if zeros is not None:
            return resumed(self.lone(self.preallocated(here, zeros)), here + zeros)
        at, found, expected = here, self.next_whole(here + 1), None
        while True:
            stop = self.end_of_file() if found is None else found.position
            at = self.hop(at, stop)
            head = self.scan.source.read(at, RECORD_BATCH.size)
            end = at + self.declared(head)
            is_batch = at < end and found is not None and self.scan.resync.reaches(end)
            if at >= stop or not is_batch or not self.end_is_believed(end, head):
                break
            expected = self.expected(head)
            at, found = end, self.next_whole(end)
        code = "bytes-unreadable"
        told = self.scan.finding(
            code,
            f"{stop - here} bytes that are no batch, in a file of so many damaged places that each is not looked at",
            position=here,
            length=stop - here,
            needed="a batch",
        )
        return resumed(self.lone(told), stop, is_proved=at == stop and expected is not None, expected=expected)

    @staticmethod
    def declared(head: bytes) -> int:
        """Return the size that a header says, 0 where that is none."""
        if len(head) < SIZE_UP_TO_MAGIC:
            return 0
        size = size_of(head)
        return size if size >= smallest_size(magic_of(head)) else 0

    def hop(self, at: int, stop: int) -> int:
        """Go from header to header by the sizes that they say, as long as these do not lead behind `stop`."""
        while at < stop:
            piece = self.scan.source.read(at, min(WINDOW, stop - at))
            inside = 0
            while size := self.declared(piece[inside : inside + SIZE_UP_TO_MAGIC]):
                if at + inside + size > stop:
                    return at + inside
                inside += size
            if not inside:
                return at
            at += inside
        return at

    def lone(self, finding: Finding | None) -> Chunk:
        """Make a chunk of no batch."""
        chunk = self.scan.chunk()
        chunk.findings += [finding] if finding is not None else []
        return chunk

    def one_batch(self, here: int, size: int) -> Chunk:
        """Read a batch of magic 2, whatever its magic byte says."""
        data = bytearray(self.scan.source.read(here, size))
        set_magic(data, 2)
        batch_headers.read(data, 0, size, here, self.scan.heads.cells, self.scan.heads.capacity, 0)
        self.scan.heads.count = 1
        return self.scan.ordered(self.scan.chunk(data, here))

    def tell_magic(self, chunk: Chunk, here: int, magic: int) -> None:
        """Show the magic of a batch that is one of magic 2 by its checksum; 0 and 1 would give it another layout."""
        if magic > 2:
            self.scan.heads.set(kernel.MAGIC, 0, magic)
        offset = self.scan.heads.cell(kernel.BASE_OFFSET, 0)
        chunk.findings.append(
            self.scan.finding(
                "magic-wrong",
                f"the batch at offset {offset} says magic {magic}, its checksum is that of a magic 2 batch",
                position=here + MAGIC_AT,
                length=1,
                offset=offset,
                needed=2,
                found=magic,
            )
        )

    def zeros(self, here: int) -> int | None:
        """Return how many bytes are left if all of them are zero."""
        position, step = here, 256  # steps grow, so that short runs of zeros cost little
        while data := self.scan.source.read(position, step):
            if data.count(0) != len(data):
                return None
            position += len(data)
            step = min(2 * step, WINDOW)
        return position - here if position - here >= SIZE_UP_TO_MAGIC else None

    def preallocated(self, here: int, zeros: int) -> Finding:
        return self.scan.finding(
            "tail-preallocated", f"the file ends in {zeros} zero bytes", position=here, length=zeros, found=zeros
        )

    def next_whole(self, start: int) -> Extent | None:
        """Find the next whole batch from `start` on; a source in which there is none is read to its end."""
        above = None if self.scan.state[0] == kernel.NONE else self.scan.state[0]
        end = self.scan.source.size
        return self.scan.resync.next_whole(start, sys.maxsize if end is None else end, above, legacy=self.scan.legacy)

    def unreadable(self, here: int, head: bytes) -> Chunk:
        """Pass over bytes that are no header to the next whole batch, or to the end."""
        found = self.next_whole(here + 1)
        if found is None and len(head) < RECORD_BATCH.size:
            return resumed(self.lone(self.truncated(here, RECORD_BATCH.size, len(head))), here + len(head))
        end = self.end_of_file() if found is None else found.position
        zero = self.all_zero(here, end)
        code = "bytes-zero" if zero else "bytes-unreadable"
        what = "zero bytes" if zero else "bytes that are no batch"
        then = "to the end of the file" if found is None else f"before the batch at offset {found.last_offset}"
        told = self.scan.finding(
            code, f"{end - here} {what} {then}", position=here, length=end - here, needed="a batch", found=what
        )
        return resumed(self.lone(told), end, expected=self.expected(head))

    def end_of_file(self) -> int:
        """Return where the source ends, once it was searched so far."""
        end = self.scan.source.size
        assert end is not None
        return end

    def all_zero(self, start: int, stop: int) -> bool:
        pieces = (self.scan.source.read(at, min(WINDOW, stop - at)) for at in range(start, stop, WINDOW))
        return all(data.count(0) == len(data) for data in pieces)

    def truncated(self, here: int, needed: int, found: int) -> Finding | None:
        """Tell of a batch that the file ends in; None where the reader asked for that end."""
        if self.scan.source.is_cut:
            return None
        last = self.scan.state[0]
        behind = "" if last == kernel.NONE else f" behind offset {last}"
        return self.scan.finding(
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
        declared = smallest_size(magic_of(padded))
        set_size(padded, declared)
        batch_headers.read(padded, 0, declared, here, self.scan.heads.cells, self.scan.heads.capacity, 0)
        self.scan.heads.set(kernel.SIZE, 0, size)
        self.scan.heads.set(kernel.VALID, 0, 0)
        self.scan.heads.set(kernel.SECTION_START, 0, -1)
        self.scan.heads.count = 1

    def over_limit(self, here: int, size: int, head: bytes) -> Chunk:
        """A batch above the limit whose checksum, taken in pieces, holds: its records are not read."""
        self.header_row(here, size, head)
        self.scan.heads.set(kernel.VALID, 0, 1)
        chunk = self.scan.ordered(self.scan.chunk())
        chunk.findings.append(
            self.scan.finding(
                "batch-over-limit",
                f"a batch of {size} bytes is over --max-batch-bytes {self.scan.limits.max_batch_bytes}",
                position=here,
                length=size,
                offset=self.scan.heads.cell(kernel.BASE_OFFSET, 0),
                needed=self.scan.limits.max_batch_bytes,
                found=size,
            )
        )
        return chunk

    def broken(self, here: int, size: int, head: bytes, whole: bool) -> Chunk:
        """A header whose extent fails its checksum or runs past the end, and whose length is not proved wrong."""
        end = here + size
        expected = self.expected(head)
        in_limit = size <= self.scan.limits.max_batch_bytes
        if whole and in_limit and self.end_is_believed(end, head):
            return resumed(self.mismatch(here, size, head, decode=True), end, is_proved=True, expected=expected)
        found = self.next_whole(here + 1)
        if found is None and not whole:
            left = self.end_of_file() - here
            return resumed(self.lone(self.truncated(here, size, left)), here + left)
        if whole and (found is None or found.position >= end):
            # Nothing whole inside: the extent may be right, and what follows it is looked at on its own.
            return resumed(self.mismatch(here, size, head, decode=in_limit), end, expected=expected)
        assert found is not None  # else one of the two branches above
        self.header_row(here, size, head)
        chunk = self.length_wrong(self.scan.chunk(), here, size, found.position - here, lost=True)
        return resumed(chunk, found.position, expected=expected)

    def length_wrong(self, chunk: Chunk, here: int, size: int, real: int, *, lost: bool) -> Chunk:
        """Tell of a length that does not lead to the next batch; `lost` says whether the batch is, too."""
        chunk.findings.append(
            self.scan.finding(
                "batch-length-wrong",
                f"the batch says it has {size} bytes, the next whole batch or the file's end is {real} bytes behind its"
                " start",
                position=here,
                length=real if lost else None,
                offset=self.scan.heads.cell(kernel.LAST_OFFSET, 0),
                needed=real,
                found=size,
            )
        )
        return chunk

    def with_real_length(self, here: int, size: int, head: bytes) -> Chunk | None:
        """Return the batch if only its length is wrong: it is outside the checksum, so another one can prove itself."""
        if len(head) < RECORD_BATCH.size or magic_of(head) > 2:
            return None
        real = self.real_size(here, size, legacy=magic_of(head) < 2)
        if real is None:
            return None
        data = bytearray(self.scan.source.read(here, real))
        set_size(data, real)
        rows, _, _ = batch_headers.read(data, 0, real, here, self.scan.heads.cells, self.scan.heads.capacity, 0)
        if not rows:
            return None
        self.scan.heads.count = 1
        chunk = self.length_wrong(self.scan.ordered(self.scan.chunk(data, here)), here, size, real, lost=False)
        return resumed(chunk, here + real, is_proved=True)

    def real_size(self, here: int, declared: int, *, legacy: bool) -> int | None:
        """Return the size up to the file's end or to a whole batch behind, over which the checksum holds."""
        start, tries = here + 1, 0 if self.scan.damages < _MANY else _TRIES - _FEWER_TRIES
        while tries < _TRIES and (found := self.next_whole(start)) is not None:
            size = found.position - here
            if size > self.scan.limits.max_batch_bytes:
                return None
            if size != declared and self.holds(here, size, legacy=legacy):
                return size
            start, tries = found.position + 1, tries + 1
        self.scan.source.read(here + self.scan.limits.max_batch_bytes, 1)  # so that a stream's end, if near, is known
        end = self.scan.source.size
        size = 0 if end is None or self.scan.source.is_cut else end - here
        good = (
            0 < size <= self.scan.limits.max_batch_bytes and size != declared and self.holds(here, size, legacy=legacy)
        )
        return size if good else None

    def holds(self, here: int, size: int, *, legacy: bool) -> bool:
        """Say whether the checksum at `here` is that of a batch of `size` bytes."""
        resync = self.scan.resync
        return resync.holds_message(here, size) if legacy else resync.holds(here, size)

    def end_is_believed(self, end: int, head: bytes) -> bool:
        """Say whether something that belongs behind this batch stands at its declared end; see the module's head."""
        behind = self.scan.source.read(end, RECORD_BATCH.size)
        if not behind or (not any(behind) and len(behind) >= SIZE_UP_TO_MAGIC and self.zeros(end) is not None):
            return True
        following = self.scan.resync.whole(end)
        expected = self.expected(head)
        if following is not None:
            if expected is None or following.base_offset is None:
                return following.last_offset > offset_of(head)
            return following.base_offset >= min(expected, self.counted(head, expected))
        # Torn or damaged itself: its first field is all that can be looked at.
        offset = behind[:8]
        offsets = () if expected is None else (expected, self.counted(head, expected))
        return any(offset == one.to_bytes(8, "big", signed=True)[: len(offset)] for one in offsets)

    @staticmethod
    def counted(head: bytes, expected: int) -> int:
        """Return the offset behind the batch by its count, if it can be: of two fields one may be what is damaged."""
        count = RECORD_BATCH.read("records_count", head)
        behind = offset_of(head) + count
        return behind if count > 0 and behind < 2**63 else expected

    def expected(self, head: bytes) -> int | None:
        """Return the offset behind the batch by its header, None where that can't be said."""
        if len(head) < RECORD_BATCH.size or magic_of(head) < 2:
            return None
        behind = last_offset_of(head) + 1
        return behind if -(2**63) <= behind < 2**63 else None

    def mismatch(self, here: int, size: int, head: bytes, *, decode: bool) -> Chunk:
        if decode:
            data = bytearray(self.scan.source.read(here, size))
            batch_headers.read(data, 0, size, here, self.scan.heads.cells, self.scan.heads.capacity, 0)
            self.scan.heads.count = 1
            chunk = self.scan.chunk(data, here)
        else:
            self.header_row(here, size, head)
            chunk = self.scan.chunk()
        stored = self.scan.heads.cell(kernel.CRC, 0)
        computed = self.checksum(here + checked_from(magic_of(head)), here + size, legacy=magic_of(head) < 2)
        offset = self.scan.heads.cell(kernel.LAST_OFFSET, 0)
        chunk.findings.append(
            self.scan.finding(
                "crc-mismatch",
                f"the batch ending at offset {offset} says its checksum is {stored}, its bytes have {computed}",
                position=here,
                length=size,
                offset=offset,
                needed=stored,
                found=computed,
            )
        )
        if self.scan.state[0] != kernel.NONE and offset > self.scan.state[0]:
            self.scan.state[0] = max(self.scan.state[0], min(offset, self.following_offset(here + size, offset)))
        return chunk

    def following_offset(self, end: int, offset: int) -> int:
        """Return the last offset that the damaged batch can have held by the batch behind it."""
        following = self.scan.resync.whole(end)
        if following is None or following.base_offset is None:
            return self.scan.state[0]
        return min(offset, following.base_offset - 1)

    def checksum(self, start: int, stop: int, *, legacy: bool) -> int:
        crc = 0
        sum_of = checksums.crc32 if legacy else checksums.crc32c
        for at in range(start, stop, WINDOW):
            data = self.scan.source.read(at, min(WINDOW, stop - at))
            crc = sum_of(data, 0, len(data), crc)
        return crc


def resumed(chunk: Chunk, position: int, *, is_proved: bool = False, expected: int | None = None) -> Chunk:
    """Note in `chunk` where reading goes on behind it."""
    chunk.resumed = Resumed(position, is_proved, expected)
    return chunk
