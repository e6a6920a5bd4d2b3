# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The records of batches, messages of magic 0 and 1 among them: into a table, which are wanted, odd or kept.

``buffers.py`` has the rules of its source.

An error's number is its index in ``segments.decoded.RECORD_ERRORS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.numbers import add64, add_sequence, end_marker, int16, int32, varint, varlong

__all__ = [
    "DONE",
    "ENOUGH",
    "NO_ROOM",
    "PACKED",
    "ROOM",
    "controls",
    "copies",
    "copies_of_headers",
    "find_oddities",
    "holding",
    "in_order",
    "keep",
    "leave_out",
    "move",
    "next_odd",
    "put",
    "read_records",
    "unpack",
    "wanted_batches",
    "wanted_records",
    "without_control",
    "zstd_frame",
]


# Why ``read`` stopped: all rows done, no room for more, or a row whose records must be decompressed first.
DONE, NO_ROOM, PACKED = range(3)


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def after_headers(
    buf: cython.const[cython.uchar][::1], q: cython.Py_ssize_t, end: cython.Py_ssize_t, count: cython.longlong
):
    """Pass over a record's headers: (0 or the error, position after them)."""
    size: cython.longlong
    while count > 0:
        size, q = varint(buf, q, end)
        if q < 0:
            return HEADER_KEY_SIZE_UNENDING, q
        if size < 0 or size > end - q:
            return HEADER_KEY_NULL if size < 0 else HEADER_KEY_PAST_END, q
        size, q = varint(buf, q + size, end)
        if q < 0:
            return HEADER_VALUE_SIZE_UNENDING, q
        if size > end - q:
            return HEADER_VALUE_PAST_END, q
        if size > 0:
            q += size
        count -= 1
    return 0, q


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def read_record(
    buf: cython.const[cython.uchar][::1],
    p: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    recs: cython.longlong[:, ::1],
    n: cython.Py_ssize_t,
):
    """Read the record at `p`, of the batch `row`, into row `n` of `recs`: (0 or the error, position after it)."""
    q: cython.Py_ssize_t
    end: cython.Py_ssize_t
    size: cython.longlong
    timestamp: cython.longlong
    delta: cython.longlong
    error: cython.longlong
    if p >= stop:
        return RECORDS_END_EARLY, p
    size, q = varint(buf, p, stop)
    if q < 0:
        return RECORD_SIZE_UNENDING, p
    if size < 6 or size > stop - q:
        return RECORD_SIZE_NEGATIVE if size < 0 else RECORD_SIZE_TOO_SMALL if size < 6 else RECORD_PAST_END, p
    end = q + size
    recs[BATCH, n] = row
    recs[RECORD_SIZE, n] = end - p
    timestamp, q = varlong(buf, q + 1, end)  # after the attributes
    if q < 0:
        return TIMESTAMP_DELTA_UNENDING, p
    delta, q = varint(buf, q, end)
    if q < 0:
        return OFFSET_DELTA_UNENDING, p
    recs[OFFSET, n] = add64(heads[BASE_OFFSET, row], delta)
    if heads[ATTRIBUTES, row] & APPEND_TIME_BIT:
        recs[TIMESTAMP, n] = heads[MAX_TIMESTAMP, row]
    else:
        recs[TIMESTAMP, n] = add64(heads[BASE_TIMESTAMP, row], timestamp)
    recs[SEQUENCE, n] = add_sequence(heads[BASE_SEQUENCE, row], delta)
    size, q = varint(buf, q, end)
    if q < 0:
        return KEY_SIZE_UNENDING, p
    if size > end - q:
        return KEY_PAST_END, p
    recs[KEY_START, n] = q
    recs[KEY_SIZE, n] = size if size >= 0 else -1
    if size > 0:
        q += size
    size, q = varint(buf, q, end)
    if q < 0:
        return VALUE_SIZE_UNENDING, p
    if size > end - q:
        return VALUE_PAST_END, p
    recs[VALUE_START, n] = q
    recs[VALUE_SIZE, n] = size if size >= 0 else -1
    if size > 0:
        q += size
    size, q = varint(buf, q, end)
    if q < 0:
        return HEADER_COUNT_UNENDING, p
    if size < 0 or size > end - q:
        return HEADER_COUNT_NEGATIVE if size < 0 else HEADER_COUNT_TOO_HIGH, p
    recs[HEADERS_START, n] = q
    recs[HEADERS_COUNT, n] = size
    error, q = after_headers(buf, q, end, size)
    if error:
        return error, p
    if q != end:
        return RECORD_REST, p
    return 0, end


