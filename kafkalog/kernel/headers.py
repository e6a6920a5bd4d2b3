# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Batch headers into a table, checksums included, and whether they follow each other; ``buffers.py`` has the rules.

Positions in a header are spelt out, in the table's order; a test compares them with the layouts.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.crc32c import crc32 as crc32_of
    from kafkalog.kernel.crc32c import crc32c as crc32c_of
    from kafkalog.kernel.crc32c import shift as shifted
    from kafkalog.kernel.numbers import (
        add64,
        add_sequence,
        end_marker,
        int16,
        int32,
        int64,
        unsigned32,
        varint,
        varlong,
    )

__all__ = [
    "BAD",
    "COMPILED",
    "END",
    "FULL",
    "at_offsets",
    "at_times",
    "crc32",
    "crc32c",
    "disagree",
    "find",
    "keep",
    "last_two",
    "markers",
    "order",
    "read",
    "shift",
    "sums",
]


# Why ``read`` stopped.
END, FULL, BAD = range(3)

COMPILED: Final = bool(cython.compiled)

if cython.compiled:
    kafkalog_prepare()


def crc32c(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> int:
    """Return the CRC-32C of ``buf[start:stop]``, that of magic 2, continued from `crc`, that of the bytes before."""
    return crc32c_of(buf, start, stop, crc)


def crc32(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> int:
    """Return the CRC-32 of ``buf[start:stop]``, that of magic 0 and 1."""
    return crc32_of(buf, start, stop, crc)


def shift(crc: cython.longlong, length: cython.longlong) -> int:
    """Return what `crc` contributes to a CRC-32C after `length` more bytes.

    ``crc32c(a + b) == shift(crc32c(a), len(b)) ^ crc32c(b)``.
    """
    return shifted(crc, length)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_batch(
    buf: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    size: cython.longlong,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Set what the header of a batch of magic 2 at `i` says; say whether its checksum matches."""
    base: cython.longlong = int64(buf, i)
    crc: cython.longlong = unsigned32(int32(buf, i + 17))
    valid: cython.bint = crc32c_of(buf, i + 21, i + size) == crc
    delta: cython.longlong = int32(buf, i + 23)
    sequence: cython.longlong = int32(buf, i + 53)
    heads[BASE_OFFSET, row] = base
    heads[LAST_OFFSET, row] = add64(base, delta)
    heads[LEADER_EPOCH, row] = int32(buf, i + 12)
    heads[CRC, row] = crc
    heads[VALID, row] = valid
    heads[ATTRIBUTES, row] = int16(buf, i + 21)
    heads[BASE_TIMESTAMP, row] = int64(buf, i + 27)
    heads[MAX_TIMESTAMP, row] = int64(buf, i + 35)
    heads[PRODUCER_ID, row] = int64(buf, i + 43)
    heads[PRODUCER_EPOCH, row] = int16(buf, i + 51)
    heads[BASE_SEQUENCE, row] = sequence
    heads[LAST_SEQUENCE, row] = add_sequence(sequence, delta)
    heads[COUNT, row] = int32(buf, i + 57)
    heads[SECTION_START, row] = i + 61
    return valid


@cython.cfunc
@cython.exceptval(check=False)
def put_message(
    buf: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    size: cython.longlong,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
) -> cython.bint:
    """Set what the header of a message of magic 0 or 1 at `i` says; say whether its checksum matches."""
    magic: cython.longlong = buf[i + 16]
    base: cython.longlong = int64(buf, i)
    crc: cython.longlong = unsigned32(int32(buf, i + 12))
    valid: cython.bint = crc32_of(buf, i + 16, i + size) == crc
    attributes: cython.longlong = buf[i + 17]
    heads[BASE_OFFSET, row] = NONE if attributes & CODEC_BITS else base
    heads[LAST_OFFSET, row] = base
    heads[LEADER_EPOCH, row] = -1
    heads[CRC, row] = crc
    heads[VALID, row] = valid
    heads[ATTRIBUTES, row] = attributes
    heads[BASE_TIMESTAMP, row] = NONE
    heads[MAX_TIMESTAMP, row] = int64(buf, i + 18) if magic == 1 else -1
    heads[PRODUCER_ID, row] = -1
    heads[PRODUCER_EPOCH, row] = -1
    heads[BASE_SEQUENCE, row] = -1
    heads[LAST_SEQUENCE, row] = -1
    heads[COUNT, row] = NONE if attributes & CODEC_BITS else 1
    heads[SECTION_START, row] = i + 18 + 8 * magic
    return valid


def read(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    position: cython.longlong,
    heads: cython.longlong[:, ::1],
    row: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Read the batches that are whole in ``buf[start:stop]`` into `heads`, from `row` on, checksums included.

    `position` is that of ``buf[0]`` in the file. Answers (rows, where the next batch starts, why it stopped): ``END``
    if the next batch is not all in `buf`, ``FULL``, or ``BAD`` if its length, magic or checksum is wrong; the columns
    of a bad batch are in the next row, which does not count.
    """
    i: cython.Py_ssize_t = start
    size: cython.longlong
    magic: cython.longlong
    valid: cython.bint
    stop = min(stop, len(buf))
    if len(heads) < BATCH_CELLS or start < 0 or row < 0:
        raise IndexError
    while row < heads.shape[1]:
        if stop - i < 17:
            return row, i, END
        size = int32(buf, i + 8) + 12
        magic = buf[i + 16]
        if size < (61 if magic >= 2 else 34 if magic else 26):
            return row, i, BAD
        if size > stop - i:
            return row, i, END
        heads[POSITION, row] = position + i
        heads[SIZE, row] = size
        heads[MAGIC, row] = magic
        valid = put_batch(buf, i, size, heads, row) if magic >= 2 else put_message(buf, i, size, heads, row)
        heads[SECTION_STOP, row] = i + size
        heads[DECODED, row] = 0
        heads[ERROR, row] = 0
        heads[ERROR_POSITION, row] = 0
        if not valid or magic > 2:
            return row, i, BAD
        row += 1
        i += size
    return row, i, FULL


def order(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    state: cython.longlong[::1],
) -> tuple[int, int]:
    """Compare each batch with the one before it: offsets must rise, leader epochs must not fall.

    `state` has the cells ``ORDER_…``. Answers the first row that breaks a rule, and the rule, one of those after
    ``IN_ORDER``; (`stop_row`, ``IN_ORDER``) if no row does. The row that broke a rule is counted, unless its offsets
    are impossible: continue after it.
    """
    i: cython.Py_ssize_t
    rule: cython.int
    before: cython.longlong
    first: cython.longlong
    last: cython.longlong
    epoch: cython.longlong
    if stop_row > heads.shape[1] or len(heads) < BATCH_CELLS or len(state) < ORDER_CELLS:
        raise IndexError
    for i in range(row, stop_row):
        rule = IN_ORDER
        first = heads[BASE_OFFSET, i]
        last = heads[LAST_OFFSET, i]
        epoch = heads[LEADER_EPOCH, i]
        if first == NONE:
            first = last  # a wrapper of magic 0 or 1 states only its last offset
        if first < 0 or last < 0 or last == TOP:
            return i, OFFSET_IMPOSSIBLE
        before = state[ORDER_LAST_OFFSET]
        if heads[BASE_OFFSET, i] != NONE and before != NONE and first > before and add64(first, -1) != before:
            state[ORDER_GAPS] += 1
            state[ORDER_MISSING] = add64(state[ORDER_MISSING], add64(add64(first, -1), -before))
            if state[ORDER_MISSING] < 0:  # more than can be counted
                state[ORDER_MISSING] = TOP
            if state[ORDER_GAPS] == 1:
                state[ORDER_FIRST_GAP] = heads[POSITION, i]
        if before != NONE and first <= before:
            rule = OFFSET_NOT_INCREASING
        elif first < state[ORDER_LOWEST] or last > state[ORDER_HIGHEST]:
            rule = OFFSET_OUTSIDE_SEGMENT
        elif epoch < state[ORDER_LEADER_EPOCH] and epoch >= 0:
            rule = LEADER_EPOCH_DECREASING
        state[ORDER_LAST_OFFSET] = last
        if epoch >= 0:
            state[ORDER_LEADER_EPOCH] = epoch
        if rule:
            return i, rule
    return stop_row, IN_ORDER


# What a verification needs of a chunk's headers; ``buffers.py`` has the rules of its source.
#
# Sums, and whether the batches are *plain*: each is whole, begins where the one before ends, in bytes, and after its
# last offset, in the same leader epoch. Of plain batches nothing can contradict its neighbours, and the entries of
# indexes are looked up without a copy. Of others columns are copied, for NumPy.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def mixed(before: cython.longlong, crc: cython.longlong) -> cython.longlong:
    """Return what stands for checksums in their order, with one more."""
    if cython.compiled:
        return before * 1000003 + crc
    return ((before * 1000003 + crc + 2**63) & (2**64 - 1)) - 2**63


def sums(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    before: cython.const[cython.longlong][:, ::1],
    known: cython.Py_ssize_t,
    found: cython.longlong[::1],
) -> None:
    """Add up the `count` batches whose checksums match.

    `found` gets the cells ``SUM_…``. Batches are plain, all of them, if they are after the last row `before`, too; of
    these rows `known` exist as in ``disagree``.
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
    plain: cython.bint
    if (
        len(heads) < BATCH_CELLS
        or count > heads.shape[1]
        or len(found) < SUM_CELLS
        or len(before) < NEIGHBOUR_COLUMNS
        or before.shape[1] < 2
    ):
        raise IndexError
    plain = count > 0 and known > 0 and before[BEFORE_VALID, 1] != 0
    end = add64(before[BEFORE_POSITION, 1], before[BEFORE_SIZE, 1])
    reached = before[BEFORE_LAST_OFFSET, 1]
    epoch = before[BEFORE_LEADER_EPOCH, 1]
    stands_for = found[SUM_CRCS]
    if epoch == NONE and count > 0:
        epoch = heads[LEADER_EPOCH, 0]
    for row in range(count):
        stands_for = mixed(stands_for, heads[CRC, row])
        if not heads[VALID, row]:
            plain = False
            continue
        number = heads[COUNT, row]
        position = heads[POSITION, row]
        base = heads[BASE_OFFSET, row]
        batches += 1
        size += heads[SIZE, row]
        if number >= 0:
            records += number
            delta = add64(heads[LAST_OFFSET, row], -base)
            if number <= delta and heads[MAGIC, row] > 1:
                short += 1
        if position != end or base <= reached or heads[LEADER_EPOCH, row] != epoch:
            plain = False
        reached = heads[LAST_OFFSET, row]
        if reached < base:
            plain = False
        end = position + heads[SIZE, row]
        if first < 0:
            first = row
        last = row
    found[SUM_BATCHES] = batches
    found[SUM_RECORDS] = records
    found[SUM_SIZE] = size
    found[SUM_FIRST] = first
    found[SUM_LAST] = last
    found[SUM_SHORT] = short
    found[SUM_CRCS] = stands_for
    found[SUM_PLAIN] = plain


def last_two(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    kept: cython.longlong[:, ::1],
) -> None:
    """Move the last two rows of what was read so far into `kept`, a table of the columns ``BEFORE_…``.

    Messages of magic 0 and 1 are kept as not valid: what their first offset is only decompression tells.
    """
    row: cython.Py_ssize_t
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or len(kept) < NEIGHBOUR_COLUMNS or kept.shape[1] < 2:
        raise IndexError
    for row in range(max(0, count - 2), count):
        kept[BEFORE_POSITION, 0] = kept[BEFORE_POSITION, 1]
        kept[BEFORE_POSITION, 1] = heads[POSITION, row]
        kept[BEFORE_SIZE, 0] = kept[BEFORE_SIZE, 1]
        kept[BEFORE_SIZE, 1] = heads[SIZE, row]
        kept[BEFORE_BASE_OFFSET, 0] = kept[BEFORE_BASE_OFFSET, 1]
        kept[BEFORE_BASE_OFFSET, 1] = heads[BASE_OFFSET, row]
        kept[BEFORE_LAST_OFFSET, 0] = kept[BEFORE_LAST_OFFSET, 1]
        kept[BEFORE_LAST_OFFSET, 1] = heads[LAST_OFFSET, row]
        kept[BEFORE_LEADER_EPOCH, 0] = kept[BEFORE_LEADER_EPOCH, 1]
        kept[BEFORE_LEADER_EPOCH, 1] = heads[LEADER_EPOCH, row]
        kept[BEFORE_VALID, 0] = kept[BEFORE_VALID, 1]
        kept[BEFORE_VALID, 1] = heads[VALID, row] if heads[MAGIC, row] >= 2 else 0


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


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def row_from(
    heads: cython.const[cython.longlong][:, ::1],
    column: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    value: cython.longlong,
) -> cython.Py_ssize_t:
    """Do the same with a column of `heads`."""
    half: cython.Py_ssize_t
    while low < high:
        half = (low + high) // 2
        if heads[column, half] < value:
            low = half + 1
        else:
            high = half
    return low


def at_offsets(
    heads: cython.const[cython.longlong][:, ::1],
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
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or count < 1:
        raise IndexError
    if min(len(by_position), len(first), len(last), len(offsets), len(by_offset), len(ends_at)) < n:
        raise IndexError
    row = 0
    entry = first_from(positions, 0, n, heads[POSITION, 0])
    while entry < n and positions[entry] <= heads[POSITION, count - 1]:
        row = row_from(heads, POSITION, row, count, positions[entry])
        at = by_position[entry]
        if heads[POSITION, row] == positions[entry] and 0 <= at < n:
            first[at] = heads[BASE_OFFSET, row]
            last[at] = heads[LAST_OFFSET, row]
        entry += 1
    row = 0
    entry = first_from(offsets, 0, n, heads[LAST_OFFSET, 0])
    while entry < n and offsets[entry] <= heads[LAST_OFFSET, count - 1]:
        row = row_from(heads, LAST_OFFSET, row, count, offsets[entry])
        at = by_offset[entry]
        if heads[LAST_OFFSET, row] == offsets[entry] and 0 <= at < n:
            ends_at[at] = heads[POSITION, row]
        entry += 1


def at_times(
    heads: cython.const[cython.longlong][:, ::1],
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
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or count < 1:
        raise IndexError
    if min(len(by_offset), len(there), len(earlier)) < n:
        raise IndexError
    entry = first_from(offsets, 0, n, add64(before, 1))
    while entry < n and offsets[entry] <= heads[LAST_OFFSET, count - 1]:
        while heads[LAST_OFFSET, row] < offsets[entry]:
            newest = max(newest, heads[MAX_TIMESTAMP, row])
            row += 1
        at = by_offset[entry]
        if offsets[entry] >= heads[BASE_OFFSET, row] and 0 <= at < n:
            there[at] = heads[MAX_TIMESTAMP, row]
            earlier[at] = newest
        entry += 1
    while row < count:
        newest = max(newest, heads[MAX_TIMESTAMP, row])
        row += 1
    return newest


def keep(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    columns: cython.const[cython.longlong][::1],
    kept: cython.longlong[:, ::1],
    n: cython.Py_ssize_t,
) -> int:
    """Copy some columns of the `count` batches whose checksums match after the `n` rows of the table `kept`.

    Answers how many rows it has now.
    """
    row: cython.Py_ssize_t
    column: cython.Py_ssize_t
    source: cython.Py_ssize_t
    into: cython.Py_ssize_t = n
    if len(heads) < BATCH_CELLS or min(columns) < 0 or max(columns) >= BATCH_CELLS or len(kept) < len(columns):
        raise IndexError
    if n < 0 or n + count > kept.shape[1] or count > heads.shape[1]:
        raise IndexError
    for column in range(len(columns)):
        source = columns[column]
        into = n
        for row in range(count):
            kept[column, into] = heads[source, row]
            into += heads[VALID, row] != 0
    return into


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def cell(
    heads: cython.const[cython.longlong][:, ::1],
    before: cython.const[cython.longlong][:, ::1],
    column: cython.Py_ssize_t,
    kept: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> cython.longlong:
    """Return a cell of a chunk's table, or of the two rows `before` it, which are rows -2 and -1."""
    return before[kept, row + 2] if row < 0 else heads[column, row]


def disagree(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    before: cython.const[cython.longlong][:, ::1],
    known: cython.Py_ssize_t,
) -> bool:
    """Say whether the offsets or leader epochs of three adjacent whole batches may contradict each other.

    `before` has the last two rows before the chunk, of which `known` exist, a table of the columns ``BEFORE_…``.
    """
    row: cython.Py_ssize_t
    first: cython.longlong
    last: cython.longlong
    low: cython.longlong
    following: cython.longlong
    if len(heads) < BATCH_CELLS or count > heads.shape[1] or len(before) < NEIGHBOUR_COLUMNS or before.shape[1] < 2:
        raise IndexError
    if known < 0 or known > 2:
        raise IndexError
    for row in range(2 - known, count):
        if cell(heads, before, LEADER_EPOCH, BEFORE_LEADER_EPOCH, row - 1) != heads[LEADER_EPOCH, row]:
            return True
        first = cell(heads, before, BASE_OFFSET, BEFORE_BASE_OFFSET, row - 1)
        last = cell(heads, before, LAST_OFFSET, BEFORE_LAST_OFFSET, row - 1)
        low = cell(heads, before, LAST_OFFSET, BEFORE_LAST_OFFSET, row - 2)
        following = heads[BASE_OFFSET, row]
        if first == NONE or following == NONE:  # noqa: PLR1714  # a tuple here would be made for each row
            continue
        if first <= low or last >= following:
            return True
    return False


# What is odd about the headers of batches whose checksums match: each of ``RULES`` has a bit.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def offsets_broken(
    heads: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t, records: cython.bint
) -> cython.longlong:
    """Return which rules the offsets and the count of a batch of magic 2 break."""
    rules: cython.longlong = 0
    number: cython.longlong = heads[COUNT, row]
    base: cython.longlong = heads[BASE_OFFSET, row]
    last: cython.longlong = heads[LAST_OFFSET, row]
    delta: cython.longlong = add64(last, -base)  # wraps as the sum did
    if delta < 0:
        rules |= LAST_OFFSET_DELTA_NEGATIVE
    elif last < base:
        rules |= OFFSET_OVERFLOW
    elif number > delta + 1:
        rules |= RECORDS_COUNT_ABOVE_OFFSETS
    if number < 0 and not records:
        rules |= RECORDS_COUNT_NEGATIVE
    if number == 0 and (heads[SIZE, row] != 61 or heads[ATTRIBUTES, row] & CODEC_BITS):
        rules |= EMPTY_BATCH_ODD
    if heads[LEADER_EPOCH, row] < -1:
        rules |= LEADER_EPOCH_BELOW_NONE
    return rules


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def producer_broken(
    heads: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t, controls: cython.bint
) -> cython.longlong:
    """Return which rules the producer and the attributes of a batch of magic 2 break."""
    rules: cython.longlong = 0
    attributes: cython.longlong = heads[ATTRIBUTES, row]
    number: cython.longlong = heads[COUNT, row]
    producer: cython.longlong = heads[PRODUCER_ID, row]
    epoch: cython.longlong = heads[PRODUCER_EPOCH, row]
    sequence: cython.longlong = heads[BASE_SEQUENCE, row]
    control: cython.bint = attributes & CONTROL_BIT != 0
    transactional: cython.bint = attributes & TRANSACTIONAL_BIT != 0
    if producer < 0:
        if producer < -1:
            rules |= PRODUCER_ID_BELOW_NONE
        elif epoch >= 0:
            rules |= PRODUCER_ID_MISSING
        if transactional:
            rules |= TRANSACTION_WITHOUT_PRODUCER
    else:
        if epoch < 0:
            rules |= PRODUCER_EPOCH_MISSING
        if sequence < 0 and not control:
            rules |= SEQUENCE_MISSING
    if control:
        if not transactional:
            rules |= 0 if controls else CONTROL_BATCH_ODD
        elif number > 1:
            rules |= MARKER_COUNT
        if sequence >= 0:
            rules |= CONTROL_BATCH_SEQUENCE
        if attributes & CODEC_BITS and number > 0:
            rules |= CONTROL_BATCH_COMPRESSED
    if attributes & UNUSED_BITS:
        rules |= ATTRIBUTES_UNUSED
    if attributes & HORIZON_BIT and heads[BASE_TIMESTAMP, row] < 0:
        rules |= DELETE_HORIZON_ODD
    return rules


def find(
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    records: cython.bint,
    controls: cython.bint,
    broken: cython.longlong[::1],
) -> int:
    """Look at the headers of `count` batches; `broken` gets the rules that each breaks: bit n for rule n.

    `records` says that their records are decoded as well, which reports a wrong codec or count; `controls` that the
    topic has control batches that are no markers. Answers how many batches break a rule.
    """
    row: cython.Py_ssize_t
    odd: cython.Py_ssize_t = 0
    rules: cython.longlong
    attributes: cython.longlong
    newest: cython.longlong
    if len(heads) < BATCH_CELLS or count > min(heads.shape[1], len(broken)):
        raise IndexError
    for row in range(count):
        broken[row] = 0
        if not heads[VALID, row]:
            continue
        attributes = heads[ATTRIBUTES, row]
        if heads[MAGIC, row] > 1:
            rules = offsets_broken(heads, row, records) | producer_broken(heads, row, controls)
        else:
            rules = CODEC_NOT_OF_MAGIC if attributes & CODEC_BITS == 4 else 0
            if attributes & (UNUSED_BITS_V1 if heads[MAGIC, row] == 1 else UNUSED_BITS_V0):
                rules |= ATTRIBUTES_UNUSED
        if attributes & CODEC_BITS > 4 and not records:
            rules |= CODEC_UNKNOWN
        newest = heads[MAX_TIMESTAMP, row]
        if newest < -1 or newest > LAST_TIMESTAMP:
            rules |= TIMESTAMP_ODD
        if rules:
            broken[row] = rules
            odd += 1
    return odd


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.longlong))
def marker_of(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """Read the marker whose record begins at `p`: (what ``markers`` says of it, the coordinator's epoch)."""
    q: cython.Py_ssize_t
    end: cython.Py_ssize_t
    key: cython.Py_ssize_t
    _: cython.longlong
    size: cython.longlong
    value_size: cython.longlong
    kind: cython.longlong
    size, q = varint(buf, p, stop)
    if q < 0 or size < 6 or size > stop - q:
        return UNREADABLE, -1
    end = q + size
    _, q = varlong(buf, q + 1, end)
    if q > 0:
        _, q = varint(buf, q, end)
    if q > 0:
        size, q = varint(buf, q, end)
    if q < 0 or size < 0 or size > end - q:
        return UNREADABLE, -1
    key = q
    value_size, q = varint(buf, key + size, end)
    if q < 0 or value_size > end - q:
        return UNREADABLE, -1
    kind = end_marker(buf, key, size, q, value_size)
    if kind < 0:
        return UNREADABLE, -1
    return kind, int32(buf, q + 2)


def markers(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    types: cython.longlong[::1],
    coordinator_epochs: cython.longlong[::1],
) -> int:
    """Read the transaction markers among `count` batches: 0 abort, 1 commit, -1 no marker, -2 one that can't be read.

    A control batch without records, as the cleaner leaves it, is no marker. Answers how many batches have magic 0 or 1.
    """
    row: cython.Py_ssize_t
    p: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    legacy: cython.Py_ssize_t = 0
    attributes: cython.longlong
    if count > min(heads.shape[1], len(types), len(coordinator_epochs)) or len(heads) < BATCH_CELLS:
        raise IndexError
    for row in range(count):
        types[row] = NO_MARKER
        coordinator_epochs[row] = -1
        if heads[MAGIC, row] < 2:
            legacy += 1
            continue
        attributes = heads[ATTRIBUTES, row]
        if attributes & MARKER_BITS != MARKER_BITS or heads[COUNT, row] == 0:
            continue
        p = heads[SECTION_START, row]
        stop = heads[SECTION_STOP, row]
        if p < 0 or stop > len(buf) or attributes & CODEC_BITS:
            types[row] = UNREADABLE
        else:
            types[row], coordinator_epochs[row] = marker_of(buf, p, stop)
    return legacy
