# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Batch headers into a table, checksums included, and whether they follow each other; ``buffers.py`` has the rules.

Positions in a header are spelt out, in the table's order; a test compares them with the layouts.
"""

from __future__ import annotations

from typing import Final

from kafkalog.kernel.buffers import BATCH_COLUMNS, NONE

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import (
        ATTRIBUTES,
        BASE_OFFSET,
        BASE_SEQUENCE,
        BASE_TIMESTAMP,
        CODEC_BITS,
        CONTROL_BIT,
        COUNT,
        CRC,
        HORIZON_BIT,
        LAST_OFFSET,
        LEADER_EPOCH,
        MAGIC,
        MARKER_BITS,
        MAX_TIMESTAMP,
        POSITION,
        PRODUCER_EPOCH,
        PRODUCER_ID,
        SECTION_START,
        SECTION_STOP,
        SIZE,
        TRANSACTIONAL_BIT,
        UNUSED_BITS,
        UNUSED_BITS_V0,
        UNUSED_BITS_V1,
        VALID,
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
    from kafkalog.kernel.checksums import crc32, crc32c

__all__ = [
    "BAD",
    "END",
    "FULL",
    "NEIGHBOUR_CELLS",
    "NO_MARKER",
    "RULES",
    "SUMS",
    "UNREADABLE",
    "at_offsets",
    "at_times",
    "disagree",
    "find",
    "keep",
    "last_two",
    "markers",
    "order",
    "read",
    "sums",
]


# Why ``read`` stopped.
END, FULL, BAD = range(3)

_TOP: Final = 2**63 - 1

if cython.compiled:
    kafkalog_prepare()


def read(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    position: cython.longlong,
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Read the batches that are whole in ``buf[start:stop]`` into `heads`, from `row` on, checksums included.

    `position` is that of ``buf[0]`` in the file. Answers (rows, where the next batch starts, why it stopped): ``END``
    if the next batch is not all in `buf`, ``FULL``, or ``BAD`` if its length, magic or checksum is wrong; the columns
    of a bad batch are in the next row, which does not count.
    """
    i: cython.Py_ssize_t = start
    k: cython.Py_ssize_t
    size: cython.longlong
    magic: cython.longlong
    base: cython.longlong
    delta: cython.longlong
    crc: cython.longlong
    attributes: cython.longlong
    sequence: cython.longlong
    timestamp: cython.longlong
    none: cython.longlong = NONE
    valid: cython.bint
    stop = min(stop, len(buf))
    if len(heads) < capacity * len(BATCH_COLUMNS) or start < 0 or row < 0:
        raise IndexError
    while row < capacity:
        if stop - i < 17:
            return row, i, END
        size = int32(buf, i + 8) + 12
        magic = buf[i + 16]
        if magic >= 2:
            if size < 61:
                return row, i, BAD
            if size > stop - i:
                return row, i, END
            base = int64(buf, i)
            crc = unsigned32(int32(buf, i + 17))
            valid = crc32c(buf, i + 21, i + size) == crc
            attributes = int16(buf, i + 21)
            delta = int32(buf, i + 23)
            sequence = int32(buf, i + 53)
            k = row
            heads[k] = position + i
            k += capacity
            heads[k] = size
            k += capacity
            heads[k] = base
            k += capacity
            heads[k] = add64(base, delta)
            k += capacity
            heads[k] = int32(buf, i + 12)
            k += capacity
            heads[k] = magic
            k += capacity
            heads[k] = crc
            k += capacity
            heads[k] = valid
            k += capacity
            heads[k] = attributes
            k += capacity
            heads[k] = int64(buf, i + 27)
            k += capacity
            heads[k] = int64(buf, i + 35)
            k += capacity
            heads[k] = int64(buf, i + 43)
            k += capacity
            heads[k] = int16(buf, i + 51)
            k += capacity
            heads[k] = sequence
            k += capacity
            heads[k] = add_sequence(sequence, delta)
            k += capacity
            heads[k] = int32(buf, i + 57)
            k += capacity
            heads[k] = i + 61
        else:
            if size < 26 or (magic == 1 and size < 34):
                return row, i, BAD
            if size > stop - i:
                return row, i, END
            base = int64(buf, i)
            crc = unsigned32(int32(buf, i + 12))
            valid = crc32(buf, i + 16, i + size) == crc
            attributes = buf[i + 17]
            timestamp = int64(buf, i + 18) if magic == 1 else -1
            k = row
            heads[k] = position + i
            k += capacity
            heads[k] = size
            k += capacity
            heads[k] = none if attributes & CODEC_BITS else base
            k += capacity
            heads[k] = base
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = magic
            k += capacity
            heads[k] = crc
            k += capacity
            heads[k] = valid
            k += capacity
            heads[k] = attributes
            k += capacity
            heads[k] = none
            k += capacity
            heads[k] = timestamp
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = none if attributes & CODEC_BITS else 1
            k += capacity
            heads[k] = i + 18 + 8 * magic
        k += capacity
        heads[k] = i + size
        k += capacity
        heads[k] = 0
        k += capacity
        heads[k] = 0
        k += capacity
        heads[k] = 0
        if not valid or magic > 2:
            return row, i, BAD
        row += 1
        i += size
    return row, i, FULL


