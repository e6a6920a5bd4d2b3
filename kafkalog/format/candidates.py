# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where a whole batch may begin in damaged bytes; see ``kernel.py`` for the rules of its source."""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.format.crc32c import crc32, crc32c, kafkalog_prepare, shift
    from cython.cimports.kafkalog.format.kernel import int32, unsigned32
else:
    from kafkalog.format.checksums import crc32, crc32c, shift
    from kafkalog.format.kernel import int32, unsigned32

if cython.compiled:
    kafkalog_prepare()
else:
    import re

    # What may be a header, by its magic byte and those around it: length at most 128 MiB, attributes, delta, count.
    _PLAUSIBLE = re.compile(rb"(?s)\x02(?<=[\x00-\x08].{8})(?=.{4}[\x00-\x03].[\x00-\x7f].{33}[\x00-\x7f])")
    _PLAUSIBLE_OLD = re.compile(_PLAUSIBLE.pattern + rb"|[\x00\x01](?=[\x00-\x0f])(?<=(?!\x00{4})[\x00-\x08].{8})")

__all__ = ["BLOCK", "FAR", "NEAR", "NOTHING", "WHOLE", "find"]

# What ``find`` found: nothing, a whole batch, or one that reaches too far to be looked at here.
NOTHING, WHOLE, FAR = range(3)
BLOCK: Final = 4096  # bytes for each of the sums of prefixes
NEAR: Final = 4096  # up to so many bytes, a batch is summed without them


def find(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    room: cython.longlong,
    limit: cython.longlong,
    legacy: cython.bint,
    sums: cython.const[cython.ulonglong][::1],
    tail: cython.const[cython.uchar][::1],
    state: cython.longlong[::1],
) -> tuple[int, int]:
    """Find the first position in [`start`, `stop`) at which a batch may begin, old messages too if `legacy`.

    `room` is the number of bytes from ``buf[0]`` to the file's end, `limit` the largest size of a batch. ``sums[n]`` is
    the CRC-32C of all bytes before block n; ``buf[0]`` begins block ``state[0]``, ``tail[0]`` block ``state[1]``.
    ``state[2]`` says how many extents may be summed by these, ``state[3]`` counts those above that. Answers the
    position and ``WHOLE`` if the checksum matches, or ``FAR`` if `buf` and `tail` do not show that; otherwise
    (`stop`, ``NOTHING``).
    """
    i: cython.Py_ssize_t
    magic: cython.int
    size: cython.longlong
    count: cython.longlong
    key: cython.longlong
    at: cython.longlong
    left: cython.longlong
    block: cython.longlong
    crc: cython.longlong
    width: cython.longlong = BLOCK
    near: cython.longlong = NEAR
    end: cython.Py_ssize_t = min(stop, len(buf) - 17)
    if start < 0 or len(state) < 4 or state[0] < 0:
        raise IndexError
    i = start
    while i < end:
        if not cython.compiled:
            match = (_PLAUSIBLE_OLD if legacy else _PLAUSIBLE).search(buf, i + 16, min(end + 61, len(buf)))
            if match is None or match.start() - 16 >= end:
                break
            i = match.start() - 16
        magic = buf[i + 16]
        left = len(buf) - i
        if magic == 2 and left >= 61 and buf[i + 21] < 4 and (buf[i + 22] & 7) < 5 and buf[i + 23] < 128:
            size = int32(buf, i + 8) + 12
            count = int32(buf, i + 57)
            if size >= 61 and size <= limit and size <= room - i and count >= 0 and count <= int32(buf, i + 23) + 1:
                if size <= near and size <= left:
                    crc = crc32c(buf, i + 21, i + size)
                elif state[2] <= 0:
                    state[3] += 1
                    i += 1
                    continue
                else:
                    block = state[0] + (i + size) // width
                    at = (i + size) % width
                    if block != state[1] or block >= len(sums) or at > len(tail):
                        return i, FAR
                    state[2] -= 1
                    key = (i + 21) // width
                    crc = crc32c(buf, key * width, i + 21, sums[state[0] + key])
                    crc = crc32c(tail, 0, at, sums[block]) ^ shift(crc, size - 21)
                if crc == unsigned32(int32(buf, i + 17)):
                    return i, WHOLE
        elif magic < 2 and legacy and (buf[i + 17] & 0xF7) < 4:
            size = int32(buf, i + 8) + 12
            at = 18 + 8 * magic
            if 26 + 8 * magic <= size <= limit and size <= room - i and at + 4 <= left:
                key = int32(buf, i + at)
                at += 4 + max(key, 0)
                if key >= -1 and at + 4 <= size:
                    if at + 4 > left:
                        return i, FAR
                    key = int32(buf, i + at)
                    if key >= -1 and at + 4 + max(key, 0) == size:
                        if size > near or size > left:
                            return i, FAR
                        if crc32(buf, i + 16, i + size) == unsigned32(int32(buf, i + 12)):
                            return i, WHOLE
        i += 1
    return stop, NOTHING
