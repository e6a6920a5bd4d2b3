"""How the writers of lines put bytes and digits into their buffer; ``put.pxd`` says the same in C.

Each answers the position after what it wrote. The caller has made sure that there is room.
"""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["put", "put_integer"]

Bytes: TypeAlias = bytes | bytearray | memoryview


def put(out: bytearray | memoryview, w: int, source: Bytes, start: int, size: int) -> int:
    """Copy ``source[start:start + size]`` to ``out[w:]``."""
    out[w : w + size] = source[start : start + size]
    return w + size


def put_integer(out: bytearray | memoryview, w: int, value: int) -> int:
    """Write `value` in decimal digits, at most 20."""
    digits = b"%d" % value
    out[w : w + len(digits)] = digits
    return w + len(digits)
