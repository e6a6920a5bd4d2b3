# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a verification needs of a chunk's headers: sums, copies, whether neighbours agree; see ``kernel.py``."""

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
        LAST_OFFSET,
        LEADER_EPOCH,
        MAGIC,
        SIZE,
        VALID,
        add64,
    )
else:
    from kafkalog.format.kernel import (
        BASE_OFFSET,
        COUNT,
        LAST_OFFSET,
        LEADER_EPOCH,
        MAGIC,
        SIZE,
        VALID,
        add64,
    )

__all__ = ["NEIGHBOUR_CELLS", "SUMS", "disagree", "keep", "sums"]

SUMS = 6  # cells that ``sums`` fills
NEIGHBOUR_CELLS = 6  # position, size, first and last offset, leader epoch, whether the checksum matches


def sums(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> None:
    """Add up the `count` batches whose checksums match.

    `found` gets their number, their records and their bytes, the rows of the first and the last (-1 for none), and how
    many of magic 2 have fewer records than offsets.
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
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > capacity or len(found) < SUMS:
        raise IndexError
    for row in range(count):
        if not heads[VALID * capacity + row]:
            continue
        number = heads[COUNT * capacity + row]
        batches += 1
        size += heads[SIZE * capacity + row]
        if number >= 0:
            records += number
            delta = add64(heads[LAST_OFFSET * capacity + row], -heads[BASE_OFFSET * capacity + row])
            if number <= delta and heads[MAGIC * capacity + row] > 1:
                short += 1
        if first < 0:
            first = row
        last = row
    found[0] = batches
    found[1] = records
    found[2] = size
    found[3] = first
    found[4] = last
    found[5] = short


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
