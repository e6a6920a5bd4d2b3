# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where a whole batch may begin in damaged bytes; ``buffers.py`` has the rules of its source."""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.crc32c import crc32, crc32c, shift
    from kafkalog.kernel.headers import read
    from kafkalog.kernel.numbers import int32, int64, unsigned32

__all__ = [
    "BLOCK",
    "ENDED",
    "FAR",
    "LARGE",
    "NEAR",
    "NOTHING",
    "NO_ROOM",
    "UNSEEN",
    "WHOLE",
    "declared",
    "find",
    "gather",
    "hop",
    "leads_to",
    "may_follow",
    "pass_over",
]


if cython.compiled:
    kafkalog_prepare()
else:
    import re

    # What may be a header, by its magic byte and those around it: length, attributes, delta, count.
    _PLAUSIBLE = re.compile(rb"(?s)\x02(?<=[\x00-\x7f].{8})(?=.{4}[\x00-\x03].[\x00-\x7f].{33}[\x00-\x7f])")
    _PLAUSIBLE_OLD = re.compile(_PLAUSIBLE.pattern + rb"|[\x00\x01](?=[\x00-\x0f])(?<=(?!\x00{4})[\x00-\x7f].{8})")

# What ``find`` found: nothing, a whole batch, or one that reaches too far to be looked at here.
NOTHING, WHOLE, FAR = range(3)

BLOCK: Final = 4096  # bytes for each of the sums of prefixes

NEAR: Final = 4096  # up to so many bytes, a batch is summed without them

_FAR_OFFSET: Final = 2**62  # sums of offsets up to here fit 64 bits


