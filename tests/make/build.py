"""Builds files' bytes from the declared layouts: the executable specification that the fast readers are held to.

``construct`` composes the layouts of ``kafkalog.kafka.layout`` into whole structures, and compiles what is built by the
thousands, which is some times as fast. Checksums come from zlib and the
crc32c package, compression from the codecs' own packages: nothing here is the code under test.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import construct
import lz4.frame
import snappy
import zstandard
from construct import this
from crc32c import crc32c

from kafkalog.kafka.layout import (
    ABORTED_TXN,
    CONTROL_RECORD_KEY,
    END_TXN_MARKER,
    MESSAGE_V0,
    MESSAGE_V1,
    PRODUCER_SNAPSHOT,
    PRODUCER_STATE_ENTRY,
    RECORD_BATCH,
)

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_NUMBERS: Final = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
TIME: Final = 1_700_000_000_000
XERIAL: Final = b"\x82SNAPPY\0" + construct.Int32sb.build(1) * 2

Header = tuple[bytes, bytes | None]


def _nullable(size: Any) -> Any:
    """Compose bytes behind their size, which is -1 for null."""
    whole = construct.Struct(
        "size" / construct.Rebuild(size, lambda context: -1 if context.data is None else len(context.data)),
        "data" / construct.If(this.size >= 0, construct.Bytes(this.size)),
    )
    return construct.ExprAdapter(whole, lambda found, _: found.data, lambda data, _: {"data": data})


VARINT: Final = construct.ZigZag
SIZED: Final = _nullable(VARINT)
RECORD: Final = construct.Prefixed(
    VARINT,
    construct.Struct(
        "attributes" / construct.Int8sb,
        "timestamp_delta" / VARINT,
        "offset_delta" / VARINT,
        "key" / SIZED,
        "value" / SIZED,
        "headers" / construct.PrefixedArray(VARINT, construct.Sequence(SIZED, SIZED)),
    ),
)
BATCH: Final = construct.Struct("header" / RECORD_BATCH.construct, "records" / construct.GreedyRange(RECORD))
_RECORD: Final = RECORD.compile()
_BATCH_HEADER: Final = RECORD_BATCH.construct.compile()
_MOST_KEPT: Final = 256  # bytes of a record that is kept, as many tests ask for the same
_CONTENT: Final = construct.Struct(
    "key" / _nullable(construct.Int32sb), "value" / _nullable(construct.Int32sb), construct.Terminated
)
MESSAGES: Final = {
    0: construct.Struct("header" / MESSAGE_V0.construct, "content" / _CONTENT).compile(),
    1: construct.Struct("header" / MESSAGE_V1.construct, "content" / _CONTENT).compile(),
}
SNAPSHOT: Final = construct.Struct(
    "header" / PRODUCER_SNAPSHOT.construct, "entries" / construct.GreedyRange(PRODUCER_STATE_ENTRY.construct)
)


# Compression, as the clients write it.


def gzipped(data: bytes) -> bytes:
    """Write one gzip member."""
    return gzip.compress(data, mtime=0)


def xerial(data: bytes, block: int = 32768) -> bytes:
    """Write snappy in xerial's framing: a header, then blocks of `block` bytes each behind its compressed size."""
    blocks = [snappy.compress(data[at : at + block]) for at in range(0, len(data), block)]
    return XERIAL + b"".join(construct.Int32sb.build(len(packed)) + packed for packed in blocks)


def lz4_frame(data: bytes) -> bytes:
    """Write an LZ4 frame as Java does: independent blocks of 64 KiB, no sizes, no checksums but the header's."""
    return bytes(lz4.frame.compress(data, block_linked=False, store_size=False, block_size=lz4.frame.BLOCKSIZE_MAX64KB))


def old_lz4_frame(data: bytes) -> bytes:
    """Write an LZ4 frame of magic 0, whose header checksum was taken over the frame's magic number too.

    The byte is vector V7's for the two descriptor bytes that `lz4_frame` writes.
    """
    frame = lz4_frame(data)
    assert frame[4:7] == b"\x60\x40\x82"
    return frame[:6] + b"\x1a" + frame[7:]


def zstd_frame(data: bytes) -> bytes:
    """Write a zstd frame as a stream does: it does not say its size."""
    compressor = zstandard.ZstdCompressor(write_content_size=False, write_checksum=False)
    return compressor.compress(data)


PACK: Final[dict[int, Callable[[bytes], bytes]]] = {
    NONE: bytes,
    GZIP: gzipped,
    SNAPPY: xerial,
    LZ4: lz4_frame,
    ZSTD: zstd_frame,
}


# Magic 2.


def record(
    value: bytes | None = b"v",
    key: bytes | None = None,
    headers: Sequence[Header] = (),
    *,
    delta: int = 0,
    later: int = 0,
    attributes: int = 0,
) -> bytes:
    """Write a record; `delta` is its offset's, `later` its timestamp's."""
    is_small = not headers and len(value or b"") + len(key or b"") < _MOST_KEPT
    return (_kept if is_small else _written)(value, key, tuple(headers), delta, later, attributes)


