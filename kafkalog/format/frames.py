# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The streams of many batches to their content at once; see ``kernel.py`` for the rules of its source.

LZ4 frames and snappy blocks are decompressed here, as calls of their packages for each batch cost as much as that; for
zstd its package is called. What is unusual is left to the packages: they alone say what is wrong with a stream.
Interpreted, everything is.
"""

from __future__ import annotations

from collections.abc import Callable

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import ATTRIBUTES, COUNT, ERROR, MAGIC, SECTION_START, SECTION_STOP
else:
    from kafkalog.format.kernel import ATTRIBUTES, COUNT, ERROR, MAGIC, SECTION_START, SECTION_STOP
from kafkalog.format.kernel import BATCH_COLUMNS

__all__ = ["ENOUGH", "ROOM", "unpack", "zstd_frame"]

ENOUGH = 1 << 18  # bytes of content that are decoded at once
ROOM = 5 << 18  # bytes of the output: a batch of a MiB after almost enough


def zstd_frame(payload: cython.const[cython.uchar][::1]) -> tuple[int, int]:
    """Say where the first data frame ends and how many bytes it states to have, 0 if it states none (RFC 8878, 3.1.1).

    The end is below 0 if the frame is cut, which the package accepts silently, and 0 if all frames are skippable.
    """
    start: cython.Py_ssize_t = _after_skippable(payload, 0, len(payload))
    if start >= len(payload):
        return (0 if start == len(payload) else -1), 0
    return _end_of_zstd(payload, start, len(payload)), _size_of_zstd(payload, start, len(payload))


@cython.cfunc
@cython.exceptval(check=False)
def _after_skippable(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return where the first frame that is not skippable begins, `stop` or beyond if there is none."""
    while stop - at >= 4 and buf[at + 1] == 0x2A and buf[at + 2] == 0x4D and buf[at + 3] == 0x18 and buf[at] >> 4 == 5:
        if stop - at < 8:
            return stop + 1
        at += 8 + _little(buf, at + 4, 4)
    return at


@cython.cfunc
@cython.exceptval(check=False)
def _little(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.longlong:
    i: cython.Py_ssize_t
    value: cython.longlong = 0
    for i in range(width - 1, -1, -1):
        value = value * 256 + buf[at + i]
    return value


@cython.cfunc
@cython.exceptval(check=False)
def _size_of_zstd(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.longlong:
    """Return how many bytes a frame states to have, -1 if that can't be: it is beyond 2**62, or cut."""
    width: cython.Py_ssize_t
    if stop - at < 18 and (stop - at < 6 or stop - at < _header_of_zstd(buf, at)):
        return -1
    width = _width_of_zstd(buf[at + 4])
    at += _header_of_zstd(buf, at) - width
    if width == 8 and buf[at + 7] >= 64:
        return -1
    return _little(buf, at, width) + (256 if width == 2 else 0)


@cython.cfunc
@cython.exceptval(check=False)
def _width_of_zstd(descriptor: cython.Py_ssize_t) -> cython.Py_ssize_t:
    return 1 << (descriptor >> 6) if descriptor >> 6 else descriptor >> 5 & 1


@cython.cfunc
@cython.exceptval(check=False)
def _header_of_zstd(buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the size of a frame's header, whose first five bytes are there."""
    descriptor: cython.Py_ssize_t = buf[at + 4]
    names: cython.Py_ssize_t = (1 << (descriptor & 3)) >> 1
    return 5 + (1 - (descriptor >> 5 & 1)) + names + _width_of_zstd(descriptor)


@cython.cfunc
@cython.exceptval(check=False)
def _end_of_zstd(
    buf: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, stop: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Return where a frame ends, below 0 if it does not."""
    block: cython.Py_ssize_t
    sums: cython.Py_ssize_t
    if stop - at < 6:
        return -1
    sums = 4 * (buf[at + 4] >> 2 & 1)
    at += _header_of_zstd(buf, at)
    while at + 3 <= stop:
        block = _little(buf, at, 3)
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)  # a repeated byte takes one
        if block & 1:
            return at + sums if at + sums <= stop else -1
    return -1


def unpack(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    out: cython.uchar[::1],
    limit: cython.Py_ssize_t,
    source: memoryview,
    target: memoryview,
    zstd: Callable[[memoryview, int], bytes | None],
) -> tuple[int, int, int]:
    """Decompress the batches of magic 2 from `row` on, each to at most `limit` bytes, and set their sections to these.

    Answers (row, bytes, records): the first row that is not decompressed, because there is enough, or because it is not
    of these codecs, has no room, is skipped or unusual; how many bytes of `out` are used; how many records these rows
    may have, at most one for each 7 bytes. `source` and `target` are `buf` and `out`; `zstd` decompresses a frame to at
    most so many bytes, if it can.
    """
    at: cython.Py_ssize_t = 0
    records: cython.longlong = 0
    if cython.compiled:
        start: cython.Py_ssize_t
        size: cython.Py_ssize_t
        end: cython.Py_ssize_t
        most: cython.Py_ssize_t
        room: cython.Py_ssize_t = len(out)
        enough: cython.Py_ssize_t = ENOUGH
        left: cython.Py_ssize_t
        codec: cython.longlong
        count: cython.longlong
        declared: cython.longlong
        if len(heads) < capacity * len(BATCH_COLUMNS) or stop_row > capacity or row < 0 or limit < 0:
            raise IndexError
        while row < stop_row and at < enough and room - at > 0:
            start = heads[SECTION_START * capacity + row]
            size = heads[SECTION_STOP * capacity + row] - start
            codec = heads[ATTRIBUTES * capacity + row] & 7
            if start < 0 or size <= 0 or size > len(buf) - start or codec < 2 or codec > 4:
                break
            if heads[MAGIC * capacity + row] < 2 or heads[ERROR * capacity + row]:
                break
            most = at + limit if limit < room - at else room
            left = len(buf) - start
            if codec == 2:
                end = kafkalog_snappy_frame(
                    cython.address(out[0]), at, most, room, cython.address(buf[start]), size, left
                )
            elif codec == 3:
                end = kafkalog_lz4_frame(cython.address(out[0]), at, most, room, cython.address(buf[start]), size, left)
            else:
                end = -1
                # Its package makes room for what a frame may have: not for a MiB each time.
                most = min(most - at, size * 4 if size > 16384 else 65536)
                declared = _size_of_zstd(buf, start, start + size)
                if 0 <= declared <= most and most > 0 and _end_of_zstd(buf, start, start + size) == start + size:
                    content = zstd(source[start : start + size], most)
                    if content is not None and len(content) <= most:
                        end = at + len(content)
                        target[at:end] = content
            if end < 0:
                break
            heads[SECTION_START * capacity + row] = at
            heads[SECTION_STOP * capacity + row] = end
            count = heads[COUNT * capacity + row]
            count = min(count, (end - at) // 7)
            if count > 0:
                records += count
            at = end
            row += 1
    return row, at, records
