"""Damage, which is anything but a whole batch: what is wrong, how many bytes are damaged, and where reading goes on.

The CRC does not cover a batch's length. If the CRC matches up to another whole batch, or up to the file's end, only the
length is wrong and the batch is read. Otherwise the declared end is believed if what is there can follow the batch: a
whole batch with higher offsets, the file's end, a zero tail, or a torn or damaged batch that continues with the next
offset; whole batches inside, which a payload may contain, are then ignored. Otherwise the length is suspect, and the
search for the next whole batch starts inside the damaged one.

`decide` says what is damaged; `next_damage` makes the chunk and the findings of it.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from kafkalog.findings import Finding
from kafkalog.kafka.batch import (
    MAGIC_AT,
    SIZE_UP_TO_MAGIC,
    CellTable,
    checked_from,
    last_offset_of,
    magic_of,
    offset_of,
    set_magic,
    set_size,
    size_of,
    smallest_size,
)
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.kernel import buffers, headers, search
from kafkalog.segments.chunk import Chunk, CrowdedPlaces, Resumed
from kafkalog.segments.cursor import DOUBTED, WINDOW, Cursor
from kafkalog.segments.resync import Extent

__all__ = ["Damage", "crowded", "decide", "gather", "next_damage", "passed", "set_passed"]

_OFFSET_SIZE: Final = RECORD_BATCH.position("batch_length")
_FIRST_READ: Final = 256  # bytes; steps grow, so that short runs of zeros cost little


def declared_size(head: bytes) -> int:
    """Return the size that a header gives, 0 if it can't be a batch's."""
    if len(head) < SIZE_UP_TO_MAGIC:
        return 0
    size = size_of(head)
    return size if size >= smallest_size(magic_of(head)) else 0


def next_offset(head: bytes) -> int | None:
    """Return the offset after the batch by its header, None if the header does not give it."""
    if len(head) < RECORD_BATCH.size or magic_of(head) < 2:
        return None
    after = last_offset_of(head) + 1
    return after if -(2**63) <= after < 2**63 else None


def _counted(head: bytes, expected: int) -> int:
    """Return the offset after the batch by its count, if that is possible: either field may be the damaged one."""
    base, *_, count = RECORD_BATCH.packed.unpack(head)
    return int(base + count) if count > 0 and base + count < 2**63 else expected


def end_is_believed(cursor: Cursor, end: int, head: bytes) -> bool:
    """Say whether what is at the declared end of the batch of `head` can follow it."""
    there = cursor.source.read(end, RECORD_BATCH.size)
    if not there or (not any(there) and len(there) >= SIZE_UP_TO_MAGIC and zero_tail(cursor, end) is not None):
        return True
    following = cursor.resync.whole(end)
    expected = next_offset(head)
    if following is not None:
        if expected is None or following.base_offset is None:
            return following.last_offset > offset_of(head)
        return following.base_offset >= min(expected, _counted(head, expected))
    # Torn or damaged itself: only its first field can be used.
    offset = there[:_OFFSET_SIZE]
    offsets = () if expected is None else (expected, _counted(head, expected))
    return any(offset == one.to_bytes(_OFFSET_SIZE, "big", signed=True)[: len(offset)] for one in offsets)


def next_whole(cursor: Cursor, start: int) -> Extent | None:
    """Find the next whole batch from `start` on; a source without one is read to its end."""
    end = cursor.source.size
    stop = sys.maxsize if end is None else end
    return cursor.resync.next_whole(start, stop, cursor.order.last_offset, legacy=cursor.legacy)


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
# kernel (``kernel.search``). What it does not show is decided by `crowded`, one place at a time; both follow one rule.


_ENDLESS: Final = 1 << 62

_NO_SUMS: Final = array("Q", [0])


class Gathered(NamedTuple):
    """A chunk of whole batches and damage, and how the last read of headers ended, from `start` to `stop`."""

    chunk: Chunk
    why: int
    start: int
    stop: int


def gather(cursor: Cursor) -> Gathered:
    """Read whole batches and pass over the damage between them, as far as the window and the table reach."""
    window, heads, source = cursor.window, cursor.heads, cursor.source
    heads.count = 0
    chunk = cursor.chunk()
    view = memoryview(window.buffer)[: window.stop]
    state = array("q", bytes(8 * buffers.SEEK_CELLS))
    state[buffers.SEEK_TAIL_BLOCK], state[buffers.SEEK_LEFT] = -1, 1
    state[buffers.SEEK_ROOM] = _ENDLESS if source.size is None else source.size - window.position
    state[buffers.SEEK_LIMIT], state[buffers.SEEK_DOUBTED] = cursor.limits.max_batch_bytes, DOUBTED
    state[buffers.SEEK_POSITION], state[buffers.SEEK_GROWING] = window.position, not window.at_end
    places = CellTable(heads.capacity + 1, buffers.PLACE_CELLS)  # a place is a row here
    crowd = CrowdedPlaces(chunk.file)
    why = search.LARGE
    while why in (search.LARGE, search.NO_ROOM):
        rows, last = heads.count, cursor.order.last_offset
        state[buffers.SEEK_LEGACY] = cursor.legacy
        state[buffers.SEEK_ABOVE] = buffers.NONE if last is None else last
        why, heads.count, count, window.start, read = search.gather(
            view, window.start, cursor.reach(), heads.cells, rows, _NO_SUMS, state, places.cells
        )
        cursor.legacy = state[buffers.SEEK_LEGACY] != 0
        chunk.examined += cursor.order.broken(source.name, heads, rows)
        chunk.impossible = chunk.impossible + cursor.order.impossible
        cursor.damages += count
        _add(crowd, places.flat[: count * buffers.PLACE_CELLS])
        if why == search.UNSEEN and passed(cursor, crowd):
            why = search.LARGE
    if crowd:
        positions = [finding.position or 0 for finding in chunk.examined]
        crowd.after.extend(bisect_left(positions, place) for place in crowd.positions)
        chunk.crowd = crowd
    return Gathered(chunk, *read)


def passed(cursor: Cursor, crowd: CrowdedPlaces) -> bool:
    """Pass over the damage at the cursor whose end the window does not show, unless it is one that ends the chunk."""
    window = cursor.window
    here = window.here
    cursor.resync.forget(here)
    resumed = crowded(cursor, here)
    if resumed.position >= window.position + window.stop:
        return False
    cursor.damages += 1
    _add(crowd, _place(here, resumed))
    window.start = resumed.position - window.position
    return True


def _place(position: int, resumed: Resumed) -> memoryview:
    expected = buffers.NONE if resumed.expected is None else resumed.expected
    return memoryview(array("q", [position, resumed.position - position, resumed.is_proved, expected]))


def _add(crowd: CrowdedPlaces, places: memoryview) -> None:
    """Add places as ``search.gather`` gives them, but for what comes before each."""
    crowd.positions.extend(places[buffers.PLACE_POSITION :: buffers.PLACE_CELLS])
    crowd.lengths.extend(places[buffers.PLACE_SIZE :: buffers.PLACE_CELLS])
    crowd.proved.extend(places[buffers.PLACE_PROVED :: buffers.PLACE_CELLS].tolist())
    crowd.expected.extend(places[buffers.PLACE_OFFSET :: buffers.PLACE_CELLS])


def set_passed(chunk: Chunk, position: int, resumed: Resumed) -> None:
    """Make a place the one that a chunk passes over."""
    chunk.crowd = CrowdedPlaces(chunk.file)
    _add(chunk.crowd, _place(position, resumed))
    chunk.crowd.after.append(0)


def crowded(cursor: Cursor, here: int) -> Resumed:
    """Return where reading goes on after damage: at the next whole batch that no batch with a believed end covers."""
    at, found, expected = here, next_whole(cursor, here + 1), None
    while True:
        stop = end_of_file(cursor) if found is None else found.position
        at = _hop(cursor, at, stop)
        head = cursor.source.read(at, RECORD_BATCH.size)
        end = at + declared_size(head)
        is_batch = at < end and found is not None and cursor.resync.reaches(end)
        if at >= stop or not is_batch or not end_is_believed(cursor, end, head):
            break
        expected = next_offset(head)
        at, found = end, next_whole(cursor, end)
    return Resumed(stop, is_proved=at == stop and expected is not None, expected=expected)


def _hop(cursor: Cursor, at: int, stop: int) -> int:
    """Go from header to header by their sizes, as long as these do not lead past `stop`."""
    while at < stop:
        piece = cursor.source.read(at, min(WINDOW, stop - at))
        inside = 0
        while size := declared_size(piece[inside : inside + SIZE_UP_TO_MAGIC]):
            if at + inside + size > stop:
                return at + inside
            inside += size
        if not inside:
            return at
        at += inside
    return at


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


# What a reader gets for damage: the rows of a batch, as far as it can be read, and the findings about it.


def next_damage(cursor: Cursor) -> Chunk:
    """Make the chunk of the damage at the cursor: one row if there is a batch, otherwise none."""
    damage = decide(cursor)
    cursor.heads.count = 0
    chunk = _CHUNKS[damage.wrong](damage, cursor)
    if chunk.crowd is None:
        chunk.resumed.append(damage.resumed)
    return chunk


def _wrong_magic(damage: Damage, cursor: Cursor) -> Chunk:
    """Read a batch of magic 2, whatever its magic byte says."""
    data = bytearray(cursor.source.read(damage.position, damage.size))
    set_magic(data, 2)
    _take(cursor, data, damage.position)
    return _with_magic(damage, cursor, cursor.ordered(cursor.chunk(data, damage.position)))


def _with_magic(damage: Damage, cursor: Cursor, chunk: Chunk) -> Chunk:
    """Report the wrong magic of a batch whose CRC is that of magic 2.

    The row keeps a magic above 2; 0 and 1 would give it another layout.
    """
    magic = damage.false_magic
    if magic is None:
        return chunk
    if magic > 2:
        cursor.heads.set(buffers.MAGIC, 0, magic)
    offset = cursor.heads.cell(buffers.BASE_OFFSET, 0)
    chunk.examined.append(
        cursor.finding(
            "magic-wrong",
            f"the batch at offset {offset} has magic {magic}, but its CRC matches as that of a magic 2 batch",
            position=damage.position + MAGIC_AT,
            length=1,
            offset=offset,
            needed=2,
            found=magic,
        )
    )
    return chunk


def _over_limit(damage: Damage, cursor: Cursor) -> Chunk:
    """A batch above the limit whose CRC, computed in pieces, matches: its records are not read."""
    _header_row(damage, cursor)
    cursor.heads.set(buffers.VALID, 0, 1)
    chunk = cursor.ordered(cursor.chunk())
    limit = cursor.limits.max_batch_bytes
    chunk.examined.append(
        cursor.finding(
            "batch-over-limit",
            f"the batch has {damage.size} bytes, more than --max-batch-bytes {limit}: its records were not read",
            position=damage.position,
            length=damage.size,
            offset=cursor.heads.cell(buffers.BASE_OFFSET, 0),
            needed=limit,
            found=damage.size,
        )
    )
    return _with_magic(damage, cursor, chunk)


def _wrong_length(damage: Damage, cursor: Cursor) -> Chunk:
    """Read a batch by the length that its CRC proves."""
    data = bytearray(cursor.source.read(damage.position, damage.size))
    set_size(data, damage.size)
    _take(cursor, data, damage.position)
    chunk = cursor.ordered(cursor.chunk(data, damage.position))
    chunk.examined.append(_length_finding(damage, cursor, None))
    return chunk


def _wrong_extent(damage: Damage, cursor: Cursor) -> Chunk:
    """A batch whose bytes are lost up to the next whole batch."""
    _header_row(damage, cursor)
    chunk = cursor.chunk()
    chunk.examined.append(_length_finding(damage, cursor, damage.size))
    return chunk


def _length_finding(damage: Damage, cursor: Cursor, lost: int | None) -> Finding:
    """Report a length that does not lead to the next batch; `lost` is the lost bytes, None if the batch is read."""
    return cursor.finding(
        "batch-length-wrong",
        f"the batch has {damage.declared} bytes by its header, but the next whole batch or the end of the file is"
        f" {damage.size} bytes after its start",
        position=damage.position,
        length=lost,
        offset=cursor.heads.cell(buffers.LAST_OFFSET, 0),
        needed=damage.size,
        found=damage.declared,
    )


def _mismatch(damage: Damage, cursor: Cursor) -> Chunk:
    """A batch whose CRC does not match its bytes."""
    here, size, is_old = damage.position, damage.size, magic_of(damage.head) < 2
    if damage.is_decoded:
        data = bytearray(cursor.source.read(here, size))
        _take(cursor, data, here)
        chunk = cursor.chunk(data, here)
    else:
        _header_row(damage, cursor)
        chunk = cursor.chunk()
    stored = cursor.heads.cell(buffers.CRC, 0)
    computed = _checksum(cursor, here + checked_from(magic_of(damage.head)), here + size, is_old=is_old)
    offset = cursor.heads.cell(buffers.LAST_OFFSET, 0)
    chunk.examined.append(
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
    last = cursor.order.last_offset
    if last is not None and offset > last:
        following = cursor.resync.whole(here + size)
        if following is not None and following.base_offset is not None:
            cursor.order.reach(min(offset, following.base_offset - 1))  # its highest possible offset
    return chunk


def _checksum(cursor: Cursor, start: int, stop: int, *, is_old: bool) -> int:
    crc = 0
    sum_of = headers.crc32 if is_old else headers.crc32c
    for at in range(start, stop, WINDOW):
        data = cursor.source.read(at, min(WINDOW, stop - at))
        crc = sum_of(data, 0, len(data), crc)
    return crc


def _torn(damage: Damage, cursor: Cursor) -> Chunk:
    """The part of a batch that the file ends in; no finding if the reader asked for that end."""
    chunk = cursor.chunk()
    if cursor.source.is_cut:
        return chunk
    last = cursor.order.last_offset
    after = "" if last is None else f" after offset {last}"
    chunk.examined.append(
        cursor.finding(
            "batch-truncated",
            f"the file ends inside a batch{after}: the batch needs {damage.declared} bytes, {damage.size} are there",
            position=damage.position,
            length=damage.size,
            needed=damage.declared,
            found=damage.size,
        )
    )
    return chunk


def _preallocated(damage: Damage, cursor: Cursor) -> Chunk:
    chunk, zeros = cursor.chunk(), damage.size
    chunk.examined.append(
        cursor.finding(
            "tail-preallocated",
            f"the file ends in {zeros} zero bytes",
            position=damage.position,
            length=zeros,
            found=zeros,
        )
    )
    return chunk


def _no_batch(damage: Damage, cursor: Cursor) -> Chunk:
    """Bytes that belong to no batch."""
    is_zero = damage.wrong is Wrong.ZEROS
    what = "zero bytes" if is_zero else "bytes that are no batch"
    before = damage.before
    where = "at the end of the file" if before is None else f"before the batch that ends at offset {before}"
    chunk = cursor.chunk()
    chunk.examined.append(
        cursor.finding(
            "bytes-zero" if is_zero else "bytes-unreadable",
            f"{damage.size} {what}, {where}",
            position=damage.position,
            length=damage.size,
            needed="a batch",
            found=what,
        )
    )
    return chunk


def _crowded(damage: Damage, cursor: Cursor) -> Chunk:
    """Bytes that belong to no batch, in a file with much damage."""
    chunk = cursor.chunk()
    set_passed(chunk, damage.position, damage.resumed)
    return chunk


def _take(cursor: Cursor, data: bytearray, position: int) -> None:
    """Put the header of the one batch in `data` into the table, whether its CRC matches or not."""
    headers.read(data, 0, len(data), position, cursor.heads.cells, 0)
    cursor.heads.count = 1


def _header_row(damage: Damage, cursor: Cursor) -> None:
    """Put the header's fields into the table although the batch is not whole; the row says that its CRC is wrong."""
    padded = bytearray(damage.head.ljust(RECORD_BATCH.size, b"\0"))
    smallest = smallest_size(magic_of(padded))
    set_size(padded, smallest)
    headers.read(padded, 0, smallest, damage.position, cursor.heads.cells, 0)
    size = damage.declared if damage.wrong is Wrong.EXTENT else damage.size
    cursor.heads.set(buffers.SIZE, 0, size)
    cursor.heads.set(buffers.VALID, 0, 0)
    cursor.heads.set(buffers.SECTION_START, 0, -1)
    cursor.heads.count = 1


_CHUNKS: Final[dict[Wrong, Callable[[Damage, Cursor], Chunk]]] = {
    Wrong.MAGIC: _wrong_magic,
    Wrong.OVER_LIMIT: _over_limit,
    Wrong.LENGTH: _wrong_length,
    Wrong.CHECKSUM: _mismatch,
    Wrong.EXTENT: _wrong_extent,
    Wrong.TORN: _torn,
    Wrong.PREALLOCATED: _preallocated,
    Wrong.ZEROS: _no_batch,
    Wrong.NO_BATCH: _no_batch,
    Wrong.CROWDED: _crowded,
}
