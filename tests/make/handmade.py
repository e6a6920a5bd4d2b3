"""Small batches made by hand, for bytes that no broker's file in the fixtures holds."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from crc32c import crc32c

Header = tuple[bytes, bytes | None]


def varint(number: int) -> bytes:
    """Encode zigzag, as Kafka does, up to 64 bits."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    key: bytes | None, value: bytes | None, headers: Sequence[Header] = (), *, delta: int = 0, later: int = 0
) -> bytes:
    """Encode a record; `later` is its timestamp less the batch's."""
    body = b"\0" + varint(later) + varint(delta) + _sized(key) + _sized(value) + varint(len(headers))
    body += b"".join(_sized(name) + _sized(content) for name, content in headers)
    return varint(len(body)) + body


def batch(
    *records: bytes, base_offset: int = 0, timestamp: int = 1000, producer_id: int = -1, producer_epoch: int = -1,
    base_sequence: int = -1, attributes: int = 0, max_timestamp: int | None = None,
) -> bytes:  # fmt: skip
    """Encode a batch of magic 2 around encoded records."""
    covered = struct.pack(
        ">hiqqqhii", attributes, len(records) - 1, timestamp, timestamp if max_timestamp is None else max_timestamp,
        producer_id, producer_epoch, base_sequence, len(records),
    ) + b"".join(records)  # fmt: skip
    return struct.pack(">qiibI", base_offset, len(covered) + 9, 0, 2, crc32c(covered)) + covered


def one(
    key: bytes | None, value: bytes | None = b"v", headers: Sequence[Header] = (), *, base_offset: int = 0
) -> bytes:
    """Encode a batch of one record."""
    return batch(record(key, value, headers), base_offset=base_offset)


def each(*keys: bytes | None) -> bytes:
    """Encode one batch with a record for every key, whose value is the key too."""
    return batch(*(record(key, key, delta=number) for number, key in enumerate(keys)))


def segment(folder: Path, *batches: bytes, base_offset: int = 0) -> Path:
    """Write batches as a segment into `folder`."""
    path = folder / f"{base_offset:020}.log"
    path.write_bytes(b"".join(batches))
    return path


def damaged(folder: Path) -> Path:
    """Write a segment of three batches, the second of which has a wrong checksum."""
    whole = [one(b"k", base_offset=number) for number in range(3)]
    bad = bytearray(whole[1])
    bad[-2] ^= 1
    return segment(folder, whole[0], bytes(bad), whole[2])
