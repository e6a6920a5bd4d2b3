# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is odd about records that Kafka reads all the same; see ``kernel.py`` for the rules of its source.

Compiled, ``ordinary_records.h`` first says which batches are in order, so that what is here sees the others only.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import BATCH_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_TIMESTAMP,
        COUNT,
        ERROR,
        LAST_OFFSET,
        MAGIC,
        MAX_TIMESTAMP,
        SECTION_START,
        SECTION_STOP,
        VALID,
        add64,
        end_marker,
        int16,
        int32,
        varint,
        varlong,
    )
else:
    from kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_TIMESTAMP,
        COUNT,
        ERROR,
        LAST_OFFSET,
        MAGIC,
        MAX_TIMESTAMP,
        SECTION_START,
        SECTION_STOP,
        VALID,
        add64,
        end_marker,
        int16,
        int32,
        varint,
        varlong,
    )

__all__ = [
    "ATTRIBUTES_SET",
    "BELOW_NULL",
    "DROPPED",
    "FALLING",
    "FOUND",
    "OVERLONG",
    "REPEATED",
    "find",
    "in_order",
    "next_odd",
]

FOUND = 6  # cells that ``find`` fills

# What ``find`` answers, as flags.
OVERLONG, DROPPED, ATTRIBUTES_SET, BELOW_NULL, REPEATED, FALLING = (1, 2, 4, 8, 16, 32)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def odd_number(
    buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, q: cython.Py_ssize_t, most: cython.int, last: cython.int
) -> cython.int:
    """Say what is odd about the number in [`p`, `q`): more bytes than it needs, or bits that Kafka drops.

    A number has at most `most` bytes, and its last byte is at most `last`.
    """
    if q - p > 1 and buf[q - 1] == 0:
        return OVERLONG
    if q - p == most and buf[q - 1] > last:
        return DROPPED
    return 0


