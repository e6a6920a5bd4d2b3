# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The records of batches, and the messages of magic 0 and 1, into a table; ``buffers.py`` has the rules.

An error's number is its index in ``record_errors.RECORD_ERRORS``. Compiled, ``ordinary_records.h`` first reads what it
can of a batch, so that what is here sees the other records only: malformed ones, those with long numbers, and the last
of a buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkalog.kernel.buffers import BATCH_COLUMNS, RECORD_COLUMNS

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import (
        APPEND_TIME_BIT,
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_SEQUENCE,
        BASE_TIMESTAMP,
        BATCH,
        CODEC_BITS,
        CONTROL_BIT,
        COUNT,
        DECODED,
        ERROR,
        ERROR_POSITION,
        HORIZON_BIT,
        KEY_SIZE,
        KEY_START,
        LAST_OFFSET,
        MAGIC,
        MARKER_BITS,
        MAX_TIMESTAMP,
        OFFSET,
        RECORD_SIZE,
        SECTION_START,
        SECTION_STOP,
        SIZE,
        TIMESTAMP,
        TRANSACTIONAL_BIT,
        VALID,
        VALUE_SIZE,
        add64,
        add_sequence,
        end_marker,
        int16,
        int32,
        varint,
        varlong,
    )

__all__ = [
    "ATTRIBUTES_SET",
    "BELOW_NULL",
    "DONE",
    "DROPPED",
    "ENOUGH",
    "FALLING",
    "FOUND",
    "NO_ROOM",
    "OVERLONG",
    "PACKED",
    "REPEATED",
    "ROOM",
    "SUMS",
    "find",
    "in_order",
    "keep",
    "move",
    "next_odd",
    "put",
    "read",
    "unpack",
    "zstd_frame",
]


# Why ``read`` stopped: all rows done, no room for more, or a row whose records must be decompressed first.
DONE, NO_ROOM, PACKED = range(3)


