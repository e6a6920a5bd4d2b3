"""What the writers of text share: what bytes are, and how they get into a buffer; ``put.pxd`` says the same in C.

Each that writes answers the position after it. The caller has made sure that there is room.
"""

from __future__ import annotations

import binascii

from kafkalog.kernel.buffers import Bytes
from kafkalog.kernel.plans import BASE64, ESCAPED, NOTHING, PLAIN

__all__ = ["kind", "put", "put_base64", "put_integer"]

_PLAIN = bytes(c for c in range(0x20, 0x7F) if c not in b'"\\')


def put(out: bytearray | memoryview, w: int, source: Bytes, start: int, size: int) -> int:
    """Copy ``source[start:start + size]`` to ``out[w:]``."""
    out[w : w + size] = source[start : start + size]
    return w + size


def put_integer(out: bytearray | memoryview, w: int, value: int) -> int:
    """Write `value` in decimal digits, at most 20."""
    digits = b"%d" % value
    out[w : w + len(digits)] = digits
    return w + len(digits)


def put_base64(out: bytearray | memoryview, w: int, source: Bytes, start: int, size: int, url: bool) -> int:
    """Write bytes in base64, or in that of URLs without padding."""
    coded = binascii.b2a_base64(bytes(source[start : start + max(size, 0)]), newline=False)
    if url:
        coded = coded.translate(bytes.maketrans(b"+/", b"-_")).rstrip(b"=")
    out[w : w + len(coded)] = memoryview(coded)
    return w + len(coded)


def kind(buf: Bytes, start: int, size: int) -> int:
    """Say what bytes are; below 0 is the size of null."""
    if size < 0:
        return NOTHING
    data = bytes(buf[start : start + size])
    if not data.strip(_PLAIN):
        return PLAIN
    try:
        data.decode()
    except UnicodeDecodeError:
        return BASE64
    return ESCAPED
