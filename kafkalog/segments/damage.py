"""Damage, which is anything but a whole batch: what is wrong, how many bytes are damaged, and where reading goes on.

The CRC does not cover a batch's length, so either may be wrong: `next_damage` says which is believed. What a reader
gets is a chunk: the row of the batch, as far as it can be read, and the findings about it.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from kafkalog.findings import Finding
from kafkalog.kafka.batch import (
    MAGIC_AT,
    SIZE_UP_TO_MAGIC,
    CellTable,
    checked_from,
    magic_of,
    set_magic,
    set_size,
    smallest_size,
)
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk, Resumed
from kafkalog.segments.cursor import DOUBTED, WINDOW, Cursor
from kafkalog.segments.resync import WholeBatch

__all__ = ["Beyond", "next_damage", "read_over_damage"]

_ENDLESS: Final = 1 << 62

_FIRST_READ: Final = 256  # bytes; steps grow, so that short runs of zeros cost little


def next_offset(head: bytes) -> int | None:
    """Return the offset after the batch by its header, None if the header does not give it."""
    if len(head) < RECORD_BATCH.size:
        return None
    after = headers.leads_to(head, 0)
    return None if after == buffers.NONE else after


def end_is_believed(cursor: Cursor, end: int, head: bytes) -> bool:
    """Say whether what is at the declared end of the batch of `head` may follow it."""
    there = cursor.source.read_bytes(end, RECORD_BATCH.size)
    if not there or (not any(there) and len(there) >= SIZE_UP_TO_MAGIC and zero_tail(cursor, end) is not None):
        return True
    padded = there.ljust(RECORD_BATCH.size, b"\0")
    is_whole = cursor.resync.whole(end) is not None
    return headers.may_follow(head.ljust(RECORD_BATCH.size, b"\0"), 0, padded, 0, len(there), is_whole)


def next_whole(cursor: Cursor, start: int) -> WholeBatch | None:
    """Find the next whole batch from `start` on; a source without one is read to its end."""
    return cursor.resync.next_whole(start, end_or_endless(cursor), cursor.order.last_offset, legacy=cursor.legacy)


def end_or_endless(cursor: Cursor) -> int:
    """Return where the source ends, a position after all where that is not known yet."""
    end = cursor.source.size
    return _ENDLESS if end is None else end


def end_of_file(cursor: Cursor) -> int:
    """Return where the source ends; it was searched to its end before."""
    end = cursor.source.size
    assert end is not None
    return end


def zero_tail(cursor: Cursor, here: int) -> int | None:
    """Return how many bytes are left if all of them are zero, otherwise None."""
    position, step = here, _FIRST_READ
    while data := cursor.source.read_bytes(position, step):
        if data.count(0) != len(data):
            return None
        position += len(data)
        step = min(2 * step, WINDOW)
    return position - here if position - here >= SIZE_UP_TO_MAGIC else None


def is_zero(cursor: Cursor, start: int, stop: int) -> bool:
    """Say whether all bytes in between are zero."""
    pieces = (cursor.source.read_bytes(at, min(WINDOW, stop - at)) for at in range(start, stop, WINDOW))
    return all(data.count(0) == len(data) for data in pieces)


# Files with so much damage that each place must cost as little as possible: neighbouring damage becomes one.
#
# Whole batches and the damaged bytes between them leave in one chunk, as far as the window shows both: so decides the
# kernel (``headers.pass_over``), which asks for what the window does not show of a place.


_NO_SUMS: Final = array("Q", [0])


class ReadOver(NamedTuple):
    """A chunk of whole batches and damage, and how the last read of headers ended, from `start` to `stop`."""

    chunk: Chunk
    why: int
    start: int
    stop: int


def read_over_damage(cursor: Cursor) -> ReadOver:
    """Read whole batches and pass over the damage between them, as far as the window and the table reach."""
    window, heads = cursor.window, cursor.heads
    heads.count = 0
    chunk = cursor.make_chunk()
    view = memoryview(window.buffer)[: window.stop]
    beyond = Beyond(cursor)
    places = CellTable(heads.capacity + 1, buffers.PLACE_CELLS)  # a place is a row here
    found: list[Finding] = []
    why = headers.LARGE
    while why in (headers.LARGE, headers.NO_ROOM):
        rows, state = heads.count, beyond.now()
        why, heads.count, count, window.start, read = headers.read_over_damage(
            view, window.start, cursor.reach(), heads.cells, rows, _NO_SUMS, state, places.cells, beyond
        )
        cursor.legacy = state[buffers.SEEK_LEGACY] != 0
        chunk.findings += cursor.order.broken(chunk.file, heads, rows)
        chunk.impossible = chunk.impossible + cursor.order.impossible
        cursor.damages += count
        cells = iter(places.flat[: count * buffers.PLACE_CELLS].tolist())
        for position, size, proved, expected in zip(cells, cells, cells, cells, strict=True):
            found.append(passed_over(cursor, position, size))
            chunk.resumed.append(_resumed(position + size, proved, expected))
    chunk.findings = sorted((*found, *chunk.findings), key=lambda finding: finding.position or 0)
    return ReadOver(chunk, *read)


def passed_over(cursor: Cursor, position: int, size: int) -> Finding:
    """Make the finding about a place that was not examined closely."""
    message = (
        f"{size} bytes that are no batch; the file has so many damaged places that this one was not examined closely"
    )
    return cursor.finding("bytes-unreadable", message, position=position, length=size, needed="a batch")


def _resumed(position: int, proved: int, expected: int) -> Resumed:
    return Resumed(position, is_proved=proved != 0, expected=None if expected == buffers.NONE else expected)


class Beyond:
    """Answers what the window does not show of damaged bytes, from the whole file; positions are those in the window.

    `state` is the kernel's: which batches it takes for whole, and above which offset.
    """

    def __init__(self, cursor: Cursor) -> None:
        window = cursor.window
        self.cursor = cursor
        self.begin = window.position
        self.state = state = array("q", bytes(8 * buffers.SEEK_CELLS))
        state[buffers.SEEK_TAIL_BLOCK], state[buffers.SEEK_LEFT] = -1, 1
        state[buffers.SEEK_ROOM] = end_or_endless(cursor) - window.position
        state[buffers.SEEK_LIMIT], state[buffers.SEEK_DOUBTED] = cursor.limits.max_batch_bytes, DOUBTED
        state[buffers.SEEK_POSITION], state[buffers.SEEK_GROWING] = window.position, not window.at_end

    def now(self) -> array[int]:
        """Return the state for what comes after the cursor's batches."""
        last = self.cursor.order.last_offset
        self.state[buffers.SEEK_LEGACY] = self.cursor.legacy
        self.state[buffers.SEEK_ABOVE] = buffers.NONE if last is None else last
        return self.state

    def next_whole(self, here: int, start: int) -> int:
        """Return where the next whole batch from `start` on begins, or the file ends; the damage began at `here`."""
        resync, above = self.cursor.resync, self.state[buffers.SEEK_ABOVE]
        resync.forget(self.begin + here)
        found = resync.next_whole(
            self.begin + start, end_or_endless(self.cursor), None if above == buffers.NONE else above,
            legacy=self.state[buffers.SEEK_LEGACY] != 0,
        )  # fmt: skip
        return (end_of_file(self.cursor) if found is None else found.position) - self.begin

    def hop(self, at: int, stop: int) -> int:
        """Go from header to header by their sizes, as long as these do not lead past `stop`."""
        while at < stop:
            data = self.cursor.source.read_bytes(self.begin + at, min(WINDOW, stop - at))
            inside = headers.hop(data, 0, stop - at)
            if not inside:
                return at
            at += inside
        return at

    def believed_size(self, at: int) -> int:
        """Return the size of the batch at `at` if what is at its end may follow it, otherwise 0."""
        here = self.begin + at
        head = self.cursor.source.read_bytes(here, RECORD_BATCH.size)
        size = headers.declared(head, 0) if len(head) >= SIZE_UP_TO_MAGIC else 0
        end = here + size
        return size if size and self.cursor.resync.reaches(end) and end_is_believed(self.cursor, end, head) else 0

    def leads_to(self, at: int) -> int:
        """Return the offset after the batch at `at` by its header, NONE if the header does not give it."""
        after = next_offset(self.cursor.source.read_bytes(self.begin + at, RECORD_BATCH.size))
        return buffers.NONE if after is None else after