@cython.cfunc
@cython.exceptval(check=False)
def seek(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    tail: cython.const[cython.uchar][::1],
    state: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Find what ``find`` answers: the position, `stop` for nothing, or below 0 for one that is far: -1 - position."""
    i: cython.Py_ssize_t
    magic: cython.int
    size: cython.longlong
    count: cython.longlong
    key: cython.longlong
    at: cython.longlong
    left: cython.longlong
    block: cython.longlong
    crc: cython.longlong
    far: cython.bint
    width: cython.longlong = BLOCK
    near: cython.longlong = NEAR
    room: cython.longlong = state[SEEK_ROOM]
    limit: cython.longlong = state[SEEK_LIMIT]
    legacy: cython.bint = state[SEEK_LEGACY] != 0
    end: cython.Py_ssize_t = min(stop, len(buf) - 17)
    i = start
    while i < end:
        if not cython.compiled:
            match = (_PLAUSIBLE_OLD if legacy else _PLAUSIBLE).search(buf, i + 16, min(end + 61, len(buf)))
            if match is None or match.start() - 16 >= end:
                break
            i = match.start() - 16
        magic = buf[i + 16]
        left = len(buf) - i
        if magic == 2 and left >= 61 and buf[i + 21] < 4 and (buf[i + 22] & CODEC_BITS) < 5 and buf[i + 23] < 128:
            size = int32(buf, i + 8) + 12
            count = int32(buf, i + 57)
            if size >= 61 and size <= limit and size <= room - i and count >= 0 and count <= int32(buf, i + 23) + 1:
                if size <= near and size <= left:
                    crc = crc32c(buf, i + 21, i + size)
                elif state[SEEK_LEFT] <= 0:
                    state[SEEK_BEYOND] += 1
                    i += 1
                    continue
                else:
                    block = state[SEEK_BLOCK] + (i + size) // width
                    at = (i + size) % width
                    if block != state[SEEK_TAIL_BLOCK] or block >= len(sums) or at > len(tail):
                        return -1 - i
                    state[SEEK_LEFT] -= 1
                    key = (i + 21) // width
                    crc = crc32c(buf, key * width, i + 21, sums[state[SEEK_BLOCK] + key])
                    crc = crc32c(tail, 0, at, sums[block]) ^ shift(crc, size - 21)
                if crc == unsigned32(int32(buf, i + 17)):
                    return i
        elif magic < 2 and legacy and (buf[i + 17] & 0xF7) < 4:
            size = int32(buf, i + 8) + 12
            at = 18 + 8 * magic
            if 26 + 8 * magic <= size <= limit and size <= room - i and at + 4 <= left:
                key = int32(buf, i + at)
                at += 4 + max(key, 0)
                if key >= -1 and at + 4 <= size:
                    far = at + 4 > left
                    if not far:
                        key = int32(buf, i + at)
                        if key >= -1 and at + 4 + max(key, 0) == size:
                            far = size > near or size > left
                            if not far and crc32(buf, i + 16, i + size) == unsigned32(int32(buf, i + 12)):
                                return i
                    if far:
                        if state[SEEK_LEFT] > 0:
                            return -1 - i
                        state[SEEK_BEYOND] += 1
        i += 1
    return stop


def find(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    tail: cython.const[cython.uchar][::1],
    state: cython.longlong[::1],
) -> tuple[int, int]:
    """Find the first position in [`start`, `stop`) at which a batch may begin.

    `state` has the cells ``SEEK_…``; ``sums[n]`` is the CRC-32C of all bytes before block n. Answers the position and
    ``WHOLE`` if the checksum matches, or ``FAR`` if `buf` and `tail` do not show that; otherwise (`stop`, ``NOTHING``).
    """
    i: cython.Py_ssize_t
    if start < 0 or len(state) < SEEK_CELLS or state[SEEK_BLOCK] < 0:
        raise IndexError
    i = seek(buf, start, stop, sums, tail, state)
    if i < 0:
        i = -1 - i
        if buf[i + 16] < 2:
            state[SEEK_LEFT] -= 2
        return i, FAR
    return i, NOTHING if i >= stop else WHOLE


def declared(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.longlong:
    """Return the size that the header at `at` gives, 0 if it can't be a batch's."""
    size: cython.longlong
    if at < 0 or at + 17 > len(buf):
        raise IndexError
    size = int32(buf, at + 8) + 12
    return size if size >= (61 if buf[at + 16] > 1 else 34 if buf[at + 16] else 26) else 0


def hop(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Go from header to header by their sizes, as far as `buf` shows them and they do not lead past `stop`."""
    size: cython.longlong
    while at + 17 <= min(stop, len(buf)):
        size = declared(buf, at)
        if size == 0 or size > stop - at:
            break
        at += size
    return at


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def moved(offset: cython.longlong, by: cython.longlong) -> cython.longlong:
    """Add to an offset; NONE if 64 bits do not hold the sum."""
    least: cython.longlong = NONE
    if (by > 0 and offset > -1 - least - by) or (by < 0 and offset < least - by):
        return least
    return offset + by


def leads_to(buf: cython.const[cython.uchar][::1], head: cython.Py_ssize_t) -> cython.longlong:
    """Return the offset after the batch at `head` by its header, NONE if the header does not give it."""
    delta: cython.longlong
    if head < 0 or head + 61 > len(buf):
        raise IndexError
    delta = int32(buf, head + 23)
    return NONE if buf[head + 16] < 2 else moved(int64(buf, head), delta + 1)


def may_follow(
    buf: cython.const[cython.uchar][::1],
    head: cython.Py_ssize_t,
    after: cython.const[cython.uchar][::1],
    end: cython.Py_ssize_t,
    shown: cython.Py_ssize_t,
    whole: cython.bint,
) -> cython.bint:
    """Say whether what is at ``after[end]`` may follow the batch at ``buf[head]``, which ends there by its header.

    A `whole` batch may if its offsets are higher. A torn or damaged one, of which only the first field can be used, if
    that is the next offset, as far as `shown` bytes have it. The next offset is that by the last offset's delta or that
    by the count: either field may be the damaged one.
    """
    base: cython.longlong
    there: cython.longlong
    count: cython.longlong
    expected: cython.longlong
    counted: cython.longlong
    last: cython.longlong
    none: cython.longlong = NONE
    cut: cython.int = 8 * (8 - min(shown, 8))
    if end < 0 or end + 61 > len(after) or shown <= 0:
        raise IndexError
    expected = leads_to(buf, head)
    base = int64(buf, head)
    there = int64(after, end)
    count = int32(buf, head + 57)
    counted = moved(base, count) if count > 0 else none
    counted = expected if counted == none else counted
    if not whole:
        return expected != none and (there >> cut in (expected >> cut, counted >> cut))
    if expected != none and (after[end + 16] > 1 or not after[end + 17] & CODEC_BITS):
        return there >= min(expected, counted)
    if after[end + 16] > 1:
        last = moved(there, int32(after, end + 23))
        return last > base or (last == none and there > 0)  # 64 bits may not hold it
    return there > base


@cython.cfunc
@cython.exceptval(check=False)
def next_above(
    buf: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    state: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Find the first whole batch from `i` on whose offsets are high enough; below 0 if `buf` does not show it."""
    offset: cython.longlong
    above: cython.longlong = state[SEEK_ABOVE]
    most: cython.longlong = _FAR_OFFSET
    stop: cython.Py_ssize_t = len(buf) - 61
    while i < stop:
        i = seek(buf, i, stop, sums, buf, state)
        if i < 0 or i >= stop:
            return -1
        offset = int64(buf, i)
        if offset > most or offset < -most:
            return -1
        if buf[i + 16] > 1:
            offset += int32(buf, i + 23)
        if above == NONE or offset > above:
            return i
        i += 1
    return -1


@cython.cfunc
@cython.exceptval(check=False)
def is_whole(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, state: cython.const[cython.longlong][::1]
) -> cython.int:
    """Say whether a whole batch of any magic begins at `at`, whose header `buf` has: 1, 0, or -1 if that is far."""
    magic: cython.int = buf[at + 16]
    size: cython.longlong = declared(buf, at)
    key: cython.longlong
    value: cython.longlong
    near: cython.longlong = NEAR
    if magic > 2 or size == 0 or size > state[SEEK_LIMIT] or size > state[SEEK_ROOM] - at:
        return 0
    if magic == 2:
        if buf[at + 22] & CODEC_BITS > 4 or buf[at + 23] > 127:
            return 0
        if buf[at + 57] > 127 or int32(buf, at + 57) > int32(buf, at + 23) + 1:
            return 0
        if size > near or size > len(buf) - at:
            return -1
        return crc32c(buf, at + 21, at + size) == unsigned32(int32(buf, at + 17))
    if buf[at + 17] & CODEC_BITS > 3:
        return 0
    if size > near or size > len(buf) - at:
        return -1
    value = 18 + 8 * magic
    key = int32(buf, at + value)
    value += 4 + (key if key > 0 else 0)
    if key < -1 or value + 4 > size:
        return 0
    key = int32(buf, at + value)
    if key < -1 or value + 4 + (key if key > 0 else 0) != size:
        return 0
    return crc32(buf, at + 16, at + size) == unsigned32(int32(buf, at + 12))


@cython.cfunc
@cython.exceptval(check=False)
def believed(
    buf: cython.const[cython.uchar][::1],
    head: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    state: cython.const[cython.longlong][::1],
) -> cython.int:
    """Say whether what is at `end` may follow the batch at `head`: 1, 0, or -1 if `buf` does not show it."""
    i: cython.Py_ssize_t
    whole: cython.int
    if end + 61 > len(buf):
        return -1
    for i in range(end, end + 61):
        if buf[i]:
            break
    else:
        return -1
    whole = is_whole(buf, end, state)
    return -1 if whole < 0 else may_follow(buf, head, buf, end, 61, whole)


def pass_over(
    buf: cython.const[cython.uchar][::1],
    here: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    state: cython.longlong[::1],
) -> bool:
    """Find where reading goes on after the damage at `here`, in a file with so much damage that it is not examined.

    That is the next whole batch with offsets that are high enough that no batch with an end that is believed reaches
    over; ``segments.damage.crowded`` goes the same way through a whole file. `state` gets the cells ``GOES_ON_…``.
    Answers whether `buf` shows all that this needs. No sums may be used: ``SEEK_TAIL_BLOCK`` is below 0, ``SEEK_LEFT``
    above.
    """
    at: cython.Py_ssize_t = here
    stop: cython.Py_ssize_t
    size: cython.longlong
    expected: cython.longlong = NONE
    answer: cython.int
    if here < 0 or len(state) < SEEK_CELLS:
        raise IndexError
    if state[SEEK_BLOCK] < 0 or state[SEEK_TAIL_BLOCK] >= 0 or state[SEEK_LEFT] <= 0:
        raise IndexError
    stop = next_above(buf, here + 1, sums, state)
    if stop < 0:
        return False
    while True:
        at = hop(buf, at, stop)
        if at >= stop:
            break
        size = declared(buf, at)
        if size == 0 or size > state[SEEK_ROOM] - at:
            break
        answer = believed(buf, at, at + size, state)
        if answer < 0:
            return False
        if answer == 0:
            break
        expected = leads_to(buf, at)
        at += size
        stop = next_above(buf, at, sums, state)
        if stop < 0:
            return False
    state[GOES_ON_AT] = stop
    state[GOES_ON_PROVED] = at == stop and expected != NONE
    state[GOES_ON_OFFSET] = expected
    return True


# Whole batches and the damage between them, in files with very much damage; ``buffers.py`` has the rules.


# Why ``gather`` stopped: as ``headers.read`` did, no whole batch or damage follows in `buf`; a large batch comes
# next; there is no room for more places; or `buf` does not show where the damage ends.
ENDED, LARGE, NO_ROOM, UNSEEN = range(4)

_END, _FULL = range(2)  # why ``headers.read`` stopped


def gather(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    reach: cython.Py_ssize_t,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    state: cython.longlong[::1],
    places: cython.longlong[:, ::1],
) -> tuple[int, int, int, int, tuple[int, int, int]]:
    """Read whole batches into `heads` from `row` on, and pass over the damage between them, as far as `buf` shows it.

    The first batches are read from `start` up to `reach`; `state` is that of ``pass_over``, and goes on with the
    batches: their last offset is the one to be above. A place of damage has the cells ``PLACE_…``. Answers why it
    stopped, the rows, the places, where the next batch starts, and of the last read of headers why it stopped, from
    where and up to where it read.
    """
    at: cython.Py_ssize_t
    more: cython.Py_ssize_t
    began: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t = len(buf)
    position: cython.longlong = state[SEEK_POSITION]
    doubted: cython.longlong = state[SEEK_DOUBTED]
    size: cython.longlong
    end: cython.int = _END
    full: cython.int = _FULL
    why: cython.int
    has_read: cython.bint
    if len(heads) < BATCH_CELLS or start < 0 or row < 0 or len(state) < SEEK_CELLS or places.shape[1] < PLACE_CELLS:
        raise IndexError
    while True:
        began = start
        more, at, why = read(buf, start, reach, position, heads, row)
        has_read = more > row
        if has_read:
            start = at
            state[SEEK_LEGACY] = heads[MAGIC, more - 1] < 2 or heads[MAGIC, row] < 2
            state[SEEK_ABOVE] = heads[LAST_OFFSET, more - 1]
            row = more
        if not has_read or why != end or reach >= stop:
            size = int32(buf, start + 8) + 12 if stop - start >= 17 else 0
            if why == full or start >= stop:
                return ENDED, row, n, start, (why, began, reach)
            if (
                (why == end and reach > began and state[SEEK_GROWING])
                and size <= state[SEEK_LIMIT]
                and size <= state[SEEK_ROOM] - start
            ):
                return ENDED, row, n, start, (why, began, reach)
            if n == len(places):
                return NO_ROOM, row, n, start, (why, began, reach)
            if not pass_over(buf, start, sums, state):
                return UNSEEN, row, n, start, (why, began, reach)
            places[n, PLACE_POSITION] = position + start
            places[n, PLACE_SIZE] = state[GOES_ON_AT] - start
            places[n, PLACE_PROVED] = state[GOES_ON_PROVED]
            places[n, PLACE_OFFSET] = state[GOES_ON_OFFSET]
            n += 1
            start = state[GOES_ON_AT]
        if stop - start >= 17 and int32(buf, start + 8) + 12 > doubted:
            return LARGE, row, n, start, (why, began, reach)
        reach = min(stop, start + doubted)
