# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which records a compaction keeps, and how large rewritten batches become; rules of the source are in ``kernel.py``.

The cleaner's offset map (SkimpyOffsetMap) holds the hash of each key and the newest offset that has it. Here a hash has
63 bits, made with a secret multiplier: who writes the evidence can't make keys collide. `hashes` are 0 where a slot is
empty; `newest` are the offsets beside them. Sums are by the rows of batches: cell (sum, row) is ``sums[sum * capacity +
row]``.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_TIMESTAMP,
        BATCH,
        KEY_SIZE,
        KEY_START,
        MAGIC,
        OFFSET,
        RECORD_SIZE,
        TIMESTAMP,
        VALUE_SIZE,
        add64,
    )
else:
    from kafkalog.format.kernel import (
        ATTRIBUTES,
        BASE_TIMESTAMP,
        BATCH,
        KEY_SIZE,
        KEY_START,
        MAGIC,
        OFFSET,
        RECORD_SIZE,
        TIMESTAMP,
        VALUE_SIZE,
        add64,
    )
from kafkalog.format.kernel import BATCH_COLUMNS, RECORD_COLUMNS

__all__ = ["SUMS", "keep", "move", "put"]

SUMS: Final = (
    "kept",  # records
    "tombstones",  # among them
    "plain",  # bytes of the records kept, written again with the first one's timestamp as base
    "dated",  # the same with a new delete horizon as base
    "first",  # the first one's timestamp
)
_FULL: Final = 2**64 - 1


