# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a verification needs of a chunk's headers; see ``kernel.py`` for the rules of its source.

Sums, and whether the batches are *plain*: each is whole, begins where the one before ends, in bytes, and after its last
offset, in the same leader epoch. Of plain batches nothing can contradict its neighbours, and the entries of indexes are
looked up without a copy. Of others columns are copied, for NumPy.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import BATCH_COLUMNS, NONE

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import (
        BASE_OFFSET,
        COUNT,
        CRC,
        LAST_OFFSET,
        LEADER_EPOCH,
        MAGIC,
        MAX_TIMESTAMP,
        POSITION,
        SIZE,
        VALID,
        add64,
    )
else:
    from kafkalog.format.kernel import (
        BASE_OFFSET,
        COUNT,
        CRC,
        LAST_OFFSET,
        LEADER_EPOCH,
        MAGIC,
        MAX_TIMESTAMP,
        POSITION,
        SIZE,
        VALID,
        add64,
    )

__all__ = ["NEIGHBOUR_CELLS", "SUMS", "at_offsets", "at_times", "disagree", "keep", "last_two", "sums"]

SUMS = 8  # cells that ``sums`` fills
NEIGHBOUR_CELLS = 6  # position, size, first and last offset, leader epoch, whether the checksum matches


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def mixed(before: cython.longlong, crc: cython.longlong) -> cython.longlong:
    """Return what stands for checksums in their order, with one more."""
    if cython.compiled:
        return before * 1000003 + crc
    return ((before * 1000003 + crc + 2**63) & (2**64 - 1)) - 2**63


