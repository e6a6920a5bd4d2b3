"""Batches that no broker should hold and whose checksum is right all the same: each named after what is wrong.

``CASES`` maps a name to the bytes and to the code of the one finding above all others that must tell it. Bodies of
records are put together byte by byte, since no writer makes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import lz4.frame
import snappy

import build
from build import CONTROL, DELETE_HORIZON, GZIP, LOG_APPEND_TIME, LZ4, SNAPPY, TRANSACTIONAL, ZSTD, batch, record
from handmade import varint

__all__ = ["CASES", "LEGAL", "Case"]

Case = tuple[bytes, str]

UNENDING: Final = b"\x80" * 11
TAIL: Final = b"\x01\x01\0"  # null key, null value, no headers


def raw(
    *, size: bytes | None = None, attributes: int = 0, timestamp: bytes = b"\0", delta: bytes = b"\0", key: bytes = b"\x01",
    value: bytes = b"\x02v", headers: bytes = b"\0", rest: bytes = b"",
) -> bytes:  # fmt: skip
    """Write a record of these fields, each as it stands in the file."""
    body = bytes([attributes]) + timestamp + delta + key + value + headers + rest
    return (varint(len(body)) if size is None else size) + body


def holding(payload: bytes, count: int = 1, **fields: int) -> bytes:
    """Write a batch around bytes that are to be its records."""
    fields = {"last_offset_delta": max(count - 1, 0), **fields}
    return batch(pack=lambda _: payload, records_count=count, **fields)


def packed(codec: int, pack: Callable[[bytes], bytes], count: int = 1, data: bytes | None = None) -> bytes:
    """Write a batch whose stream `pack` makes of one record's bytes."""
    return batch(record(b"value" * 20) if data is None else data, codec=codec, pack=pack, records_count=count)


def control(
    key: bytes | None, value: bytes | None, *, attributes: int = TRANSACTIONAL | CONTROL, **fields: int
) -> bytes:
    """Write a batch of one control record."""
    fields = {"producer_id": 7, "producer_epoch": 0, **fields}
    return batch(record(value, key), attributes=attributes, **fields)


def linked_lz4(data: bytes) -> bytes:
    """Write an LZ4 frame whose blocks hang together."""
    return bytes(lz4.frame.compress(data, block_linked=True, store_size=False))


def message(content: bytes, *, magic: int = 1, attributes: int = 0, offset: int = 0) -> bytes:
    """Write a message of magic 0 or 1 whose key and value are these bytes, lengths and all."""
    import zlib

    covered = bytes([magic, attributes]) + (build.TIME.to_bytes(8, "big") if magic else b"") + content
    return (
        offset.to_bytes(8, "big")
        + (len(covered) + 4).to_bytes(4, "big")
        + zlib.crc32(covered).to_bytes(4, "big")
        + covered
    )


def int32(number: int) -> bytes:
    """Write a length of magic 0 or 1."""
    return number.to_bytes(4, "big", signed=True)


MARKER: Final = int32(0)  # version 0 and type 0, ABORT
EPOCH: Final = bytes(6)
INNER: Final = build.message(b"inner", offset=0)
PRODUCER: Final = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}