@cython.cfunc
@cython.exceptval(check=False)
def read_batch(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
    recs: cython.longlong[:, ::1],
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Read the records of a batch of magic 2 into rows from `n` on while there is room; answer the next row."""
    room: cython.Py_ssize_t = recs.shape[1]
    p: cython.Py_ssize_t = heads[SECTION_START, row]
    stop: cython.Py_ssize_t = min(heads[SECTION_STOP, row], len(buf))
    count: cython.longlong = heads[COUNT, row]
    decoded: cython.longlong = heads[DECODED, row]
    error: cython.longlong = RECORDS_COUNT_BELOW_0 if count < 0 else 0
    while decoded < count:
        if n >= room:
            break
        error, p = read_record(buf, p, stop, heads, row, recs, n)
        if error:
            break
        n += 1
        decoded += 1
    if not error and decoded == count and p != stop:
        error = RECORDS_REST
    heads[SECTION_START, row] = p
    heads[DECODED, row] = decoded
    if error:
        heads[ERROR, row] = error
        heads[ERROR_POSITION, row] = p
    return n


@cython.cfunc
@cython.exceptval(check=False)
def read_message(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
    recs: cython.longlong[:, ::1],
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Read a message of magic 0 or 1 into row `n`; answer the next row."""
    p: cython.Py_ssize_t = heads[SECTION_START, row]
    stop: cython.Py_ssize_t = min(heads[SECTION_STOP, row], len(buf))
    size: cython.longlong
    error: cython.longlong = 0
    if stop - p < 8:
        error = MESSAGE_TOO_SHORT
    else:
        size = int32(buf, p)
        if size > stop - p - 8:
            error = MESSAGE_KEY_PAST_END
        else:
            recs[KEY_START, n] = p + 4
            recs[KEY_SIZE, n] = size if size >= 0 else -1
            p += 4 + (size if size > 0 else 0)
            size = int32(buf, p)
            if size > stop - p - 4:
                error = MESSAGE_VALUE_PAST_END
            else:
                recs[VALUE_START, n] = p + 4
                recs[VALUE_SIZE, n] = size if size >= 0 else -1
                p += 4 + (size if size > 0 else 0)
                if p != stop:
                    error = MESSAGE_REST
                recs[BATCH, n] = row
                recs[OFFSET, n] = heads[BASE_OFFSET, row]
                recs[TIMESTAMP, n] = heads[MAX_TIMESTAMP, row]
                recs[SEQUENCE, n] = -1
                recs[HEADERS_START, n] = p
                recs[HEADERS_COUNT, n] = 0
                recs[RECORD_SIZE, n] = heads[SIZE, row]
                heads[DECODED, row] = 1
                n += 1
    if error:
        heads[ERROR, row] = error
        heads[ERROR_POSITION, row] = p
    return n


def read_records(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    unpacked: cython.bint,
    recs: cython.longlong[:, ::1],
) -> tuple[int, int, int, int]:
    """Decode the records of the batches in rows [`row`, `stop_row`) of `heads` into `recs`.

    Answers (records, row, why it stopped, rows with an error): ``DONE``; ``NO_ROOM``: call again with the same row to
    continue; ``PACKED``: the row's records are compressed: call again for that row alone with the decompressed bytes as
    `buf`, the row's section set to them, and `unpacked`. A row whose section starts below 0 is skipped. A malformed
    record ends its batch; the row's ``error`` and ``error_position`` report it, and the records before it are kept.
    """
    n: cython.Py_ssize_t = 0
    errors: cython.Py_ssize_t = 0
    if len(heads) < BATCH_CELLS or len(recs) < RECORD_CELLS or stop_row > heads.shape[1]:
        raise IndexError
    while row < stop_row:
        if heads[SECTION_START, row] < 0 or heads[ERROR, row]:
            row += 1
            continue
        if heads[ATTRIBUTES, row] & CODEC_BITS and not unpacked:
            return n, row, PACKED, errors
        if heads[MAGIC, row] > 1:
            n = read_batch(buf, heads, row, recs, n)
            if heads[DECODED, row] < heads[COUNT, row] and not heads[ERROR, row]:
                return n, row, NO_ROOM, errors
        elif heads[DECODED, row] < heads[COUNT, row]:
            if n >= recs.shape[1]:
                return n, row, NO_ROOM, errors
            n = read_message(buf, heads, row, recs, n)
        errors += heads[ERROR, row] != 0
        row += 1
    return n, row, DONE, errors


# What is odd about records that Kafka reads all the same.
#
# Compiled, ``ordinary_records.h`` first says which batches are in order, so that what is here sees the others only.


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
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t, cython.longlong))
def looked(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, end: cython.Py_ssize_t):
    """Read a varint: (value, position after it or -1, what is odd about it)."""
    v: cython.longlong
    q: cython.Py_ssize_t
    v, q = varint(buf, p, end)
    return v, q, odd_number(buf, p, q, 5, 15) if q > 0 else 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t, cython.longlong))
