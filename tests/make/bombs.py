"""Segments that are small on the disk and take much work: each made in a part of its full size, or in that."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Final

import zstandard

import build

__all__ = ["BOMBS", "MIB"]

MIB: Final = 1 << 20


def _zeros(size: int) -> bytes:
    """Write a gzip stream of zeros, which decompresses to a thousand times its size."""
    packer = zlib.compressobj(9, wbits=31)
    return packer.compress(bytes(size)) + packer.flush()


def _many(packed: bytes, codec: int, count: int, records: int, batches: int) -> bytes:
    """Write batches that share a payload, one after the other."""
    return b"".join(
        build.batch(
            codec=codec,
            pack=lambda _: packed,
            base_offset=at * records,
            records_count=records,
            last_offset_delta=records - 1,
        )
        for at in range(batches)
    )[: count or None]


def _values(part: float) -> bytes:
    """Write 400 batches in 838 KB that decompress to 63 MiB each: a value of zeros."""
    size = int(63 * MIB * part)
    head = build.record(bytes(size))
    packer = zlib.compressobj(9, wbits=31)
    packed = packer.compress(head) + packer.flush()
    return _many(packed, build.GZIP, 0, 1, max(3, int(400 * part) if part < 1 else 400))


def _tiny_records(part: float) -> bytes:
    """Write batches of millions of records without key or value, 8 bytes each."""
    count = int(4_000_000 * part)
    one = build.record(None)
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(one * count)
    return _many(packed, build.ZSTD, 0, count, 80 if part == 1 else 3)


def _filled(part: float) -> bytes:
    """Write 64 MiB of batches, each of zeros just below the limit for one."""
    packed = _zeros(int(100 * MIB * part))
    whole = _many(packed, build.GZIP, 0, 1, 1)
    return whole * int(64 * MIB * part / len(whole) + 1)


def _gzip_members(part: float) -> bytes:
    """Write a stream of two million empty gzip members."""
    return build.batch(codec=build.GZIP, pack=lambda _: build.gzipped(b"") * int(2_000_000 * part), records_count=1)


def _xerial(part: float) -> bytes:
    """Write 40 MB of empty xerial blocks."""
    empty = struct.pack(">i", 1) + b"\0"
    return build.batch(codec=build.SNAPPY, pack=lambda _: build.XERIAL + empty * int(8_000_000 * part), records_count=1)


def _xerial_bytes(part: float) -> bytes:
    """Write 40 MB of xerial blocks of a byte each."""
    block = struct.pack(">i", 3) + b"\1\0a"
    return build.batch(codec=build.SNAPPY, pack=lambda _: build.XERIAL + block * int(6_000_000 * part), records_count=1)


def _headers(part: float) -> bytes:
    """Write a record of ten million empty headers, and others like it."""
    count = int(10_000_000 * part)
    record = build.record(b"v")[:-1]  # without the count of headers
    body = record[1:] + build.VARINT.build(count) + b"\0\0" * count
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(build.VARINT.build(len(body)) + body)
    return _many(packed, build.ZSTD, 0, 1, 20 if part == 1 else 2)


def _broken(part: float) -> bytes:
    """Write batches whose streams fail at their end, after all else was decompressed."""
    return _many(_zeros(int(60 * MIB * part))[:-1], build.GZIP, 0, 1, 400 if part == 1 else 5)


BOMBS: Final[dict[str, Callable[[float], bytes]]] = {
    "values of 63 MiB": _values,
    "records of 8 bytes": _tiny_records,
    "64 MiB of zeros, packed": _filled,
    "empty gzip members": _gzip_members,
    "empty xerial blocks": _xerial,
    "xerial blocks of a byte": _xerial_bytes,
    "empty headers": _headers,
    "streams that fail at their end": _broken,
}