_MANY: Final = 100  # damaged places after which fewer ends are tried

_FEWER_TRIES: Final = 4

_TRIES: Final = 64  # whole batches after a damaged one up to which its CRC is tried

_LONGEST: Final = 2**31  # a length has 32 bits


def next_damage(cursor: Cursor) -> Chunk:
    """Make the chunk of the damage at the cursor, where there is no whole batch: one row if there is a batch.

    Reading goes on, by the first of these that is so:

    - the CRC matches with the length in the header: after it. Only the magic is wrong, or the batch is above a limit;
    - all bytes up to the file's end are zero: at that end;
    - the CRC matches up to another whole batch, or up to the file's end: there. Only the length is wrong;
    - there is no header of a batch: at the next whole batch;
    - what is at the declared end can follow the batch (`end_is_believed`), which is not above the limit: at that end.
      Whole batches inside, which a payload may contain, are ignored;
    - a whole batch begins inside the declared length: at that batch. The length is as suspect as the rest;
    - otherwise at the declared end, or at the file's where that comes first.

    A whole batch has a possible header, a CRC that matches, and offsets above those before. Where no next one is found,
    the damage reaches to the file's end.
    """
    here = cursor.window.here
    cursor.resync.forget(here)
    cursor.damages += 1
    cursor.heads.count = 0
    if cursor.has_much_damage:
        return _up_to_next_batch(cursor, here)
    begun = _Begun(cursor, here)
    if begun.magic in (0, 1):
        cursor.legacy = True
    return (
        begun.whole_but_for_magic_or_limit()
        or _preallocated(cursor, here, begun.head)
        or begun.whole_but_for_length()
        or begun.no_header()
        or begun.broken()
    )


