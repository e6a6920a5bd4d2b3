# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The transaction markers among batches; see ``kernel.py`` for the rules of its source."""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import BATCH_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import (
        ATTRIBUTES,
        COUNT,
        MAGIC,
        SECTION_START,
        SECTION_STOP,
        end_marker,
        int32,
        varint,
        varlong,
    )
else:
    from kafkalog.format.kernel import (
        ATTRIBUTES,
        COUNT,
        MAGIC,
        SECTION_START,
        SECTION_STOP,
        end_marker,
        int32,
        varint,
        varlong,
    )

__all__ = ["NO_MARKER", "UNREADABLE", "read"]

NO_MARKER, UNREADABLE = -1, -2  # instead of a marker's type, 0 abort, 1 commit


def read(
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
        if heads[at_attributes + row] & 48 != 48 or heads[at_count + row] == 0:
            continue
        p = heads[at_start + row]
        stop = heads[at_stop + row]
        kind = unreadable
        epoch = -1
        if p >= 0 and stop <= len(buf) and not heads[at_attributes + row] & 7:
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