def order(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    state: cython.longlong[::1],
) -> tuple[int, int]:
    """Compare each batch with the one before it: offsets must rise, leader epochs must not fall.

    `state` is (last offset so far, or ``NONE``; leader epoch so far; lowest and highest offset allowed; gaps so far;
    offsets missing in them; position of the first). Answers the first row that breaks a rule, and the rule: 1 offset
    not increasing, 2 leader epoch decreasing, 3 offset outside the segment, 4 an offset that no log has: below 0, or
    without a next one; (`stop_row`, 0) if no row does. The row that broke a rule is counted, unless no log has its
    offsets: continue after it.
    """
    i: cython.Py_ssize_t
    rule: cython.int
    top: cython.longlong = _TOP
    first: cython.longlong
    last: cython.longlong
    epoch: cython.longlong
    none: cython.longlong = NONE
    at_base: cython.Py_ssize_t = BASE_OFFSET * capacity
    at_last: cython.Py_ssize_t = LAST_OFFSET * capacity
    at_epoch: cython.Py_ssize_t = LEADER_EPOCH * capacity
    if stop_row > capacity or len(heads) < capacity * len(BATCH_COLUMNS) or len(state) < 7:
        raise IndexError
    for i in range(row, stop_row):
        rule = 0
        first = heads[at_base + i]
        last = heads[at_last + i]
        epoch = heads[at_epoch + i]
        if first == none:
            first = last  # a wrapper of magic 0 or 1 states only its last offset
        if first < 0 or last < 0 or last == top:
            return i, 4
        if heads[at_base + i] != none and state[0] != none and first > state[0] and add64(first, -1) != state[0]:
            state[4] += 1
            state[5] = add64(state[5], add64(add64(first, -1), -state[0]))
            if state[5] < 0:  # more than can be counted
                state[5] = top
            if state[4] == 1:
                state[6] = heads[i]  # POSITION is column 0
        if state[0] != none and first <= state[0]:
            rule = 1
        elif first < state[2] or last > state[3]:
            rule = 3
        elif epoch < state[1] and epoch >= 0:
            rule = 2
        state[0] = last
        if epoch >= 0:
            state[1] = epoch
        if rule:
            return i, rule
    return stop_row, 0


# What a verification needs of a chunk's headers; ``buffers.py`` has the rules of its source.
#
# Sums, and whether the batches are *plain*: each is whole, begins where the one before ends, in bytes, and after its
# last offset, in the same leader epoch. Of plain batches nothing can contradict its neighbours, and the entries of
# indexes are looked up without a copy. Of others columns are copied, for NumPy.


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
    """Move the last two rows of what was read so far into `kept`, column by column as in ``disagree``.

    Messages of magic 0 and 1 are kept as not valid: what their first offset is only decompression tells.
    """
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
        kept[11] = heads[VALID * capacity + row] if heads[MAGIC * capacity + row] >= 2 else 0


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


# What is odd about the headers of batches whose checksums match; ``buffers.py`` has the rules of its source.
#
# Each rule has a bit; `RULES` names them in that order, by their findings' codes. Compiled, the bits are the .pxd's.


RULES: Final = (
    "last-offset-delta-negative",
    "offset-overflow",
    "records-count-above-offsets",
    "records-count-negative",
    "empty-batch-odd",
    "leader-epoch-below-none",
    "producer-id-below-none",
    "producer-id-missing",
    "producer-epoch-missing",
    "sequence-missing",
    "transaction-without-producer",
    "control-batch-odd",
    "control-batch-sequence",
    "control-batch-compressed",
    "marker-count",
    "codec-unknown",
    "codec-not-of-magic",
    "attributes-unused",
    "delete-horizon-odd",
    "timestamp-odd",
)
if not cython.compiled:
    (
        LAST_OFFSET_DELTA_NEGATIVE,
        OFFSET_OVERFLOW,
        RECORDS_COUNT_ABOVE_OFFSETS,
        RECORDS_COUNT_NEGATIVE,
        EMPTY_BATCH_ODD,
        LEADER_EPOCH_BELOW_NONE,
        PRODUCER_ID_BELOW_NONE,
        PRODUCER_ID_MISSING,
        PRODUCER_EPOCH_MISSING,
        SEQUENCE_MISSING,
        TRANSACTION_WITHOUT_PRODUCER,
        CONTROL_BATCH_ODD,
        CONTROL_BATCH_SEQUENCE,
        CONTROL_BATCH_COMPRESSED,
        MARKER_COUNT,
        CODEC_UNKNOWN,
        CODEC_NOT_OF_MAGIC,
        ATTRIBUTES_UNUSED,
        DELETE_HORIZON_ODD,
        TIMESTAMP_ODD,
    ) = (1 << bit for bit in range(len(RULES)))

_LAST_YEAR: Final = 253_402_300_799_999  # the end of the year 9999, in ms


