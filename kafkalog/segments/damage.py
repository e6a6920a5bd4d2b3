"""Damage, which is anything but a whole batch: what is wrong, how many bytes are damaged, and where reading goes on.

The CRC does not cover a batch's length. If the CRC matches up to another whole batch, or up to the file's end, only the
length is wrong and the batch is read. Otherwise the declared end is believed if what is there can follow the batch: a
whole batch with higher offsets, the file's end, a zero tail, or a torn or damaged batch that continues with the next
offset; whole batches inside, which a payload may contain, are then ignored. Otherwise the length is suspect, and the
search for the next whole batch starts inside the damaged one.

`decide` says what is damaged; ``damage_chunk.py`` makes the chunk and the findings of it.
"""

from __future__ import annotations

from array import array
from enum import StrEnum
from typing import Final, NamedTuple

from kafkalog.findings import Finding
from kafkalog.kafka.batch import (
    MAGIC_AT,
    SIZE_UP_TO_MAGIC,
    CellTable,
    magic_of,
    smallest_size,
)
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk, Resumed
from kafkalog.segments.cursor import DOUBTED, WINDOW, Cursor
from kafkalog.segments.resync import WholeBatch

__all__ = ["Beyond", "Damage", "Wrong", "decide", "passed_over", "read_over_damage"]

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
    there = cursor.source.read(end, RECORD_BATCH.size)
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
    while data := cursor.source.read(position, step):
        if data.count(0) != len(data):
            return None
        position += len(data)
        step = min(2 * step, WINDOW)
    return position - here if position - here >= SIZE_UP_TO_MAGIC else None


def is_zero(cursor: Cursor, start: int, stop: int) -> bool:
    """Say whether all bytes in between are zero."""
    pieces = (cursor.source.read(at, min(WINDOW, stop - at)) for at in range(start, stop, WINDOW))
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
    chunk = cursor.chunk()
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
            data = self.cursor.source.read(self.begin + at, min(WINDOW, stop - at))
            inside = headers.hop(data, 0, stop - at)
            if not inside:
                return at
            at += inside
        return at

    def believed_size(self, at: int) -> int:
        """Return the size of the batch at `at` if what is at its end may follow it, otherwise 0."""
        here = self.begin + at
        head = self.cursor.source.read(here, RECORD_BATCH.size)
        size = headers.declared(head, 0) if len(head) >= SIZE_UP_TO_MAGIC else 0
        end = here + size
        return size if size and self.cursor.resync.reaches(end) and end_is_believed(self.cursor, end, head) else 0

    def leads_to(self, at: int) -> int:
        """Return the offset after the batch at `at` by its header, NONE if the header does not give it."""
        after = next_offset(self.cursor.source.read(self.begin + at, RECORD_BATCH.size))
        return buffers.NONE if after is None else after


_MANY: Final = 100  # damaged places after which fewer ends are tried

_FEWER_TRIES: Final = 4

_TRIES: Final = 64  # whole batches after a damaged one up to which its CRC is tried

_LONGEST: Final = 2**31  # a length has 32 bits


class Wrong(StrEnum):
    """What is wrong with bytes that were not read as batches."""

    MAGIC = "magic"  # of a batch in which only this byte is wrong
    OVER_LIMIT = "over-limit"  # a whole batch that is larger than a reader accepts
    LENGTH = "length"  # of a batch in which only this field is wrong
    CHECKSUM = "checksum"  # the CRC of a batch whose length may be right
    END_LOST = "end-lost"  # a batch whose length and CRC are both wrong
    TORN = "torn"  # the file ends inside a batch
    PREALLOCATED = "preallocated"  # zeros to the file's end
    ZEROS = "zeros"  # zeros elsewhere, outside batches
    NO_BATCH = "no-batch"  # other bytes outside batches
    PASSED_OVER = "passed-over"  # bytes that were not examined closely, in a file with much damage


class Damage(NamedTuple):
    """What is wrong at a position, and where reading goes on.

    `size` is the number of bytes concerned, for a batch the length that is believed. `declared` is the size that the
    header gives or that a torn batch needs, `head` the header as it should be read, as far as there is one.
    `false_magic` is the magic in a header whose CRC proves another; `is_decoded` says whether records of a damaged
    batch may be read; `before` is the last offset of the whole batch that follows bytes outside batches.
    """

    wrong: Wrong
    position: int
    size: int
    resumed: Resumed
    head: bytes = b""
    declared: int = 0
    false_magic: int | None = None
    is_decoded: bool = False
    before: int | None = None


def decide(cursor: Cursor) -> Damage:
    """Say what is wrong at the cursor, where there is no whole batch, and where reading goes on."""
    here = cursor.window.here
    cursor.resync.forget(here)
    cursor.damages += 1
    if cursor.has_much_damage:
        return _next_batch(cursor, here)
    begun = _Begun(cursor, here)
    if begun.magic in (0, 1):
        cursor.legacy = True
    return (
        begun.whole_but_for_magic_or_limit()
        or begun.preallocated()
        or begun.whole_but_for_length()
        or begun.no_header()
        or begun.broken()
    )