def looked_bytes(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, end: cython.Py_ssize_t):
    """Pass over bytes after their size: (size, position after them or -1, what is odd about the size)."""
    size: cython.longlong
    q: cython.Py_ssize_t
    odd: cython.longlong
    size, q, odd = looked(buf, p, end)
    if q < 0 or size > end - q:
        return size, -1, odd
    return size, q + (size if size > 0 else 0), odd | (BELOW_NULL if size < -1 else 0)


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def look_at_headers(buf: cython.const[cython.uchar][::1], q: cython.Py_ssize_t, end: cython.Py_ssize_t):
    """Look at a record's headers: (what is odd, position after them or -1)."""
    flags: cython.longlong
    odd: cython.longlong
    parts: cython.longlong
    size: cython.longlong
    parts, q, flags = looked(buf, q, end)
    if q < 0 or parts < 0 or parts > end - q:
        return 0, -1
    parts *= 2
    while parts > 0:
        size, q, odd = looked_bytes(buf, q, end)
        if q < 0 or (size < 0 and parts & 1 == 0):
            return flags, -1
        flags |= odd
        parts -= 1
    return flags, q


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def look_at_record(
    buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, stop: cython.Py_ssize_t, found: cython.longlong[::1]
):
    """Look at the record at `p`: (what is odd, position after it or -1); `found` gets its two deltas."""
    flags: cython.longlong
    odd: cython.longlong
    q: cython.Py_ssize_t
    end: cython.Py_ssize_t
    key: cython.Py_ssize_t
    size: cython.longlong
    key_size: cython.longlong
    size, q, flags = looked(buf, p, stop)
    if q < 0 or size < 6 or size > stop - q:
        return 0, -1
    end = q + size
    if buf[q] != 0:
        flags |= ATTRIBUTES_SET
    p = q + 1
    found[TIMESTAMP_DELTA], q = varlong(buf, p, end)
    if q < 0:
        return flags, -1
    flags |= odd_number(buf, p, q, 10, 1)
    found[OFFSET_DELTA], q, odd = looked(buf, q, end)
    if q < 0:
        return flags, -1
    flags |= odd
    key_size, q, odd = looked_bytes(buf, q, end)
    if q < 0:
        return flags, -1
    flags |= odd
    key = q - key_size
    size, q, odd = looked_bytes(buf, q, end)
    if q < 0:
        return flags, -1
    flags |= odd
    # A marker as every broker writes it; the value ends at `q`.
    if key_size == 4 and size == 6 and end_marker(buf, key, 4, q - 6, 6) >= 0 and int16(buf, key) == 0:
        found[MARKERS] += int16(buf, q - 6) == 0
    odd, q = look_at_headers(buf, q, end)
    return flags | odd, end if q == end else -1


