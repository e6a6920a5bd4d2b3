# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Batch headers: into a table, checksums included; whether they follow each other; the search for whole batches.

``buffers.py`` has the rules of its source.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.crc32c import crc32 as crc32_of
    from kafkalog.kernel.crc32c import crc32c as crc32c_of
    from kafkalog.kernel.crc32c import shift as shifted
    from kafkalog.kernel.numbers import (
        add64,
        add_sequence,
        end_marker,
        int16,
        int32,
        int64,
        minus64,
        unsigned32,
        varint,
        varlong,
    )

__all__ = [
    "BAD",
    "BLOCK",
    "COMPILED",
    "END",
    "ENDED",
    "FAR",
    "FULL",
    "LARGE",
    "NEAR",
    "NOTHING",
    "NO_ROOM",
    "UNSEEN",
    "WHOLE",
    "at_offsets",
    "at_times",
    "believe",
    "believed",
    "broken_rules",
    "crc32",
    "crc32c",
    "declared",
    "disagree",
    "find_whole",
    "hop",
    "keep",
    "last_two",
    "leads_to",
    "markers",
    "may_follow",
    "order",
    "pass_over",
    "read_headers",
    "read_over_damage",
    "shift",
    "sums",
]


# Why ``read`` stopped.
END, FULL, BAD = range(3)

COMPILED: Final = bool(cython.compiled)

if cython.compiled:
    kafkalog_prepare()
else:
    import re

    # What may be a header, by its magic byte and those around it: length, attributes, delta, count.
    _PLAUSIBLE = re.compile(rb"(?s)\x02(?<=[\x00-\x7f].{8})(?=.{4}[\x00-\x03].[\x00-\x7f].{33}[\x00-\x7f])")
    _PLAUSIBLE_OLD = re.compile(_PLAUSIBLE.pattern + rb"|[\x00\x01](?=[\x00-\x0f])(?<=(?!\x00{4})[\x00-\x7f].{8})")