def _preallocated(cursor: Cursor, here: int, head: bytes) -> Chunk | None:
    """Zeros up to the file's end, which a broker preallocates."""
    zeros = None if any(head) else zero_tail(cursor, here)
    if zeros is None:
        return None
    message = f"the file ends in {zeros} zero bytes"
    finding = cursor.finding("tail-preallocated", message, position=here, length=zeros, found=zeros)
    return _chunk(cursor, Resumed(here + zeros, is_proved=False, expected=None), finding)


def _up_to_next_batch(cursor: Cursor, here: int) -> Chunk:
    """All bytes up to where reading goes on as one damage that is not examined closely."""
    if zeros := _preallocated(cursor, here, cursor.source.read_bytes(here, RECORD_BATCH.size)):
        return zeros
    window, beyond = cursor.window, Beyond(cursor)
    state = beyond.now()
    at = headers.pass_over(memoryview(window.buffer)[: window.stop], window.start, _NO_SUMS, state, beyond)
    resumed = _resumed(window.position + at, state[buffers.GOES_ON_PROVED], state[buffers.GOES_ON_OFFSET])
    return _chunk(cursor, resumed, passed_over(cursor, here, resumed.position - here))


def _chunk(cursor: Cursor, resumed: Resumed, *findings: Finding) -> Chunk:
    """Make a chunk of the row in the table, if there is one."""
    chunk = cursor.make_chunk()
    chunk.findings += findings
    chunk.resumed.append(resumed)
    return chunk