@cython.cfunc
@cython.exceptval(check=False)
def look(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    count: cython.longlong,
    found: cython.longlong[::1],
) -> cython.int:
    """Look at a batch's records; see ``find``."""
    flags: cython.longlong = 0
    odd: cython.longlong
    n: cython.longlong = 0
    end: cython.Py_ssize_t = start
    before: cython.longlong = 0
    delta: cython.longlong
    found[MARKERS] = 0
    while n < count:
        odd, end = look_at_record(buf, start, stop, found)
        flags |= odd
        if end < 0:
            break
        start = end
        delta = found[OFFSET_DELTA]
        if n == 0:
            found[SMALLEST_DELTA] = delta
            found[LARGEST_DELTA] = delta
            found[NEWEST_DELTA] = found[TIMESTAMP_DELTA]
        else:
            if delta <= before:
                flags |= REPEATED if delta == before else FALLING
            found[SMALLEST_DELTA] = min(found[SMALLEST_DELTA], delta)
            found[LARGEST_DELTA] = max(found[LARGEST_DELTA], delta)
            found[NEWEST_DELTA] = max(found[NEWEST_DELTA], found[TIMESTAMP_DELTA])
        before = delta
        n += 1
    found[WHOLE_RECORDS] = n
    found[WHOLE_END] = start
    return flags


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def is_newest(
    delta: cython.longlong,
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Say whether a batch's largest timestamp is this far from its base, without a sum that wraps."""
    since: cython.longlong = heads[BASE_TIMESTAMP, row]
    newest: cython.longlong = add64(since, delta)
    return newest == heads[MAX_TIMESTAMP, row] and (since ^ newest) & (delta ^ newest) >= 0


@cython.cfunc
@cython.exceptval(check=False)
def is_odd(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> cython.bint:
    """Say whether the records of a batch are malformed or may break a rule; `buf` has them uncompressed."""
    start: cython.Py_ssize_t = heads[SECTION_START, row]
    stop: cython.Py_ssize_t = heads[SECTION_STOP, row]
    attributes: cython.longlong = heads[ATTRIBUTES, row]
    count: cython.longlong
    base: cython.longlong
    last: cython.longlong
    newest: cython.longlong = 0
    highest: cython.longlong
    size: cython.longlong
    flags: cython.longlong
    stop = min(stop, len(buf))
    if heads[MAGIC, row] < 2:
        if stop - start < 8:
            return True
        size = int32(buf, start)
        if size < -1 or size > stop - start - 8:
            return True
        start += 4 + (size if size > 0 else 0)
        size = int32(buf, start)
        return size > stop - start - 4 or start + 4 + (size if size > 0 else 0) != stop
    count = heads[COUNT, row]
    if cython.compiled:
        base = heads[BASE_OFFSET, row]
        last = heads[LAST_OFFSET, row]
        if count > 0 and base >= 0 and attributes & MARKER_BITS != CONTROL_BIT:
            highest = last - base if last >= base else 9223372036854775807
            if count == kafkalog_ordinary_in_order(
                cython.address(buf[0]), len(buf), start, stop, count, highest, attributes & CONTROL_BIT != 0,
                cython.address(newest),
            ) and (attributes & APPEND_TIME_BIT or is_newest(newest, heads, row)):  # fmt: skip
                return False
    flags = look(buf, start, stop, count, found)
    if flags or found[WHOLE_RECORDS] != count or found[WHOLE_END] != stop:
        return True
    if attributes & CONTROL_BIT and (found[MARKERS] != count or not attributes & TRANSACTIONAL_BIT):
        return True
    if count:
        base = heads[BASE_OFFSET, row]
        last = heads[LAST_OFFSET, row]
        if found[SMALLEST_DELTA] < 0 or base < 0 or (last >= base and found[LARGEST_DELTA] > last - base):
            return True
        if not attributes & APPEND_TIME_BIT and not is_newest(found[NEWEST_DELTA], heads, row):
            return True
    return False


def in_order(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> bool:
    """Say whether nothing needs to be said about the records of `count` batches, none of which is compressed."""
    row: cython.Py_ssize_t
    if len(heads) < BATCH_CELLS or len(found) < FOUND_CELLS or count > heads.shape[1]:
        raise IndexError
    for row in range(count):
        if heads[SECTION_START, row] < 0 or heads[ERROR, row]:
            continue
        if heads[ATTRIBUTES, row] & CODEC_BITS:
            return False
        if heads[VALID, row] and is_odd(buf, heads, row, found):
            return False
    return True


def find_oddities(
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
    if len(found) < FOUND_CELLS or start < 0:
        raise IndexError
    return look(buf, start, stop, count, found)


def next_odd(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[:, ::1],
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
    if len(heads) < BATCH_CELLS or len(found) < FOUND_CELLS or row < 0 or row > stop_row or stop_row > heads.shape[1]:
        raise IndexError
    while row < stop_row:
        if heads[SECTION_START, row] < 0 or heads[ERROR, row]:
            row += 1
            continue
        if heads[ATTRIBUTES, row] & CODEC_BITS and not unpacked:
            if heads[MAGIC, row] < 2:
                return row
            row += 1
            continue
        if heads[VALID, row] and is_odd(buf, heads, row, found):
            return row
        heads[SECTION_START, row] = -1
        row += 1
    return stop_row


# Which batches and records are wanted: they meet conditions.
#
# The conditions are seven int64, by ``FIRST_WANTED`` and the names after it.


def wanted_batches(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    conditions: cython.const[cython.longlong][::1],
    picks: cython.longlong[::1],
) -> int:
    """Write the rows of the batches that may hold a selected record to `picks`; answer how many."""
    n: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    magic: cython.longlong
    attributes: cython.longlong
    base: cython.longlong
    time: cython.longlong
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or len(picks) < count or len(conditions) < CONDITIONS:
        raise IndexError
    for row in range(count):
        magic = heads[MAGIC, row]
        attributes = heads[ATTRIBUTES, row]
        base = heads[BASE_OFFSET, row]
        if heads[LAST_OFFSET, row] < conditions[FIRST_WANTED]:
            continue
        if base > conditions[LAST_WANTED] and (base != NONE or magic > 1):
            continue
        if conditions[HAS_PRODUCER] and heads[PRODUCER_ID, row] != conditions[WANTED_PRODUCER]:
            continue
        if conditions[ONLY_CONTROL] and (magic < 2 or attributes & CONTROL_BIT == 0):
            continue
        # A LogAppendTime in the header applies to every record: their timestamp deltas are ignored.
        if magic != 0 and attributes & APPEND_TIME_BIT:
            time = heads[MAX_TIMESTAMP, row]
            if time < conditions[FROM_TIMESTAMP] or time > conditions[TO_TIMESTAMP]:
                continue
        picks[n] = row
        n += 1
    return n


def holding(
    buf: cython.const[cython.uchar][::1],
    literal: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    start: cython.longlong,
    rows: cython.longlong[::1],
) -> int:
    """Write the numbers of the batches with these bytes to `rows`; answer how many. `start` is where `buf` begins."""
    n: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t  # the buffer may go on: what follows is looked at with its own batches
    next_at: cython.longlong
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or count > len(rows) or len(literal) == 0:
        raise IndexError
    if count == 0:
        return 0
    at = max(heads[POSITION, 0] - start, 0)
    end = min(heads[POSITION, count - 1] - start + heads[SIZE, count - 1], len(buf))
    while row < count:
        at = _place_of(buf, literal, at, end)
        if at < 0:
            break
        while row + 1 < count and heads[POSITION, row + 1] - start <= at:
            row += 1
        rows[n] = row
        n += 1
        if row + 1 == count:
            break
        next_at = heads[POSITION, row + 1] - start  # once is enough for a batch
        if next_at <= at or next_at > end:
            break
        at = next_at
    return n


@cython.cfunc
@cython.exceptval(check=False)
def _place_of(
    buf: cython.const[cython.uchar][::1],
    literal: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return where the bytes next are, -1 for nowhere. The C library looks for them ten times faster than Python."""
    if at >= end:
        return -1
    if cython.compiled:
        place: cython.p_const_uchar = cython.cast(
            cython.p_const_uchar,
            memmem(cython.address(buf[at]), end - at, cython.address(literal[0]), len(literal)),
        )
        return -1 if place == cython.NULL else place - cython.address(buf[0])
    return bytes(buf).find(bytes(literal), at, end)


def leave_out(
    heads: cython.longlong[:, ::1],
    count: cython.Py_ssize_t,
    picks: cython.const[cython.longlong][::1],
    picked: cython.Py_ssize_t,
    control_only: cython.bint,
) -> None:
    """Leave out the records of the rows that are not among the first `picked` of `picks`, which are in order.

    With `control_only` also of the batches that have no control records.
    """
    at: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or picked > len(picks):
        raise IndexError
    for row in range(count):
        if at < picked and picks[at] == row:
            at += 1
            if not control_only:
                continue
            if heads[MAGIC, row] > 1 and heads[ATTRIBUTES, row] & CONTROL_BIT:
                continue
        heads[SECTION_START, row] = -1


def copies(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][:, ::1],
    start_column: cython.Py_ssize_t,
    size_column: cython.Py_ssize_t,
    picks: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
) -> list[bytes | None]:
    """Copy the key or the value of each of the first `count` of `picks`; null is None."""
    found: list = []
    i: cython.Py_ssize_t
    start: cython.longlong
    size: cython.longlong
    if max(start_column, size_column) >= len(recs) or min(start_column, size_column) < 0 or count > len(picks):
        raise IndexError
    for i in range(count):
        if picks[i] < 0 or picks[i] >= recs.shape[1]:
            raise IndexError
        start = recs[start_column, picks[i]]
        size = recs[size_column, picks[i]]
        found.append(_copy(buf, start, size))
    return found


def copies_of_headers(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][:, ::1],
    picks: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
) -> list[tuple[tuple[bytes, bytes | None], ...]]:
    """Copy the headers of each of the first `count` of `picks`, which the kernel has checked."""
    found: list = []
    of_one: list
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    left: cython.longlong
    key: cython.Py_ssize_t
    value: cython.Py_ssize_t
    key_size: cython.longlong
    value_size: cython.longlong
    size: cython.Py_ssize_t = len(buf)
    if len(recs) < RECORD_CELLS or count > len(picks):
        raise IndexError
    for i in range(count):
        if picks[i] < 0 or picks[i] >= recs.shape[1]:
            raise IndexError
        left = recs[HEADERS_COUNT, picks[i]]
        if left <= 0:
            found.append(())
            continue
        of_one = []
        p = recs[HEADERS_START, picks[i]]
        while left > 0:
            if p < 0:
                raise IndexError
            key_size, key = varint(buf, p, size)
            if key < 0 or key_size < 0 or key_size > size - key:
                raise IndexError
            value_size, value = varint(buf, key + key_size, size)
            if value < 0:
                raise IndexError
            of_one.append((_copy(buf, key, key_size), _copy(buf, value, value_size)))
            p = value + value_size if value_size > 0 else value
            left -= 1
        found.append(tuple(of_one))
    return found


@cython.cfunc
def _copy(buf: cython.const[cython.uchar][::1], start: cython.longlong, size: cython.longlong) -> object:
    """Copy bytes; below 0 is the size of null."""
    if size < 0:
        return None
    if start < 0 or size > len(buf) - start:
        raise IndexError
    if cython.compiled and size:
        return cython.cast(cython.p_const_char, cython.address(buf[start]))[:size]
    return bytes(buf[start : start + size])


def wanted_records(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    conditions: cython.const[cython.longlong][::1],
    key: cython.const[cython.uchar][::1],
    has_key: cython.bint,
    picks: cython.longlong[::1],
) -> int:
    """Write the numbers of the selected records to `picks`; answer how many."""
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t = len(key)
    v: cython.longlong
    if len(recs) < RECORD_CELLS or count > recs.shape[1] or len(picks) < count or len(conditions) < CONDITIONS:
        raise IndexError
    for i in range(count):
        v = recs[OFFSET, i]
        if v < conditions[FIRST_WANTED] or v > conditions[LAST_WANTED]:
            continue
        v = recs[TIMESTAMP, i]
        if v < conditions[FROM_TIMESTAMP] or v > conditions[TO_TIMESTAMP]:
            continue
        if has_key:
            if recs[KEY_SIZE, i] != size:
                continue
            start = recs[KEY_START, i]
            if start < 0 or size > len(buf) - start:
                continue
            k = 0
            while k < size and buf[start + k] == key[k]:
                k += 1
            if k < size:
                continue
        picks[n] = i
        n += 1
    return n


def without_control(
    heads: cython.const[cython.longlong][:, ::1],
    recs: cython.const[cython.longlong][:, ::1],
    picks: cython.const[cython.longlong][::1],
    picked: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> int:
    """List those of the picked records that are not in control batches, and answer how many."""
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    batch: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    if len(heads) < BATCH_CELLS or len(recs) < RECORD_CELLS:
        raise IndexError
    if picked > len(picks) or picked > len(found):
        raise IndexError
    for i in range(picked):
        row = picks[i]
        if row < 0 or row >= recs.shape[1]:
            raise IndexError
        batch = recs[BATCH, row]
        if batch < 0 or batch >= heads.shape[1]:
            raise IndexError
        if heads[MAGIC, batch] < 2 or not heads[ATTRIBUTES, batch] & CONTROL_BIT:
            found[count] = row
            count += 1
    return count


def controls(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][:, ::1],
    recs: cython.const[cython.longlong][:, ::1],
    picks: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
    found: cython.longlong[:, ::1],
) -> int:
    """List the control records among the first `count` of `picks`; answer how many.

    `found`, a table, gets the columns ``CONTROL_…``: the record's number; what ``end_marker`` answers; the
    version in its key; the coordinator's epoch, or the type of one that ends nothing. Other cells below 0 in the
    second one are of malformed ones.
    """
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    row: cython.Py_ssize_t
    key: cython.Py_ssize_t
    value: cython.Py_ssize_t
    key_size: cython.longlong
    value_size: cython.longlong
    kind: cython.longlong
    size: cython.Py_ssize_t = len(buf)
    if len(heads) < BATCH_CELLS or len(recs) < RECORD_CELLS:
        raise IndexError
    if count > min(len(picks), found.shape[1]) or len(found) < CONTROL_COLUMNS:
        raise IndexError
    for at in range(count):
        i = picks[at]
        row = recs[BATCH, i]
        if heads[MAGIC, row] < 2 or heads[ATTRIBUTES, row] & CONTROL_BIT == 0:
            continue
        key = recs[KEY_START, i]
        key_size = recs[KEY_SIZE, i]
        value = recs[VALUE_START, i]
        value_size = recs[VALUE_SIZE, i]
        kind = -1
        if key >= 0 and value >= 0 and key_size <= size - key and value_size <= size - value:
            kind = end_marker(buf, key, key_size, value, value_size)
        found[CONTROL_RECORD, n] = i
        found[CONTROL_TYPE, n] = kind
        if kind >= 0:
            found[CONTROL_VERSION, n] = int16(buf, key)
            found[CONTROL_EPOCH, n] = int32(buf, value + 2)
        elif kind == NO_END:
            found[CONTROL_VERSION, n] = int16(buf, key)
            found[CONTROL_EPOCH, n] = int16(buf, key + 2)
        n += 1
    return n


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
    heads: cython.longlong[:, ::1],
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
        if len(heads) < BATCH_CELLS or stop_row > heads.shape[1] or row < 0 or limit < 0:
            raise IndexError
        while row < stop_row and at < enough and room - at > 0:
            start = heads[SECTION_START, row]
            size = heads[SECTION_STOP, row] - start
            codec = heads[ATTRIBUTES, row] & CODEC_BITS
            if start < 0 or size <= 0 or size > len(buf) - start or codec < 2 or codec > 4:
                break
            if heads[MAGIC, row] < 2 or heads[ERROR, row]:
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
            heads[SECTION_START, row] = at
            heads[SECTION_STOP, row] = end
            count = heads[COUNT, row]
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
# slot is empty; `newest` are the offsets beside them.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def hash_of(
    buf: cython.const[cython.uchar][::1], k: cython.Py_ssize_t, size: cython.longlong, secret: cython.ulonglong
) -> cython.longlong:
    """Return the hash of a key, above 0."""
    h: cython.ulonglong = secret ^ size
    w: cython.ulonglong
    t: cython.longlong
    end: cython.Py_ssize_t = k + size
    while k + 4 <= end:
        w = buf[k + 3]
        w = (w << 24) | (buf[k + 2] << 16) | (buf[k + 1] << 8) | buf[k]
        h = ((h ^ w) * secret) & ALL_BITS
        h = h ^ (h >> 32)
        k += 4
    while k < end:
        w = buf[k]
        h = ((h ^ w) * secret) & ALL_BITS
        h = h ^ (h >> 32)
        k += 1
    h = (h * secret) & ALL_BITS
    h = h ^ (h >> 32)
    t = h >> 1
    return t if t else 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def slot_of(hashes: cython.const[cython.longlong][::1], h: cython.longlong) -> cython.Py_ssize_t:
    """Return the slot that has a hash, or the empty one where it belongs."""
    mask: cython.Py_ssize_t = len(hashes) - 1
    s: cython.Py_ssize_t = h & mask
    while hashes[s] != h and hashes[s] != 0:
        s = (s + 1) & mask
    return s


def put(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][:, ::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    hashes: cython.longlong[::1],
    newest: cython.longlong[::1],
    state: cython.longlong[::1],
) -> int:
    """Put the keys of records into the map, from the `first` one on; answer the next one there is no room for, or all.

    `state` has the cells ``MAP_…``.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    s: cython.Py_ssize_t
    mask: cython.Py_ssize_t = len(hashes) - 1
    size: cython.longlong
    h: cython.longlong
    if len(recs) < RECORD_CELLS or count > recs.shape[1] or len(newest) < len(hashes) or len(hashes) & mask:
        raise IndexError
    if len(state) < MAP_CELLS:
        raise IndexError
    for i in range(first, count):
        size = recs[KEY_SIZE, i]
        if size < 0 or recs[OFFSET, i] < state[MAP_FIRST_OFFSET]:
            continue
        k = recs[KEY_START, i]
        if k < 0 or k > len(buf) or size > len(buf) - k:
            raise IndexError
        h = hash_of(buf, k, size, state[MAP_SECRET])
        s = slot_of(hashes, h)
        if hashes[s] == 0:
            if state[MAP_ENTRIES] >= state[MAP_MOST] or (state[MAP_ENTRIES] + 1) * 2 > len(hashes):
                return i
            hashes[s] = h
            state[MAP_ENTRIES] += 1
        newest[s] = recs[OFFSET, i]
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


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def add_kept(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    recs: cython.const[cython.longlong][:, ::1],
    i: cython.Py_ssize_t,
    sums: cython.longlong[:, ::1],
    at: cython.Py_ssize_t,
    horizon: cython.longlong,
) -> cython.void:
    """Add a record that stays to the sums of its batch: how large it is with another base of timestamps."""
    attributes: cython.longlong = heads[ATTRIBUTES, row]
    base: cython.longlong = heads[BASE_TIMESTAMP, row]
    timestamp: cython.longlong = recs[TIMESTAMP, i]
    size: cython.longlong = recs[RECORD_SIZE, i]
    body: cython.longlong = size - 1  # without the length before it
    width: cython.Py_ssize_t = 1
    if sums[KEPT, at] == 0:
        sums[FIRST_TIMESTAMP, at] = timestamp
    sums[KEPT, at] += 1
    if recs[VALUE_SIZE, i] < 0:
        sums[TOMBSTONES, at] += 1
    if heads[MAGIC, row] < 2 or attributes & HORIZON_BIT:  # its deltas are written as they are
        sums[PLAIN_SIZE, at] += size
        sums[DATED_SIZE, at] += size
        return
    while width < 5 and _width(body) != width:
        width += 1
        body -= 1
    # With LogAppendTime the deltas are not what the timestamps say.
    body -= 1 if attributes & APPEND_TIME_BIT else _width(add64(timestamp, -base))
    size = body + 1
    if not attributes & APPEND_TIME_BIT:
        size = body + _width(add64(timestamp, -sums[FIRST_TIMESTAMP, at]))
    sums[PLAIN_SIZE, at] += size + _width(size)
    size = body + _width(add64(timestamp, -horizon))
    sums[DATED_SIZE, at] += size + _width(size)


def keep(
    block: Any,
    offsets: Any,
    sums: cython.longlong[:, ::1],
    past: cython.const[cython.uchar][::1],
    conditions: cython.const[cython.longlong][::1],
    kept: cython.uchar[::1],
) -> None:
    """Add to the `sums` what the cleaner keeps of a block's records, and set `kept` to 1 for each that stays.

    Of the block are `buf`, the tables `heads` and `recs`, and `outer`, the row of the wrapper that the records are in;
    of the `offsets`, the cleaner's map, `hashes` and `newest`. `sums` is a table of the columns from ``KEPT`` on, by
    the rows of batches; `past` says of each of these whether its delete horizon has passed, so that its tombstones go;
    `conditions` are the cells ``PASS_…``.

    Follows Cleaner.shouldRetainRecord; the delete horizon is KIP-534's.
    """
    buf: cython.const[cython.uchar][::1] = block.buf
    heads: cython.const[cython.longlong][:, ::1] = block.heads.cells
    recs: cython.const[cython.longlong][:, ::1] = block.recs.cells
    count: cython.Py_ssize_t = block.recs.count
    outer: cython.Py_ssize_t = -1 if block.outer is None else block.outer
    hashes: cython.const[cython.longlong][::1] = offsets.hashes
    newest: cython.const[cython.longlong][::1] = offsets.newest
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    s: cython.Py_ssize_t
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    size: cython.longlong
    offset: cython.longlong
    h: cython.longlong
    mask: cython.Py_ssize_t = len(hashes) - 1
    if len(recs) < RECORD_CELLS or count > recs.shape[1] or len(newest) < len(hashes) or len(hashes) & mask:
        raise IndexError
    if len(heads) < BATCH_CELLS or len(sums) < KEPT_COLUMNS or len(kept) < count or len(conditions) < PASS_CELLS:
        raise IndexError
    if outer >= sums.shape[1] or len(past) < sums.shape[1]:
        raise IndexError
    for i in range(count):
        kept[i] = 0
        row = recs[BATCH, i]
        at = outer if outer >= 0 else row
        if row < 0 or row >= heads.shape[1] or at >= sums.shape[1]:
            raise IndexError
        offset = recs[OFFSET, i]
        if offset < conditions[PASS_END]:
            size = recs[KEY_SIZE, i]
            if size < 0:
                continue
            k = recs[KEY_START, i]
            if k < 0 or k > len(buf) or size > len(buf) - k:
                raise IndexError
            h = hash_of(buf, k, size, conditions[PASS_SECRET])
            s = slot_of(hashes, h)
            if hashes[s] != 0 and offset < newest[s]:
                continue
            if recs[VALUE_SIZE, i] < 0 and past[at]:
                continue
        kept[i] = 1
        add_kept(heads, row, recs, i, sums, at, conditions[PASS_HORIZON])
