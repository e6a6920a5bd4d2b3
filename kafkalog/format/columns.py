# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The kernel's tables to the columns of a declared table; see ``kernel.py`` for the rules of its source.

A column of numbers is int64 cells and, if some of them may be null, validity bits as in Arrow: the lowest bit of a byte
is the first row's, and 1 means that there is a value. Bytes stay where they are: their column has where they begin,
their size, and what they are.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import ATTRIBUTES, LAST_OFFSET, MAGIC
else:
    from kafkalog.format.kernel import ATTRIBUTES, LAST_OFFSET, MAGIC
from kafkalog.format.kernel import NONE

__all__ = [
    "BASE64",
    "BELOW_ZERO",
    "BIT",
    "BITS",
    "CELL",
    "DELTA",
    "ESCAPED",
    "HOLDS",
    "NEGATIVE",
    "NEVER",
    "NOTHING",
    "NOT_NEGATIVE",
    "NO_HORIZON",
    "NO_MESSAGE",
    "OLD",
    "PLAIN",
    "SINCE_2",
    "SIZE",
    "TIMES",
    "UNKNOWN",
    "bytes_kinds",
    "fill",
    "texts",
]

# Rules: what a value is of its cell. The cell; the cell's masked bits; whether it is not 0; the same two of attributes
# that exist since magic 2; by magic and attributes, who set the timestamps; a size, -1 for any below 0; a count, 0 for
# any below 0; how far the last offset is from the cell; whether it is below 0.
CELL, BITS, HOLDS, SINCE_2, BIT, TIMES, SIZE, NOT_NEGATIVE, DELTA, NEGATIVE = range(10)
# When a value is null: never; if the header of a wrapper of magic 0 or 1 has none; for magic 0 and 1; for magic 2; if
# the batch has no delete horizon; if the cell is below 0. Only the last one is for any table.
NEVER, UNKNOWN, OLD, NO_MESSAGE, NO_HORIZON, BELOW_ZERO = range(6)
# What bytes are: null; ASCII that JSON writes as it is; other UTF-8; not UTF-8.
NOTHING, PLAIN, ESCAPED, BASE64 = range(4)
_PLAIN: Final = bytes(c for c in range(0x20, 0x7F) if c not in b'"\\')


def fill(
    source: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    picks: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    rule: cython.int,
    column: cython.Py_ssize_t,
    mask: cython.longlong,
    absent: cython.int,
    cells: cython.longlong[::1],
    at: cython.Py_ssize_t,
    valid: cython.uchar[::1],
    bit: cython.Py_ssize_t,
) -> None:
    """Write the values of the rows ``picks[first:first + count]`` of `source` to ``cells[at:]``.

    If they may be null, their validity bits are written to `valid` from number `bit` on.
    """
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    start: cython.Py_ssize_t = column * capacity
    at_magic: cython.Py_ssize_t = MAGIC * capacity
    at_attributes: cython.Py_ssize_t = ATTRIBUTES * capacity
    at_last: cython.Py_ssize_t = LAST_OFFSET * capacity
    rows: cython.Py_ssize_t = len(source) // capacity
    magic: cython.longlong
    v: cython.longlong
    none: cython.longlong = NONE
    gone: cython.bint
    if first < 0 or count < 0 or first + count > len(picks) or at < 0 or at + count > len(cells):
        raise IndexError
    if column < 0 or column >= rows:
        raise IndexError
    if rows <= ATTRIBUTES and (3 <= rule <= 5 or rule == 8 or 1 <= absent <= 4):
        raise IndexError
    if absent and (bit < 0 or bit + count > 8 * len(valid)):
        raise IndexError
    for i in range(count):
        row = picks[first + i]
        if row < 0 or row >= capacity:
            raise IndexError
        v = source[start + row]
        if rule == 1:
            v = v & mask
        elif rule == 2:
            v = v != 0
        elif rule == 3:
            v = v & mask if source[at_magic + row] > 1 else 0
        elif rule == 4:
            v = source[at_magic + row] > 1 and v & mask != 0
        elif rule == 5:
            v = 0 if source[at_magic + row] == 0 else 2 if v & mask else 1
        elif rule == 6:
            v = v if v >= 0 else -1
        elif rule == 7:
            v = v if v >= 0 else 0
        elif rule == 8:
            v = _minus(source[at_last + row], v)
        elif rule == 9:
            v = v < 0
        cells[at + i] = v
    if absent:
        for i in range(count):
            row = picks[first + i]
            magic = 0 if absent == 5 else source[at_magic + row]
            if absent == 5:
                gone = source[start + row] < 0
            elif absent == 1:
                gone = magic < 2 and source[start + row] == none
            elif absent == 2:
                gone = magic < 2
            elif absent == 3:
                gone = magic > 1
            else:
                gone = magic < 2 or source[at_attributes + row] & 64 == 0
            if gone:
                valid[(bit + i) >> 3] &= 255 ^ (1 << ((bit + i) & 7))
            else:
                valid[(bit + i) >> 3] |= 1 << ((bit + i) & 7)


def texts(
    places: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    column: cython.Py_ssize_t,
    picks: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
    cells: cython.longlong[::1],
    at: cython.Py_ssize_t,
    room: cython.Py_ssize_t,
    weight: cython.Py_ssize_t,
) -> None:
    """Write the texts whose start and size are in two columns of `places` as a column, and add up what they weigh.

    A text has three runs of cells, `room` apart: start, size, and whether there is one. A line has 6 bytes of room for
    each byte that it weighs, and a text that is ready takes at most 2 for each of its own.
    """
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    size: cython.longlong
    if count < 0 or count > len(picks) or count > room or min(at, weight) < 0 or at + 3 * room > len(cells):
        raise IndexError
    if weight + count > len(cells) or column < 0 or (column + 2) * capacity > len(places):
        raise IndexError
    for i in range(count):
        row = picks[i]
        if row < 0 or row >= capacity:
            raise IndexError
        size = places[(column + 1) * capacity + row]
        cells[at + i] = places[column * capacity + row]
        cells[at + room + i] = size
        cells[at + 2 * room + i] = 0 if size < 0 else 1
        if size > 0:
            cells[weight + i] += size // 3 + 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _minus(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    """Subtract as Java does: the difference wraps at 64 bits."""
    if cython.compiled:
        return a - b
    return ((a - b + 2**63) & (2**64 - 1)) - 2**63


def bytes_kinds(
    buf: cython.const[cython.uchar][::1],
    cells: cython.longlong[::1],
    starts: cython.Py_ssize_t,
    sizes: cython.Py_ssize_t,
    kinds: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> None:
    """Say of `count` pieces of `buf` what they are: a start, a size and a kind begin at these places of `cells`."""
    i: cython.Py_ssize_t
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    if min(starts, sizes, kinds) < 0 or max(starts, sizes, kinds) + count > len(cells):
        raise IndexError
    for i in range(count):
        start = cells[starts + i]
        size = cells[sizes + i]
        if size < 0:
            cells[kinds + i] = 0
        elif size == 0:
            cells[kinds + i] = 1
        elif start < 0 or size > len(buf) - start:
            raise IndexError
        elif cython.compiled:
            cells[kinds + i] = kafkalog_kind(cython.address(buf[start]), size)
        else:
            cells[kinds + i] = _kind(bytes(buf[start : start + size]))


def _kind(data: bytes) -> int:
    if not data.strip(_PLAIN):
        return PLAIN
    try:
        data.decode()
    except UnicodeDecodeError:
        return BASE64
    return ESCAPED