CASES: Final[dict[str, Case]] = {
    # Records: lengths and numbers.
    "a record's length of six bytes": (holding(raw(size=UNENDING)), "record-size-unending"),
    "a record's length that the batch cuts": (holding(b"\x80"), "record-size-unending"),
    "a record's length of -1": (holding(raw(size=varint(-1))), "record-size-negative"),
    "a record's length of -2**31": (holding(raw(size=varint(-(2**31)))), "record-size-negative"),
    "a record's length of 0": (holding(raw(size=b"\0")), "record-size-too-small"),
    "a record's length of 5": (holding(raw(size=varint(5))), "record-size-too-small"),
    "a record one byte longer than the batch": (holding(raw(size=varint(8))), "record-past-end"),
    "a record of 2**31 - 1 bytes": (holding(raw(size=varint(2**31 - 1))), "record-past-end"),
    "a record one byte shorter than its fields": (holding(raw(size=varint(6), value=b"\x04vv")), "value-past-end"),
    "a record with a byte behind its last field": (holding(raw(rest=b"\0")), "record-rest"),
    "a timestamp delta of eleven bytes": (holding(raw(timestamp=UNENDING)), "timestamp-delta-unending"),
    "an offset delta of six bytes": (holding(raw(delta=UNENDING)), "offset-delta-unending"),
    "a key's length of six bytes": (holding(raw(key=UNENDING)), "key-size-unending"),
    "a key longer than its record": (holding(raw(key=varint(99))), "key-past-end"),
    "a key of 2**31 - 1 bytes": (holding(raw(key=varint(2**31 - 1))), "key-past-end"),
    "a value's length of six bytes": (holding(raw(value=UNENDING)), "value-size-unending"),
    "a value longer than its record": (holding(raw(value=varint(99) + b"v")), "value-past-end"),
    "a number of headers of six bytes": (holding(raw(headers=UNENDING)), "header-count-unending"),
    "a number of headers of -1": (holding(raw(headers=varint(-1))), "header-count-negative"),
    "a number of headers of 2**31 - 1": (holding(raw(headers=varint(2**31 - 1))), "header-count-too-high"),
    "a number of headers one too high": (holding(raw(headers=varint(2) + b"\x02k\x02v")), "header-key-size-unending"),
    "a number of headers one too low": (holding(raw(headers=varint(1) + b"\x02k\x02v" * 2)), "record-rest"),
    "a header key's length of six bytes": (holding(raw(headers=varint(1) + UNENDING)), "header-key-size-unending"),
    "a header's key that is null": (holding(raw(headers=varint(1) + b"\x01\x02v")), "header-key-null"),
    "a header's key longer than its record": (holding(raw(headers=varint(1) + varint(99) + b"k")), "header-key-past-end"),
    "a header value's length of six bytes": (
        holding(raw(headers=varint(1) + b"\x02k" + UNENDING)), "header-value-size-unending",
    ),
    "a header's value longer than its record": (
        holding(raw(headers=varint(1) + b"\x02k" + varint(99))), "header-value-past-end",
    ),
    # Records: how many there are.
    "a count of -1": (holding(raw(), -1), "records-count-negative"),
    "a count of -2**31": (holding(raw(), -(2**31)), "records-count-negative"),
    "a count one too high": (holding(raw(), 2), "records-end-early"),
    "a count of 2**31 - 1": (holding(raw(), 2**31 - 1), "records-end-early"),
    "a count one too low": (holding(raw() + raw(delta=b"\x02"), 1, last_offset_delta=1), "records-rest"),
    "a count and no records": (holding(b"", 1), "records-end-early"),
    "a byte behind the last record": (holding(raw() + b"\0"), "records-rest"),
    "a whole record behind the last one": (holding(raw() + raw(delta=b"\x02")), "records-rest"),
    "bytes in a batch of no records": (holding(raw(), 0), "empty-batch-odd"),
    "a codec of a batch of no records": (batch(attributes=GZIP, records_count=0), "empty-batch-odd"),
    "more records than offsets": (holding(raw() + raw(delta=b"\x02"), 2, last_offset_delta=0), "records-count-above-offsets"),
    # Records: offsets and timestamps.
    "an offset twice": (holding(raw() + raw(), 2), "offset-delta-repeated"),
    "offsets that fall": (holding(raw(delta=b"\x02") + raw(), 2), "offset-delta-falling"),
    "an offset below the batch's first": (holding(raw(delta=varint(-1))), "offset-delta-negative"),
    "an offset above the batch's last": (holding(raw(delta=varint(5))), "offset-delta-above-last"),
    "a largest timestamp that is too large": (batch(record(), max_timestamp=build.TIME + 1), "max-timestamp-wrong"),
    "a largest timestamp that is too small": (batch(record(later=5)), "max-timestamp-wrong"),
    "a timestamp delta of 2**63 - 1": (holding(raw(timestamp=varint(2**63 - 1))), "max-timestamp-wrong"),
    # Records: what Kafka reads all the same.
    "a number with a byte too many": (holding(raw(delta=b"\x80\0")), "number-overlong"),
    "a length with four bytes too many": (holding(raw(key=b"\x81\x80\x80\x80\0")), "number-overlong"),
    "a number with bits that fall away": (holding(raw(delta=b"\x80\x80\x80\x80\x70")), "number-bits-dropped"),
    "a timestamp delta with bits that fall away": (holding(raw(timestamp=b"\x80" * 9 + b"\x7e")), "number-bits-dropped"),
    "a record's attributes of 1": (holding(raw(attributes=1)), "record-attributes-set"),
    "a key's length of -2": (holding(raw(key=varint(-2))), "size-below-null"),
    "a header value's length of -2**31": (holding(raw(headers=varint(1) + b"\x02k" + varint(-(2**31)))), "size-below-null"),
    # Compression.
    "a codec of 5": (holding(raw(), attributes=5), "codec-unknown"),
    "a codec of 7": (holding(raw(), attributes=7), "codec-unknown"),
    "a codec and no stream": (packed(GZIP, lambda _: b""), "compressed-stream-missing"),
    "gzip that is none": (packed(GZIP, bytes), "compressed-stream-foreign"),
    "lz4 that is none": (packed(LZ4, bytes), "compressed-stream-foreign"),
    "zstd that is none": (packed(ZSTD, bytes), "compressed-stream-foreign"),
    "gzip under the number of lz4": (packed(LZ4, build.gzipped), "compressed-stream-foreign"),
    "snappy that is none": (packed(SNAPPY, bytes), "decompression-failed"),
    "gzip without its end": (packed(GZIP, lambda data: build.gzipped(data)[:-9]), "compressed-stream-cut"),
    "gzip without its checksum": (packed(GZIP, lambda data: build.gzipped(data)[:-8]), "compressed-stream-cut"),
    "gzip with a wrong checksum": (packed(GZIP, lambda data: build.gzipped(data)[:-8] + bytes(8)), "decompression-failed"),
    "lz4 without its end": (packed(LZ4, lambda data: build.lz4_frame(data)[:-4]), "compressed-stream-cut"),
    "lz4 with a wrong header checksum": (packed(LZ4, build.old_lz4_frame), "decompression-failed"),
    "lz4 whose blocks hang together": (packed(LZ4, linked_lz4, data=record(bytes(300_000))), "lz4-frame-refused"),
    "zstd without its end": (packed(ZSTD, lambda data: build.zstd_frame(data)[:-3]), "compressed-stream-cut"),
    "xerial without its last byte": (packed(SNAPPY, lambda data: build.xerial(data)[:-1]), "snappy-block-past-end"),
    "a xerial block of -1 bytes": (packed(SNAPPY, lambda data: build.XERIAL + int32(-1) + data), "snappy-block-past-end"),
    "raw snappy without its last byte": (packed(SNAPPY, lambda data: snappy.compress(data)[:-1]), "decompression-failed"),
    "raw snappy that says 2**32 - 1 bytes": (packed(SNAPPY, lambda _: b"\xff\xff\xff\xff\x0f\0"), "decompression-over-limit"),
    "bytes behind gzip": (packed(GZIP, lambda data: build.gzipped(data) + b"behind"), "compressed-stream-rest"),
    "bytes behind lz4": (packed(LZ4, lambda data: build.lz4_frame(data) + b"behind"), "compressed-stream-rest"),
    "a compressed record that is cut": (packed(GZIP, build.gzipped, data=record(b"value")[:-2]), "record-past-end"),
    "bytes behind the compressed records": (packed(ZSTD, build.zstd_frame, data=record() + b"\0\0"), "records-rest"),
    "raw snappy of ten bytes that says a million": (packed(SNAPPY, lambda _: b"\xc0\x84\x3d" + bytes(7)), "snappy-size-lies"),
    # Headers.
    "a last offset delta of -1": (batch(record(), last_offset_delta=-1), "last-offset-delta-negative"),
    "offsets beyond 2**63 - 1": (batch(record(), base_offset=2**63 - 1, last_offset_delta=1), "offset-overflow"),
    "attribute bit 7": (batch(record(), attributes=0x80), "attributes-unused"),
    "the attributes' high byte": (batch(record(), attributes=0x4200), "attributes-unused"),
    "a delete horizon that is no time": (
        batch(record(), attributes=DELETE_HORIZON, base_timestamp=-1, max_timestamp=-1), "delete-horizon-odd",
    ),
    "a largest timestamp of -2": (batch(record(), attributes=LOG_APPEND_TIME, max_timestamp=-2), "timestamp-odd"),
    "a largest timestamp of -2**63": (
        batch(record(), attributes=LOG_APPEND_TIME, max_timestamp=-(2**63)), "timestamp-odd",
    ),
    "a leader epoch of -2": (batch(record(), partition_leader_epoch=-2), "leader-epoch-below-none"),
    "a producer id of -2": (batch(record(), producer_id=-2), "producer-id-below-none"),
    "a producer without an epoch": (batch(record(), producer_id=7, base_sequence=0), "producer-epoch-missing"),
    "an epoch without a producer": (batch(record(), producer_epoch=3), "producer-id-missing"),
    "a producer without a sequence": (batch(record(), producer_id=7, producer_epoch=0), "sequence-missing"),
    "a transaction without a producer": (batch(record(), attributes=TRANSACTIONAL), "transaction-without-producer"),
    # Control records.
    "a control record without a key": (control(None, EPOCH), "control-key-short"),
    "a control record's key of three bytes": (control(b"\0\0\0", EPOCH), "control-key-short"),
    "a control record of version -1": (control(b"\xff\xff\0\0", EPOCH), "control-version-negative"),
    "a control record of version 1": (control(b"\0\1\0\0", EPOCH), "control-version-newer"),
    "a control record's key of five bytes": (control(MARKER + b"\0", EPOCH), "control-key-long"),
    "a control record of type 99": (control(b"\0\0\0\x63", EPOCH, attributes=CONTROL), "control-type-unknown"),
    "a marker without a value": (control(MARKER, None), "marker-value-short"),
    "a marker's value of five bytes": (control(MARKER, bytes(5)), "marker-value-short"),
    "a marker of version -1": (control(MARKER, b"\xff\xff" + bytes(4)), "marker-version-negative"),
    "a marker of version 1": (control(MARKER, b"\0\1" + bytes(4)), "marker-version-newer"),
    "a marker's value of seven bytes": (control(MARKER, bytes(7)), "marker-value-long"),
    "a marker outside a transaction": (control(MARKER, EPOCH, attributes=CONTROL), "marker-not-transactional"),
    "a marker with a sequence": (control(MARKER, EPOCH, base_sequence=0), "control-batch-sequence"),
    "two markers in a batch": (
        batch(record(EPOCH, MARKER), record(EPOCH, MARKER, delta=1), attributes=TRANSACTIONAL | CONTROL, producer_id=7,
              producer_epoch=0), "marker-count",
    ),
    "a compressed marker": (
        batch(record(EPOCH, MARKER), attributes=TRANSACTIONAL | CONTROL, codec=GZIP, producer_id=7, producer_epoch=0),
        "control-batch-compressed",
    ),
    "a snapshot's footer in a transaction": (control(b"\0\0\0\4", bytes(3)), "control-type-transactional"),
    "a leader change that is cut": (control(b"\0\0\0\2", bytes(3), attributes=CONTROL), "control-record-malformed"),
    # Magic 0 and 1.
    "a message's key longer than it": (message(int32(99) + int32(-1)), "message-key-past-end"),
    "a message's value longer than it": (message(int32(-1) + int32(99)), "message-value-past-end"),
    "a byte behind a message's value": (message(int32(-1) + int32(1) + b"vv"), "message-rest"),
    "a message's key length of -2": (message(int32(-2) + int32(1) + b"v"), "size-below-null"),
    "a message of magic 0 with a timestamp type": (build.message(magic=0, attributes=8), "attributes-unused"),
    "a message with unused attribute bits": (build.message(attributes=0x40), "attributes-unused"),
    "a message's timestamp of -2": (build.message(timestamp=-2), "timestamp-odd"),
    "a wrapper with a key": (
        message(int32(1) + b"k" + int32(len(build.gzipped(INNER))) + build.gzipped(INNER), attributes=GZIP), "wrapper-key-set",
    ),
    "a wrapper whose value is null": (message(int32(-1) + int32(-1), attributes=GZIP), "compressed-stream-missing"),
    "a wrapper whose value is longer than it": (message(int32(-1) + int32(99), attributes=GZIP), "wrapper-past-end"),
    "a wrapper around nothing": (build.wrapper(b""), "wrapper-empty"),
    "a wrapper in a wrapper": (build.wrapper(build.wrapper(INNER)), "wrapper-nested"),
    "bytes behind a wrapper's messages": (build.wrapper(INNER, b"behind"), "wrapper-rest"),
    "a wrapper whose last message is cut": (build.wrapper(INNER, INNER[:-1]), "wrapper-rest"),
    "a message of magic 0 in a wrapper of magic 1": (
        build.wrapper(build.message(b"inner", magic=0)), "wrapper-magic-mixed",
    ),
    "offsets that fall in a wrapper": (
        build.wrapper(build.message(offset=1), build.message(offset=0), offset=1), "wrapper-offsets-falling",
    ),
    "a wrong checksum in a wrapper": (build.wrapper(build.message(crc=1)), "message-crc-mismatch"),
    "a wrapper's offset below its messages' number": (
        build.wrapper(*(build.message(offset=at) for at in range(3)), offset=1), "wrapper-offset-too-small",
    ),
    "a wrapper of magic 0 with another offset than its last": (
        build.wrapper(build.message(magic=0, offset=3), magic=0, offset=9), "wrapper-offset-wrong",
    ),
    "a wrapper of zstd": (build.wrapper(INNER, codec=ZSTD), "codec-not-of-magic"),
    "a wrapper of codec 6": (message(int32(-1) + int32(3) + b"abc", attributes=6), "codec-unknown"),
    "a wrapper of gzip that is none": (message(int32(-1) + int32(3) + b"abc", attributes=GZIP), "compressed-stream-foreign"),
}  # fmt: skip

