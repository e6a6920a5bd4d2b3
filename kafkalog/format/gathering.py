# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Bytes of a buffer to Arrow's columns of strings: offsets, data and validity bits; see ``kernel.py`` for the rules.

A piece of bytes is a start, a size and a kind (``columns``), in three runs of cells.
"""

from __future__ import annotations

import binascii

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import varint
    from cython.cimports.kafkalog.format.put import put
else:
    from kafkalog.format.kernel import varint
    from kafkalog.format.put import put

__all__ = ["gather", "headers", "size_of"]


def size_of(
    cells: cython.const[cython.longlong][::1],
    sizes: cython.Py_ssize_t,
    kinds: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    coded: cython.bint,
) -> int:
    """Answer how many bytes ``gather`` writes."""
    total: cython.longlong = 0
    i: cython.Py_ssize_t
    if min(sizes, kinds) < 0 or max(sizes, kinds) + count > len(cells):
        raise IndexError
    for i in range(count):
        if coded:
            if cells[kinds + i] == 3:
                total += (cells[sizes + i] + 2) // 3 * 4
        elif cells[kinds + i] == 1 or cells[kinds + i] == 2:
            total += cells[sizes + i]
    return total


def gather(
    buf: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][::1],
    starts: cython.Py_ssize_t,
    sizes: cython.Py_ssize_t,
    kinds: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    coded: cython.bint,
    offsets: cython.int[::1],
    data: cython.uchar[::1],
    valid: cython.uchar[::1],
    row: cython.Py_ssize_t,
) -> None:
    """Append `count` pieces as rows from `row` on: those that are UTF-8, or with `coded` the others in base64.

    ``offsets[row]`` is where their data begins; there must be room for what `size_of` answers.
    """
    i: cython.Py_ssize_t
    w: cython.Py_ssize_t
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    kind: cython.longlong
    is_here: cython.bint
    if row < 0 or row + count + 1 > len(offsets) or row + count > 8 * len(valid):
        raise IndexError
    if min(starts, sizes, kinds) < 0 or max(starts, sizes, kinds) + count > len(cells):
        raise IndexError
    w = offsets[row]
    for i in range(count):
        start = cells[starts + i]
        size = cells[sizes + i]
        kind = cells[kinds + i]
        is_here = kind == 3 if coded else 1 <= kind <= 2
        if is_here:
            if (
                start < 0
                or size < 0
                or size > len(buf) - start
                or w + (size if not coded else (size + 2) // 3 * 4) > len(data)
            ):
                raise IndexError
            w = _coded(buf, start, size, data, w) if coded else put(data, w, buf, start, size)
            valid[(row + i) >> 3] |= 1 << ((row + i) & 7)
        else:
            valid[(row + i) >> 3] &= 255 ^ (1 << ((row + i) & 7))
        offsets[row + i + 1] = w


@cython.cfunc
@cython.exceptval(check=False)
def _coded(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    data: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    if cython.compiled:
        done: cython.size_t = 0
        return w + kafkalog_base64(
            cython.address(data[w]), (size + 2) // 3 * 4 + 16, cython.address(buf[start]), size, cython.address(done)
        )
    text = binascii.b2a_base64(bytes(buf[start : start + size]), newline=False)
    data[w : w + len(text)] = text
    return w + len(text)


def headers(
    buf: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][::1],
    starts: cython.Py_ssize_t,
    counts: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    p: cython.Py_ssize_t,
    left: cython.longlong,
    found: cython.longlong[::1],
    room: cython.Py_ssize_t,
) -> tuple[int, int, int, int]:
    """List the headers of rows, which the kernel has checked: (row, position in it, headers left of it, headers).

    `found` gets, in four runs of `room` cells, where each key begins, its size, and the same of its value. Where `room`
    is short, the first three answers are what to go on with; a row begins with `p` below 0.
    """
    n: cython.Py_ssize_t = 0
    key: cython.Py_ssize_t
    value: cython.Py_ssize_t
    key_size: cython.longlong
    value_size: cython.longlong
    size: cython.Py_ssize_t = len(buf)
    if min(starts, counts) < 0 or max(starts, counts) + stop_row > len(cells) or len(found) < 4 * room:
        raise IndexError
    while row < stop_row:
        if p < 0:
            p = cells[starts + row]
            left = cells[counts + row]
        while left > 0:
            if n == room:
                return row, p, left, n
            key_size, key = varint(buf, p, size)
            if key < 0 or key_size < 0 or key_size > size - key:
                raise IndexError
            value_size, value = varint(buf, key + key_size, size)
            if value < 0 or value_size > size - value:
                raise IndexError
            found[n] = key
            found[room + n] = key_size
            found[2 * room + n] = value
            found[3 * room + n] = value_size if value_size >= 0 else -1
            p = value + value_size if value_size > 0 else value
            n += 1
            left -= 1
        row += 1
        p = -1
    return row, p, left, n
