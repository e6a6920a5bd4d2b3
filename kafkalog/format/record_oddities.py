# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is odd about records that Kafka reads all the same; see ``kernel.py`` for the rules of its source."""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import varint, varlong
else:
    from kafkalog.format.kernel import varint, varlong

__all__ = ["ATTRIBUTES_SET", "BELOW_NULL", "DROPPED", "FALLING", "OVERLONG", "REPEATED", "find"]

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


def find(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    count: cython.longlong,
    found: cython.longlong[::1],
) -> int:
    """Look at the records of a magic 2 batch in ``buf[start:stop]`` for oddities that Kafka accepts.

    Answers flags; `found` gets the number of whole records and, if there is one, the smallest and largest offset delta
    and the largest timestamp delta. It stops at the first malformed record.
    """
    flags: cython.int = 0
    n: cython.longlong = 0
    p: cython.Py_ssize_t = start
    q: cython.Py_ssize_t
    end: cython.Py_ssize_t
    length: cython.longlong
    timestamp: cython.longlong
    delta: cython.longlong
    before: cython.longlong = 0
    h: cython.longlong
    stop = min(stop, len(buf))
    if len(found) < 4 or start < 0:
        raise IndexError
    found[0] = 0
    while n < count:
        length, q = varint(buf, p, stop)
        if q < 0 or length < 6 or length > stop - q:
            break
        flags |= odd_number(buf, p, q, 5, 15)
        end = q + length
        if buf[q] != 0:
            flags |= ATTRIBUTES_SET
        p = q + 1
        timestamp, q = varlong(buf, p, end)
        if q < 0:
            break
        flags |= odd_number(buf, p, q, 10, 1)
        p = q
        delta, q = varint(buf, p, end)
        if q < 0:
            break
        flags |= odd_number(buf, p, q, 5, 15)
        for _ in range(2):
            p = q
            length, q = varint(buf, p, end)
            if q < 0 or length > end - q:
                return flags
            flags |= odd_number(buf, p, q, 5, 15)
            if length < -1:
                flags |= BELOW_NULL
            if length > 0:
                q += length
        p = q
        h, q = varint(buf, p, end)
        if q < 0 or h < 0 or h > end - q:
            break
        flags |= odd_number(buf, p, q, 5, 15)
        h *= 2
        while h > 0:
            p = q
            length, q = varint(buf, p, end)
            if q < 0 or length > end - q or (length < 0 and h & 1 == 0):
                return flags
            flags |= odd_number(buf, p, q, 5, 15)
            if length < -1:
                flags |= BELOW_NULL
            if length > 0:
                q += length
            h -= 1
        if q != end:
            break
        if n == 0:
            found[1] = delta
            found[2] = delta
            found[3] = timestamp
        else:
            if delta == before:
                flags |= REPEATED
            elif delta < before:
                flags |= FALLING
            found[1] = min(found[1], delta)
            found[2] = max(found[2], delta)
            found[3] = max(found[3], timestamp)
        before = delta
        n += 1
        found[0] = n
        p = end
    return flags