class _Begun:
    """A batch that should begin here and is not whole: what its header says, as far as there is one."""

    def __init__(self, cursor: Cursor, here: int) -> None:
        self.cursor = cursor
        self.here = here
        self.head = cursor.source.read_bytes(here, RECORD_BATCH.size)
        self.size = cursor.window.next_size()
        self.magic = magic_of(self.head) if len(self.head) >= SIZE_UP_TO_MAGIC else -1
        self.is_over_limit = self.size > cursor.limits.max_batch_bytes
        self.is_there = self.size > 0 and len(cursor.source.read_bytes(here + self.size - 1, 1)) == 1

    def resumed(self, position: int, *, is_proved: bool = False) -> Resumed:
        """Return where reading goes on after a batch with this header."""
        return Resumed(position, is_proved, next_offset(self.head))

    def holds(self, size: int) -> bool:
        """Say whether the CRC matches as that of a batch of `size` bytes."""
        resync = self.cursor.resync
        return resync.holds_message(self.here, size) if self.magic < 2 else resync.holds(self.here, size)

    def whole_but_for_magic_or_limit(self) -> Chunk | None:
        """A batch whose CRC matches with the size in its header: its magic is wrong, or it is above a limit."""
        cursor, here, size = self.cursor, self.here, self.size
        has_wrong_magic = self.magic != 2 and self.is_there and cursor.resync.holds(here, size)
        if not has_wrong_magic and not (self.is_there and self.is_over_limit and self.holds(size)):
            return None
        if has_wrong_magic:
            self.head = self.head[:MAGIC_AT] + b"\x02" + self.head[SIZE_UP_TO_MAGIC:]
        if self.is_over_limit:
            self._header_row(size)
            cursor.heads.set(buffers.VALID, 0, 1)
            chunk = cursor.ordered(cursor.make_chunk())
            chunk.findings.append(self._over_limit())
        else:
            data = bytearray(cursor.source.read_bytes(here, size))
            set_magic(data, 2)
            chunk = cursor.ordered(self._read_as(data))
        if has_wrong_magic:
            chunk.findings.append(self._wrong_magic())
        chunk.resumed.append(Resumed(here + size, is_proved=True, expected=None))
        return chunk

    def _over_limit(self) -> Finding:
        """Report a batch above the limit whose CRC, computed in pieces, matches: its records are not read."""
        limit = self.cursor.limits.max_batch_bytes
        return self.cursor.finding(
            "batch-over-limit",
            f"the batch has {self.size} bytes, more than --max-batch-bytes {limit}: its records were not read",
            position=self.here,
            length=self.size,
            offset=self.cursor.heads.cell(buffers.BASE_OFFSET, 0),
            needed=limit,
            found=self.size,
        )

    def _wrong_magic(self) -> Finding:
        """Report the wrong magic of a batch whose CRC is that of magic 2.

        The row keeps a magic above 2; 0 and 1 would give it another layout.
        """
        heads = self.cursor.heads
        if self.magic > 2:
            heads.set(buffers.MAGIC, 0, self.magic)
        offset = heads.cell(buffers.BASE_OFFSET, 0)
        return self.cursor.finding(
            "magic-wrong",
            f"the batch at offset {offset} has magic {self.magic}, but its CRC matches as that of a magic 2 batch",
            position=self.here + MAGIC_AT,
            length=1,
            offset=offset,
            needed=2,
            found=self.magic,
        )

    def whole_but_for_length(self) -> Chunk | None:
        """A batch whose CRC matches with another size, which proves that size: the CRC does not cover the length."""
        if len(self.head) < RECORD_BATCH.size or self.magic > 2:
            return None
        real = self.real_size()
        if real is None or not smallest_size(self.magic) <= real < _LONGEST:
            return None
        data = bytearray(self.cursor.source.read_bytes(self.here, real))
        set_size(data, real)
        chunk = self.cursor.ordered(self._read_as(data))
        chunk.findings.append(self._wrong_length(real, None))
        chunk.resumed.append(Resumed(self.here + real, is_proved=True, expected=None))
        return chunk

    def _wrong_length(self, real: int, lost: int | None) -> Finding:
        """Report a length that does not lead to the next batch; `lost` is the lost bytes, None if the batch is read."""
        return self.cursor.finding(
            "batch-length-wrong",
            f"the batch has {self.size} bytes by its header, but the next whole batch or the end of the file is"
            f" {real} bytes after its start",
            position=self.here,
            length=lost,
            offset=self.cursor.heads.cell(buffers.LAST_OFFSET, 0),
            needed=real,
            found=self.size,
        )

    def real_size(self) -> int | None:
        """Return the size, up to a whole batch after this one or the file's end, with which the CRC matches."""
        cursor, limit = self.cursor, self.cursor.limits.max_batch_bytes
        start, tries = self.here + 1, 0 if cursor.damages < _MANY else _TRIES - _FEWER_TRIES
        while tries < _TRIES and (found := next_whole(cursor, start)) is not None:
            size = found.position - self.here
            if size > limit:
                return None
            if size != self.size and self.holds(size):
                return size
            start, tries = found.position + 1, tries + 1
        cursor.source.read_bytes(self.here + limit, 1)  # so that a stream's end, if near, is known
        end = cursor.source.size
        size = 0 if end is None or cursor.source.is_cut else end - self.here
        return size if 0 < size <= limit and size != self.size and self.holds(size) else None

    def no_header(self) -> Chunk | None:
        """Bytes without a header, up to the next whole batch or to the end."""
        if self.magic >= 0 and self.size >= smallest_size(self.magic):
            return None
        cursor, here = self.cursor, self.here
        found = next_whole(cursor, here + 1)
        if found is None and len(self.head) < RECORD_BATCH.size:
            return self.torn(len(self.head), RECORD_BATCH.size)
        end = end_of_file(cursor) if found is None else found.position
        is_zeros = is_zero(cursor, here, end)
        what = "zero bytes" if is_zeros else "bytes that are no batch"
        where = (
            "at the end of the file" if found is None else f"before the batch that ends at offset {found.last_offset}"
        )
        finding = cursor.finding(
            "bytes-zero" if is_zeros else "bytes-unreadable",
            f"{end - here} {what}, {where}",
            position=here,
            length=end - here,
            needed="a batch",
            found=what,
        )
        return _chunk(cursor, self.resumed(end), finding)

    def torn(self, size: int, needed: int) -> Chunk:
        """The part of a batch that the file ends in; no finding if the reader asked for that end."""
        chunk = _chunk(self.cursor, Resumed(self.here + size, is_proved=False, expected=None))
        if self.cursor.source.is_cut:
            return chunk
        last = self.cursor.order.last_offset
        after = "" if last is None else f" after offset {last}"
        chunk.findings.append(
            self.cursor.finding(
                "batch-truncated",
                f"the file ends inside a batch{after}: the batch needs {needed} bytes, {size} are there",
                position=self.here,
                length=size,
                needed=needed,
                found=size,
            )
        )
        return chunk

    def broken(self) -> Chunk:
        """A batch whose CRC does not match or that runs past the end, and whose length is not proved wrong."""
        cursor, end = self.cursor, self.here + self.size
        if self.is_there and not self.is_over_limit and end_is_believed(cursor, end, self.head):
            return self.mismatch(is_proved=True)
        found = next_whole(cursor, self.here + 1)
        if found is None and not self.is_there:
            return self.torn(end_of_file(cursor) - self.here, self.size)
        if found is None or (self.is_there and found.position >= end):
            # No whole batch inside: the length may be right, and what follows is examined by itself.
            return self.mismatch(is_proved=False)
        lost = found.position - self.here  # up to the next whole batch
        self._header_row(self.size)
        return _chunk(cursor, self.resumed(found.position), self._wrong_length(lost, lost))

    def mismatch(self, *, is_proved: bool) -> Chunk:
        """A batch that has the size in its header, but whose CRC does not match."""
        cursor, here, size = self.cursor, self.here, self.size
        if self.is_over_limit:
            self._header_row(size)
            chunk = cursor.make_chunk()
        else:
            chunk = self._read_as(bytearray(cursor.source.read_bytes(here, size)))
        stored, offset = (cursor.heads.cell(column, 0) for column in (buffers.CRC, buffers.LAST_OFFSET))
        computed = self._checksum()
        chunk.findings.append(
            cursor.finding(
                "crc-mismatch",
                f"the CRC of the batch that ends at offset {offset} does not match: stored {stored:#010x},"
                f" computed {computed:#010x}",
                position=here,
                length=size,
                offset=offset,
                needed=stored,
                found=computed,
            )
        )
        chunk.resumed.append(self.resumed(here + size, is_proved=is_proved))
        last = cursor.order.last_offset
        if last is not None and offset > last:
            following = cursor.resync.whole(here + size)
            if following is not None and following.base_offset is not None:
                cursor.order.reach(min(offset, following.base_offset - 1))  # its highest possible offset
        return chunk

    def _checksum(self) -> int:
        crc, stop = 0, self.here + self.size
        sum_of = headers.crc32 if self.magic < 2 else headers.crc32c
        for at in range(self.here + checked_from(self.magic), stop, WINDOW):
            data = self.cursor.source.read_bytes(at, min(WINDOW, stop - at))
            crc = sum_of(data, 0, len(data), crc)
        return crc

    def _read_as(self, data: bytearray) -> Chunk:
        """Make a chunk of the one batch in `data`, whether its CRC matches or not."""
        headers.read_headers(data, 0, len(data), self.here, self.cursor.heads.cells, 0)
        self.cursor.heads.count = 1
        return self.cursor.make_chunk(data, self.here)

    def _header_row(self, size: int) -> None:
        """Put the header's fields into the table though the batch is not whole; the row says that its CRC is wrong."""
        heads = self.cursor.heads
        padded = bytearray(self.head.ljust(RECORD_BATCH.size, b"\0"))
        smallest = smallest_size(magic_of(padded))
        set_size(padded, smallest)
        headers.read_headers(padded, 0, smallest, self.here, heads.cells, 0)
        heads.set(buffers.SIZE, 0, size)
        heads.set(buffers.VALID, 0, 0)
        heads.set(buffers.SECTION_START, 0, -1)
        heads.count = 1
