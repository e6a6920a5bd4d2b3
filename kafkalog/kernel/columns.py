# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The kernel's tables to the columns of a declared table; ``buffers.py`` has the rules of its source.

What the columns are made of is data. A *plan* is a flat buffer of int64: for each column a step of `STEP` cells,
(source, column, rule, mask, absent, width, at, valid); its *state* has three more. `width` is that of a value in bytes,
0 for a bit; `at` is the byte of the output where the column's first row begins, `valid` the bit of its first validity
bit. These are as in Arrow: the lowest bit of a byte is the first row's, and 1 means that there is a value.
"""

from __future__ import annotations

import binascii
from array import array
from collections.abc import Sequence
from sys import byteorder
from typing import Final

from kafkalog.kernel.buffers import BATCH_COLUMNS, NONE, RECORD_COLUMNS

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import (
        APPEND_TIME_BIT,
        ATTRIBUTES,
        BASE_OFFSET,
        BATCH,
        CONTROL_BIT,
        HORIZON_BIT,
        KEY_SIZE,
        KEY_START,
        LAST_OFFSET,
        MAGIC,
        MAX_TIMESTAMP,
        NO_END,
        OFFSET,
        POSITION,
        PRODUCER_ID,
        SECTION_START,
        SIZE,
        TIMESTAMP,
        VALUE_SIZE,
        VALUE_START,
        end_marker,
        int16,
        int32,
        varint,
    )

__all__ = [
    "BASE64",
    "BIT",
    "BITS",
    "BY_BIT",
    "CELL",
    "CELLS",
    "CODED",
    "CODED_COUNT",
    "CODED_END",
    "DELTA",
    "EMPTY",
    "ESCAPED",
    "HOLDS",
    "MISSING",
    "NEVER",
    "NOTHING",
    "NO_HORIZON",
    "NO_MESSAGE",
    "OF_BATCH",
    "OF_MESSAGE",
    "OF_ROW",
    "OLD",
    "PLAIN",
    "ROWS",
    "SAME",
    "SINCE_2",
    "STEP",
    "TEXT",
    "TEXT_COUNT",
    "TEXT_END",
    "TIMES",
    "UNKNOWN",
    "VARIED",
    "batches",
    "bytes_kinds",
    "controls",
    "fill",
    "gather",
    "headers",
    "holding",
    "leave_out",
    "list_ends",
    "records",
    "signs",
    "take",
    "texts",
    "without_control",
]


STEP = 8

# Where a value's cell is: in the row, in the row of its batch, in that of its message of magic 0 or 1.
OF_ROW, OF_BATCH, OF_MESSAGE = range(3)

# Rules: what a value is of its cell. The cell; the cell's masked bits; whether it is not 0; the same two of attributes
# that exist since magic 2; by magic and attributes, who set the timestamps; how far the last offset is from the cell.
CELL, BITS, HOLDS, SINCE_2, BIT, TIMES, DELTA = range(7)

# When a value is null: never; if the header of a wrapper of magic 0 or 1 has none; for magic 0 and 1; for magic 2; if
# the batch has no delete horizon; if the validity bit of the row, counted from the mask on, is 0; if the cell is NONE.
NEVER, UNKNOWN, OLD, NO_MESSAGE, NO_HORIZON, BY_BIT, MISSING = range(7)

# A column's state, and the two cells after it. It has no rows; all rows have one value, or are null, and nothing is
# written; they differ, and there are validity bits or not; all of it is always written, validity bits if it has them.
EMPTY, SAME, VARIED, CELLS = range(4)

# What bytes are: null; ASCII that JSON writes as it is; other UTF-8; not UTF-8.
NOTHING, PLAIN, ESCAPED, BASE64 = range(4)

_PLAIN: Final = bytes(c for c in range(0x20, 0x7F) if c not in b'"\\')


def fill(
    rows: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    batches: cython.const[cython.longlong][::1],
    batches_capacity: cython.Py_ssize_t,
    outer: cython.Py_ssize_t,
    messages: cython.const[cython.longlong][::1],
    messages_capacity: cython.Py_ssize_t,
    bits: cython.const[cython.uchar][::1],
    plan: cython.const[cython.longlong][::1],
    state: cython.longlong[::1],
    scratch: cython.longlong[::1],
    out: cython.uchar[::1],
    valid: cython.uchar[::1],
    row: cython.Py_ssize_t,
) -> None:
    """Append the rows [`first`, `first` + `count`) of `rows` as rows from `row` on, all columns of the plan.

    `outer` is the row in `batches` of all their batches, below 0 if each row has its own. `scratch` has four cells for
    each row. A number too large for its width becomes null.
    """
    k: cython.Py_ssize_t
    s: cython.Py_ssize_t
    t: cython.Py_ssize_t
    c: cython.Py_ssize_t
    n: cython.Py_ssize_t
    at: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    runs: cython.Py_ssize_t = 0
    runs_of: cython.longlong = 0
    start: cython.Py_ssize_t
    room: cython.Py_ssize_t
    source: cython.longlong
    width: cython.Py_ssize_t
    has_gone: cython.bint
    same: cython.bint
    cells: cython.const[cython.longlong][::1]
    if first < 0 or count < 0 or first + count > capacity or len(scratch) < 4 * count or row < 0:
        raise IndexError
    if len(plan) % 8 or len(state) < len(plan) // 8 * 3:
        raise IndexError
    if count == 0:
        return
    for s in range(len(plan) // 8):
        k = 8 * s
        t = 3 * s
        source = plan[k]
        width = plan[k + 5]
        at = plan[k + 6]
        bit = plan[k + 7]
        if at < 0 or (at + width * (row + count) > len(out) if width else 8 * at + row + count > 8 * len(out)):
            raise IndexError
        if (bit >= 0 and bit + row + count > 8 * len(valid)) or (plan[k + 4] and bit < 0):
            raise IndexError
        n = count
        start = first
        if source == 0:
            cells = rows
            room = capacity
        else:
            if runs_of == 0 or (runs_of != source and outer >= 0):
                runs = _runs(rows, capacity, first, count, outer if source == 1 else -1, scratch)
            runs_of = source
            n = runs
            # Where each row has a batch of its own, they are one after the other.
            start = scratch[count] if n == count and scratch[2 * count - 1] - scratch[count] == count - 1 else -1
            if source == 1:
                cells = batches
                room = batches_capacity
            else:
                cells = messages
                room = messages_capacity
        if plan[k + 1] < 0 or (plan[k + 1] + 1) * room > len(cells) or start + n > room:
            raise IndexError
        c = plan[k + 1] * room + start
        if start < 0 or plan[k + 2] or plan[k + 4] or (0 < width < 8 and _beyond(cells, c, n, width)):
            n = _values(cells, room, start, n, count, bits, plan, k, scratch)
            if n == 0:
                raise IndexError
            cells = scratch
            c = 0
        has_gone = plan[k + 4] != 0
        if c == 0 and 0 < width < 8 and _beyond(cells, c, n, width):
            if bit < 0:
                raise IndexError
            _mark_beyond(scratch, n, count, width, has_gone)
            has_gone = True
        if state[t] < 2:
            if state[t] == 0:
                state[t] = 1
                state[t + 1] = cells[c]
                state[t + 2] = has_gone and scratch[3 * count] != 0
            if state[t + 2]:
                same = has_gone and _all_equal(scratch, 3 * count, n, 1)
            else:
                same = _all_equal(cells, c, n, state[t + 1]) and (not has_gone or _all_equal(scratch, 3 * count, n, 0))
            if same:
                continue
            state[t] = 2
            _repeat(out, at, width, state[t + 1], row)
            if state[t + 2]:
                _repeat(valid, bit, -1, 0, row)
        if n < count:
            _expand(scratch, 0, n, count)
            if has_gone:
                _expand(scratch, 3 * count, n, count)
        if width:
            _narrow(out, at + width * row, width, cells, c, count)
        else:
            _bits(out, 8 * at + row, cells, c, count, False)
        if state[t] == 2 and not state[t + 2] and has_gone and not _all_equal(scratch, 3 * count, count, 0):
            _repeat(valid, bit, -1, 1, row)
            state[t + 2] = 1
        if state[t] == 3:
            if has_gone:
                _bits(valid, bit + row, scratch, 3 * count, count, True)
        elif state[t + 2]:
            if has_gone:
                _bits(valid, bit + row, scratch, 3 * count, count, True)
            else:
                _repeat(valid, bit + row, -1, 1, count)


@cython.cfunc
@cython.exceptval(check=False)
def _runs(
    rows: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    outer: cython.Py_ssize_t,
    scratch: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """List the runs of rows of one batch: its row from cell `count` on, the end of the run a `count` later."""
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t = BATCH * capacity + first
    if outer >= 0:
        scratch[count] = outer
        scratch[2 * count] = count
        return 1
    for i in range(count):
        if i and rows[at + i] == scratch[count + n - 1]:
            continue
        if n:
            scratch[2 * count + n - 1] = i
        scratch[count + n] = rows[at + i]
        n += 1
    scratch[2 * count + n - 1] = count
    return n


@cython.cfunc
@cython.exceptval(check=False)
def _values(
    source: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    bits: cython.const[cython.uchar][::1],
    plan: cython.const[cython.longlong][::1],
    k: cython.Py_ssize_t,
    scratch: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Write `n` values to the first cells of `scratch`, and from cell 3 * `count` on which of them are null.

    They are of the rows from `first` on; if that is below 0, of those that are listed from cell `count` on. Answers how
    many values there are, 1 if all are equal, and 0 if one is outside of the table.
    """
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    start: cython.Py_ssize_t = plan[k + 1] * capacity
    rule: cython.longlong = plan[k + 2]
    mask: cython.longlong = plan[k + 3]
    absent: cython.longlong = plan[k + 4]
    at_magic: cython.Py_ssize_t = MAGIC * capacity
    at_attributes: cython.Py_ssize_t = ATTRIBUTES * capacity
    at_last: cython.Py_ssize_t = LAST_OFFSET * capacity
    size: cython.Py_ssize_t = len(source)
    magic: cython.longlong
    v: cython.longlong
    none: cython.longlong = NONE
    by_run: cython.bint = first < 0
    is_gone: cython.bint
    if (3 <= rule <= 6 or 1 <= absent <= 4) and (at_attributes + capacity > size or at_last + capacity > size):
        return 0
    if not by_run and _is_one(source, capacity, first, n, plan, k):
        n = 1
    if rule == 0:
        for i in range(n):
            row = scratch[count + i] if by_run else first + i
            if row < 0 or row >= capacity:
                return 0
            scratch[i] = source[start + row]
    else:
        for i in range(n):
            row = scratch[count + i] if by_run else first + i
            if row < 0 or row >= capacity:
                return 0
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
                v = _minus(source[at_last + row], v)
            scratch[i] = v
    if absent:
        for i in range(n):
            row = scratch[count + i] if by_run else first + i
            if absent == 5:
                if mask + row < 0 or (mask + row) >> 3 >= len(bits):
                    return 0
                is_gone = bits[(mask + row) >> 3] & (1 << ((mask + row) & 7)) == 0
            elif absent == 6:
                is_gone = source[start + row] == none
            else:
                magic = source[at_magic + row]
                if absent == 1:
                    is_gone = magic < 2 and source[start + row] == none
                elif absent == 2:
                    is_gone = magic < 2
                elif absent == 3:
                    is_gone = magic > 1
                else:
                    is_gone = magic < 2 or source[at_attributes + row] & HORIZON_BIT == 0
            scratch[3 * count + i] = is_gone
    return n


