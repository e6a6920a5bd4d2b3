# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The kernel's tables to the columns of a declared table; see ``kernel.py`` for the rules of its source.

What the columns are made of is data. A *plan* is a flat buffer of int64: for each column a step of `STEP` cells,
(source, column, rule, mask, absent, width, at, valid); its *state* has three more. `width` is that of a value in bytes,
0 for a bit; `at` is the byte of the output where the column's first row begins, `valid` the bit of its first validity
bit. These are as in Arrow: the lowest bit of a byte is the first row's, and 1 means that there is a value.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from sys import byteorder
from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import ATTRIBUTES, BATCH, LAST_OFFSET, MAGIC
else:
    from kafkalog.format.kernel import ATTRIBUTES, BATCH, LAST_OFFSET, MAGIC
from kafkalog.format.kernel import NONE

__all__ = [
    "BASE64",
    "BIT",
    "BITS",
    "BY_BIT",
    "CELL",
    "CELLS",
    "DELTA",
    "EMPTY",
    "ESCAPED",
    "HOLDS",
    "NEVER",
    "NOTHING",
    "NO_HORIZON",
    "NO_MESSAGE",
    "OF_BATCH",
    "OF_MESSAGE",
    "OF_ROW",
    "OLD",
    "PLAIN",
    "SAME",
    "SINCE_2",
    "STEP",
    "TIMES",
    "UNKNOWN",
    "VARIED",
    "bytes_kinds",
    "fill",
    "signs",
    "take",
    "texts",
]

STEP = 8
# Where a value's cell is: in the row, in the row of its batch, in that of its message of magic 0 or 1.
OF_ROW, OF_BATCH, OF_MESSAGE = range(3)
# Rules: what a value is of its cell. The cell; the cell's masked bits; whether it is not 0; the same two of attributes
# that exist since magic 2; by magic and attributes, who set the timestamps; how far the last offset is from the cell.
CELL, BITS, HOLDS, SINCE_2, BIT, TIMES, DELTA = range(7)
# When a value is null: never; if the header of a wrapper of magic 0 or 1 has none; for magic 0 and 1; for magic 2; if
# the batch has no delete horizon; if the validity bit of the row, counted from the mask on, is 0.
NEVER, UNKNOWN, OLD, NO_MESSAGE, NO_HORIZON, BY_BIT = range(6)
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
            else:
                magic = source[at_magic + row]
                if absent == 1:
                    is_gone = magic < 2 and source[start + row] == none
                elif absent == 2:
                    is_gone = magic < 2
                elif absent == 3:
                    is_gone = magic > 1
                else:
                    is_gone = magic < 2 or source[at_attributes + row] & 64 == 0
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