def read(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    unpacked: cython.bint,
    recs: cython.longlong[::1],
    room: cython.Py_ssize_t,
) -> tuple[int, int, int, int]:
    """Decode the records of the batches in rows [`row`, `stop_row`) of `heads` into `recs`.

    Answers (records, row, why it stopped, rows with an error): ``DONE``; ``NO_ROOM``: call again with the same row to
    continue; ``PACKED``: the row's records are compressed: call again for that row alone with the decompressed bytes as
    `buf`, the row's section set to them, and `unpacked`. A row whose section starts below 0 is skipped. A malformed
    record ends its batch; the row's ``error`` and ``error_position`` report it, and the records before it are kept.
    """
    n: cython.Py_ssize_t = 0
    errors: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    end: cython.Py_ssize_t
    start: cython.Py_ssize_t
    key_start: cython.Py_ssize_t
    value_start: cython.Py_ssize_t
    headers_start: cython.Py_ssize_t
    decoded: cython.longlong
    count: cython.longlong
    length: cython.longlong
    four: cython.longlong
    timestamp: cython.longlong
    delta: cython.longlong
    key_size: cython.longlong
    value_size: cython.longlong
    headers_count: cython.longlong
    h: cython.longlong
    attributes: cython.longlong
    base_offset: cython.longlong
    base_timestamp: cython.longlong
    log_append_time: cython.bint
    base_sequence: cython.longlong
    error: cython.int
    at_size: cython.Py_ssize_t = SIZE * capacity
    at_magic: cython.Py_ssize_t = MAGIC * capacity
    at_attributes: cython.Py_ssize_t = ATTRIBUTES * capacity
    at_start: cython.Py_ssize_t = SECTION_START * capacity
    at_stop: cython.Py_ssize_t = SECTION_STOP * capacity
    at_decoded: cython.Py_ssize_t = DECODED * capacity
    at_count: cython.Py_ssize_t = COUNT * capacity
    at_base: cython.Py_ssize_t = BASE_OFFSET * capacity
    at_base_timestamp: cython.Py_ssize_t = BASE_TIMESTAMP * capacity
    at_max_timestamp: cython.Py_ssize_t = MAX_TIMESTAMP * capacity
    at_sequence: cython.Py_ssize_t = BASE_SEQUENCE * capacity
    at_error: cython.Py_ssize_t = ERROR * capacity
    at_position: cython.Py_ssize_t = ERROR_POSITION * capacity
    if len(heads) < capacity * len(BATCH_COLUMNS) or len(recs) < room * len(RECORD_COLUMNS) or stop_row > capacity:
        raise IndexError
    while row < stop_row:
        p = heads[at_start + row]
        if p < 0 or heads[at_error + row]:
            row += 1
            continue
        attributes = heads[at_attributes + row]
        if attributes & CODEC_BITS and not unpacked:
            return n, row, PACKED, errors
        stop = heads[at_stop + row]
        stop = min(stop, len(buf))
        count = heads[at_count + row]
        decoded = heads[at_decoded + row]
        base_offset = heads[at_base + row]
        error = 0
        if heads[at_magic + row] < 2:
            if decoded < count:
                if n >= room:
                    return n, row, NO_ROOM, errors
                start = p
                if stop - p < 8:
                    error = 23
                else:
                    key_size = int32(buf, p)
                    key_start = p + 4
                    if key_size > stop - key_start - 4:
                        error = 24
                    else:
                        p = key_start + (key_size if key_size > 0 else 0)
                        value_size = int32(buf, p)
                        value_start = p + 4
                        if value_size > stop - value_start:
                            error = 25
                        else:
                            p = value_start + (value_size if value_size > 0 else 0)
                            if p != stop:
                                error = 26
                            k = n
                            recs[k] = row
                            k += room
                            recs[k] = base_offset
                            k += room
                            recs[k] = heads[at_max_timestamp + row]
                            k += room
                            recs[k] = -1
                            k += room
                            recs[k] = key_start
                            k += room
                            recs[k] = key_size if key_size >= 0 else -1
                            k += room
                            recs[k] = value_start
                            k += room
                            recs[k] = value_size if value_size >= 0 else -1
                            k += room
                            recs[k] = p
                            k += room
                            recs[k] = 0
                            k += room
                            recs[k] = heads[at_size + row]
                            n += 1
                            heads[at_decoded + row] = 1
                if error:
                    heads[at_error + row] = error
                    heads[at_position + row] = p
                    errors += 1
            row += 1
            continue
        log_append_time = attributes & APPEND_TIME_BIT != 0
        base_timestamp = heads[at_max_timestamp + row] if log_append_time else heads[at_base_timestamp + row]
        base_sequence = heads[at_sequence + row]
        if count < 0:
            error = 22
        while decoded < count:
            if cython.compiled and n < room and len(buf):
                start = n
                n = kafkalog_ordinary_records(
                    cython.address(buf[0]), len(buf), cython.address(p), stop, cython.address(recs[0]), room, n,
                    min(room, n + count - decoded), row, base_offset, base_timestamp, 0 if log_append_time else -1,
                    base_sequence,
                )  # fmt: skip
                decoded += n - start
                if decoded == count:
                    break
            if n >= room:
                heads[at_start + row] = p
                heads[at_decoded + row] = decoded
                return n, row, NO_ROOM, errors
            start = p
            if p >= stop:
                error = 20
                break
            length, q = varint(buf, p, stop)
            if q < 0:
                error = 1
                break
            if length < 6 or length > stop - q:
                error = 9 if length < 0 else 10 if length < 6 else 11
                break
            end = q + length
            four = int32(buf, q)  # there are 6 bytes or more
            if 0 <= four < 8388608 and four & 32896 == 0:  # no attributes, then three numbers of one byte
                timestamp = (four >> 17) ^ -((four >> 16) & 1)
                delta = ((four >> 9) & 63) ^ -((four >> 8) & 1)
                key_size = ((four >> 1) & 63) ^ -(four & 1)
                q += 4
            else:
                timestamp, q = varlong(buf, q + 1, end)
                if q < 0:
                    error = 2
                    break
                delta, q = varint(buf, q, end)
                if q < 0:
                    error = 3
                    break
                key_size, q = varint(buf, q, end)
                if q < 0:
                    error = 4
                    break
            if key_size > end - q:
                error = 12
                break
            key_start = q
            if key_size > 0:
                q += key_size
            value_size, q = varint(buf, q, end)
            if q < 0:
                error = 5
                break
            if value_size > end - q:
                error = 13
                break
            value_start = q
            if value_size > 0:
                q += value_size
            headers_count, q = varint(buf, q, end)
            if q < 0:
                error = 6
                break
            if headers_count < 0 or headers_count > end - q:
                error = 14 if headers_count < 0 else 15
                break
            headers_start = q
            h = headers_count
            while h > 0:
                length, q = varint(buf, q, end)
                if q < 0:
                    error = 7
                    break
                if length < 0 or length > end - q:
                    error = 16 if length < 0 else 17
                    break
                length, q = varint(buf, q + length, end)
                if q < 0:
                    error = 8
                    break
                if length > end - q:
                    error = 18
                    break
                if length > 0:
                    q += length
                h -= 1
            if error:
                break
            if q != end:
                error = 19
                break
            k = n
            recs[k] = row
            k += room
            recs[k] = add64(base_offset, delta)
            k += room
            recs[k] = base_timestamp if log_append_time else add64(base_timestamp, timestamp)
            k += room
            recs[k] = add_sequence(base_sequence, delta)
            k += room
            recs[k] = key_start
            k += room
            recs[k] = key_size if key_size >= 0 else -1
            k += room
            recs[k] = value_start
            k += room
            recs[k] = value_size if value_size >= 0 else -1
            k += room
            recs[k] = headers_start
            k += room
            recs[k] = headers_count
            k += room
            recs[k] = end - start
            n += 1
            decoded += 1
            p = end
        if not error and p != stop:
            error = 21
        heads[at_start + row] = p
        heads[at_decoded + row] = decoded
        if error:
            heads[at_error + row] = error
            heads[at_position + row] = p
            errors += 1
        row += 1
    return n, row, DONE, errors