def _written(
    value: bytes | None, key: bytes | None, headers: tuple[Header, ...], delta: int, later: int, attributes: int
) -> bytes:
    fields = {"attributes": attributes, "timestamp_delta": later, "offset_delta": delta}
    return bytes(_RECORD.build({**fields, "key": key, "value": value, "headers": list(headers)}))


_kept = lru_cache(4096)(_written)


def batch(
    *records: bytes,
    codec: int = NONE,
    pack: Callable[[bytes], bytes] | None = None,
    crc: int | None = None,
    **fields: int,
) -> bytes:
    """Write a batch around `records`; `fields` are the header's, by name, and what is not said follows from the rest."""
    payload = (pack or PACK[codec])(b"".join(records)) if records or pack else b""
    header = {
        "base_offset": 0,
        "batch_length": RECORD_BATCH.size - 12 + len(payload),
        "partition_leader_epoch": 0,
        "magic": 2,
        "crc": 0,
        "attributes": codec,
        "last_offset_delta": max(len(records) - 1, 0),
        "base_timestamp": TIME,
        "max_timestamp": TIME,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "records_count": len(records),
    }
    header |= fields
    if "attributes" in fields:
        header["attributes"] = fields["attributes"] | codec
    covered = _BATCH_HEADER.build(header)[RECORD_BATCH.position("attributes") :] + payload
    header["crc"] = crc32c(covered) if crc is None else crc
    return bytes(_BATCH_HEADER.build(header)) + payload


def marker(kind: int = 1, *, coordinator_epoch: int = 0, **fields: int) -> bytes:
    """Write a transaction marker: COMMIT, or ABORT where `kind` is 0."""
    key = CONTROL_RECORD_KEY.construct.build({"version": 0, "type": kind})
    value = END_TXN_MARKER.construct.build({"version": 0, "coordinator_epoch": coordinator_epoch})
    return batch(record(value, key), **{"attributes": TRANSACTIONAL | CONTROL, **fields})


def log(*sizes: int, **fields: int) -> list[bytes]:
    """Write batches of one record each, whose values have these sizes, one offset behind the other."""
    return [batch(record(bytes([97 + at % 26]) * size), base_offset=at, **fields) for at, size in enumerate(sizes)]


# Magic 0 and 1.


def message(
    value: bytes | None = b"v",
    key: bytes | None = None,
    *,
    offset: int = 0,
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = TIME,
    crc: int | None = None,
) -> bytes:
    """Write an old message; magic 0 has no timestamp."""
    layout = MESSAGES[magic]
    header = {"offset": offset, "message_size": 0, "crc": 0, "magic": magic, "attributes": attributes}
    whole = {"header": {**header, "timestamp": timestamp}, "content": {"key": key, "value": value}}
    draft = layout.build(whole)
    whole["header"] |= {"message_size": len(draft) - 12, "crc": zlib.crc32(draft[16:]) if crc is None else crc}
    return bytes(layout.build(whole))


def wrapper(
    *messages: bytes, codec: int = GZIP, offset: int = 0, magic: int = 1, attributes: int = 0, **more: Any
) -> bytes:
    """Write a message around compressed ones; `offset` is the last one's."""
    pack = old_lz4_frame if codec == LZ4 and magic == 0 else PACK[codec]
    return message(pack(b"".join(messages)), offset=offset, magic=magic, attributes=attributes | codec, **more)


# Side files.


def snapshot(*entries: Sequence[int], version: int = 1) -> bytes:
    """Write a producer snapshot of `entries`, each the eight numbers of a ProducerStateEntry."""
    rows = [dict(zip(PRODUCER_STATE_ENTRY.names, entry, strict=True)) for entry in entries]
    header = {"version": version, "crc": 0, "entries_count": len(rows)}
    header["crc"] = crc32c(
        SNAPSHOT.build({"header": header, "entries": rows})[PRODUCER_SNAPSHOT.position("entries_count") :]
    )
    return bytes(SNAPSHOT.build({"header": header, "entries": rows}))


def aborted(*row: int) -> bytes:
    """Write an entry of a transaction index: version, producer id, first, last and last stable offset."""
    return bytes(ABORTED_TXN.construct.build(dict(zip(ABORTED_TXN.names, row, strict=True))))


def flipped(data: bytes, bit: int) -> bytes:
    """Change one bit; bit 0 is the lowest of the first byte."""
    changed = bytearray(data)
    changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(changed)


def much_damaged(folder: Path, damaged: int) -> Path:
    """Write a log in which every second batch is damaged."""
    pieces = [
        flipped(batch, 8 * len(batch) - 9) if at % 2 else batch
        for at, batch in enumerate(log(*[20] * (2 * damaged + 1)))
    ]
    (folder / "t-0").mkdir(parents=True)
    (folder / "t-0" / f"{0:020}.log").write_bytes(b"".join(pieces))
    return folder


def with_field(data: bytes, at: int, number: int, size: int = 4) -> bytes:
    """Put a signed number of `size` bytes at `at`."""
    return data[:at] + number.to_bytes(size, "big", signed=True) + data[at + size :]