def put(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    hashes: cython.longlong[::1],
    newest: cython.longlong[::1],
    state: cython.longlong[::1],
) -> int:
    """Put the keys of records into the map, from the `first` one on; answer the next one there is no room for, or all.

    `state` is (entries, the most of them, the secret, the first offset that counts).
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    end: cython.Py_ssize_t
    s: cython.Py_ssize_t
    mask: cython.Py_ssize_t = len(hashes) - 1
    size: cython.longlong
    offset: cython.longlong
    t: cython.longlong
    h: cython.ulonglong
    w: cython.ulonglong
    full: cython.ulonglong = _FULL
    secret: cython.ulonglong = state[2]
    if len(recs) < room * len(RECORD_COLUMNS) or count > room or len(newest) < len(hashes) or len(hashes) & mask:
        raise IndexError
    for i in range(first, count):
        size = recs[KEY_SIZE * room + i]
        offset = recs[OFFSET * room + i]
        if size < 0 or offset < state[3]:
            continue
        k = recs[KEY_START * room + i]
        if k < 0 or k > len(buf) or size > len(buf) - k:
            raise IndexError
        h = secret ^ size
        end = k + size
        while k + 4 <= end:
            w = buf[k + 3]
            w = (w << 24) | (buf[k + 2] << 16) | (buf[k + 1] << 8) | buf[k]
            h = ((h ^ w) * secret) & full
            h = h ^ (h >> 32)
            k += 4
        while k < end:
            w = buf[k]
            h = ((h ^ w) * secret) & full
            h = h ^ (h >> 32)
            k += 1
        h = (h * secret) & full
        h = h ^ (h >> 32)
        t = h >> 1
        if t == 0:
            t = 1
        s = t & mask
        while hashes[s] != t and hashes[s] != 0:
            s = (s + 1) & mask
        if hashes[s] == 0:
            if state[0] >= state[1] or (state[0] + 1) * 2 > len(hashes):
                return i
            hashes[s] = t
            state[0] += 1
        newest[s] = offset
    return max(first, count)


def move(
    hashes: cython.const[cython.longlong][::1],
    newest: cython.const[cython.longlong][::1],
    to_hashes: cython.longlong[::1],
    to_newest: cython.longlong[::1],
) -> None:
    """Put all entries of a map into a larger one that is empty."""
    n: cython.Py_ssize_t
    s: cython.Py_ssize_t
    mask: cython.Py_ssize_t = len(to_hashes) - 1
    if len(newest) < len(hashes) or len(to_newest) < len(to_hashes) or len(to_hashes) & mask:
        raise IndexError
    if len(to_hashes) <= len(hashes):
        raise IndexError
    for n in range(len(hashes)):
        if hashes[n]:
            s = hashes[n] & mask
            while to_hashes[s]:
                s = (s + 1) & mask
            to_hashes[s] = hashes[n]
            to_newest[s] = newest[n]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _width(v: cython.longlong) -> cython.Py_ssize_t:
    """Return the bytes of a number as zigzag varlong."""
    z: cython.longlong = (v << 1) ^ (v >> 63) if -1073741824 <= v < 1073741824 else -1
    n: cython.Py_ssize_t = 1
    if z >= 0:
        while z >= 128:
            z >>= 7
            n += 1
        return n
    v = v if v >= 0 else -(v + 1)
    v >>= 6
    while v:
        v >>= 7
        n += 1
    return n


def keep(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    outer: cython.Py_ssize_t,
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    hashes: cython.const[cython.longlong][::1],
    newest: cython.const[cython.longlong][::1],
    sums: cython.longlong[::1],
    sums_capacity: cython.Py_ssize_t,
    conditions: cython.const[cython.longlong][::1],
    kept: cython.uchar[::1],
) -> None:
    """Add to the `sums` what the cleaner keeps of these records, and set `kept` to 1 for each that stays.

    `outer` is the row of the wrapper that the records are in, -1 without one. `conditions` are (the secret, the time of
    the pass, a new delete horizon, the offset below which tombstones of batches without a horizon go, the first offset
    that is left as it is).
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    end: cython.Py_ssize_t
    s: cython.Py_ssize_t
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    body: cython.longlong
    size: cython.longlong
    key_size: cython.longlong
    offset: cython.longlong
    timestamp: cython.longlong
    base: cython.longlong
    attributes: cython.longlong
    magic: cython.longlong
    t: cython.longlong
    h: cython.ulonglong
    w: cython.ulonglong
    full: cython.ulonglong = _FULL
    secret: cython.ulonglong = conditions[0]
    mask: cython.Py_ssize_t = len(hashes) - 1
    if len(recs) < room * len(RECORD_COLUMNS) or count > room or len(newest) < len(hashes) or len(hashes) & mask:
        raise IndexError
    if len(heads) < capacity * len(BATCH_COLUMNS) or len(sums) < sums_capacity * len(SUMS) or len(kept) < count:
        raise IndexError
    if len(conditions) < 5 or outer >= sums_capacity:
        raise IndexError
    for i in range(count):
        kept[i] = 0
        row = recs[BATCH * room + i]
        at = outer if outer >= 0 else row
        if row < 0 or row >= capacity or at >= sums_capacity:
            raise IndexError
        offset = recs[OFFSET * room + i]
        attributes = heads[ATTRIBUTES * capacity + row]
        magic = heads[MAGIC * capacity + row]
        base = heads[BASE_TIMESTAMP * capacity + row]
        if offset < conditions[4]:
            key_size = recs[KEY_SIZE * room + i]
            if key_size < 0:
                continue
            k = recs[KEY_START * room + i]
            if k < 0 or k > len(buf) or key_size > len(buf) - k:
                raise IndexError
            h = secret ^ key_size
            end = k + key_size
            while k + 4 <= end:
                w = buf[k + 3]
                w = (w << 24) | (buf[k + 2] << 16) | (buf[k + 1] << 8) | buf[k]
                h = ((h ^ w) * secret) & full
                h = h ^ (h >> 32)
                k += 4
            while k < end:
                w = buf[k]
                h = ((h ^ w) * secret) & full
                h = h ^ (h >> 32)
                k += 1
            h = (h * secret) & full
            h = h ^ (h >> 32)
            t = h >> 1
            if t == 0:
                t = 1
            s = t & mask
            while hashes[s] != t and hashes[s] != 0:
                s = (s + 1) & mask
            if hashes[s] != 0 and offset < newest[s]:
                continue
            if recs[VALUE_SIZE * room + i] < 0:
                if magic >= 2 and attributes & 64:
                    if base <= conditions[1]:
                        continue
                elif offset < conditions[3]:
                    continue
        kept[i] = 1
        size = recs[RECORD_SIZE * room + i]
        timestamp = recs[TIMESTAMP * room + i]
        if sums[at] == 0:
            sums[4 * sums_capacity + at] = timestamp
        sums[at] += 1
        if recs[VALUE_SIZE * room + i] < 0:
            sums[sums_capacity + at] += 1
        if magic < 2:
            sums[2 * sums_capacity + at] += size
            sums[3 * sums_capacity + at] += size
            continue
        body = size - 1  # without the length before it
        k = 1
        while k < 5 and _width(body) != k:
            k += 1
            body -= 1
        # With LogAppendTime the deltas are not what the timestamps say.
        body -= 1 if attributes & 8 else _width(add64(timestamp, -base))
        if attributes & 64:
            t = size
        elif attributes & 8:
            t = body + 1
            t += _width(t)
        else:
            t = body + _width(add64(timestamp, -sums[4 * sums_capacity + at]))
            t += _width(t)
        sums[2 * sums_capacity + at] += t
        if attributes & 64:
            t = size
        else:
            t = body + _width(add64(timestamp, -conditions[2]))
            t += _width(t)
        sums[3 * sums_capacity + at] += t
