"""Record sections, encoded and compressed once, that generated batches are put together from.

A batch differs from others of its template only in its header: record offsets and timestamps are deltas, so one
section serves any number of batches.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import lz4.frame
import snappy
import zstandard

from shapes import Shape

__all__ = ["HEADER_SIZE", "MARKERS", "Template", "field", "templates", "varint"]

HEADER_SIZE = 61
SNAPPY_BLOCK = 32 << 10  # what the Java client compresses at a time

_XERIAL_HEADER = b"\x82SNAPPY\0" + (1).to_bytes(4, "big") * 2  # version, oldest compatible version
_EVENTS = ("click", "view", "purchase", "login", "logout", "search", "refund", "share")


@dataclass(frozen=True, slots=True)
class Template:
    """The record section of a batch, and the header fields that depend on it."""

    section: bytes
    records: int
    last_timestamp_delta: int  # the highest too: timestamps do not fall inside a batch


# Control records of types COMMIT (1) and ABORT (0), version 0, coordinator epoch 0; the first byte is the length, 16.
MARKERS = (
    Template(bytes.fromhex("20 00 00 00 08 00000001 0c 000000000000 00"), 1, 0),
    Template(bytes.fromhex("20 00 00 00 08 00000000 0c 000000000000 00"), 1, 0),
)


@lru_cache(maxsize=2)
def templates(shape: Shape, codec: str, seed: int) -> tuple[Template, ...]:
    """Encode the record sections of one kind of segment; the same arguments give the same bytes."""
    rng = Random(f"{shape.name} {seed}")  # without the codec: files of all codecs have the same records
    return tuple(_template(shape, _COMPRESS[codec], rng) for _ in range(shape.templates))


def _template(shape: Shape, compress: Callable[[bytes], bytes], rng: Random) -> Template:
    section, records, delta, last_delta = bytearray(), 0, 0, 0
    while records != shape.max_records:
        record = _record(rng, round(shape.record_bytes * rng.uniform(0.75, 1.25)), records, delta)
        if records and HEADER_SIZE + len(section) + len(record) > shape.batch_bytes:
            break
        section += record
        records, last_delta = records + 1, delta
        delta += rng.randrange(3)
    return Template(compress(bytes(section)), records, last_delta)


def _record(rng: Random, size: int, offset_delta: int, timestamp_delta: int) -> bytes:
    """Encode one record of about `size` bytes: 1 in 16 has no key, 1 in 32 no value, 1 in 8 has headers."""
    key = None if rng.randrange(16) == 0 else b"key-%08d" % rng.randrange(10**8)
    headers = b"".join(_headers(rng, rng.randint(1, 2))) if rng.randrange(8) == 0 else b"\0"
    head = b"\0" + varint(timestamp_delta) + varint(offset_delta) + field(key)
    room = size - len(head) - len(headers) - 4  # 4: the lengths of the record and of the value
    value = None if rng.randrange(32) == 0 else _text(rng, max(room, 0))
    body = head + field(value) + headers
    return varint(len(body)) + body


def _headers(rng: Random, count: int) -> Iterator[bytes]:
    yield varint(count)
    yield field(b"trace-id") + field(b"%016x" % rng.getrandbits(64))
    if count == 2:
        yield field(b"source") + field(None if rng.randrange(4) == 0 else b"eu-1")


def _text(rng: Random, size: int) -> bytes:
    """Write JSON-like text, which compresses about as well as ordinary topics do."""
    parts, length = [], 0
    while length < size:
        part = (
            f'{{"id":{rng.randrange(10**9)},"user":"u{rng.randrange(10**5):05}","event":"{rng.choice(_EVENTS)}",'
            f'"amount":{rng.randrange(10**5) / 100:.2f},"session":"{rng.getrandbits(48):012x}"}}'
        )
        parts.append(part)
        length += len(part)
    return "".join(parts)[:size].encode()


def varint(number: int) -> bytes:
    """Encode a number as Kafka's records do: zigzag, then seven bits a byte."""
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def field(data: bytes | None) -> bytes:
    """Encode bytes after their length, null as -1."""
    return varint(-1) if data is None else varint(len(data)) + data


def _gzip(section: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=31)
    return compressor.compress(section) + compressor.flush()


def _snappy(section: bytes) -> bytes:
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(section), SNAPPY_BLOCK):
        block = bytes(snappy.compress(section[start : start + SNAPPY_BLOCK]))
        out += len(block).to_bytes(4, "big") + block
    return bytes(out)


def _lz4(section: bytes) -> bytes:
    # Kafka refuses linked blocks; its producer writes 64 KiB blocks and no checksum of the content.
    return bytes(
        lz4.frame.compress(
            section,
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            content_checksum=False,
            store_size=False,
        )
    )


def _zstd(section: bytes) -> bytes:
    # A compression object does not know its size beforehand, so the frame does not state it: as Kafka's streams.
    compressor = zstandard.ZstdCompressor(level=3).compressobj()
    return compressor.compress(section) + compressor.flush()


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
}
