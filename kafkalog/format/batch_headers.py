# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Batch headers into a table, checksums included, and whether they follow each other; see ``kernel.py`` for the rules.

Positions in a header are spelt out, in the table's order; a test compares them with the layouts.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import BATCH_COLUMNS, NONE

if cython.compiled:
    from cython.cimports.kafkalog.format.crc32c import crc32, crc32c, kafkalog_prepare
    from cython.cimports.kafkalog.format.kernel import (
        BASE_OFFSET,
        LAST_OFFSET,
        LEADER_EPOCH,
        add64,
        add_sequence,
        int16,
        int32,
        int64,
        unsigned32,
    )
else:
    from kafkalog.format.checksums import crc32, crc32c
    from kafkalog.format.kernel import (
        BASE_OFFSET,
        LAST_OFFSET,
        LEADER_EPOCH,
        add64,
        add_sequence,
        int16,
        int32,
        int64,
        unsigned32,
    )

__all__ = ["BAD", "END", "FULL", "order", "read"]

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
            heads[k] = none if attributes & 7 else base
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
            heads[k] = none if attributes & 7 else 1
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