class _Begun:
    """A batch that should begin here and is not whole: what its header says, as far as there is one."""

    def __init__(self, cursor: Cursor, here: int) -> None:
        self.cursor = cursor
        self.here = here
        self.head = cursor.source.read(here, RECORD_BATCH.size)
        self.size = cursor.window.next_size()
        self.magic = magic_of(self.head) if len(self.head) >= SIZE_UP_TO_MAGIC else -1
        self.is_over_limit = self.size > cursor.limits.max_batch_bytes
        self.is_there = self.size > 0 and len(cursor.source.read(here + self.size - 1, 1)) == 1

    def resumed(self, position: int, *, is_proved: bool = False) -> Resumed:
        """Return where reading goes on after a batch with this header."""
        return Resumed(position, is_proved, next_offset(self.head))

    def holds(self, size: int) -> bool:
        """Say whether the CRC matches as that of a batch of `size` bytes."""
        resync = self.cursor.resync
        return resync.holds_message(self.here, size) if self.magic < 2 else resync.holds(self.here, size)

    def whole_but_for_magic_or_limit(self) -> Damage | None:
        """A batch whose CRC matches with the size in its header: its magic is wrong, or it is above a limit."""
        wrong_magic = self.magic != 2 and self.is_there and self.cursor.resync.holds(self.here, self.size)
        if not wrong_magic and not (self.is_there and self.is_over_limit and self.holds(self.size)):
            return None
        return Damage(
            Wrong.OVER_LIMIT if self.is_over_limit else Wrong.MAGIC,
            self.here,
            self.size,
            Resumed(self.here + self.size, is_proved=True, expected=None),
            head=self.head[:MAGIC_AT] + b"\x02" + self.head[SIZE_UP_TO_MAGIC:] if wrong_magic else self.head,
            false_magic=self.magic if wrong_magic else None,
        )

    def preallocated(self) -> Damage | None:
        return _zeros(self.cursor, self.here, self.head)

    def whole_but_for_length(self) -> Damage | None:
        """A batch whose CRC matches with another size, which proves that size: the CRC does not cover the length."""
        if len(self.head) < RECORD_BATCH.size or self.magic > 2:
            return None
        real = self.real_size()
        if real is None or not smallest_size(self.magic) <= real < _LONGEST:
            return None
        resumed = Resumed(self.here + real, is_proved=True, expected=None)
        return Damage(Wrong.LENGTH, self.here, real, resumed, declared=self.size)

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
        cursor.source.read(self.here + limit, 1)  # so that a stream's end, if near, is known
        end = cursor.source.size
        size = 0 if end is None or cursor.source.is_cut else end - self.here
        return size if 0 < size <= limit and size != self.size and self.holds(size) else None

    def no_header(self) -> Damage | None:
        """Bytes without a header, up to the next whole batch or to the end."""
        if self.magic >= 0 and self.size >= smallest_size(self.magic):
            return None
        cursor, here = self.cursor, self.here
        found = next_whole(cursor, here + 1)
        if found is None and len(self.head) < RECORD_BATCH.size:
            return self.torn(len(self.head), RECORD_BATCH.size)
        end = end_of_file(cursor) if found is None else found.position
        wrong = Wrong.ZEROS if is_zero(cursor, here, end) else Wrong.NO_BATCH
        return Damage(
            wrong, here, end - here, self.resumed(end), before=None if found is None else found.last_offset
        )  # fmt: skip

    def torn(self, size: int, needed: int) -> Damage:
        """A batch that the file ends in."""
        resumed = Resumed(self.here + size, is_proved=False, expected=None)
        return Damage(Wrong.TORN, self.here, size, resumed, declared=needed)

    def broken(self) -> Damage:
        """A batch whose CRC does not match or that runs past the end, and whose length is not proved wrong."""
        end = self.here + self.size
        if self.is_there and not self.is_over_limit and end_is_believed(self.cursor, end, self.head):
            return self.mismatch(is_proved=True)
        found = next_whole(self.cursor, self.here + 1)
        if found is None and not self.is_there:
            return self.torn(end_of_file(self.cursor) - self.here, self.size)
        if found is None or (self.is_there and found.position >= end):
            # No whole batch inside: the length may be right, and what follows is examined by itself.
            return self.mismatch(is_proved=False)
        real = found.position - self.here
        resumed = self.resumed(found.position)
        return Damage(Wrong.END_LOST, self.here, real, resumed, head=self.head, declared=self.size)

    def mismatch(self, *, is_proved: bool) -> Damage:
        """A batch that has the size in its header, but whose CRC does not match."""
        resumed = self.resumed(self.here + self.size, is_proved=is_proved)
        return Damage(Wrong.CHECKSUM, self.here, self.size, resumed, head=self.head, is_decoded=not self.is_over_limit)


def _zeros(cursor: Cursor, here: int, head: bytes) -> Damage | None:
    """Zeros up to the file's end, which a broker preallocates."""
    zeros = None if any(head) else zero_tail(cursor, here)
    if zeros is None:
        return None
    return Damage(Wrong.PREALLOCATED, here, zeros, Resumed(here + zeros, is_proved=False, expected=None))


def _next_batch(cursor: Cursor, here: int) -> Damage:
    """All bytes up to where reading goes on as one damage."""
    if zeros := _zeros(cursor, here, cursor.source.read(here, RECORD_BATCH.size)):
        return zeros
    window, beyond = cursor.window, Beyond(cursor)
    state = beyond.now()
    at = headers.pass_over(memoryview(window.buffer)[: window.stop], window.start, _NO_SUMS, state, beyond)
    position = window.position + at
    resumed = _resumed(position, state[buffers.GOES_ON_PROVED], state[buffers.GOES_ON_OFFSET])
    return Damage(Wrong.PASSED_OVER, here, position - here, resumed)
