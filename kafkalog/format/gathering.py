# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Bytes of a buffer to Arrow's columns of strings: offsets, data and validity bits; see ``kernel.py`` for the rules.

A piece of bytes is a start and a size, in two runs of cells.
"""

from __future__ import annotations

import binascii

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import varint
else:
    from kafkalog.format.kernel import varint

__all__ = [
    "CODED",
    "CODED_COUNT",
    "CODED_END",
    "ROWS",
    "TEXT",
    "TEXT_COUNT",
    "TEXT_END",
    "gather",
    "headers",
    "list_ends",
]

# The state of a column: its rows, where the data of its two forms end, and how many rows have each form.
ROWS, TEXT_END, CODED_END, TEXT_COUNT, CODED_COUNT = range(5)
TEXT, CODED = 1, 2  # the forms that are wanted, added up


def gather(
    buf: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][::1],
    starts: cython.Py_ssize_t,
    sizes: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    wanted: cython.int,
    state: cython.longlong[::1],
    room: cython.Py_ssize_t,
    offsets: cython.int[::1],
    valid: cython.uchar[::1],
    text: cython.uchar[::1],
    coded: cython.uchar[::1],
) -> int:
    """Append `count` pieces as rows: those that are UTF-8 as text, others in base64. Answer how many had room.

    A piece is a start and a size, below 0 for null; the other form of it is null, too. `offsets` has two runs of `room`
    and one more cells, `valid` two runs of `room` bits: of the texts, and of base64, where nothing is written before
    the first row that has it.
    """
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t = state[0]
    w: cython.Py_ssize_t = state[1]
    v: cython.Py_ssize_t = state[2]
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    needed: cython.Py_ssize_t
    done: cython.Py_ssize_t
    second: cython.Py_ssize_t = room + 1
    second_bit: cython.Py_ssize_t = (room + 7) // 8 * 8
    kind: cython.int
    if row < 0 or count < 0 or row + count > room or len(offsets) < 2 * second or 8 * len(valid) < 2 * second_bit:
        raise IndexError
    if min(starts, sizes) < 0 or max(starts, sizes) + count > len(cells) or len(state) < 5 or w < 0 or v < 0:
        raise IndexError
    i = 0
    while i < count:
        if wanted & 1 and not state[4]:
            done = _texts(buf, cells, starts + i, sizes + i, count - i, offsets, row, text, w)
            if done:
                _ones(valid, row, done)
                i += done
                row += done
                w = offsets[row]
                state[3] += done
                if i == count:
                    break
        start = cells[starts + i]
        size = cells[sizes + i]
        kind = 0
        if size == 0:
            kind = 1
        elif size > 0:
            if start < 0 or size > len(buf) - start:
                raise IndexError
            if wanted & 1 and size <= len(text) - w:
                kind = _copied(buf, start, size, text, w)
            else:
                kind = _kind(buf, start, size)
                if kind == 1 and wanted & 1:
                    break
        if wanted & 1:
            if kind == 1:
                w += size
                state[3] += 1
                valid[row >> 3] |= 1 << (row & 7)
            else:
                valid[row >> 3] &= 255 ^ (1 << (row & 7))
            offsets[row + 1] = w
        if wanted & 2 and (kind == 2 or state[4]):
            if kind == 2:
                needed = (size + 2) // 3 * 4
                if needed > len(coded) - v:
                    break
                if not state[4]:
                    _begin(offsets, second, valid, second_bit, row)
                v = _coded(buf, start, size, coded, v)
                state[4] += 1
                valid[(second_bit + row) >> 3] |= 1 << ((second_bit + row) & 7)
            else:
                valid[(second_bit + row) >> 3] &= 255 ^ (1 << ((second_bit + row) & 7))
            offsets[second + row + 1] = v
        row += 1
        i += 1
    state[0] = row
    state[1] = w
    state[2] = v
    return i


@cython.cfunc
@cython.exceptval(check=False)
def _texts(
    buf: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][::1],
    starts: cython.Py_ssize_t,
    sizes: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    offsets: cython.int[::1],
    row: cython.Py_ssize_t,
    text: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Append pieces up to the first that is not plain: null, not UTF-8, without room; answer how many there were."""
    i: cython.Py_ssize_t
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    for i in range(count):
        start = cells[starts + i]
        size = cells[sizes + i]
        if size < 0 or start < 0 or size > len(buf) - start or size > len(text) - w:
            return i
        if size > 0 and _copied(buf, start, size, text, w) != 1:
            return i
        w += size
        offsets[row + 1 + i] = w
    return count


@cython.cfunc
@cython.exceptval(check=False)
def _ones(valid: cython.uchar[::1], row: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.void:
    """Set validity bits."""
    stop: cython.Py_ssize_t = row + count
    while row < stop:
        if row & 7 == 0 and stop - row >= 8:
            valid[row >> 3] = 255
            row += 8
        else:
            valid[row >> 3] |= 1 << (row & 7)
            row += 1


@cython.cfunc
@cython.exceptval(check=False)
def _begin(
    offsets: cython.int[::1],
    at: cython.Py_ssize_t,
    valid: cython.uchar[::1],
    bit: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
) -> cython.void:
    """Make the rows before the first one that has a value null."""
    i: cython.Py_ssize_t
    for i in range(rows + 1):
        offsets[at + i] = 0
    for i in range(bit >> 3, ((bit + rows) >> 3) + 1):
        valid[i] = 0


@cython.cfunc
@cython.exceptval(check=False)
def _copied(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> cython.int:
    """Copy bytes if they are UTF-8: 1, otherwise 2. What is written of others counts for nothing."""
    if cython.compiled:
        return kafkalog_copied(cython.address(out[w]), len(out) - w, cython.address(buf[start]), len(buf) - start, size)
    out[w : w + size] = memoryview(buf)[start : start + size]
    return _kind(buf, start, size)


@cython.cfunc
@cython.exceptval(check=False)
def _kind(buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.int:
    """Say what bytes are: 1 if they are UTF-8, otherwise 2."""
    if cython.compiled:
        return 2 if kafkalog_kind(cython.address(buf[start]), size) == 3 else 1
    try:
        bytes(buf[start : start + size]).decode()
    except UnicodeDecodeError:
        return 2
    return 1


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
    coded = binascii.b2a_base64(bytes(buf[start : start + size]), newline=False)
    data[w : w + len(coded)] = memoryview(coded)
    return w + len(coded)


def list_ends(
    cells: cython.const[cython.longlong][::1],
    counts: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    offsets: cython.int[::1],
    row: cython.Py_ssize_t,
) -> int:
    """Write where the lists of rows from `row` on end, after ``offsets[row]``; answer how many items they have."""
    i: cython.Py_ssize_t
    end: cython.longlong
    first: cython.longlong
    if counts < 0 or count < 0 or counts + count > len(cells) or row < 0 or row + count >= len(offsets):
        raise IndexError
    first = end = offsets[row]
    for i in range(count):
        end += cells[counts + i]
        offsets[row + 1 + i] = end
    return end - first


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
