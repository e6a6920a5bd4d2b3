"""Damage, which is anything but a whole batch: what is wrong, how many bytes are damaged, and where reading goes on.

The CRC does not cover a batch's length. If the CRC matches up to another whole batch, or up to the file's end, only the
length is wrong and the batch is read. Otherwise the declared end is believed if what is there can follow the batch
(see `ends`); whole batches inside, which a payload may contain, are then ignored. Otherwise the length is suspect, and
the search for the next whole batch starts inside the damaged one.

This module only decides: `damage_chunks` turns a `Damage` into the chunk and its findings.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from kafkalog.format.batch_start import (
    MAGIC_AT,
    SIZE_UP_TO_MAGIC,
    magic_of,
    smallest_size,
)
from kafkalog.format.layout import RECORD_BATCH
from kafkalog.log.chunk import Resumed
from kafkalog.log.crowd import crowded
from kafkalog.log.cursor import Cursor
from kafkalog.log.ends import (
    end_is_believed,
    end_of_file,
    is_zero,
    next_offset,
    next_whole,
    zero_tail,
)

__all__ = ["Damage", "Wrong", "decide"]

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
    EXTENT = "extent"  # a batch whose length and CRC are both wrong
    TORN = "torn"  # the file ends inside a batch
    PREALLOCATED = "preallocated"  # zeros to the file's end
    ZEROS = "zeros"  # zeros elsewhere, outside batches
    NO_BATCH = "no-batch"  # other bytes outside batches
    CROWDED = "crowded"  # bytes that were not examined closely, in a file with much damage


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
    if cursor.is_crowded:
        return _crowd(cursor, here)
    place = _Place(cursor, here)
    if place.magic in (0, 1):
        cursor.legacy = True
    return (
        place.whole_but_for_magic_or_limit()
        or place.preallocated()
        or place.whole_but_for_length()
        or place.no_header()
        or place.broken()
    )


class _Place:
    """Where a batch should begin, and what its header says, as far as there is one."""

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
        return Damage(Wrong.EXTENT, self.here, real, resumed, head=self.head, declared=self.size)

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


def _crowd(cursor: Cursor, here: int) -> Damage:
    """All bytes up to where reading goes on as one damage."""
    if zeros := _zeros(cursor, here, cursor.source.read(here, RECORD_BATCH.size)):
        return zeros
    resumed = crowded(cursor, here)
    return Damage(Wrong.CROWDED, here, resumed.position - here, resumed)