def crc32c(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> int:
    """Return the CRC-32C of ``buf[start:stop]``, that of magic 2, continued from `crc`, that of the bytes before."""
    return crc32c_of(buf, start, stop, crc)


def crc32(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> int:
    """Return the CRC-32 of ``buf[start:stop]``, that of magic 0 and 1."""
    return crc32_of(buf, start, stop, crc)


def shift(crc: cython.longlong, length: cython.longlong) -> int:
    """Return what `crc` contributes to a CRC-32C after `length` more bytes.

    ``crc32c(a + b) == shift(crc32c(a), len(b)) ^ crc32c(b)``.
    """
    return shifted(crc, length)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def size_at(buf: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.longlong:
    """Return the size that the header at `i` gives."""
    return int32(buf, i + SIZE_AT) + LOG_OVERHEAD


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def smallest_size(magic: cython.int) -> cython.longlong:
    """Return the size of the smallest batch of a magic; the smallest message has a key and a value of null."""
    return BATCH_OVERHEAD if magic >= 2 else MESSAGE_OVERHEAD + 8 * magic


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def key_size_at(magic: cython.int) -> cython.longlong:
    """Return where a message of magic 0 or 1 has the size of its key: magic 1 has a timestamp before it."""
    return MESSAGE_TIMESTAMP_AT + 8 * magic


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_batch(
    buf: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    size: cython.longlong,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Set what the header of a batch of magic 2 at `i` says; say whether its checksum matches."""
    base: cython.longlong = int64(buf, i)
    crc: cython.longlong = unsigned32(int32(buf, i + CRC_AT))
    valid: cython.bint = crc32c_of(buf, i + ATTRIBUTES_AT, i + size) == crc
    delta: cython.longlong = int32(buf, i + LAST_DELTA_AT)
    sequence: cython.longlong = int32(buf, i + BASE_SEQUENCE_AT)
    heads[BASE_OFFSET, row] = base
    heads[LAST_OFFSET, row] = add64(base, delta)
    heads[LEADER_EPOCH, row] = int32(buf, i + LEADER_EPOCH_AT)
    heads[CRC, row] = crc
    heads[VALID, row] = valid
    heads[ATTRIBUTES, row] = int16(buf, i + ATTRIBUTES_AT)
    heads[BASE_TIMESTAMP, row] = int64(buf, i + BASE_TIMESTAMP_AT)
    heads[MAX_TIMESTAMP, row] = int64(buf, i + MAX_TIMESTAMP_AT)
    heads[PRODUCER_ID, row] = int64(buf, i + PRODUCER_ID_AT)
    heads[PRODUCER_EPOCH, row] = int16(buf, i + PRODUCER_EPOCH_AT)
    heads[BASE_SEQUENCE, row] = sequence
    heads[LAST_SEQUENCE, row] = add_sequence(sequence, delta)
    heads[COUNT, row] = int32(buf, i + COUNT_AT)
    heads[SECTION_START, row] = i + BATCH_OVERHEAD
    return valid


@cython.cfunc
@cython.exceptval(check=False)
def put_message(
    buf: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    size: cython.longlong,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Set what the header of a message of magic 0 or 1 at `i` says; say whether its checksum matches."""
    magic: cython.longlong = buf[i + MAGIC_AT]
    base: cython.longlong = int64(buf, i)
    crc: cython.longlong = unsigned32(int32(buf, i + MESSAGE_CRC_AT))
    valid: cython.bint = crc32_of(buf, i + MAGIC_AT, i + size) == crc
    attributes: cython.longlong = buf[i + MESSAGE_ATTRIBUTES_AT]
    heads[BASE_OFFSET, row] = NONE if attributes & CODEC_BITS else base
    heads[LAST_OFFSET, row] = base
    heads[LEADER_EPOCH, row] = -1
    heads[CRC, row] = crc
    heads[VALID, row] = valid
    heads[ATTRIBUTES, row] = attributes
    heads[BASE_TIMESTAMP, row] = NONE
    heads[MAX_TIMESTAMP, row] = int64(buf, i + MESSAGE_TIMESTAMP_AT) if magic == 1 else -1
    heads[PRODUCER_ID, row] = -1
    heads[PRODUCER_EPOCH, row] = -1
    heads[BASE_SEQUENCE, row] = -1
    heads[LAST_SEQUENCE, row] = -1
    heads[COUNT, row] = NONE if attributes & CODEC_BITS else 1
    heads[SECTION_START, row] = i + key_size_at(magic)
    return valid


def read_headers(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    position: cython.longlong,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Read the batches that are whole in ``buf[start:stop]`` into `heads`, from `row` on, checksums included.

    `position` is that of ``buf[0]`` in the file. Answers (rows, where the next batch starts, why it stopped): ``END``
    if the next batch is not all in `buf`, ``FULL``, or ``BAD`` if its length, magic or checksum is wrong; the columns
    of a bad batch are in the next row, which does not count.
    """
    i: cython.Py_ssize_t = start
    size: cython.longlong
    magic: cython.longlong
    valid: cython.bint
    stop = min(stop, len(buf))
    if len(heads) < BATCH_CELLS or start < 0 or row < 0:
        raise IndexError
    while row < heads.shape[1]:
        if stop - i < SIZE_UP_TO_MAGIC:
            return row, i, END
        size = size_at(buf, i)
        magic = buf[i + MAGIC_AT]
        if size < smallest_size(magic):
            return row, i, BAD
        if size > stop - i:
            return row, i, END
        heads[POSITION, row] = position + i
        heads[SIZE, row] = size
        heads[MAGIC, row] = magic
        valid = put_batch(buf, i, size, heads, row) if magic >= 2 else put_message(buf, i, size, heads, row)
        heads[SECTION_STOP, row] = i + size
        heads[DECODED, row] = 0
        heads[ERROR, row] = 0
        heads[ERROR_POSITION, row] = 0
        if not valid or magic > 2:
            return row, i, BAD
        row += 1
        i += size
    return row, i, FULL


def order(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    state: cython.longlong[::1],
) -> tuple[int, int]:
    """Compare each batch with the one before it: offsets must rise, leader epochs must not fall.

    `state` has the cells ``ORDER_…``. Answers the first row that breaks a rule, and the rule, one of those after
    ``IN_ORDER``; (`stop_row`, ``IN_ORDER``) if no row does. The row that broke a rule is counted, unless its offsets
    are impossible: continue after it.
    """
    i: cython.Py_ssize_t
    rule: cython.int
    before: cython.longlong
    first: cython.longlong
    last: cython.longlong
    epoch: cython.longlong
    if stop_row > heads.shape[1] or len(heads) < BATCH_CELLS or len(state) < ORDER_CELLS:
        raise IndexError
    for i in range(row, stop_row):
        rule = IN_ORDER
        first = heads[BASE_OFFSET, i]
        last = heads[LAST_OFFSET, i]
        epoch = heads[LEADER_EPOCH, i]
        if first == NONE:
            first = last  # a wrapper of magic 0 or 1 states only its last offset
        if first < 0 or last < 0 or last == TOP:
            return i, OFFSET_IMPOSSIBLE
        before = state[ORDER_LAST_OFFSET]
        if heads[BASE_OFFSET, i] != NONE and before != NONE and first > before and add64(first, -1) != before:
            state[ORDER_GAPS] += 1
            state[ORDER_MISSING] = add64(state[ORDER_MISSING], add64(add64(first, -1), -before))
            if state[ORDER_MISSING] < 0:  # more than can be counted
                state[ORDER_MISSING] = TOP
            if state[ORDER_GAPS] == 1:
                state[ORDER_FIRST_GAP] = heads[POSITION, i]
        if before != NONE and first <= before:
            rule = OFFSET_NOT_INCREASING
        elif first < state[ORDER_LOWEST] or last > state[ORDER_HIGHEST]:
            rule = OFFSET_OUTSIDE_SEGMENT
        elif epoch < state[ORDER_LEADER_EPOCH] and epoch >= 0:
            rule = LEADER_EPOCH_DECREASING
        state[ORDER_LAST_OFFSET] = last
        if epoch >= 0:
            state[ORDER_LEADER_EPOCH] = epoch
        if rule:
            return i, rule
    return stop_row, IN_ORDER


# Where a whole batch may begin in damaged bytes, and where reading goes on.

# What ``find_whole`` found: nothing, a whole batch, or one that reaches too far to be looked at here.
NOTHING, WHOLE, FAR = range(3)

BLOCK: Final = 4096  # bytes for each of the sums of prefixes

NEAR: Final = 4096  # up to so many bytes, a batch is summed without them

_FAR_OFFSET: Final = 2**62  # sums of offsets up to here fit 64 bits


def whole_size(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, limit: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Return the size of the batch at `at` if its header may be that of a whole one, otherwise 0.

    `buf` has to show the header, of an old message up to the size of its key.
    """
    magic: cython.int
    size: cython.longlong
    value: cython.longlong
    if at < 0 or at + SIZE_UP_TO_MAGIC > len(buf):
        return 0
    magic = buf[at + MAGIC_AT]
    size = size_at(buf, at)
    if magic > 2 or size < smallest_size(magic) or size > limit:
        return 0
    if at + (BATCH_OVERHEAD if magic == 2 else key_size_at(magic) + 4) > len(buf):
        return 0
    if magic == 2:
        if (buf[at + ATTRIBUTES_AT + 1] & CODEC_BITS) > 4 or buf[at + LAST_DELTA_AT] > 127 or buf[at + COUNT_AT] > 127:
            return 0
        return 0 if int32(buf, at + COUNT_AT) > int32(buf, at + LAST_DELTA_AT) + 1 else size
    value = value_size_at(buf, at)
    return 0 if (buf[at + MESSAGE_ATTRIBUTES_AT] & CODEC_BITS) > 3 or value < 0 or value + 4 > size else size


def value_size_at(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.longlong:
    """Return where an old message has the size of its value, counted from its start; -1 if its key has no size."""
    key_at: cython.longlong = key_size_at(buf[at + MAGIC_AT])
    size: cython.longlong
    if at < 0 or at + key_at + 4 > len(buf):
        return -1
    size = int32(buf, at + key_at)
    return -1 if size < -1 else key_at + 4 + max(size, 0)


def value_fills(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, rest: cython.longlong) -> cython.bint:
    """Say whether the value whose size is at `at` is all of the last `rest` bytes of an old message."""
    size: cython.longlong
    if at < 0 or at + 4 > len(buf):
        return False
    size = int32(buf, at)
    return size >= -1 and 4 + max(size, 0) == rest


@cython.cfunc
@cython.exceptval(check=False)
def sum_matches(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, size: cython.longlong
) -> cython.int:  # fmt: skip
    """Say whether a batch that `whole_size` has measured is ``WHOLE``; ``FAR`` if it is large, or not shown."""
    value: cython.longlong
    near: cython.longlong = NEAR
    left: cython.longlong = len(buf) - at
    if buf[at + MAGIC_AT] < 2:
        value = value_size_at(buf, at)
        if value + 4 <= left and not value_fills(buf, at + value, size - value):
            return NOTHING
    if size > near or size > left:
        return FAR
    if buf[at + MAGIC_AT] < 2:
        return crc32_of(buf, at + MAGIC_AT, at + size) == unsigned32(int32(buf, at + MESSAGE_CRC_AT))
    return crc32c_of(buf, at + ATTRIBUTES_AT, at + size) == unsigned32(int32(buf, at + CRC_AT))


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
    """Find what ``find_whole`` answers: the position, `stop` for nothing, or -1 - position for one that is far."""
    i: cython.Py_ssize_t
    magic: cython.int
    what: cython.int
    is_candidate: cython.bint
    size: cython.longlong
    key: cython.longlong
    at: cython.longlong
    block: cython.longlong
    crc: cython.longlong
    width: cython.longlong = BLOCK
    room: cython.longlong = state[SEEK_ROOM]
    limit: cython.longlong = state[SEEK_LIMIT]
    legacy: cython.bint = state[SEEK_LEGACY] != 0
    end: cython.Py_ssize_t = min(stop, len(buf) - SIZE_UP_TO_MAGIC)
    i = start
    while i < end:
        if not cython.compiled:
            match = (_PLAUSIBLE_OLD if legacy else _PLAUSIBLE).search(
                buf, i + MAGIC_AT, min(end + BATCH_OVERHEAD, len(buf))
            )
            if match is None or match.start() - MAGIC_AT >= end:
                break
            i = match.start() - MAGIC_AT
        magic = buf[i + MAGIC_AT]
        # What is searched for has no bits that mean nothing: fewer bytes that are no batch look like one.
        if magic == 2:
            is_candidate = len(buf) - i >= BATCH_OVERHEAD and buf[i + ATTRIBUTES_AT] < 4
        else:
            is_candidate = magic < 2 and legacy and (buf[i + MESSAGE_ATTRIBUTES_AT] & 0xF7) < 4
        size = whole_size(buf, i, limit) if is_candidate else 0
        if size > 0 and size <= room - i:
            what = sum_matches(buf, i, size)
            if what == WHOLE:
                return i
            if what == FAR and state[SEEK_LEFT] <= 0:
                state[SEEK_BEYOND] += 1
            elif what == FAR:
                block = state[SEEK_BLOCK] + (i + size) // width
                at = (i + size) % width
                if magic < 2 or block != state[SEEK_TAIL_BLOCK] or block >= len(sums) or at > len(tail):
                    return -1 - i
                state[SEEK_LEFT] -= 1
                key = (i + ATTRIBUTES_AT) // width
                crc = crc32c_of(buf, key * width, i + ATTRIBUTES_AT, sums[state[SEEK_BLOCK] + key])
                crc = crc32c_of(tail, 0, at, sums[block]) ^ shifted(crc, size - ATTRIBUTES_AT)
                if crc == unsigned32(int32(buf, i + CRC_AT)):
                    return i
        i += 1
    return stop


def find_whole(
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
        if buf[i + MAGIC_AT] < 2:
            state[SEEK_LEFT] -= 2
        return i, FAR
    return i, NOTHING if i >= stop else WHOLE


def declared(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.longlong:
    """Return the size that the header at `at` gives, 0 if it can't be a batch's."""
    size: cython.longlong
    if at < 0 or at + SIZE_UP_TO_MAGIC > len(buf):
        raise IndexError
    size = size_at(buf, at)
    return size if size >= smallest_size(buf[at + MAGIC_AT]) else 0


def hop(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Go from header to header by their sizes, as far as `buf` shows them and they do not lead past `stop`."""
    size: cython.longlong
    while at + SIZE_UP_TO_MAGIC <= min(stop, len(buf)):
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
    if head < 0 or head + BATCH_OVERHEAD > len(buf):
        raise IndexError
    delta = int32(buf, head + LAST_DELTA_AT)
    return NONE if buf[head + MAGIC_AT] < 2 else moved(int64(buf, head), delta + 1)


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
    if end < 0 or end + BATCH_OVERHEAD > len(after) or shown <= 0:
        raise IndexError
    expected = leads_to(buf, head)
    base = int64(buf, head)
    there = int64(after, end)
    count = int32(buf, head + COUNT_AT)
    counted = moved(base, count) if count > 0 else none
    counted = expected if counted == none else counted
    if not whole:
        return expected != none and (there >> cut in (expected >> cut, counted >> cut))
    if expected != none and (after[end + MAGIC_AT] > 1 or not after[end + MESSAGE_ATTRIBUTES_AT] & CODEC_BITS):
        return there >= min(expected, counted)
    if after[end + MAGIC_AT] > 1:
        last = moved(there, int32(after, end + LAST_DELTA_AT))
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
    stop: cython.Py_ssize_t = len(buf) - BATCH_OVERHEAD
    while i < stop:
        i = seek(buf, i, stop, sums, buf, state)
        if i < 0 or i >= stop:
            return -1
        offset = int64(buf, i)
        if offset > most or offset < -most:
            return -1
        if buf[i + MAGIC_AT] > 1:
            offset += int32(buf, i + LAST_DELTA_AT)
        if above == NONE or offset > above:
            return i
        i += 1
    return -1


@cython.cfunc
@cython.exceptval(check=False)
def believed_size(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, state: cython.const[cython.longlong][::1]
) -> cython.longlong:  # fmt: skip
    """Return the size of the batch at `at` if what is at its end may follow it, otherwise 0; -1 if it is not shown."""
    i: cython.Py_ssize_t
    end: cython.Py_ssize_t
    size: cython.longlong
    following: cython.longlong
    what: cython.int = NOTHING
    if at + SIZE_UP_TO_MAGIC > len(buf):
        return -1
    size = declared(buf, at)
    if size == 0 or size > state[SEEK_ROOM] - at:
        return 0
    end = at + size
    if end + BATCH_OVERHEAD > len(buf):
        return -1
    for i in range(end, end + BATCH_OVERHEAD):
        if buf[i]:
            break
    else:
        return -1
    following = whole_size(buf, end, state[SEEK_LIMIT])
    if following > 0 and following <= state[SEEK_ROOM] - end:
        what = sum_matches(buf, end, following)
    if what == FAR:
        return -1
    return size if may_follow(buf, at, buf, end, BATCH_OVERHEAD, what == WHOLE) else 0


def pass_over(
    buf: cython.const[cython.uchar][::1],
    here: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    state: cython.longlong[::1],
    beyond: object,
) -> cython.Py_ssize_t:
    """Find where reading goes on after the damage at `here`, in a file with so much damage that it is not examined.

    That is the next whole batch with offsets that are high enough that no batch with an end that is believed reaches
    over, or the file's end. What `buf` does not show, `beyond` answers: ``segments.damage.Beyond``. `state` gets the
    cells ``GOES_ON_…``. No sums may be used: ``SEEK_TAIL_BLOCK`` is below 0, ``SEEK_LEFT`` above.
    """
    at: cython.Py_ssize_t = here
    last: cython.Py_ssize_t = -1
    start: cython.Py_ssize_t = here + 1
    stop: cython.Py_ssize_t
    size: cython.longlong
    expected: cython.longlong = NONE
    if here < 0 or len(state) < SEEK_CELLS:
        raise IndexError
    if state[SEEK_BLOCK] < 0 or state[SEEK_TAIL_BLOCK] >= 0 or state[SEEK_LEFT] <= 0:
        raise IndexError
    while True:
        stop = next_above(buf, start, sums, state)
        if stop < 0:
            stop = beyond.next_whole(here, start)
        at = hop(buf, at, stop)
        if at < stop and at + SIZE_UP_TO_MAGIC > len(buf):
            at = beyond.hop(at, stop)
        if at >= stop:
            break
        size = believed_size(buf, at, state)
        if size < 0:
            size = beyond.believed_size(at)
        if size == 0:
            break
        last = at
        at += size
        start = at
    if last >= 0:
        expected = leads_to(buf, last) if last + BATCH_OVERHEAD <= len(buf) else beyond.leads_to(last)
    state[GOES_ON_PROVED] = at == stop and expected != NONE
    state[GOES_ON_OFFSET] = expected
    return stop


# Whole batches and the damage between them, in files with very much damage.

# Why ``read_over_damage`` stopped: as ``read`` did, no whole batch or damage follows in `buf`; a large batch comes
# next; there is no room for more places; or `buf` does not show where the damage ends.
ENDED, LARGE, NO_ROOM, UNSEEN = range(4)


def read_over_damage(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    reach: cython.Py_ssize_t,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    state: cython.longlong[::1],
    places: cython.longlong[:, ::1],
    beyond: object,
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
    ahead: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t = len(buf)
    position: cython.longlong = state[SEEK_POSITION]
    doubted: cython.longlong = state[SEEK_DOUBTED]
    size: cython.longlong
    end: cython.int = END
    full: cython.int = FULL
    why: cython.int
    has_read: cython.bint
    if len(heads) < BATCH_CELLS or start < 0 or row < 0 or len(state) < SEEK_CELLS or places.shape[1] < PLACE_CELLS:
        raise IndexError
    while True:
        began = start
        more, at, why = read_headers(buf, start, reach, position, heads, row)
        has_read = more > row
        if has_read:
            start = at
            state[SEEK_LEGACY] = heads[MAGIC, more - 1] < 2 or heads[MAGIC, row] < 2
            state[SEEK_ABOVE] = heads[LAST_OFFSET, more - 1]
            row = more
        if not has_read or why != end or reach >= stop:
            size = size_at(buf, start) if stop - start >= SIZE_UP_TO_MAGIC else 0
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
            ahead = pass_over(buf, start, sums, state, beyond)
            if ahead >= stop:
                return UNSEEN, row, n, start, (why, began, reach)
            places[n, PLACE_POSITION] = position + start
            places[n, PLACE_SIZE] = ahead - start
            places[n, PLACE_PROVED] = state[GOES_ON_PROVED]
            places[n, PLACE_OFFSET] = state[GOES_ON_OFFSET]
            n += 1
            start = ahead
        if stop - start >= SIZE_UP_TO_MAGIC and size_at(buf, start) > doubted:
            return LARGE, row, n, start, (why, began, reach)
        reach = min(stop, start + doubted)


# What a verification needs of a chunk's headers; ``buffers.py`` has the rules of its source.
#
# Sums, and whether the batches are *plain*: each is whole, begins where the one before ends, in bytes, and after its
# last offset, in the same leader epoch. Of plain batches nothing can contradict its neighbours, and the entries of
# indexes are looked up without a copy. Of others columns are copied, for NumPy.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def mixed(before: cython.longlong, crc: cython.longlong) -> cython.longlong:
    """Return what stands for checksums in their order, with one more."""
    if cython.compiled:
        return before * 1000003 + crc
    return ((before * 1000003 + crc + 2**63) & (2**64 - 1)) - 2**63


def sums(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    before: cython.const[cython.longlong][:, ::1],
    known: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> None:
    """Add up the `count` batches whose checksums match.

    `found` gets the cells ``SUM_…``. Batches are plain, all of them, if they are after the last row `before`, too; of
    these rows `known` exist as in ``disagree``.
    """
    row: cython.Py_ssize_t
    batches: cython.longlong = 0
    records: cython.longlong = 0
    size: cython.longlong = 0
    first: cython.longlong = -1
    last: cython.longlong = -1
    short: cython.longlong = 0
    number: cython.longlong
    delta: cython.longlong
    position: cython.longlong
    base: cython.longlong
    end: cython.longlong
    reached: cython.longlong
    epoch: cython.longlong
    stands_for: cython.longlong
    plain: cython.bint
    if (
        len(heads) < BATCH_CELLS
        or count > heads.shape[1]
        or len(found) < SUM_CELLS
        or len(before) < NEIGHBOUR_COLUMNS
        or before.shape[1] < 2
    ):
        raise IndexError
    plain = count > 0 and known > 0 and before[BEFORE_VALID, 1] != 0
    end = add64(before[BEFORE_POSITION, 1], before[BEFORE_SIZE, 1])
    reached = before[BEFORE_LAST_OFFSET, 1]
    epoch = before[BEFORE_LEADER_EPOCH, 1]
    stands_for = found[SUM_CRCS]
    if epoch == NONE and count > 0:
        epoch = heads[LEADER_EPOCH, 0]
    for row in range(count):
        stands_for = mixed(stands_for, heads[CRC, row])
        if not heads[VALID, row]:
            plain = False
            continue
        number = heads[COUNT, row]
        position = heads[POSITION, row]
        base = heads[BASE_OFFSET, row]
        batches += 1
        size += heads[SIZE, row]
        if number >= 0:
            records += believed(heads, row)
            delta = add64(heads[LAST_OFFSET, row], -base)
            if number <= delta and heads[MAGIC, row] > 1:
                short += 1
        if position != end or base <= reached or heads[LEADER_EPOCH, row] != epoch:
            plain = False
        reached = heads[LAST_OFFSET, row]
        if reached < base:
            plain = False
        end = position + heads[SIZE, row]
        if first < 0:
            first = row
        last = row
    found[SUM_BATCHES] = batches
    found[SUM_RECORDS] = records
    found[SUM_SIZE] = size
    found[SUM_FIRST] = first
    found[SUM_LAST] = last
    found[SUM_SHORT] = short
    found[SUM_CRCS] = stands_for
    found[SUM_PLAIN] = plain


def believed(heads: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t) -> cython.longlong:
    """Return how many records a batch's header counts; 0 where that can't be true, NONE where no header says it.

    It can't be more than the offsets that the header gives, or more than its bytes can hold, decompressed as far as any
    codec can: a count is four bytes that anybody can write.
    """
    number: cython.longlong = heads[COUNT, row]
    size: cython.longlong = heads[SIZE, row] - BATCH_OVERHEAD
    if heads[MAGIC, row] < 2 or number == NONE:
        return number
    if heads[ATTRIBUTES, row] & CODEC_BITS:
        size *= MOST_EXPANSION
    if number < 0 or number * SMALLEST_RECORD > size:
        return 0
    if number - 1 > minus64(heads[LAST_OFFSET, row], heads[BASE_OFFSET, row]):
        return 0
    return number


def believe(heads: cython.const[cython.longlong][:, ::1], counts: cython.longlong[::1]) -> None:
    """Put into `counts` how many records each batch has, as far as its header can be believed."""
    row: cython.Py_ssize_t
    if len(heads) < BATCH_CELLS or heads.shape[1] > len(counts):
        raise IndexError
    for row in range(heads.shape[1]):
        counts[row] = believed(heads, row)


def last_two(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    kept: cython.longlong[:, ::1],
) -> None:
    """Move the last two rows of what was read so far into `kept`, a table of the columns ``BEFORE_…``.

    Messages of magic 0 and 1 are kept as not valid: what their first offset is only decompression tells.
    """
    row: cython.Py_ssize_t
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or len(kept) < NEIGHBOUR_COLUMNS or kept.shape[1] < 2:
        raise IndexError
    for row in range(max(0, count - 2), count):
        kept[BEFORE_POSITION, 0] = kept[BEFORE_POSITION, 1]
        kept[BEFORE_POSITION, 1] = heads[POSITION, row]
        kept[BEFORE_SIZE, 0] = kept[BEFORE_SIZE, 1]
        kept[BEFORE_SIZE, 1] = heads[SIZE, row]
        kept[BEFORE_BASE_OFFSET, 0] = kept[BEFORE_BASE_OFFSET, 1]
        kept[BEFORE_BASE_OFFSET, 1] = heads[BASE_OFFSET, row]
        kept[BEFORE_LAST_OFFSET, 0] = kept[BEFORE_LAST_OFFSET, 1]
        kept[BEFORE_LAST_OFFSET, 1] = heads[LAST_OFFSET, row]
        kept[BEFORE_LEADER_EPOCH, 0] = kept[BEFORE_LEADER_EPOCH, 1]
        kept[BEFORE_LEADER_EPOCH, 1] = heads[LEADER_EPOCH, row]
        kept[BEFORE_VALID, 0] = kept[BEFORE_VALID, 1]
        kept[BEFORE_VALID, 1] = heads[VALID, row] if heads[MAGIC, row] >= 2 else 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def first_from(
    cells: cython.const[cython.longlong][::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, value: cython.longlong
) -> cython.Py_ssize_t:
    """Return the first place of sorted cells in [`low`, `high`) whose cell is not below `value`, `high` for none."""
    half: cython.Py_ssize_t
    while low < high:
        half = (low + high) // 2
        if cells[half] < value:
            low = half + 1
        else:
            high = half
    return low


def at_offsets(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    positions: cython.const[cython.longlong][::1],
    by_position: cython.const[cython.longlong][::1],
    first: cython.longlong[::1],
    last: cython.longlong[::1],
    offsets: cython.const[cython.longlong][::1],
    by_offset: cython.const[cython.longlong][::1],
    ends_at: cython.longlong[::1],
) -> None:
    """Look the entries of an offset index up that `count` plain batches bear on.

    `positions` and `offsets` are those of the entries, sorted, and the entry of each is at its place in `by_position`
    or `by_offset`. `first` and `last` get the offsets of the batch at an entry's position, `ends_at` the position of
    the batch that ends at its offset.
    """
    n: cython.Py_ssize_t = len(positions)
    row: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    at: cython.Py_ssize_t
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or count < 1:
        raise IndexError
    if min(len(by_position), len(first), len(last), len(offsets), len(by_offset), len(ends_at)) < n:
        raise IndexError
    row = 0
    entry = first_from(positions, 0, n, heads[POSITION, 0])
    while entry < n and positions[entry] <= heads[POSITION, count - 1]:
        while heads[POSITION, row] < positions[entry]:
            row += 1
        at = by_position[entry]
        if heads[POSITION, row] == positions[entry] and 0 <= at < n:
            first[at] = heads[BASE_OFFSET, row]
            last[at] = heads[LAST_OFFSET, row]
        entry += 1
    row = 0
    entry = first_from(offsets, 0, n, heads[LAST_OFFSET, 0])
    while entry < n and offsets[entry] <= heads[LAST_OFFSET, count - 1]:
        while heads[LAST_OFFSET, row] < offsets[entry]:
            row += 1
        at = by_offset[entry]
        if heads[LAST_OFFSET, row] == offsets[entry] and 0 <= at < n:
            ends_at[at] = heads[POSITION, row]
        entry += 1


def at_times(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    before: cython.longlong,
    newest: cython.longlong,
    offsets: cython.const[cython.longlong][::1],
    by_offset: cython.const[cython.longlong][::1],
    there: cython.longlong[::1],
    earlier: cython.longlong[::1],
) -> int:
    """Look the entries of a time index up that `count` plain batches after offset `before` bear on.

    `there` gets the newest time of the batch with an entry's offset, `earlier` that of all batches before it, of which
    `newest` is the newest before the first row. Answers the newest time so far.
    """
    n: cython.Py_ssize_t = len(offsets)
    row: cython.Py_ssize_t = 0
    entry: cython.Py_ssize_t
    at: cython.Py_ssize_t
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or count < 1:
        raise IndexError
    if min(len(by_offset), len(there), len(earlier)) < n:
        raise IndexError
    entry = first_from(offsets, 0, n, add64(before, 1))
    while entry < n and offsets[entry] <= heads[LAST_OFFSET, count - 1]:
        while heads[LAST_OFFSET, row] < offsets[entry]:
            newest = max(newest, heads[MAX_TIMESTAMP, row])
            row += 1
        at = by_offset[entry]
        if offsets[entry] >= heads[BASE_OFFSET, row] and 0 <= at < n:
            there[at] = heads[MAX_TIMESTAMP, row]
            earlier[at] = newest
        entry += 1
    while row < count:
        newest = max(newest, heads[MAX_TIMESTAMP, row])
        row += 1
    return newest


def keep(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    columns: cython.const[cython.longlong][::1],
    kept: cython.longlong[:, ::1],
    n: cython.Py_ssize_t,
) -> int:
    """Copy some columns of the `count` batches whose checksums match after the `n` rows of the table `kept`.

    Answers how many rows it has now.
    """
    row: cython.Py_ssize_t
    column: cython.Py_ssize_t
    source: cython.Py_ssize_t
    into: cython.Py_ssize_t = n
    if len(heads) < BATCH_CELLS or min(columns) < 0 or max(columns) >= BATCH_CELLS or len(kept) < len(columns):
        raise IndexError
    if n < 0 or n + count > kept.shape[1] or count > heads.shape[1]:
        raise IndexError
    for column in range(len(columns)):
        source = columns[column]
        into = n
        for row in range(count):
            kept[column, into] = heads[source, row]
            into += heads[VALID, row] != 0
    return into


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def cell(
    heads: cython.const[cython.longlong][:, ::1],
    before: cython.const[cython.longlong][:, ::1],
    column: cython.Py_ssize_t,
    kept: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.longlong:
    """Return a cell of a chunk's table, or of the two rows `before` it, which are rows -2 and -1."""
    return before[kept, row + 2] if row < 0 else heads[column, row]


def disagree(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    before: cython.const[cython.longlong][:, ::1],
    known: cython.Py_ssize_t,
) -> bool:
    """Say whether the offsets or leader epochs of three adjacent whole batches may contradict each other.

    `before` has the last two rows before the chunk, of which `known` exist, a table of the columns ``BEFORE_…``.
    """
    row: cython.Py_ssize_t
    first: cython.longlong
    last: cython.longlong
    low: cython.longlong
    following: cython.longlong
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or len(before) < NEIGHBOUR_COLUMNS or before.shape[1] < 2:
        raise IndexError
    if known < 0 or known > 2:
        raise IndexError
    for row in range(2 - known, count):
        if cell(heads, before, LEADER_EPOCH, BEFORE_LEADER_EPOCH, row - 1) != heads[LEADER_EPOCH, row]:
            return True
        first = cell(heads, before, BASE_OFFSET, BEFORE_BASE_OFFSET, row - 1)
        last = cell(heads, before, LAST_OFFSET, BEFORE_LAST_OFFSET, row - 1)
        low = cell(heads, before, LAST_OFFSET, BEFORE_LAST_OFFSET, row - 2)
        following = heads[BASE_OFFSET, row]
        if first == NONE or following == NONE:  # noqa: PLR1714  # a tuple here would be made for each row
            continue
        if first <= low or last >= following:
            return True
    return False


# What is odd about the headers of batches whose checksums match: each of ``RULES`` has a bit.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def offsets_broken(
    heads: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t, records: cython.bint
) -> cython.longlong:
    """Return which rules the offsets and the count of a batch of magic 2 break."""
    rules: cython.longlong = 0
    number: cython.longlong = heads[COUNT, row]
    base: cython.longlong = heads[BASE_OFFSET, row]
    last: cython.longlong = heads[LAST_OFFSET, row]
    delta: cython.longlong = add64(last, -base)  # wraps as the sum did
    if delta < 0:
        rules |= LAST_OFFSET_DELTA_NEGATIVE
    elif last < base:
        rules |= OFFSET_OVERFLOW
    elif number > delta + 1:
        rules |= RECORDS_COUNT_ABOVE_OFFSETS
    elif number > 0 and not believed(heads, row) and not records:
        rules |= COUNT_ABOVE_BYTES
    if number < 0 and not records:
        rules |= RECORDS_COUNT_NEGATIVE
    if number == 0 and (heads[SIZE, row] != BATCH_OVERHEAD or heads[ATTRIBUTES, row] & CODEC_BITS):
        rules |= EMPTY_BATCH_ODD
    if heads[LEADER_EPOCH, row] < -1:
        rules |= LEADER_EPOCH_BELOW_NONE
    return rules


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def producer_broken(
    heads: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t, controls: cython.bint
) -> cython.longlong:
    """Return which rules the producer and the attributes of a batch of magic 2 break."""
    rules: cython.longlong = 0
    attributes: cython.longlong = heads[ATTRIBUTES, row]
    number: cython.longlong = heads[COUNT, row]
    producer: cython.longlong = heads[PRODUCER_ID, row]
    epoch: cython.longlong = heads[PRODUCER_EPOCH, row]
    sequence: cython.longlong = heads[BASE_SEQUENCE, row]
    control: cython.bint = attributes & CONTROL_BIT != 0
    transactional: cython.bint = attributes & TRANSACTIONAL_BIT != 0
    if producer < 0:
        if producer < -1:
            rules |= PRODUCER_ID_BELOW_NONE
        elif epoch >= 0:
            rules |= PRODUCER_ID_MISSING
        if transactional:
            rules |= TRANSACTION_WITHOUT_PRODUCER
    else:
        if epoch < 0:
            rules |= PRODUCER_EPOCH_MISSING
        if sequence < 0 and not control:
            rules |= SEQUENCE_MISSING
    if control:
        if not transactional:
            rules |= 0 if controls else CONTROL_BATCH_ODD
        elif number > 1:
            rules |= MARKER_COUNT
        if sequence >= 0:
            rules |= CONTROL_BATCH_SEQUENCE
        if attributes & CODEC_BITS and number > 0:
            rules |= CONTROL_BATCH_COMPRESSED
    if attributes & UNUSED_BITS:
        rules |= ATTRIBUTES_UNUSED
    if attributes & HORIZON_BIT and heads[BASE_TIMESTAMP, row] < 0:
        rules |= DELETE_HORIZON_ODD
    return rules


def broken_rules(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    records: cython.bint,
    controls: cython.bint,
    broken: cython.longlong[::1],
) -> int:
    """Look at the headers of `count` batches; `broken` gets the rules that each breaks: bit n for rule n.

    `records` says that their records are decoded as well, which reports a wrong codec or count; `controls` that the
    topic has control batches that are no markers. Answers how many batches break a rule.
    """
    row: cython.Py_ssize_t
    odd: cython.Py_ssize_t = 0
    rules: cython.longlong
    attributes: cython.longlong
    newest: cython.longlong
    if len(heads) < BATCH_CELLS or count > min(heads.shape[1], len(broken)):
        raise IndexError
    for row in range(count):
        broken[row] = 0
        if not heads[VALID, row]:
            continue
        attributes = heads[ATTRIBUTES, row]
        if heads[MAGIC, row] > 1:
            rules = offsets_broken(heads, row, records) | producer_broken(heads, row, controls)
        else:
            rules = CODEC_NOT_OF_MAGIC if attributes & CODEC_BITS == 4 else 0
            if attributes & (UNUSED_BITS_V1 if heads[MAGIC, row] == 1 else UNUSED_BITS_V0):
                rules |= ATTRIBUTES_UNUSED
        if attributes & CODEC_BITS > 4 and not records:
            rules |= CODEC_UNKNOWN
        newest = heads[MAX_TIMESTAMP, row]
        if newest < -1 or newest > LAST_TIMESTAMP:
            rules |= TIMESTAMP_ODD
        if rules:
            broken[row] = rules
            odd += 1
    return odd


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.longlong))
def marker_of(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """Read the marker whose record begins at `p`: (what ``markers`` says of it, the coordinator's epoch)."""
    q: cython.Py_ssize_t
    end: cython.Py_ssize_t
    key: cython.Py_ssize_t
    _: cython.longlong
    size: cython.longlong
    value_size: cython.longlong
    kind: cython.longlong
    size, q = varint(buf, p, stop)
    if q < 0 or size < 6 or size > stop - q:
        return UNREADABLE, -1
    end = q + size
    _, q = varlong(buf, q + 1, end)
    if q > 0:
        _, q = varint(buf, q, end)
    if q > 0:
        size, q = varint(buf, q, end)
    if q < 0 or size < 0 or size > end - q:
        return UNREADABLE, -1
    key = q
    value_size, q = varint(buf, key + size, end)
    if q < 0 or value_size > end - q:
        return UNREADABLE, -1
    kind = end_marker(buf, key, size, q, value_size)
    if kind < 0:
        return UNREADABLE, -1
    return kind, int32(buf, q + 2)


def markers(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    types: cython.longlong[::1],
    coordinator_epochs: cython.longlong[::1],
) -> int:
    """Read the transaction markers among `count` batches: 0 abort, 1 commit, -1 no marker, -2 one that can't be read.

    A control batch without records, as the cleaner leaves it, is no marker. Answers how many batches have magic 0 or 1.

    Follows ControlRecordType.parse; ProducerStateManager ignores an empty control batch, too.
    """
    row: cython.Py_ssize_t
    p: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    legacy: cython.Py_ssize_t = 0
    attributes: cython.longlong
    if count > min(heads.shape[1], len(types), len(coordinator_epochs)) or len(heads) < BATCH_CELLS:
        raise IndexError
    for row in range(count):
        types[row] = NO_MARKER
        coordinator_epochs[row] = -1
        if heads[MAGIC, row] < 2:
            legacy += 1
            continue
        attributes = heads[ATTRIBUTES, row]
        if attributes & MARKER_BITS != MARKER_BITS or heads[COUNT, row] == 0:
            continue
        p = heads[SECTION_START, row]
        stop = heads[SECTION_STOP, row]
        if p < 0 or stop > len(buf) or attributes & CODEC_BITS:
            types[row] = UNREADABLE
        else:
            types[row], coordinator_epochs[row] = marker_of(buf, p, stop)
    return legacy
