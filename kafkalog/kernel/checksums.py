# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""CRC-32C, the checksum of magic 2, and CRC-32, that of magic 0 and 1; ``buffers.py`` has the source's rules."""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if cython.compiled:
    from cython.cimports.kafkalog.kernel.crc32c import crc32 as _crc32
    from cython.cimports.kafkalog.kernel.crc32c import crc32c as _crc32c
    from cython.cimports.kafkalog.kernel.crc32c import kafkalog_prepare
    from cython.cimports.kafkalog.kernel.crc32c import shift as _shift
else:
    import zlib

__all__ = ["COMPILED", "crc32", "crc32c", "shift"]

COMPILED: Final = bool(cython.compiled)

if cython.compiled:
    kafkalog_prepare()
else:
    _package_crc32c = None


def crc32c(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> int:
    """Return the CRC-32C of ``buf[start:stop]``, continued from `crc`, that of the bytes before."""
    if cython.compiled:
        return _crc32c(buf, start, stop, crc)
    if start < 0 or start >= stop or stop > len(buf):
        return crc
    global _package_crc32c
    if _package_crc32c is None:
        from crc32c import crc32c as _package_crc32c  # slow to import
    return _package_crc32c(buf[start:stop], crc)


def crc32(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> int:
    """Return the CRC-32 of ``buf[start:stop]``, that of magic 0 and 1."""
    if cython.compiled:
        return _crc32(buf, start, stop, crc)
    if start < 0 or start >= stop or stop > len(buf):
        return crc
    return zlib.crc32(buf[start:stop], crc)


def shift(crc: cython.longlong, length: cython.longlong) -> int:
    """Return what `crc` contributes to a CRC-32C after `length` more bytes: sums are linear.

    ``crc32c(a + b) == shift(crc32c(a), len(b)) ^ crc32c(b)``.
    """
    if cython.compiled:
        return _shift(crc, length)
    power = 1 << 23  # x^8: the coefficient of x^0 is the highest bit
    while length:
        if length & 1:
            crc = _multiply(power, crc)
        power = _multiply(power, power)
        length >>= 1
    return crc


def _multiply(a: cython.longlong, b: cython.longlong) -> int:
    product = 0
    while a:
        if a & 2**31:
            product ^= b
        b = (b >> 1) ^ (0x82F63B78 if b & 1 else 0)
        a = (a << 1) & (2**32 - 1)
    return product