# What is odd about records that Kafka reads all the same; ``buffers.py`` has the rules of its source.
#
# Compiled, ``ordinary_records.h`` first says which batches are in order, so that what is here sees the others only.


FOUND = 6  # cells that ``find`` fills:
if not cython.compiled:  # else they are C's, by the .pxd
    WHOLE, SMALLEST_DELTA, LARGEST_DELTA, NEWEST_DELTA, WHOLE_END, MARKERS = range(FOUND)

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
    found[WHOLE] = n
    if n:
        found[SMALLEST_DELTA] = smallest
        found[LARGEST_DELTA] = largest
        found[NEWEST_DELTA] = newest
    found[WHOLE_END] = whole_end
    found[MARKERS] = markers
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
        if count > 0 and base >= 0 and attributes & MARKER_BITS != CONTROL_BIT:
            highest = last - base if last >= base else 9223372036854775807
            if count == kafkalog_ordinary_in_order(
                cython.address(buf[0]), len(buf), start, stop, count, highest, attributes & CONTROL_BIT != 0,
                cython.address(newest),
            ) and (attributes & APPEND_TIME_BIT or is_newest(newest, heads, capacity, row)):  # fmt: skip
                return False
    flags = look(buf, start, stop, count, found)
    if flags or found[WHOLE] != count or found[WHOLE_END] != stop:
        return True
    if attributes & CONTROL_BIT and (found[MARKERS] != count or not attributes & TRANSACTIONAL_BIT):
        return True
    if count:
        base = heads[BASE_OFFSET * capacity + row]
        last = heads[LAST_OFFSET * capacity + row]
        if found[SMALLEST_DELTA] < 0 or base < 0 or (last >= base and found[LARGEST_DELTA] > last - base):
            return True
        if not attributes & APPEND_TIME_BIT and not is_newest(found[NEWEST_DELTA], heads, capacity, row):
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
        if heads[ATTRIBUTES * capacity + row] & CODEC_BITS:
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
        if heads[ATTRIBUTES * capacity + row] & CODEC_BITS and not unpacked:
            if heads[MAGIC * capacity + row] < 2:
                return row
            row += 1
            continue
        if heads[VALID * capacity + row] and is_odd(buf, heads, capacity, row, found):
            return row
        heads[at_start + row] = -1
        row += 1
    return stop_row


