# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The records of batches, and the messages of magic 0 and 1, into a table; see ``kernel.py`` for the rules.

An error's number is its index in ``record_errors.RECORD_ERRORS``. Compiled, ``ordinary_records.h`` first reads what it
can of a batch, so that what is here sees the other records only: malformed ones, those with long numbers, and the last
of a buffer.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import BATCH_COLUMNS, RECORD_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_SEQUENCE,
        BASE_TIMESTAMP,
        COUNT,
        DECODED,
        ERROR,
        ERROR_POSITION,
        MAGIC,
        MAX_TIMESTAMP,
        SECTION_START,
        SECTION_STOP,
        SIZE,
        add64,
        add_sequence,
        int32,
        varint,
        varlong,
    )
else:
    from kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_SEQUENCE,
        BASE_TIMESTAMP,
        COUNT,
        DECODED,
        ERROR,
        ERROR_POSITION,
        MAGIC,
        MAX_TIMESTAMP,
        SECTION_START,
        SECTION_STOP,
        SIZE,
        add64,
        add_sequence,
        int32,
        varint,
        varlong,
    )

__all__ = ["DONE", "NO_ROOM", "PACKED", "read"]

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
        if attributes & 7 and not unpacked:
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
        log_append_time = attributes & 8 != 0
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