@cython.cfunc
@cython.exceptval(check=False)
def look(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    count: cython.longlong,
    found: cython.longlong[::1],
) -> cython.int:
    """Look at a batch's records; see ``find``. Numbers of one byte, most of them, are never odd."""
    flags: cython.int = 0
    n: cython.longlong = 0
    p: cython.Py_ssize_t = start
    q: cython.Py_ssize_t
    end: cython.Py_ssize_t
    whole_end: cython.Py_ssize_t = start
    length: cython.longlong
    four: cython.longlong
    timestamp: cython.longlong
    delta: cython.longlong
    before: cython.longlong = 0
    smallest: cython.longlong = 0
    largest: cython.longlong = 0
    newest: cython.longlong = 0
    markers: cython.longlong = 0
    h: cython.longlong
    key: cython.Py_ssize_t
    key_size: cython.longlong
    size: cython.longlong
    while n < count:
        length, q = varint(buf, p, stop)
        if q < 0 or length < 6 or length > stop - q:
            break
        if q - p > 1 and (buf[q - 1] == 0 or q - p > 4):
            flags |= odd_number(buf, p, q, 5, 15)
        end = q + length
        four = int32(buf, q)  # there are 6 bytes or more
        if 0 <= four < 8388608 and four & 32896 == 0:  # no attributes, then three numbers of one byte
            timestamp = (four >> 17) ^ -((four >> 16) & 1)
            delta = ((four >> 9) & 63) ^ -((four >> 8) & 1)
            key_size = ((four >> 1) & 63) ^ -(four & 1)
            q += 4
            if key_size > end - q:
                break
        else:
            if buf[q] != 0:
                flags |= ATTRIBUTES_SET
            p = q + 1
            timestamp, q = varlong(buf, p, end)
            if q < 0:
                break
            if q - p > 1 and (buf[q - 1] == 0 or q - p > 9):
                flags |= odd_number(buf, p, q, 10, 1)
            p = q
            delta, q = varint(buf, p, end)
            if q < 0:
                break
            if q - p > 1 and (buf[q - 1] == 0 or q - p > 4):
                flags |= odd_number(buf, p, q, 5, 15)
            p = q
            key_size, q = varint(buf, p, end)
            if q < 0 or key_size > end - q:
                break
            if q - p > 1 and (buf[q - 1] == 0 or q - p > 4):
                flags |= odd_number(buf, p, q, 5, 15)
        if key_size < -1:
            flags |= BELOW_NULL
        key = q
        if key_size > 0:
            q += key_size
        p = q
        size, q = varint(buf, p, end)
        if q < 0 or size > end - q:
            break
        if q - p > 1 and (buf[q - 1] == 0 or q - p > 4):
            flags |= odd_number(buf, p, q, 5, 15)
        if size < -1:
            flags |= BELOW_NULL
        if size > 0:
            q += size
        # A marker as every broker writes it; the value ends at `q`.
        if key_size == 4 and size == 6 and end_marker(buf, key, 4, q - 6, 6) >= 0 and int16(buf, key) == 0:
            markers += int16(buf, q - 6) == 0
        p = q
        h, q = varint(buf, p, end)
        if q < 0 or h < 0 or h > end - q:
            break
        if q - p > 1 and (buf[q - 1] == 0 or q - p > 4):
            flags |= odd_number(buf, p, q, 5, 15)
        h *= 2
        while h > 0:
            p = q
            length, q = varint(buf, p, end)
            if q < 0 or length > end - q or (length < 0 and h & 1 == 0):
                break
            if q - p > 1 and (buf[q - 1] == 0 or q - p > 4):
                flags |= odd_number(buf, p, q, 5, 15)
            if length < -1:
                flags |= BELOW_NULL
            if length > 0:
                q += length
            h -= 1
        if h > 0 or q != end:
            break
        if n == 0:
            smallest = delta
            largest = delta
            newest = timestamp
        else:
            if delta <= before:
                flags |= REPEATED if delta == before else FALLING
            smallest = min(smallest, delta)
            largest = max(largest, delta)
            newest = max(newest, timestamp)
        before = delta
        n += 1
        whole_end = end
        p = end
    found[0] = n
    if n:
        found[1] = smallest
        found[2] = largest
        found[3] = newest
    found[4] = whole_end
    found[5] = markers
    return flags


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def is_newest(
    delta: cython.longlong,
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Say whether a batch's largest timestamp is this far from its base, without a sum that wraps."""
    since: cython.longlong = heads[BASE_TIMESTAMP * capacity + row]
    newest: cython.longlong = add64(since, delta)
    return newest == heads[MAX_TIMESTAMP * capacity + row] and (since ^ newest) & (delta ^ newest) >= 0


@cython.cfunc
@cython.exceptval(check=False)
def is_odd(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> cython.bint:
    """Say whether the records of a batch are malformed or may break a rule; `buf` has them uncompressed."""
    start: cython.Py_ssize_t = heads[SECTION_START * capacity + row]
    stop: cython.Py_ssize_t = heads[SECTION_STOP * capacity + row]
    attributes: cython.longlong = heads[ATTRIBUTES * capacity + row]
    count: cython.longlong
    base: cython.longlong
    last: cython.longlong
    newest: cython.longlong = 0
    highest: cython.longlong
    size: cython.longlong
    flags: cython.int
    stop = min(stop, len(buf))
    if heads[MAGIC * capacity + row] < 2:
        if stop - start < 8:
            return True
        size = int32(buf, start)
        if size < -1 or size > stop - start - 8:
            return True
        start += 4 + (size if size > 0 else 0)
        size = int32(buf, start)
        return size > stop - start - 4 or start + 4 + (size if size > 0 else 0) != stop
    count = heads[COUNT * capacity + row]
    if cython.compiled:
        base = heads[BASE_OFFSET * capacity + row]
        last = heads[LAST_OFFSET * capacity + row]
        if count > 0 and base >= 0 and attributes & 48 != 32:
            highest = last - base if last >= base else 9223372036854775807
            if count == kafkalog_ordinary_in_order(
                cython.address(buf[0]), len(buf), start, stop, count, highest, attributes & 32 != 0,
                cython.address(newest),
            ) and (attributes & 8 or is_newest(newest, heads, capacity, row)):  # fmt: skip
                return False
    flags = look(buf, start, stop, count, found)
    if flags or found[0] != count or found[4] != stop:
        return True
    if attributes & 32 and (found[5] != count or not attributes & 16):
        return True
    if count:
        base = heads[BASE_OFFSET * capacity + row]
        last = heads[LAST_OFFSET * capacity + row]
        if found[1] < 0 or base < 0 or (last >= base and found[2] > last - base):
            return True
        if not attributes & 8 and not is_newest(found[3], heads, capacity, row):
            return True
    return False


def in_order(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> bool:
    """Say whether nothing needs to be said about the records of `count` batches, none of which is compressed."""
    row: cython.Py_ssize_t
    if len(heads) < capacity * len(BATCH_COLUMNS) or len(found) < FOUND or count > capacity:
        raise IndexError
    for row in range(count):
        if heads[SECTION_START * capacity + row] < 0 or heads[ERROR * capacity + row]:
            continue
        if heads[ATTRIBUTES * capacity + row] & 7:
            return False
        if heads[VALID * capacity + row] and is_odd(buf, heads, capacity, row, found):
            return False
    return True


def find(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    count: cython.longlong,
    found: cython.longlong[::1],
) -> int:
    """Look at the records of a magic 2 batch in ``buf[start:stop]`` for oddities that Kafka accepts.

    Answers flags; `found` gets the number of whole records; if there is one, the smallest and largest offset delta and
    the largest timestamp delta; where the last whole one ends; and how many are markers as every broker writes them.
    It stops at the first malformed record.
    """
    stop = min(stop, len(buf))
    if len(found) < FOUND or start < 0:
        raise IndexError
    return look(buf, start, stop, count, found)


def next_odd(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    unpacked: cython.bint,
    found: cython.longlong[::1],
) -> int:
    """Find the first batch in rows [`row`, `stop_row`) of `heads` whose records are malformed or may break a rule.

    The section of each batch before it is set below 0: nothing needs to be said about its records. That includes those
    whose checksum does not match, but not compressed ones, unless `buf` has them `unpacked`. Answers `stop_row` if no
    batch is odd.
    """
    at_start: cython.Py_ssize_t = SECTION_START * capacity
    if (
        len(heads) < capacity * len(BATCH_COLUMNS)
        or len(found) < FOUND
        or row < 0
        or row > stop_row
        or stop_row > capacity
    ):
        raise IndexError
    while row < stop_row:
        if heads[at_start + row] < 0 or heads[ERROR * capacity + row]:
            row += 1
            continue
        if heads[ATTRIBUTES * capacity + row] & 7 and not unpacked:
            if heads[MAGIC * capacity + row] < 2:
                return row
            row += 1
            continue
        if heads[VALID * capacity + row] and is_odd(buf, heads, capacity, row, found):
            return row
        heads[at_start + row] = -1
        row += 1
    return stop_row