# What looks odd and is legal: no finding at all.
LEGAL: Final[dict[str, bytes]] = {
    "a sequence that wraps": batch(record(), record(delta=1), producer_id=7, producer_epoch=0, base_sequence=2**31 - 1),
    "timestamps that fall": batch(record(later=5), record(delta=1, later=-5), max_timestamp=build.TIME + 5),
    "no timestamps": batch(record(), base_timestamp=-1, max_timestamp=-1),
    "an empty batch as the cleaner leaves it": batch(
        records_count=0, last_offset_delta=4, base_timestamp=-1, **PRODUCER
    ),
    "a batch that the cleaner thinned": batch(record(delta=1), record(delta=4), last_offset_delta=5),
    "a marker with a delete horizon": control(
        MARKER, EPOCH, attributes=TRANSACTIONAL | CONTROL | DELETE_HORIZON, base_timestamp=build.TIME
    ),
    "a coordinator epoch of -1": control(MARKER, b"\0\0" + b"\xff" * 4),
    "two gzip members": packed(GZIP, lambda data: build.gzipped(data[:9]) + build.gzipped(data[9:])),
    "a wrapper that the cleaner thinned": build.wrapper(build.message(offset=1), build.message(offset=4), offset=9),
    "a wrapper of old librdkafka, offset 0": build.wrapper(*(build.message(offset=at) for at in range(3)), offset=0),
    "LogAppendTime": batch(record(later=-7), attributes=LOG_APPEND_TIME, max_timestamp=build.TIME + 99),
}
