# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The kernel's tables to the columns of a declared table; ``buffers.py`` has the rules of its source.

What the columns are made of is data: a *plan* has a row of the cells ``PLAN_…`` for each column, its *state* one of
``COLUMN_…``. Bits are as in Arrow: the lowest bit of a byte is the first row's, and 1 means that there is a value.
"""

from __future__ import annotations

from array import array
from sys import byteorder
from typing import Any

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.numbers import minus64, varint
    from kafkalog.kernel.plans import *
    from kafkalog.kernel.put import kind, put_base64

__all__ = [
    "Filling",
    "bytes_kinds",
    "fill",
    "gather",
    "headers",
    "list_ends",
    "signs",
    "take",
    "texts",
]


@cython.cclass
class Filling:
    """Columns that are being filled: their plan and state, what they are written to, and scratch for one of them.

    `bits` are the validity bits of the source, `valid` those of the output; `scratch` has the columns ``SCRATCH_…``.
    """

    plan: cython.const[cython.longlong][:, ::1]
    state: cython.longlong[:, ::1]
    scratch: cython.longlong[:, ::1]
    bits: cython.const[cython.uchar][::1]
    out: cython.uchar[::1]
    valid: cython.uchar[::1]

    def __init__(
        self,
        plan: cython.const[cython.longlong][:, ::1],
        state: cython.longlong[:, ::1],
        scratch: cython.longlong[:, ::1],
        bits: cython.const[cython.uchar][::1],
        out: cython.uchar[::1],
        valid: cython.uchar[::1],
    ) -> None:
        if plan.shape[1] < PLAN_CELLS or len(state) < len(plan) or state.shape[1] < COLUMN_CELLS:
            raise IndexError
        if len(scratch) < SCRATCH_COLUMNS:
            raise IndexError
        self.plan = plan
        self.state = state
        self.scratch = scratch
        self.bits = bits
        self.out = out
        self.valid = valid


def fill(
    filling: Filling, tables: Any, first: cython.Py_ssize_t, count: cython.Py_ssize_t, row: cython.Py_ssize_t
) -> None:
    """Append the rows [`first`, `first` + `count`) of `tables` as rows from `row` on, all columns of the plan.

    Of the tables are `rows`, `batches` and `messages`, and `outer`, the row in `batches` of all their batches, below 0
    if each row has its own. A number too large for its width becomes null.
    """
    s: cython.Py_ssize_t
    n: cython.Py_ssize_t
    runs: cython.Py_ssize_t = 0
    runs_of: cython.longlong = OF_ROW
    source: cython.longlong
    start: cython.Py_ssize_t
    rows: cython.const[cython.longlong][:, ::1] = tables.rows.cells
    batches: cython.const[cython.longlong][:, ::1] = tables.batches.cells
    messages: cython.const[cython.longlong][:, ::1] = tables.messages.cells
    outer: cython.Py_ssize_t = tables.outer
    plan: cython.const[cython.longlong][:, ::1] = filling.plan
    scratch: cython.longlong[:, ::1] = filling.scratch
    cells: cython.const[cython.longlong][:, ::1]
    if first < 0 or count < 0 or first + count > rows.shape[1] or row < 0 or scratch.shape[1] < count:
        raise IndexError
    if count == 0:
        return
    for s in range(len(plan)):
        source = plan[s, PLAN_SOURCE]
        if _is_beyond(plan, s, row + count, 8 * len(filling.out), 8 * len(filling.valid)):
            raise IndexError
        n = count
        start = first
        if source == OF_ROW:
            cells = rows
        else:
            if runs_of == OF_ROW or (runs_of != source and outer >= 0):
                runs = _runs(rows, first, count, outer if source == OF_BATCH else -1, scratch)
            runs_of = source
            n = runs
            # Where each row has a batch of its own, they are one after the other.
            start = scratch[RUN_ROW, 0]
            if n != count or scratch[RUN_ROW, count - 1] - start != count - 1:
                start = -1
            cells = batches if source == OF_BATCH else messages
        if plan[s, PLAN_COLUMN] < 0 or plan[s, PLAN_COLUMN] >= len(cells) or start + n > cells.shape[1]:
            raise IndexError
        if not _fill_column(filling, s, cells, start, n, count, row):
            raise IndexError


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _is_beyond(
    plan: cython.const[cython.longlong][:, ::1],
    s: cython.Py_ssize_t,
    rows: cython.Py_ssize_t,
    out_bits: cython.Py_ssize_t,
    valid_bits: cython.Py_ssize_t,
) -> cython.bint:
    """Say whether so many rows of a column are too many for the output."""
    at: cython.Py_ssize_t = plan[s, PLAN_AT]
    width: cython.Py_ssize_t = plan[s, PLAN_WIDTH]
    bit: cython.Py_ssize_t = plan[s, PLAN_VALID]
    if at < 0 or 8 * at + (8 * width * rows if width else rows) > out_bits:
        return True
    return bit + rows > valid_bits if bit >= 0 else plan[s, PLAN_ABSENT] != NEVER


@cython.cfunc
@cython.exceptval(check=False)
def _fill_column(
    filling: Filling,
    s: cython.Py_ssize_t,
    cells: cython.const[cython.longlong][:, ::1],
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Append one column: `n` values, from row `start` on or by runs, for `count` rows; say whether all was there."""
    plan: cython.const[cython.longlong][:, ::1] = filling.plan
    state: cython.longlong[:, ::1] = filling.state
    scratch: cython.longlong[:, ::1] = filling.scratch
    out: cython.uchar[::1] = filling.out
    valid: cython.uchar[::1] = filling.valid
    column: cython.Py_ssize_t = plan[s, PLAN_COLUMN]
    width: cython.Py_ssize_t = plan[s, PLAN_WIDTH]
    at: cython.Py_ssize_t = plan[s, PLAN_AT]
    bit: cython.Py_ssize_t = plan[s, PLAN_VALID]
    is_made: cython.bint = False  # in scratch, with or without nulls
    has_gone: cython.bint = plan[s, PLAN_ABSENT] != NEVER
    is_same: cython.bint
    if start < 0 or plan[s, PLAN_RULE] != CELL or has_gone or _beyond(cells, column, start, n, width):
        n = _values(filling, s, cells, start, n)
        if n == 0:
            return False
        is_made = True
        if _beyond(scratch, SCRATCH_VALUE, 0, n, width):
            if bit < 0:
                return False
            _mark_beyond(scratch, n, width, has_gone)
            has_gone = True
    if is_made:
        cells = scratch
        column = SCRATCH_VALUE
        start = 0
    if state[s, COLUMN_HAS] == EMPTY:
        state[s, COLUMN_HAS] = SAME
        state[s, COLUMN_VALUE] = cells[column, start]
        state[s, COLUMN_NULLS] = has_gone and scratch[SCRATCH_NULL, 0] != 0
    if state[s, COLUMN_HAS] == SAME:
        if state[s, COLUMN_NULLS]:
            is_same = has_gone and _all_equal(scratch, SCRATCH_NULL, 0, n, 1)
        else:
            is_same = _all_equal(cells, column, start, n, state[s, COLUMN_VALUE])
            is_same = is_same and (not has_gone or _all_equal(scratch, SCRATCH_NULL, 0, n, 0))
        if is_same:
            return True
        state[s, COLUMN_HAS] = VARIED
        _repeat(out, at, width, state, s, row)
        if state[s, COLUMN_NULLS]:
            _same_bits(valid, bit, False, row)
    if n < count:
        _expand(scratch, SCRATCH_VALUE, n, count)
        if has_gone:
            _expand(scratch, SCRATCH_NULL, n, count)
    if width:
        _narrow(out, at + width * row, width, cells, column, start, count)
    else:
        _bits(out, 8 * at + row, cells, column, start, count, False)
    if state[s, COLUMN_HAS] == CELLS:
        if has_gone:
            _bits(valid, bit + row, scratch, SCRATCH_NULL, 0, count, True)
        return True
    if not state[s, COLUMN_NULLS] and has_gone and not _all_equal(scratch, SCRATCH_NULL, 0, count, 0):
        _same_bits(valid, bit, True, row)
        state[s, COLUMN_NULLS] = 1
    if state[s, COLUMN_NULLS]:
        if has_gone:
            _bits(valid, bit + row, scratch, SCRATCH_NULL, 0, count, True)
        else:
            _same_bits(valid, bit + row, True, count)
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _runs(
    rows: cython.const[cython.longlong][:, ::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    outer: cython.Py_ssize_t,
    scratch: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """List the runs of rows of one batch: its row, and the end of the run."""
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    if outer >= 0:
        scratch[RUN_ROW, 0] = outer
        scratch[RUN_END, 0] = count
        return 1
    for i in range(count):
        if i and rows[BATCH, first + i] == scratch[RUN_ROW, n - 1]:
            continue
        if n:
            scratch[RUN_END, n - 1] = i
        scratch[RUN_ROW, n] = rows[BATCH, first + i]
        n += 1
    scratch[RUN_END, n - 1] = count
    return n


@cython.cfunc
@cython.exceptval(check=False)
def _values(
    filling: Filling,
    s: cython.Py_ssize_t,
    source: cython.const[cython.longlong][:, ::1],
    first: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write `n` values to ``SCRATCH_VALUE``, and to ``SCRATCH_NULL`` which of them are null.

    They are of the rows from `first` on; if that is below 0, of those that are listed in ``RUN_ROW``. Answers how many
    values there are, 1 if all are equal, and 0 if one is outside of the table.
    """
    plan: cython.const[cython.longlong][:, ::1] = filling.plan
    scratch: cython.longlong[:, ::1] = filling.scratch
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    column: cython.Py_ssize_t = plan[s, PLAN_COLUMN]
    rule: cython.longlong = plan[s, PLAN_RULE]
    mask: cython.longlong = plan[s, PLAN_MASK]
    v: cython.longlong
    by_run: cython.bint = first < 0
    if len(source) < BATCH_CELLS and _needs_headers(plan, s):
        return 0
    if not by_run and _is_one(source, first, n, plan, s):
        n = 1
    for i in range(n):
        row = scratch[RUN_ROW, i] if by_run else first + i
        if row < 0 or row >= source.shape[1]:
            return 0
        v = source[column, row]
        if rule == CELL:
            pass
        elif rule == BITS:
            v = v & mask
        elif rule == HOLDS:
            v = v != 0
        elif rule == SINCE_2:
            v = v & mask if source[MAGIC, row] > 1 else 0
        elif rule == BIT:
            v = source[MAGIC, row] > 1 and v & mask != 0
        elif rule == TIMES:
            v = 0 if source[MAGIC, row] == 0 else 2 if v & mask else 1
        elif rule == DELTA:
            v = minus64(source[LAST_OFFSET, row], v)
        scratch[SCRATCH_VALUE, i] = v
    if plan[s, PLAN_ABSENT] != NEVER:
        return _nulls(filling, s, source, first, n)
    return n


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _needs_headers(plan: cython.const[cython.longlong][:, ::1], s: cython.Py_ssize_t) -> cython.bint:
    """Say whether a value is made of more than its column."""
    return SINCE_2 <= plan[s, PLAN_RULE] <= DELTA or UNKNOWN <= plan[s, PLAN_ABSENT] <= NO_HORIZON


@cython.cfunc
@cython.exceptval(check=False)
def _nulls(
    filling: Filling,
    s: cython.Py_ssize_t,
    source: cython.const[cython.longlong][:, ::1],
    first: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write which values are null; answer `n`, 0 if a bit is outside of `bits`."""
    plan: cython.const[cython.longlong][:, ::1] = filling.plan
    scratch: cython.longlong[:, ::1] = filling.scratch
    bits: cython.const[cython.uchar][::1] = filling.bits
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    column: cython.Py_ssize_t = plan[s, PLAN_COLUMN]
    absent: cython.longlong = plan[s, PLAN_ABSENT]
    is_gone: cython.bint
    for i in range(n):
        row = scratch[RUN_ROW, i] if first < 0 else first + i
        if absent == BY_BIT:
            bit = plan[s, PLAN_MASK] + row
            if bit < 0 or bit >> 3 >= len(bits):
                return 0
            is_gone = bits[bit >> 3] & (1 << (bit & 7)) == 0
        elif absent == MISSING:
            is_gone = source[column, row] == NONE
        elif absent == UNKNOWN:
            is_gone = source[MAGIC, row] < 2 and source[column, row] == NONE
        elif absent == OLD:
            is_gone = source[MAGIC, row] < 2
        elif absent == NO_MESSAGE:
            is_gone = source[MAGIC, row] > 1
        else:
            is_gone = source[MAGIC, row] < 2 or source[ATTRIBUTES, row] & HORIZON_BIT == 0
        scratch[SCRATCH_NULL, i] = is_gone
    return n


@cython.cfunc
@cython.exceptval(check=False)
def _is_one(
    source: cython.const[cython.longlong][:, ::1],
    first: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    plan: cython.const[cython.longlong][:, ::1],
    s: cython.Py_ssize_t,
) -> cython.bint:
    """Say whether the values of `n` rows are certainly all equal, or all null."""
    column: cython.Py_ssize_t = plan[s, PLAN_COLUMN]
    rule: cython.longlong = plan[s, PLAN_RULE]
    absent: cython.longlong = plan[s, PLAN_ABSENT]
    magic: cython.longlong
    if rule == DELTA or absent == BY_BIT:
        return False
    if _needs_headers(plan, s):
        magic = source[MAGIC, first]
        if not _all_equal(source, MAGIC, first, n, magic):
            return False
        if absent == NO_HORIZON and not _all_equal(source, ATTRIBUTES, first, n, source[ATTRIBUTES, first]):
            return False
        if (absent == OLD and magic < 2) or (absent == NO_MESSAGE and magic > 1):
            return True
    return _all_equal(source, column, first, n, source[column, first])


@cython.cfunc
@cython.exceptval(check=False)
def _expand(
    scratch: cython.longlong[:, ::1], column: cython.Py_ssize_t, n: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.void:
    """Repeat the value of each run for its rows, from the last on: a run begins at or after its value's place.

    One value is that of all rows.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t = count
    start: cython.Py_ssize_t
    v: cython.longlong
    for i in range(n - 1, -1, -1):
        v = scratch[column, i]
        start = scratch[RUN_END, i - 1] if i else 0
        while p > start:
            p -= 1
            scratch[column, p] = v


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _all_equal(
    cells: cython.const[cython.longlong][:, ::1],
    column: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    value: cython.longlong,
) -> cython.bint:
    stop: cython.Py_ssize_t = start + count
    while start < stop and cells[column, start] == value:
        start += 1
    return start == stop


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _beyond(
    cells: cython.const[cython.longlong][:, ::1],
    column: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
) -> cython.bint:
    """Say whether a number is too large for `width` bytes, if these are fewer than its own."""
    stop: cython.Py_ssize_t = start + count
    half: cython.longlong = 1
    if width <= 0 or width >= 8:
        return False
    half <<= 8 * width - 1
    while start < stop and -half <= cells[column, start] < half:
        start += 1
    return start < stop


@cython.cfunc
@cython.exceptval(check=False)
def _mark_beyond(
    scratch: cython.longlong[:, ::1], n: cython.Py_ssize_t, width: cython.Py_ssize_t, has_gone: cython.bint
) -> cython.void:
    """Make numbers that are too large for `width` bytes null."""
    i: cython.Py_ssize_t
    half: cython.longlong = 1
    half <<= 8 * width - 1
    for i in range(n):
        if scratch[SCRATCH_VALUE, i] < -half or scratch[SCRATCH_VALUE, i] >= half:
            scratch[SCRATCH_VALUE, i] = 0
            scratch[SCRATCH_NULL, i] = 1
        elif not has_gone:
            scratch[SCRATCH_NULL, i] = 0


@cython.cfunc
@cython.exceptval(check=False)
def _narrow(
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    cells: cython.const[cython.longlong][:, ::1],
    column: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Write numbers of `width` bytes each, in the machine's order."""
    i: cython.Py_ssize_t
    if cython.compiled:
        of_4: cython.p_int = cython.cast(cython.p_int, cython.address(out[at]))
        of_2: cython.p_short = cython.cast(cython.p_short, cython.address(out[at]))
        if width == 8:
            memcpy(cython.address(out[at]), cython.address(cells[column, start]), 8 * count)
        elif width == 4:
            for i in range(count):
                of_4[i] = cython.cast(cython.int, cells[column, start + i])
        elif width == 2:
            for i in range(count):
                of_2[i] = cython.cast(cython.short, cells[column, start + i])
        else:
            for i in range(count):
                out[at + i] = cython.cast(cython.uchar, cells[column, start + i])
    else:
        for i in range(count):
            out[at : at + width] = array("B", int(cells[column, start + i]).to_bytes(width, byteorder, signed=True))
            at += width


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _set_bit(out: cython.uchar[::1], bit: cython.Py_ssize_t, value: cython.bint) -> cython.void:
    if value:
        out[bit >> 3] |= 1 << (bit & 7)
    else:
        out[bit >> 3] &= 255 ^ (1 << (bit & 7))


@cython.cfunc
@cython.exceptval(check=False)
def _same_bits(
    out: cython.uchar[::1], bit: cython.Py_ssize_t, value: cython.bint, count: cython.Py_ssize_t
) -> cython.void:
    """Write a bit `count` times, from bit number `bit` on."""
    stop: cython.Py_ssize_t = bit + count
    while bit < stop:
        if bit & 7 == 0 and stop - bit >= 8:
            out[bit >> 3] = 255 if value else 0
            bit += 8
        else:
            _set_bit(out, bit, value)
            bit += 1


@cython.cfunc
@cython.exceptval(check=False)
def _repeat(
    out: cython.uchar[::1],
    at: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    state: cython.const[cython.longlong][:, ::1],
    s: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.void:
    """Write a column's one value `count` times from byte `at` on, as bits with a width of 0."""
    i: cython.Py_ssize_t
    if width == 0:
        _same_bits(out, 8 * at, state[s, COLUMN_VALUE] != 0, count)
    else:
        for i in range(count):
            _narrow(out, at + width * i, width, state, s, COLUMN_VALUE, 1)


@cython.cfunc
@cython.exceptval(check=False)
def _bits(
    out: cython.uchar[::1],
    bit: cython.Py_ssize_t,
    cells: cython.const[cython.longlong][:, ::1],
    column: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    inverted: cython.bint,
) -> cython.void:
    """Write a bit for each cell from bit number `bit` on: whether it is not 0, or with `inverted` whether it is."""
    row: cython.Py_ssize_t
    for row in range(start, start + count):
        _set_bit(out, bit, (cells[column, row] == 0) == inverted)
        bit += 1


def take(
    source: cython.const[cython.longlong][:, ::1],
    picks: cython.const[cython.longlong][::1],
    count: cython.Py_ssize_t,
    out: cython.longlong[:, ::1],
) -> None:
    """Copy the rows that the first `count` of `picks` name to `out`, a table of the same columns and capacity."""
    i: cython.Py_ssize_t
    c: cython.Py_ssize_t
    row: cython.Py_ssize_t
    if count < 0 or count > len(picks) or count > out.shape[1] or len(out) != len(source):
        raise IndexError
    for i in range(count):
        row = picks[i]
        if row < 0 or row >= source.shape[1]:
            raise IndexError
        for c in range(len(source)):
            out[c, i] = source[c, row]


def texts(
    places: cython.const[cython.longlong][:, ::1],
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
    if weight + count > len(cells) or column < 0 or column + 2 > len(places):
        raise IndexError
    for i in range(count):
        row = picks[i]
        if row < 0 or row >= places.shape[1]:
            raise IndexError
        size = places[column + 1, row]
        cells[at + i] = places[column, row]
        cells[at + room + i] = size
        cells[at + 2 * room + i] = NOTHING if size < 0 else PLAIN
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
        _set_bit(valid, bit + i, cells[at + i] >= 0)


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
        if size > 0 and (start < 0 or size > len(buf) - start):
            raise IndexError
        cells[kinds + i] = kind(buf, start, size)


# Bytes of a buffer to Arrow's columns of strings: offsets, data and validity bits; ``buffers.py`` has the rules.
#
# A piece of bytes is a start and a size, in two runs of cells.


def gather(
    buf: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][::1],
    starts: cython.Py_ssize_t,
    sizes: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    strings: Any,
) -> int:
    """Append `count` pieces as rows: those that are UTF-8 as text, others in base64. Answer how many had room.

    A piece is a start and a size, below 0 for null; the other form of it is null, too. Of `strings` are the forms that
    are `wanted`, `state`, `room`, and what is written to: `text` and `coded`; `offsets`, which has two runs of `room`
    and one more cells; and `valid`, which has two runs of `room` bits: of the texts, and of base64, where nothing is
    written before the first row that has it.
    """
    wanted: cython.int = strings.wanted
    state: cython.longlong[::1] = strings.state
    room: cython.Py_ssize_t = strings.room
    offsets: cython.int[::1] = strings.offsets
    valid: cython.uchar[::1] = strings.valid
    text: cython.uchar[::1] = strings.text
    coded: cython.uchar[::1] = strings.coded
    i: cython.Py_ssize_t
    row: cython.Py_ssize_t = state[ROWS]
    w: cython.Py_ssize_t = state[TEXT_END]
    v: cython.Py_ssize_t = state[CODED_END]
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    is_coded: cython.bint
    done: cython.Py_ssize_t
    second: cython.Py_ssize_t = room + 1
    second_bit: cython.Py_ssize_t = (room + 7) // 8 * 8
    is_text: cython.bint
    if row < 0 or count < 0 or row + count > room or len(offsets) < 2 * second or 8 * len(valid) < 2 * second_bit:
        raise IndexError
    if min(starts, sizes) < 0 or max(starts, sizes) + count > len(cells) or len(state) < GATHER_CELLS or w < 0 or v < 0:
        raise IndexError
    i = 0
    while i < count:
        if wanted & TEXT and not state[CODED_COUNT]:
            done = _texts(buf, cells, starts + i, sizes + i, count - i, offsets, row, text, w)
            if done:
                _same_bits(valid, row, True, done)
                i += done
                row += done
                w = offsets[row]
                state[TEXT_COUNT] += done
                if i == count:
                    break
        start = cells[starts + i]
        size = cells[sizes + i]
        is_text = size == 0
        if size > 0:
            if start < 0 or size > len(buf) - start:
                raise IndexError
            if wanted & TEXT and size <= len(text) - w:
                is_text = _copied(buf, start, size, text, w)
            else:
                is_text = kind(buf, start, size) != BASE64
                if is_text and wanted & TEXT:
                    break
        if wanted & TEXT:
            if is_text:
                w += size
                state[TEXT_COUNT] += 1
            _set_bit(valid, row, is_text)
            offsets[row + 1] = w
        is_coded = size > 0 and not is_text
        if wanted & CODED and (is_coded or state[CODED_COUNT]):
            if is_coded:
                if (size + 2) // 3 * 4 > len(coded) - v:
                    break
                if not state[CODED_COUNT]:
                    _begin(offsets, second, valid, second_bit, row)
                v = put_base64(coded, v, buf, start, size, False)
                state[CODED_COUNT] += 1
            _set_bit(valid, second_bit + row, is_coded)
            offsets[second + row + 1] = v
        row += 1
        i += 1
    state[ROWS] = row
    state[TEXT_END] = w
    state[CODED_END] = v
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
        if size > 0 and not _copied(buf, start, size, text, w):
            return i
        w += size
        offsets[row + 1 + i] = w
    return count


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
) -> cython.bint:
    """Copy bytes, and say whether they are UTF-8: what is written of others counts for nothing."""
    if cython.compiled:
        return kafkalog_copied(cython.address(out[w]), len(out) - w, cython.address(buf[start]), len(buf) - start, size)
    out[w : w + size] = memoryview(buf)[start : start + size]
    return kind(buf, start, size) != BASE64


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
    found: cython.longlong[:, ::1],
) -> tuple[int, int, int, int]:
    """List the headers of rows, which the kernel has checked: (row, position in it, headers left of it, headers).

    `found`, a table, gets where each key begins, its size, and the same of its value. Where its room is
    short, the first three answers are what to go on with; a row begins with `p` below 0.
    """
    n: cython.Py_ssize_t = 0
    key: cython.Py_ssize_t
    value: cython.Py_ssize_t
    key_size: cython.longlong
    value_size: cython.longlong
    size: cython.Py_ssize_t = len(buf)
    if min(starts, counts) < 0 or max(starts, counts) + stop_row > len(cells) or len(found) < HEADER_COLUMNS:
        raise IndexError
    while row < stop_row:
        if p < 0:
            p = cells[starts + row]
            left = cells[counts + row]
        while left > 0:
            if n == found.shape[1]:
                return row, p, left, n
            key_size, key = varint(buf, p, size)
            if key < 0 or key_size < 0 or key_size > size - key:
                raise IndexError
            value_size, value = varint(buf, key + key_size, size)
            if value < 0 or value_size > size - value:
                raise IndexError
            found[HEADER_KEY_START, n] = key
            found[HEADER_KEY_SIZE, n] = key_size
            found[HEADER_VALUE_START, n] = value
            found[HEADER_VALUE_SIZE, n] = value_size if value_size >= 0 else -1
            p = value + value_size if value_size > 0 else value
            n += 1
            left -= 1
        row += 1
        p = -1
    return row, p, left, n