def sums(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    before: cython.const[cython.longlong][::1],
    known: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> None:
    """Add up the `count` batches whose checksums match.

    `found` gets their number, their records and their bytes, the rows of the first and the last (-1 for none), how
    many of magic 2 have fewer records than offsets, and whether all are plain after the last row `before`, of which
    `known` exist as in ``disagree``. Its sixth cell stands for the CRCs of all batches so far.
    """
    row: cython.Py_ssize_t
    batches: cython.longlong = 0
    records: cython.longlong = 0
    size: cython.longlong = 0
    first: cython.longlong = -1
    last: cython.longlong = -1
    short: cython.longlong = 0
    number: cython.longlong
    delta: cython.longlong
    position: cython.longlong
    base: cython.longlong
    end: cython.longlong
    reached: cython.longlong
    epoch: cython.longlong
    stands_for: cython.longlong
    none: cython.longlong = NONE
    plain: cython.bint
    if (
        len(heads) < capacity * len(BATCH_COLUMNS)
        or count > capacity
        or len(found) < SUMS
        or len(before) < 2 * NEIGHBOUR_CELLS
    ):
        raise IndexError
    plain = count > 0 and known > 0 and before[11] != 0
    end = add64(before[1], before[3])
    reached = before[7]
    epoch = before[9]
    stands_for = found[6]
    if epoch == none and count > 0:
        epoch = heads[LEADER_EPOCH * capacity]
    for row in range(count):
        stands_for = mixed(stands_for, heads[CRC * capacity + row])
        if not heads[VALID * capacity + row]:
            plain = False
            continue
        number = heads[COUNT * capacity + row]
        position = heads[POSITION * capacity + row]
        base = heads[BASE_OFFSET * capacity + row]
        batches += 1
        size += heads[SIZE * capacity + row]
        if number >= 0:
            records += number
            delta = add64(heads[LAST_OFFSET * capacity + row], -base)
            if number <= delta and heads[MAGIC * capacity + row] > 1:
                short += 1
        if position != end or base <= reached or heads[LEADER_EPOCH * capacity + row] != epoch:
            plain = False
        reached = heads[LAST_OFFSET * capacity + row]
        if reached < base:
            plain = False
        end = position + heads[SIZE * capacity + row]
        if first < 0:
            first = row
        last = row
    found[0] = batches
    found[1] = records
    found[2] = size
    found[3] = first
    found[4] = last
    found[5] = short
    found[6] = stands_for
    found[7] = plain


def last_two(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    kept: cython.longlong[::1],
) -> None:
    """Move the last two rows of what was read so far into `kept`, column by column as in ``disagree``."""
    row: cython.Py_ssize_t
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > capacity or len(kept) < 2 * NEIGHBOUR_CELLS:
        raise IndexError
    for row in range(max(0, count - 2), count):
        kept[0] = kept[1]
        kept[1] = heads[POSITION * capacity + row]
        kept[2] = kept[3]
        kept[3] = heads[SIZE * capacity + row]
        kept[4] = kept[5]
        kept[5] = heads[BASE_OFFSET * capacity + row]
        kept[6] = kept[7]
        kept[7] = heads[LAST_OFFSET * capacity + row]
        kept[8] = kept[9]
        kept[9] = heads[LEADER_EPOCH * capacity + row]
        kept[10] = kept[11]
        kept[11] = heads[VALID * capacity + row]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def first_from(
    cells: cython.const[cython.longlong][::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, value: cython.longlong
) -> cython.Py_ssize_t:
    """Return the first place of sorted cells in [`low`, `high`) whose cell is not below `value`, `high` for none."""
    half: cython.Py_ssize_t
    while low < high:
        half = (low + high) // 2
        if cells[half] < value:
            low = half + 1
        else:
            high = half
    return low


def at_offsets(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    positions: cython.const[cython.longlong][::1],
    by_position: cython.const[cython.longlong][::1],
    first: cython.longlong[::1],
    last: cython.longlong[::1],
    offsets: cython.const[cython.longlong][::1],
    by_offset: cython.const[cython.longlong][::1],
    ends_at: cython.longlong[::1],
) -> None:
    """Look the entries of an offset index up that `count` plain batches bear on.

    `positions` and `offsets` are those of the entries, sorted, and the entry of each is at its place in `by_position`
    or `by_offset`. `first` and `last` get the offsets of the batch at an entry's position, `ends_at` the position of
    the batch that ends at its offset.
    """
    n: cython.Py_ssize_t = len(positions)
    row: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    at: cython.Py_ssize_t
    at_position: cython.Py_ssize_t = POSITION * capacity
    at_last: cython.Py_ssize_t = LAST_OFFSET * capacity
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > capacity or count < 1:
        raise IndexError
    if min(len(by_position), len(first), len(last), len(offsets), len(by_offset), len(ends_at)) < n:
        raise IndexError
    row = at_position
    entry = first_from(positions, 0, n, heads[at_position])
    while entry < n and positions[entry] <= heads[at_position + count - 1]:
        row = first_from(heads, row, at_position + count, positions[entry])
        at = by_position[entry]
        if heads[row] == positions[entry] and 0 <= at < n:
            first[at] = heads[BASE_OFFSET * capacity + row - at_position]
            last[at] = heads[LAST_OFFSET * capacity + row - at_position]
        entry += 1
    row = at_last
    entry = first_from(offsets, 0, n, heads[at_last])
    while entry < n and offsets[entry] <= heads[at_last + count - 1]:
        row = first_from(heads, row, at_last + count, offsets[entry])
        at = by_offset[entry]
        if heads[row] == offsets[entry] and 0 <= at < n:
            ends_at[at] = heads[at_position + row - at_last]
        entry += 1


def at_times(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    before: cython.longlong,
    newest: cython.longlong,
    offsets: cython.const[cython.longlong][::1],
    by_offset: cython.const[cython.longlong][::1],
    there: cython.longlong[::1],
    earlier: cython.longlong[::1],
) -> int:
    """Look the entries of a time index up that `count` plain batches after offset `before` bear on.

    `there` gets the newest time of the batch with an entry's offset, `earlier` that of all batches before it, of which
    `newest` is the newest before the first row. Answers the newest time so far.
    """
    n: cython.Py_ssize_t = len(offsets)
    row: cython.Py_ssize_t = 0
    entry: cython.Py_ssize_t
    at: cython.Py_ssize_t
    at_last: cython.Py_ssize_t = LAST_OFFSET * capacity
    at_newest: cython.Py_ssize_t = MAX_TIMESTAMP * capacity
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > capacity or count < 1:
        raise IndexError
    if min(len(by_offset), len(there), len(earlier)) < n:
        raise IndexError
    entry = first_from(offsets, 0, n, add64(before, 1))
    while entry < n and offsets[entry] <= heads[at_last + count - 1]:
        while heads[at_last + row] < offsets[entry]:
            newest = max(newest, heads[at_newest + row])
            row += 1
        at = by_offset[entry]
        if offsets[entry] >= heads[BASE_OFFSET * capacity + row] and 0 <= at < n:
            there[at] = heads[at_newest + row]
            earlier[at] = newest
        entry += 1
    while row < count:
        newest = max(newest, heads[at_newest + row])
        row += 1
    return newest


def keep(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    columns: cython.const[cython.longlong][::1],
    kept: cython.longlong[::1],
    room: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> int:
    """Copy some columns of the `count` batches whose checksums match after the `n` rows of the table `kept`.

    `room` is the table's capacity. Answers how many rows it has now.
    """
    row: cython.Py_ssize_t
    column: cython.Py_ssize_t
    at: cython.Py_ssize_t
    into: cython.Py_ssize_t
    whole: cython.Py_ssize_t = 0
    if (
        len(heads) < capacity * len(BATCH_COLUMNS)
        or min(columns) < 0
        or max(columns) >= len(BATCH_COLUMNS)
        or len(kept) < room * len(columns)
        or n < 0
        or n + count > room
        or count > capacity
    ):
        raise IndexError
    for row in range(count):
        if heads[VALID * capacity + row]:
            whole += 1
    for column in range(len(columns)):
        at = columns[column] * capacity
        into = column * room + n
        if whole == count:
            for row in range(count):
                kept[into + row] = heads[at + row]
            continue
        for row in range(count):
            if heads[VALID * capacity + row]:
                kept[into] = heads[at + row]
                into += 1
    return n + whole


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def cell(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    before: cython.const[cython.longlong][::1],
    column: cython.Py_ssize_t,
    kept: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.longlong:
    """Return a cell of a chunk's table, or of the two rows `before` it, which are rows -2 and -1."""
    if row < 0:
        return before[2 * kept + row + 2]
    return heads[column * capacity + row]


def disagree(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    before: cython.const[cython.longlong][::1],
    known: cython.Py_ssize_t,
) -> bool:
    """Say whether the offsets or leader epochs of three adjacent whole batches may contradict each other.

    `before` has the last two rows before the chunk, of which `known` exist, column by column: NEIGHBOUR_CELLS of them.
    """
    row: cython.Py_ssize_t
    first: cython.longlong
    last: cython.longlong
    low: cython.longlong
    following: cython.longlong
    epoch: cython.longlong
    around: cython.longlong
    none: cython.longlong = NONE
    if (
        len(heads) < capacity * len(BATCH_COLUMNS)
        or count > capacity
        or len(before) < 2 * NEIGHBOUR_CELLS
        or known < 0
        or known > 2
    ):
        raise IndexError
    for row in range(2 - known, count):
        if row >= 2:
            around = heads[LEADER_EPOCH * capacity + row]
            epoch = heads[LEADER_EPOCH * capacity + row - 1]
            first = heads[BASE_OFFSET * capacity + row - 1]
            last = heads[LAST_OFFSET * capacity + row - 1]
            low = heads[LAST_OFFSET * capacity + row - 2]
            following = heads[BASE_OFFSET * capacity + row]
        else:
            around = cell(heads, capacity, before, LEADER_EPOCH, 4, row)
            epoch = cell(heads, capacity, before, LEADER_EPOCH, 4, row - 1)
            first = cell(heads, capacity, before, BASE_OFFSET, 2, row - 1)
            last = cell(heads, capacity, before, LAST_OFFSET, 3, row - 1)
            low = cell(heads, capacity, before, LAST_OFFSET, 3, row - 2)
            following = cell(heads, capacity, before, BASE_OFFSET, 2, row)
        if epoch != around:
            return True
        if first == none or following == none:  # noqa: PLR1714  # a tuple here would be made for each row
            continue
        if first <= low or last >= following:
            return True
    return False
