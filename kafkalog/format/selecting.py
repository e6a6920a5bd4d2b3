# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which batches and records meet conditions, by the kernel's tables; see ``kernel.py`` for the rules of its source.

The conditions are seven int64: first and last offset, first and last timestamp, producer id, whether that counts, and
whether only control batches are wanted.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BATCH,
        KEY_SIZE,
        KEY_START,
        LAST_OFFSET,
        MAGIC,
        MAX_TIMESTAMP,
        NO_END,
        OFFSET,
        PRODUCER_ID,
        SECTION_START,
        TIMESTAMP,
        VALUE_SIZE,
        VALUE_START,
        end_marker,
        int16,
        int32,
    )
else:
    from kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_OFFSET,
        BATCH,
        KEY_SIZE,
        KEY_START,
        LAST_OFFSET,
        MAGIC,
        MAX_TIMESTAMP,
        NO_END,
        OFFSET,
        PRODUCER_ID,
        SECTION_START,
        TIMESTAMP,
        VALUE_SIZE,
        VALUE_START,
        end_marker,
        int16,
        int32,
    )
from kafkalog.format.kernel import BATCH_COLUMNS, NONE, RECORD_COLUMNS

__all__ = ["batches", "controls", "leave_out", "records", "without_control"]


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
        if conditions[6] and (magic < 2 or attributes & 32 == 0):
            continue
        # A LogAppendTime in the header applies to every record: their timestamp deltas are ignored.
        if magic != 0 and attributes & 8:
            time = heads[MAX_TIMESTAMP * capacity + row]
            if time < conditions[2] or time > conditions[3]:
                continue
        picks[n] = row
        n += 1
    return n


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
            if heads[MAGIC * capacity + row] > 1 and heads[ATTRIBUTES * capacity + row] & 32:
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
        if heads[MAGIC * capacity + batch] < 2 or not heads[ATTRIBUTES * capacity + batch] & 32:
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
        if heads[MAGIC * capacity + row] < 2 or heads[ATTRIBUTES * capacity + row] & 32 == 0:
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