def find(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
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
    number: cython.longlong
    base: cython.longlong
    last: cython.longlong
    delta: cython.longlong
    producer: cython.longlong
    epoch: cython.longlong
    sequence: cython.longlong
    newest: cython.longlong
    control: cython.bint
    transactional: cython.bint
    latest: cython.longlong = _LAST_YEAR
    if len(heads) < capacity * len(BATCH_COLUMNS) or count > min(capacity, len(broken)):
        raise IndexError
    for row in range(count):
        broken[row] = 0
        if not heads[VALID * capacity + row]:
            continue
        rules = 0
        attributes = heads[ATTRIBUTES * capacity + row]
        number = heads[COUNT * capacity + row]
        if heads[MAGIC * capacity + row] > 1:
            base = heads[BASE_OFFSET * capacity + row]
            last = heads[LAST_OFFSET * capacity + row]
            delta = add64(last, -base)  # wraps as the sum did
            producer = heads[PRODUCER_ID * capacity + row]
            epoch = heads[PRODUCER_EPOCH * capacity + row]
            sequence = heads[BASE_SEQUENCE * capacity + row]
            control = attributes & CONTROL_BIT != 0
            transactional = attributes & TRANSACTIONAL_BIT != 0
            if delta < 0:
                rules |= LAST_OFFSET_DELTA_NEGATIVE
            elif last < base:
                rules |= OFFSET_OVERFLOW
            elif number > delta + 1:
                rules |= RECORDS_COUNT_ABOVE_OFFSETS
            if number < 0 and not records:
                rules |= RECORDS_COUNT_NEGATIVE
            if number == 0 and (heads[SIZE * capacity + row] != 61 or attributes & CODEC_BITS):
                rules |= EMPTY_BATCH_ODD
            if heads[LEADER_EPOCH * capacity + row] < -1:
                rules |= LEADER_EPOCH_BELOW_NONE
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
            if attributes & HORIZON_BIT and heads[BASE_TIMESTAMP * capacity + row] < 0:
                rules |= DELETE_HORIZON_ODD
        else:
            if attributes & CODEC_BITS == 4:
                rules |= CODEC_NOT_OF_MAGIC
            if attributes & (UNUSED_BITS_V1 if heads[MAGIC * capacity + row] == 1 else UNUSED_BITS_V0):
                rules |= ATTRIBUTES_UNUSED
        if attributes & CODEC_BITS > 4 and not records:
            rules |= CODEC_UNKNOWN
        newest = heads[MAX_TIMESTAMP * capacity + row]
        if newest < -1 or newest > latest:
            rules |= TIMESTAMP_ODD
        if rules:
            broken[row] = rules
            odd += 1
    return odd


# The transaction markers among batches; ``buffers.py`` has the rules of its source.


NO_MARKER, UNREADABLE = -1, -2  # instead of a marker's type, 0 abort, 1 commit


def markers(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    types: cython.longlong[::1],
    coordinator_epochs: cython.longlong[::1],
) -> int:
    """Read the transaction markers among `count` batches: 0 abort, 1 commit, -1 no marker, -2 one that can't be read.

    A control batch without records, as the cleaner leaves it, is no marker. Answers how many batches have magic 0 or 1.
    """
    row: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    end: cython.Py_ssize_t
    legacy: cython.Py_ssize_t = 0
    _: cython.longlong
    size: cython.longlong
    value_size: cython.longlong
    key: cython.Py_ssize_t
    none: cython.longlong = NO_MARKER
    unreadable: cython.longlong = UNREADABLE
    kind: cython.longlong
    epoch: cython.longlong
    at_attributes: cython.Py_ssize_t = ATTRIBUTES * capacity
    at_magic: cython.Py_ssize_t = MAGIC * capacity
    at_count: cython.Py_ssize_t = COUNT * capacity
    at_start: cython.Py_ssize_t = SECTION_START * capacity
    at_stop: cython.Py_ssize_t = SECTION_STOP * capacity
    if count > min(capacity, len(types), len(coordinator_epochs)) or len(heads) < capacity * len(BATCH_COLUMNS):
        raise IndexError
    for row in range(count):
        types[row] = none
        coordinator_epochs[row] = -1
        if heads[at_magic + row] < 2:
            legacy += 1
            continue
        if heads[at_attributes + row] & MARKER_BITS != MARKER_BITS or heads[at_count + row] == 0:
            continue
        p = heads[at_start + row]
        stop = heads[at_stop + row]
        kind = unreadable
        epoch = -1
        if p >= 0 and stop <= len(buf) and not heads[at_attributes + row] & CODEC_BITS:
            size, q = varint(buf, p, stop)
            if q > 0 and size >= 6 and size <= stop - q:
                end = q + size
                _, q = varlong(buf, q + 1, end)
                if q > 0:
                    _, q = varint(buf, q, end)
                if q > 0:
                    size, q = varint(buf, q, end)
                    if q > 0 and size >= 0 and size <= end - q:
                        key = q
                        value_size, q = varint(buf, key + size, end)
                        if q > 0 and value_size <= end - q:
                            kind = end_marker(buf, key, size, q, value_size)
                            if kind < 0:
                                kind = unreadable
                            else:
                                epoch = int32(buf, q + 2)
        types[row] = kind
        coordinator_epochs[row] = epoch
    return legacy