@cython.cfunc
@cython.exceptval(check=False)
def _is_one(
    source: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    plan: cython.const[cython.longlong][::1],
    k: cython.Py_ssize_t,
) -> cython.bint:
    """Say whether the values of `n` rows are certainly all equal, or all null."""
    at: cython.Py_ssize_t = plan[k + 1] * capacity + first
    rule: cython.longlong = plan[k + 2]
    absent: cython.longlong = plan[k + 4]
    magics: cython.Py_ssize_t = MAGIC * capacity + first
    attributes: cython.Py_ssize_t = ATTRIBUTES * capacity + first
    if rule == 6 or absent == 5:
        return False
    if absent == 6:
        return _all_equal(source, at, n, source[at])
    if (rule >= 3 or absent) and not _all_equal(source, magics, n, source[magics]):
        return False
    if absent == 4 and not _all_equal(source, attributes, n, source[attributes]):
        return False
    if (absent == 2 and source[magics] < 2) or (absent == 3 and source[magics] > 1):
        return True
    return _all_equal(source, at, n, source[at])


@cython.cfunc
@cython.exceptval(check=False)
def _expand(
    scratch: cython.longlong[::1], at: cython.Py_ssize_t, n: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.void:
    """Repeat the value of each run for its rows, from the last on: a run begins at or after its value's place.

    One value is that of all rows.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t = count
    start: cython.Py_ssize_t
    v: cython.longlong
    for i in range(n - 1, -1, -1):
        v = scratch[at + i]
        start = scratch[2 * count + i - 1] if i else 0
        while p > start:
            p -= 1
            scratch[at + p] = v


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _all_equal(
    cells: cython.const[cython.longlong][::1], at: cython.Py_ssize_t, count: cython.Py_ssize_t, value: cython.longlong
) -> cython.bint:
    if cython.compiled:
        return kafkalog_all_equal(cython.address(cells[at]), count, value)
    return _are_equal(cells[at : at + count], value)


def _are_equal(cells: Sequence[int], value: int) -> bool:
    return all(cell == value for cell in cells)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _beyond(
    cells: cython.const[cython.longlong][::1], at: cython.Py_ssize_t, count: cython.Py_ssize_t, width: cython.Py_ssize_t
) -> cython.bint:
    if cython.compiled:
        return kafkalog_beyond(cython.address(cells[at]), count, width)
    return _are_beyond(cells[at : at + count], 1 << (8 * width - 1))


def _are_beyond(cells: Sequence[int], half: int) -> bool:
    return any(not -half <= cell < half for cell in cells)


@cython.cfunc
@cython.exceptval(check=False)
def _mark_beyond(
    scratch: cython.longlong[::1],
    n: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    has_gone: cython.bint,
) -> cython.void:
    """Make numbers that are too large for `width` bytes null."""
    i: cython.Py_ssize_t
    half: cython.longlong = 1
    half <<= 8 * width - 1
    for i in range(n):
        if scratch[i] < -half or scratch[i] >= half:
            scratch[i] = 0
            scratch[3 * count + i] = 1
        elif not has_gone:
            scratch[3 * count + i] = 0


@cython.cfunc
@cython.exceptval(check=False)
def _narrow(
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    cells: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    if cython.compiled:
        kafkalog_narrow(cython.address(out[at]), width, cython.address(cells[first]), count)
    else:
        for cell in cells[first : first + count]:
            out[at : at + width] = _as_bytes(cell, width)
            at += width


def _as_bytes(cell: int, width: int) -> array[int]:
    return array("B", int(cell).to_bytes(width, byteorder, signed=True))


@cython.cfunc
@cython.exceptval(check=False)
def _repeat(
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    value: cython.longlong,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Write a value `count` times; with a width of -1 a bit from bit number `at` on, with 0 from byte `at` on."""
    i: cython.Py_ssize_t
    if width > 0:
        for i in range(count):
            if cython.compiled:
                kafkalog_narrow(cython.address(out[at + width * i]), width, cython.address(value), 1)
            else:
                out[at + width * i : at + width * (i + 1)] = _as_bytes(value, width)
        return
    if width == 0:
        at *= 8
    i = 0
    while i < count:
        if (at + i) & 7 == 0 and count - i >= 8:
            out[(at + i) >> 3] = 255 if value else 0
            i += 8
            continue
        if value:
            out[(at + i) >> 3] |= 1 << ((at + i) & 7)
        else:
            out[(at + i) >> 3] &= 255 ^ (1 << ((at + i) & 7))
        i += 1


@cython.cfunc
@cython.exceptval(check=False)
def _bits(
    out: cython.uchar[::1],
    bit: cython.Py_ssize_t,
    cells: cython.const[cython.longlong][::1],
    at: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    inverted: cython.bint,
) -> cython.void:
    """Write a bit for each cell from bit number `bit` on: whether it is not 0, or with `inverted` whether it is."""
    if cython.compiled:
        kafkalog_bits(cython.address(out[0]), bit, cython.address(cells[at]), count, inverted)
    else:
        for cell in cells[at : at + count]:
            _repeat(out, bit, -1, (cell == 0) == inverted, 1)
            bit += 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _minus(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    """Subtract as Java does: the difference wraps at 64 bits."""
    if cython.compiled:
        return a - b
    return ((a - b + 2**63) & (2**64 - 1)) - 2**63


def take(
    source: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    picks: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
    out: cython.longlong[::1],
) -> None:
    """Copy the rows that the first `count` of `picks` name to `out`, a table of the same columns and capacity."""
    i: cython.Py_ssize_t
    c: cython.Py_ssize_t
    row: cython.Py_ssize_t
    if count < 0 or count > len(picks) or count > capacity or len(out) != len(source) or capacity <= 0:
        raise IndexError
    for i in range(count):
        row = picks[i]
        if row < 0 or row >= capacity:
            raise IndexError
        for c in range(len(source) // capacity):
            out[c * capacity + i] = source[c * capacity + row]


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

    A text has three runs of cells, `room` apart: start, size, and whether there is one.
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
            cells[weight + i] += size


def signs(
    cells: cython.longlong[::1],
    at: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    flags: cython.Py_ssize_t,
    valid: cython.uchar[::1],
    bit: cython.Py_ssize_t,
) -> None:
    """Write for `count` cells from `at` on whether they are below 0, and clear the validity bits of those."""
    i: cython.Py_ssize_t
    if min(at, count) < 0 or min(flags, bit) < 0 or max(at, flags) + count > len(cells) or bit + count > 8 * len(valid):
        raise IndexError
    for i in range(count):
        cells[flags + i] = cells[at + i] < 0
        if cells[at + i] < 0:
            valid[(bit + i) >> 3] &= 255 ^ (1 << ((bit + i) & 7))
        else:
            valid[(bit + i) >> 3] |= 1 << ((bit + i) & 7)


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


# Bytes of a buffer to Arrow's columns of strings: offsets, data and validity bits; ``buffers.py`` has the rules.
#
# A piece of bytes is a start and a size, in two runs of cells.


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
                kind = _kind_at(buf, start, size)
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
    return _kind_at(buf, start, size)


@cython.cfunc
@cython.exceptval(check=False)
def _kind_at(buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.int:
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


# Which batches and records meet conditions, by the kernel's tables; ``buffers.py`` has the rules of its source.
#
# The conditions are seven int64: first and last offset, first and last timestamp, producer id, whether that counts,
# and whether only control batches are wanted.


def batches(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
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
    none: cython.longlong = NONE
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > capacity or len(picks) < count or len(conditions) < 7:
        raise IndexError
    for row in range(count):
        magic = heads[MAGIC * capacity + row]
        attributes = heads[ATTRIBUTES * capacity + row]
        base = heads[BASE_OFFSET * capacity + row]
        if heads[LAST_OFFSET * capacity + row] < conditions[0]:
            continue
        if base > conditions[1] and (base != none or magic > 1):
            continue
        if conditions[5] and heads[PRODUCER_ID * capacity + row] != conditions[4]:
            continue
        if conditions[6] and (magic < 2 or attributes & CONTROL_BIT == 0):
            continue
        # A LogAppendTime in the header applies to every record: their timestamp deltas are ignored.
        if magic != 0 and attributes & APPEND_TIME_BIT:
            time = heads[MAX_TIMESTAMP * capacity + row]
            if time < conditions[2] or time > conditions[3]:
                continue
        picks[n] = row
        n += 1
    return n


def holding(
    buf: cython.const[cython.uchar][::1],
    literal: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
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
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > capacity or count > len(rows) or len(literal) == 0:
        raise IndexError
    if count == 0:
        return 0
    at = max(heads[POSITION * capacity] - start, 0)
    end = min(heads[POSITION * capacity + count - 1] - start + heads[SIZE * capacity + count - 1], len(buf))
    while row < count:
        at = _place_of(buf, literal, at, end)
        if at < 0:
            break
        while row + 1 < count and heads[POSITION * capacity + row + 1] - start <= at:
            row += 1
        rows[n] = row
        n += 1
        if row + 1 == count:
            break
        next_at = heads[POSITION * capacity + row + 1] - start  # once is enough for a batch
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
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
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
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > capacity or picked > len(picks):
        raise IndexError
    for row in range(count):
        if at < picked and picks[at] == row:
            at += 1
            if not control_only:
                continue
            if heads[MAGIC * capacity + row] > 1 and heads[ATTRIBUTES * capacity + row] & CONTROL_BIT:
                continue
        heads[SECTION_START * capacity + row] = -1


def records(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
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
    if len(recs) < room * len(RECORD_COLUMNS) or count > room or len(picks) < count or len(conditions) < 4:
        raise IndexError
    for i in range(count):
        v = recs[OFFSET * room + i]
        if v < conditions[0] or v > conditions[1]:
            continue
        v = recs[TIMESTAMP * room + i]
        if v < conditions[2] or v > conditions[3]:
            continue
        if has_key:
            if recs[KEY_SIZE * room + i] != size:
                continue
            start = recs[KEY_START * room + i]
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
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    picks: cython.const[cython.longlong][::1],
    picked: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> int:
    """List those of the picked records that are not in control batches, and answer how many."""
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    batch: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    if len(heads) < capacity * len(BATCH_COLUMNS) or len(recs) < room * len(RECORD_COLUMNS):
        raise IndexError
    if picked > len(picks) or picked > len(found):
        raise IndexError
    for i in range(picked):
        row = picks[i]
        if row < 0 or row >= room:
            raise IndexError
        batch = recs[BATCH * room + row]
        if batch < 0 or batch >= capacity:
            raise IndexError
        if heads[MAGIC * capacity + batch] < 2 or not heads[ATTRIBUTES * capacity + batch] & CONTROL_BIT:
            found[count] = row
            count += 1
    return count


def controls(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    picks: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> int:
    """List the control records among the first `count` of `picks`; answer how many.

    `found` gets four runs of as many cells as `picks` has: the record's number; what ``end_marker`` answers; the
    version in its key; the coordinator's epoch, or the type of one that ends nothing. Other cells below 0 in the second
    run are of malformed ones.
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
    run: cython.Py_ssize_t = len(picks)
    size: cython.Py_ssize_t = len(buf)
    if len(heads) < capacity * len(BATCH_COLUMNS) or len(recs) < room * len(RECORD_COLUMNS):
        raise IndexError
    if count > run or len(found) < 4 * run:
        raise IndexError
    for at in range(count):
        i = picks[at]
        row = recs[BATCH * room + i]
        if heads[MAGIC * capacity + row] < 2 or heads[ATTRIBUTES * capacity + row] & CONTROL_BIT == 0:
            continue
        key = recs[KEY_START * room + i]
        key_size = recs[KEY_SIZE * room + i]
        value = recs[VALUE_START * room + i]
        value_size = recs[VALUE_SIZE * room + i]
        kind = -1
        if key >= 0 and value >= 0 and key_size <= size - key and value_size <= size - value:
            kind = end_marker(buf, key, key_size, value, value_size)
        found[n] = i
        found[run + n] = kind
        if kind >= 0:
            found[2 * run + n] = int16(buf, key)
            found[3 * run + n] = int32(buf, value + 2)
        elif kind == NO_END:
            found[2 * run + n] = int16(buf, key)
            found[3 * run + n] = int16(buf, key + 2)
        n += 1
    return n
