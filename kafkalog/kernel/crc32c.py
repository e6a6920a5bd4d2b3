"""CRC-32C, the checksum of magic 2, and CRC-32, that of magic 0 and 1; ``crc32c.pxd`` says the same in C.

Python calls them by ``headers``.
"""

from __future__ import annotations

import zlib
from typing import Any

from kafkalog.kernel.buffers import Bytes

__all__ = ["crc32", "crc32c", "shift"]

_package_crc32c: Any = None


def crc32c(buf: Bytes, start: int, stop: int, crc: int = 0) -> int:
    """Return the CRC-32C of ``buf[start:stop]``, continued from `crc`, that of the bytes before."""
    if start < 0 or start >= stop or stop > len(buf):
        return crc
    global _package_crc32c
    if _package_crc32c is None:
        from crc32c import crc32c as _package_crc32c  # slow to import
    return int(_package_crc32c(buf[start:stop], crc))


def crc32(buf: Bytes, start: int, stop: int, crc: int = 0) -> int:
    """Return the CRC-32 of ``buf[start:stop]``, continued from `crc`."""
    if start < 0 or start >= stop or stop > len(buf):
        return crc
    return zlib.crc32(buf[start:stop], crc)


def shift(crc: int, length: int) -> int:
    """Return what `crc` contributes to a CRC-32C after `length` more bytes: sums are linear.

    ``crc32c(a + b) == shift(crc32c(a), len(b)) ^ crc32c(b)``.
    """
    power = 1 << 23  # x^8: the coefficient of x^0 is the highest bit
    while length:
        if length & 1:
            crc = _multiply(power, crc)
        power = _multiply(power, power)
        length >>= 1
    return crc


def _multiply(a: int, b: int) -> int:
    product = 0
    while a:
        if a & 2**31:
            product ^= b
        b = (b >> 1) ^ (0x82F63B78 if b & 1 else 0)
        a = (a << 1) & (2**32 - 1)
    return product