# The streams of many batches to their content at once; ``buffers.py`` has the rules of its source.
#
# LZ4 frames and snappy blocks are decompressed here, as calls of their packages for each batch cost as much as that;
# for zstd its package is called. What is unusual is left to the packages: they alone say what is wrong with a stream.
# Interpreted, everything is.


ENOUGH = 1 << 18  # bytes of content that are decoded at once

ROOM = 5 << 18  # bytes of the output: a batch of a MiB after almost enough


def zstd_frame(payload: cython.const[cython.uchar][::1]) -> tuple[int, int]:
    """Say where the first data frame ends and how many bytes it states to have, 0 if it states none (RFC 8878, 3.1.1).

    The end is below 0 if the frame is cut, which the package accepts silently, and 0 if all frames are skippable.
    """
    start: cython.Py_ssize_t = _after_skippable(payload, 0, len(payload))
    if start >= len(payload):
        return (0 if start == len(payload) else -1), 0
    return _end_of_zstd(payload, start, len(payload)), _size_of_zstd(payload, start, len(payload))


@cython.cfunc
@cython.exceptval(check=False)
def _after_skippable(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return where the first frame that is not skippable begins, `stop` or beyond if there is none."""
    while stop - at >= 4 and buf[at + 1] == 0x2A and buf[at + 2] == 0x4D and buf[at + 3] == 0x18 and buf[at] >> 4 == 5:
        if stop - at < 8:
            return stop + 1
        at += 8 + _little(buf, at + 4, 4)
    return at


@cython.cfunc
@cython.exceptval(check=False)
def _little(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.longlong:
    i: cython.Py_ssize_t
    value: cython.longlong = 0
    for i in range(width - 1, -1, -1):
        value = value * 256 + buf[at + i]
    return value


@cython.cfunc
@cython.exceptval(check=False)
def _size_of_zstd(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.longlong:
    """Return how many bytes a frame states to have, -1 if that can't be: it is beyond 2**62, or cut."""
    width: cython.Py_ssize_t
    if stop - at < 18 and (stop - at < 6 or stop - at < _header_of_zstd(buf, at)):
        return -1
    width = _width_of_zstd(buf[at + 4])
    at += _header_of_zstd(buf, at) - width
    if width == 8 and buf[at + 7] >= 64:
        return -1
    return _little(buf, at, width) + (256 if width == 2 else 0)


@cython.cfunc
@cython.exceptval(check=False)
def _width_of_zstd(descriptor: cython.Py_ssize_t) -> cython.Py_ssize_t:
    return 1 << (descriptor >> 6) if descriptor >> 6 else descriptor >> 5 & 1


@cython.cfunc
@cython.exceptval(check=False)
def _header_of_zstd(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the size of a frame's header, whose first five bytes are there."""
    descriptor: cython.Py_ssize_t = buf[at + 4]
    names: cython.Py_ssize_t = (1 << (descriptor & 3)) >> 1
    return 5 + (1 - (descriptor >> 5 & 1)) + names + _width_of_zstd(descriptor)


@cython.cfunc
@cython.exceptval(check=False)
def _end_of_zstd(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return where a frame ends, below 0 if it does not."""
    block: cython.Py_ssize_t
    sums: cython.Py_ssize_t
    if stop - at < 6:
        return -1
    sums = 4 * (buf[at + 4] >> 2 & 1)
    at += _header_of_zstd(buf, at)
    while at + 3 <= stop:
        block = _little(buf, at, 3)
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)  # a repeated byte takes one
        if block & 1:
            return at + sums if at + sums <= stop else -1
    return -1


def unpack(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    out: cython.uchar[::1],
    limit: cython.Py_ssize_t,
    source: memoryview,
    target: memoryview,
    zstd: Callable[[memoryview, int], bytes | None],
) -> tuple[int, int, int]:
    """Decompress the batches of magic 2 from `row` on, each to at most `limit` bytes, and set their sections to these.

    Answers (row, bytes, records): the first row that is not decompressed, because there is enough, or because it is not
    of these codecs, has no room, is skipped or unusual; how many bytes of `out` are used; how many records these rows
    may have, at most one for each 7 bytes. `source` and `target` are `buf` and `out`; `zstd` decompresses a frame to at
    most so many bytes, if it can.
    """
    at: cython.Py_ssize_t = 0
    records: cython.longlong = 0
    if cython.compiled:
        start: cython.Py_ssize_t
        size: cython.Py_ssize_t
        end: cython.Py_ssize_t
        most: cython.Py_ssize_t
        room: cython.Py_ssize_t = len(out)
        enough: cython.Py_ssize_t = ENOUGH
        left: cython.Py_ssize_t
        codec: cython.longlong
        count: cython.longlong
        declared: cython.longlong
        if len(heads) < capacity * len(BATCH_COLUMNS) or stop_row > capacity or row < 0 or limit < 0:
            raise IndexError
        while row < stop_row and at < enough and room - at > 0:
            start = heads[SECTION_START * capacity + row]
            size = heads[SECTION_STOP * capacity + row] - start
            codec = heads[ATTRIBUTES * capacity + row] & CODEC_BITS
            if start < 0 or size <= 0 or size > len(buf) - start or codec < 2 or codec > 4:
                break
            if heads[MAGIC * capacity + row] < 2 or heads[ERROR * capacity + row]:
                break
            most = at + limit if limit < room - at else room
            left = len(buf) - start
            if codec == 2:
                end = kafkalog_snappy_frame(
                    cython.address(out[0]), at, most, room, cython.address(buf[start]), size, left
                )
            elif codec == 3:
                end = kafkalog_lz4_frame(cython.address(out[0]), at, most, room, cython.address(buf[start]), size, left)
            else:
                end = -1
                # Its package makes room for what a frame may have: not for a MiB each time.
                most = min(most - at, size * 4 if size > 16384 else 65536)
                declared = _size_of_zstd(buf, start, start + size)
                if 0 <= declared <= most and most > 0 and _end_of_zstd(buf, start, start + size) == start + size:
                    content = zstd(source[start : start + size], most)
                    if content is not None and len(content) <= most:
                        end = at + len(content)
                        target[at:end] = content
            if end < 0:
                break
            heads[SECTION_START * capacity + row] = at
            heads[SECTION_STOP * capacity + row] = end
            count = heads[COUNT * capacity + row]
            count = min(count, (end - at) // 7)
            if count > 0:
                records += count
            at = end
            row += 1
    return row, at, records


# Which records a compaction keeps, and how large rewritten batches become; ``buffers.py`` has the rules of its source.
#
# The cleaner's offset map (SkimpyOffsetMap) holds the hash of each key and the newest offset that has it. Here a hash
# has 63 bits, made with a secret multiplier: who writes the evidence can't make keys collide. `hashes` are 0 where a
# slot is empty; `newest` are the offsets beside them. Sums are by the rows of batches: cell (sum, row) is ``sums[sum *
# capacity + row]``.


SUMS: Final = (
    "kept",  # records
    "tombstones",  # among them
    "plain",  # bytes of the records kept, written again with the first one's timestamp as base
    "dated",  # the same with a new delete horizon as base
    "first",  # the first one's timestamp
)

_FULL: Final = 2**64 - 1


def put(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    hashes: cython.longlong[::1],
    newest: cython.longlong[::1],
    state: cython.longlong[::1],
) -> int:
    """Put the keys of records into the map, from the `first` one on; answer the next one there is no room for, or all.

    `state` is (entries, the most of them, the secret, the first offset that counts).
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    end: cython.Py_ssize_t
    s: cython.Py_ssize_t
    mask: cython.Py_ssize_t = len(hashes) - 1
    size: cython.longlong
    offset: cython.longlong
    t: cython.longlong
    h: cython.ulonglong
    w: cython.ulonglong
    full: cython.ulonglong = _FULL
    secret: cython.ulonglong = state[2]
    if len(recs) < room * len(RECORD_COLUMNS) or count > room or len(newest) < len(hashes) or len(hashes) & mask:
        raise IndexError
    for i in range(first, count):
        size = recs[KEY_SIZE * room + i]
        offset = recs[OFFSET * room + i]
        if size < 0 or offset < state[3]:
            continue
        k = recs[KEY_START * room + i]
        if k < 0 or k > len(buf) or size > len(buf) - k:
            raise IndexError
        h = secret ^ size
        end = k + size
        while k + 4 <= end:
            w = buf[k + 3]
            w = (w << 24) | (buf[k + 2] << 16) | (buf[k + 1] << 8) | buf[k]
            h = ((h ^ w) * secret) & full
            h = h ^ (h >> 32)
            k += 4
        while k < end:
            w = buf[k]
            h = ((h ^ w) * secret) & full
            h = h ^ (h >> 32)
            k += 1
        h = (h * secret) & full
        h = h ^ (h >> 32)
        t = h >> 1
        if t == 0:
            t = 1
        s = t & mask
        while hashes[s] != t and hashes[s] != 0:
            s = (s + 1) & mask
        if hashes[s] == 0:
            if state[0] >= state[1] or (state[0] + 1) * 2 > len(hashes):
                return i
            hashes[s] = t
            state[0] += 1
        newest[s] = offset
    return max(first, count)


def move(
    hashes: cython.const[cython.longlong][::1],
    newest: cython.const[cython.longlong][::1],
    to_hashes: cython.longlong[::1],
    to_newest: cython.longlong[::1],
) -> None:
    """Put all entries of a map into a larger one that is empty."""
    n: cython.Py_ssize_t
    s: cython.Py_ssize_t
    mask: cython.Py_ssize_t = len(to_hashes) - 1
    if len(newest) < len(hashes) or len(to_newest) < len(to_hashes) or len(to_hashes) & mask:
        raise IndexError
    if len(to_hashes) <= len(hashes):
        raise IndexError
    for n in range(len(hashes)):
        if hashes[n]:
            s = hashes[n] & mask
            while to_hashes[s]:
                s = (s + 1) & mask
            to_hashes[s] = hashes[n]
            to_newest[s] = newest[n]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _width(v: cython.longlong) -> cython.Py_ssize_t:
    """Return the bytes of a number as zigzag varlong."""
    z: cython.longlong = (v << 1) ^ (v >> 63) if -1073741824 <= v < 1073741824 else -1
    n: cython.Py_ssize_t = 1
    if z >= 0:
        while z >= 128:
            z >>= 7
            n += 1
        return n
    v = v if v >= 0 else -(v + 1)
    v >>= 6
    while v:
        v >>= 7
        n += 1
    return n


def keep(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    outer: cython.Py_ssize_t,
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    hashes: cython.const[cython.longlong][::1],
    newest: cython.const[cython.longlong][::1],
    sums: cython.longlong[::1],
    sums_capacity: cython.Py_ssize_t,
    conditions: cython.const[cython.longlong][::1],
    kept: cython.uchar[::1],
) -> None:
    """Add to the `sums` what the cleaner keeps of these records, and set `kept` to 1 for each that stays.

    `outer` is the row of the wrapper that the records are in, -1 without one. `conditions` are (the secret, the time of
    the pass, a new delete horizon, the offset below which tombstones of batches without a horizon go, the first offset
    that is left as it is).
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    end: cython.Py_ssize_t
    s: cython.Py_ssize_t
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    body: cython.longlong
    size: cython.longlong
    key_size: cython.longlong
    offset: cython.longlong
    timestamp: cython.longlong
    base: cython.longlong
    attributes: cython.longlong
    magic: cython.longlong
    t: cython.longlong
    h: cython.ulonglong
    w: cython.ulonglong
    full: cython.ulonglong = _FULL
    secret: cython.ulonglong = conditions[0]
    mask: cython.Py_ssize_t = len(hashes) - 1
    if len(recs) < room * len(RECORD_COLUMNS) or count > room or len(newest) < len(hashes) or len(hashes) & mask:
        raise IndexError
    if len(heads) < capacity * len(BATCH_COLUMNS) or len(sums) < sums_capacity * len(SUMS) or len(kept) < count:
        raise IndexError
    if len(conditions) < 5 or outer >= sums_capacity:
        raise IndexError
    for i in range(count):
        kept[i] = 0
        row = recs[BATCH * room + i]
        at = outer if outer >= 0 else row
        if row < 0 or row >= capacity or at >= sums_capacity:
            raise IndexError
        offset = recs[OFFSET * room + i]
        attributes = heads[ATTRIBUTES * capacity + row]
        magic = heads[MAGIC * capacity + row]
        base = heads[BASE_TIMESTAMP * capacity + row]
        if offset < conditions[4]:
            key_size = recs[KEY_SIZE * room + i]
            if key_size < 0:
                continue
            k = recs[KEY_START * room + i]
            if k < 0 or k > len(buf) or key_size > len(buf) - k:
                raise IndexError
            h = secret ^ key_size
            end = k + key_size
            while k + 4 <= end:
                w = buf[k + 3]
                w = (w << 24) | (buf[k + 2] << 16) | (buf[k + 1] << 8) | buf[k]
                h = ((h ^ w) * secret) & full
                h = h ^ (h >> 32)
                k += 4
            while k < end:
                w = buf[k]
                h = ((h ^ w) * secret) & full
                h = h ^ (h >> 32)
                k += 1
            h = (h * secret) & full
            h = h ^ (h >> 32)
            t = h >> 1
            if t == 0:
                t = 1
            s = t & mask
            while hashes[s] != t and hashes[s] != 0:
                s = (s + 1) & mask
            if hashes[s] != 0 and offset < newest[s]:
                continue
            if recs[VALUE_SIZE * room + i] < 0:
                if magic >= 2 and attributes & HORIZON_BIT:
                    if base <= conditions[1]:
                        continue
                elif offset < conditions[3]:
                    continue
        kept[i] = 1
        size = recs[RECORD_SIZE * room + i]
        timestamp = recs[TIMESTAMP * room + i]
        if sums[at] == 0:
            sums[4 * sums_capacity + at] = timestamp
        sums[at] += 1
        if recs[VALUE_SIZE * room + i] < 0:
            sums[sums_capacity + at] += 1
        if magic < 2:
            sums[2 * sums_capacity + at] += size
            sums[3 * sums_capacity + at] += size
            continue
        body = size - 1  # without the length before it
        k = 1
        while k < 5 and _width(body) != k:
            k += 1
            body -= 1
        # With LogAppendTime the deltas are not what the timestamps say.
        body -= 1 if attributes & APPEND_TIME_BIT else _width(add64(timestamp, -base))
        if attributes & HORIZON_BIT:
            t = size
        elif attributes & APPEND_TIME_BIT:
            t = body + 1
            t += _width(t)
        else:
            t = body + _width(add64(timestamp, -sums[4 * sums_capacity + at]))
            t += _width(t)
        sums[2 * sums_capacity + at] += t
        if attributes & HORIZON_BIT:
            t = size
        else:
            t = body + _width(add64(timestamp, -conditions[2]))
            t += _width(t)
        sums[3 * sums_capacity + at] += t
