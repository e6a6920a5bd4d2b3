# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Whole batches and the damage between them, in files with very much damage; see ``kernel.py`` for the rules."""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import BATCH_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.batch_headers import read
    from cython.cimports.kafkalog.format.candidates import pass_over
    from cython.cimports.kafkalog.format.kernel import LAST_OFFSET, MAGIC, int32
else:
    from kafkalog.format.batch_headers import read
    from kafkalog.format.candidates import pass_over
    from kafkalog.format.kernel import LAST_OFFSET, MAGIC, int32

__all__ = ["ENDED", "LARGE", "NO_ROOM", "PLACE", "UNSEEN", "gather"]

# Why ``gather`` stopped: as ``batch_headers.read`` did, no whole batch or damage follows in `buf`; a large batch comes
# next; there is no room for more places; or `buf` does not show where the damage ends.
ENDED, LARGE, NO_ROOM, UNSEEN = range(4)
PLACE: Final = 4  # cells of a place: position in the file, size, whether its end is proved, the offset it leads to
_END, _FULL = range(2)  # why ``batch_headers.read`` stopped


def gather(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    reach: cython.Py_ssize_t,
    position: cython.longlong,
    room: cython.longlong,
    limit: cython.longlong,
    doubted: cython.longlong,
    is_growing: cython.bint,
    legacy: cython.bint,
    above: cython.longlong,
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    sums: cython.const[cython.ulonglong][::1],
    state: cython.longlong[::1],
    found: cython.longlong[::1],
    places: cython.longlong[::1],
) -> tuple[int, int, int, int, bool, tuple[int, int, int]]:
    """Read whole batches into `heads` from `row` on, and pass over the damage between them, as far as `buf` shows it.

    The first batches are read from `start` up to `reach`. `position` and `heads` are those of ``batch_headers.read``,
    `room`, `limit`, `legacy`, `above`, `sums`, `state` and `found` those of ``candidates.pass_over``; of a batch that
    is larger than `doubted` the caller has to say first whether it may be read; `is_growing` says whether more bytes
    may follow `buf`. Answers why it stopped, the rows, the places, where the next batch starts, `legacy` by the last
    batches, and of the last read of headers why it stopped, from where and up to where it read.
    """
    at: cython.Py_ssize_t
    more: cython.Py_ssize_t
    began: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t = len(buf)
    size: cython.longlong
    width: cython.Py_ssize_t = PLACE
    end: cython.int = _END
    full: cython.int = _FULL
    why: cython.int
    has_read: cython.bint
    if len(heads) < capacity * len(BATCH_COLUMNS) or start < 0 or row < 0 or len(found) < 3:
        raise IndexError
    while True:
        began = start
        more, at, why = read(buf, start, reach, position, heads, capacity, row)
        has_read = more > row
        if has_read:
            start = at
            legacy = heads[MAGIC * capacity + more - 1] < 2 or heads[MAGIC * capacity + row] < 2
            above = heads[LAST_OFFSET * capacity + more - 1]
            row = more
        if not has_read or why != end or reach >= stop:
            size = int32(buf, start + 8) + 12 if stop - start >= 17 else 0
            if why == full or start >= stop:
                return ENDED, row, n, start, legacy, (why, began, reach)
            if why == end and reach > began and is_growing and size <= limit and size <= room - start:
                return ENDED, row, n, start, legacy, (why, began, reach)
            if (n + 1) * width > len(places):
                return NO_ROOM, row, n, start, legacy, (why, began, reach)
            if not pass_over(buf, start, room, limit, legacy, above, sums, state, found):
                return UNSEEN, row, n, start, legacy, (why, began, reach)
            places[n * width] = position + start
            places[n * width + 1] = found[0] - start
            places[n * width + 2] = found[1]
            places[n * width + 3] = found[2]
            n += 1
            start = found[0]
        if stop - start >= 17 and int32(buf, start + 8) + 12 > doubted:
            return LARGE, row, n, start, legacy, (why, began, reach)
        reach = min(stop, start + doubted)
