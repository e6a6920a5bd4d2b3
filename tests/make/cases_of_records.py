"""A case of each code about headers, records and markers under a right checksum, beside the same bytes made legal."""

from __future__ import annotations

import struct
from typing import Final

import lz4.frame
import snappy

import build
import malformed
from build import CONTROL, DELETE_HORIZON, GZIP, LOG_APPEND_TIME, LZ4, SNAPPY, TRANSACTIONAL, ZSTD, batch, record
from code_evidence import CodeCase, case_of, partition
from handmade import varint
from malformed import EPOCH, INNER, MARKER, PRODUCER, control, holding, int32, message, packed, raw

__all__ = ["OF_RECORDS", "OF_RECORD_BATCHES"]

WELL: Final = holding(raw())
TWO: Final = holding(raw() + raw(delta=b"\x02"), 2)
HEADER: Final = varint(1) + b"\x02k\x02v"
FIVE: Final = b"\x80\x80\x80\x80\0"  # 0 in the most bytes that a number of 32 bits may have
FIVE_ONE: Final = b"\x82\x80\x80\x80\0"
GZIPPED: Final = packed(GZIP, build.gzipped)
RAW_SNAPPY: Final = packed(SNAPPY, snappy.compress)
ENDED: Final = control(MARKER, EPOCH)
METADATA: Final = "__cluster_metadata-0"
LEADER_CHANGE: Final = struct.pack(">hi", 0, 1) + b"\1\1\0"  # leader 1, no voters, no tags
WRAPPED: Final = build.wrapper(INNER)


def _case(name: str, legal: str, alike: bytes, **more: str) -> CodeCase:
    """Return a case of `malformed`, by its name there."""
    data, _ = malformed.CASES[name]
    return case_of(name, partition(data), legal, partition(alike), **more)


OF_RECORDS: Final[dict[str, CodeCase]] = {
    # Records: lengths and numbers.
    "record-size-unending": _case("a record's length of six bytes", "a length of one byte", WELL),
    "record-size-negative": _case("a record's length of -1", "the length of its fields", WELL),
    "record-size-too-small": _case("a record's length of 5", "the length of its fields", WELL),
    "record-past-end": _case("a record one byte longer than the batch", "a record that ends with its batch", WELL),
    "record-rest": _case("a record with a byte behind its last field", "a record without it", WELL),
    "timestamp-delta-unending": _case(
        "a timestamp delta of eleven bytes", "one of ten", holding(raw(timestamp=b"\x80" * 9 + b"\0"))
    ),
    "offset-delta-unending": _case("an offset delta of six bytes", "one of five", holding(raw(delta=FIVE))),
    "key-size-unending": _case("a key's length of six bytes", "one of five", holding(raw(key=FIVE))),
    "key-past-end": _case(
        "a key longer than its record", "a record as long as its key", holding(raw(key=varint(99) + b"k" * 99))
    ),
    "value-size-unending": _case("a value's length of six bytes", "one of five", holding(raw(value=FIVE))),
    "value-past-end": _case(
        "a record one byte shorter than its fields", "a record as long as its fields", holding(raw(value=b"\x04vv"))
    ),
    "header-count-unending": _case("a number of headers of six bytes", "one of five", holding(raw(headers=FIVE))),
    "header-count-negative": _case("a number of headers of -1", "one of 0", WELL),
    "header-count-too-high": _case("a number of headers of 2**31 - 1", "one of 1", holding(raw(headers=HEADER))),
    "header-key-size-unending": _case(
        "a header key's length of six bytes", "one of five",
        holding(raw(headers=varint(1) + FIVE_ONE + b"k\x02v")),
    ),
    "header-key-null": _case(
        "a header's key that is null", "a header's value that is null", holding(raw(headers=varint(1) + b"\x02k\x01"))
    ),
    "header-key-past-end": _case(
        "a header's key longer than its record", "a record as long as the key",
        holding(raw(headers=varint(1) + varint(99) + b"k" * 99 + b"\x02v")),
    ),
    "header-value-size-unending": _case(
        "a header value's length of six bytes", "one of five",
        holding(raw(headers=varint(1) + b"\x02k" + FIVE_ONE + b"v")),
    ),
    "header-value-past-end": _case(
        "a header's value longer than its record", "a record as long as the value",
        holding(raw(headers=varint(1) + b"\x02k" + varint(99) + b"v" * 99)),
    ),
    # Records: how many there are, their offsets and timestamps.
    "records-count-negative": _case("a count of -1", "a count of 1", WELL),
    "records-end-early": _case("a count one too high", "the record that was missing", TWO),
    "records-rest": _case("a count one too low", "a count of both records", TWO),
    "records-count-above-offsets": _case("more records than offsets", "as many offsets as records", TWO),
    "offset-delta-repeated": _case("an offset twice", "offsets one behind the other", TWO),
    "offset-delta-falling": _case("offsets that fall", "offsets that rise", TWO),
    "offset-delta-negative": _case("an offset below the batch's first", "the batch's first offset", WELL),
    "offset-delta-above-last": _case(
        "an offset above the batch's last", "a last offset that is the record's",
        holding(raw(delta=varint(5)), last_offset_delta=5),
    ),
    "number-overlong": _case("a number with a byte too many", "a number in one byte", WELL),
    "number-bits-dropped": _case(
        "a number with bits that fall away", "as many bytes with bits that count", holding(raw(delta=FIVE))
    ),
    "record-attributes-set": _case("a record's attributes of 1", "attributes of 0", WELL),
    "size-below-null": _case("a key's length of -2", "a length of -1, which is null", WELL),
    # Compression.
    "compressed-stream-missing": _case("a codec and no stream", "a codec with its stream", GZIPPED),
    "compressed-stream-foreign": _case(
        "gzip under the number of lz4", "lz4 under its number", packed(LZ4, build.lz4_frame)
    ),
    "compressed-stream-cut": _case("gzip without its end", "gzip with its end", GZIPPED),
    "compressed-stream-rest": _case("bytes behind gzip", "a second gzip member", malformed.LEGAL["two gzip members"]),
    "snappy-block-past-end": _case(
        "xerial without its last byte", "xerial with it", packed(SNAPPY, build.xerial)
    ),
    "snappy-size-lies": _case(
        "raw snappy of ten bytes that says a million", "raw snappy that says its size", RAW_SNAPPY
    ),
    "lz4-frame-refused": _case(
        "lz4 whose blocks hang together", "blocks that do not",
        packed(LZ4, lambda data: bytes(lz4.frame.compress(data, block_linked=False, store_size=False)),
               data=record(bytes(300_000))),
    ),
    "codec-not-of-magic": _case("a wrapper of zstd", "a wrapper of gzip", WRAPPED),
    # Headers.
    "last-offset-delta-negative": _case("a last offset delta of -1", "one of 0", batch(record())),
    "offset-overflow": case_of(
        "offsets beyond 2**63 - 1",
        partition(batch(record(), base_offset=2**63 - 1, last_offset_delta=1), base=2**63 - 1),
        "an offset of 2**63 - 1", partition(batch(record(), base_offset=2**63 - 1), base=2**63 - 1),
    ),
    "leader-epoch-below-none": _case(
        "a leader epoch of -2", "one of -1, which stands for no value", batch(record(), partition_leader_epoch=-1)
    ),
    "producer-id-below-none": _case("a producer id of -2", "one of -1, which stands for no value", batch(record())),
    "producer-id-missing": _case(
        "an epoch without a producer", "a producer with an epoch",
        batch(record(), producer_id=7, producer_epoch=3, base_sequence=0),
    ),
    "producer-epoch-missing": _case(
        "a producer without an epoch", "a producer with an epoch", batch(record(), **PRODUCER)
    ),
    "sequence-missing": _case("a producer without a sequence", "one with a sequence", batch(record(), **PRODUCER)),
    "transaction-without-producer": _case(
        "a transaction without a producer", "a producer's transaction",
        batch(record(), attributes=TRANSACTIONAL, **PRODUCER),
    ),
    # Control records.
    "control-key-short": _case("a control record's key of three bytes", "a key of four", ENDED),
    "control-version-negative": _case("a control record of version -1", "one of version 0", ENDED),
    "control-version-newer": _case("a control record of version 1", "one of version 0", ENDED),
    "control-key-long": _case("a control record's key of five bytes", "a key of four", ENDED),
    "control-type-unknown": _case("a control record of type 99", "one of type 0", ENDED),
    "control-type-transactional": case_of(
        "a snapshot's footer in a transaction", partition(malformed.CASES["a snapshot's footer in a transaction"][0]),
        "one in none, where such records are",
        partition(control(b"\0\0\0\4", bytes(3), attributes=CONTROL, producer_id=-1, producer_epoch=-1), name=METADATA),
        "verify", ".",
    ),
    "control-batch-sequence": _case("a marker with a sequence", "a marker without", ENDED),
    "control-batch-compressed": _case("a compressed marker", "one that is not compressed", ENDED),
    "marker-count": _case("two markers in a batch", "one marker", ENDED),
    "marker-not-transactional": _case("a marker outside a transaction", "one that ends a transaction", ENDED),
    "marker-value-short": _case("a marker's value of five bytes", "a value of six", ENDED),
    "marker-value-long": _case("a marker's value of seven bytes", "a value of six", ENDED),
    "marker-version-negative": _case("a marker of version -1", "one of version 0", ENDED),
    "marker-version-newer": _case("a marker of version 1", "one of version 0", ENDED),
    # Magic 0 and 1.
    "message-key-past-end": _case(
        "a message's key longer than it", "a message as long as its key", message(int32(99) + b"k" * 99 + int32(-1))
    ),
    "message-value-past-end": _case(
        "a message's value longer than it", "a message as long as its value", message(int32(-1) + int32(99) + b"v" * 99)
    ),
    "message-rest": _case(
        "a byte behind a message's value", "a value as long as it is", message(int32(-1) + int32(2) + b"vv")
    ),
    "wrapper-too-short": case_of(
        "a wrapper without a value's length", partition(message(int32(4) + b"kkkk", attributes=GZIP)),
        "a wrapper with a value", partition(WRAPPED),
    ),
    "wrapper-past-end": _case(
        "a wrapper whose value is longer than it", "a wrapper as long as its value", WRAPPED
    ),
    "wrapper-empty": _case("a wrapper around nothing", "a wrapper around a message", WRAPPED),
    "wrapper-nested": _case("a wrapper in a wrapper", "a wrapper around a message", WRAPPED),
    "wrapper-rest": _case("a wrapper whose last message is cut", "one whose last message is whole",
                          build.wrapper(INNER, build.message(b"inner", offset=1), offset=1)),
    "wrapper-offset-too-small": _case(
        "a wrapper's offset below its messages' number", "one of old librdkafka, whose offset is 0",
        malformed.LEGAL["a wrapper of old librdkafka, offset 0"],
    ),
    "wrapper-key-set": _case("a wrapper with a key", "a wrapper without", WRAPPED),
    "wrapper-magic-mixed": _case(
        "a message of magic 0 in a wrapper of magic 1", "one of magic 1 in it", build.wrapper(build.message(b"inner"))
    ),
    "wrapper-offsets-falling": _case(
        "offsets that fall in a wrapper", "offsets that rise",
        build.wrapper(build.message(offset=0), build.message(offset=1), offset=1),
    ),
    "wrapper-offset-wrong": _case(
        "a wrapper of magic 0 with another offset than its last", "one with its last offset",
        build.wrapper(build.message(magic=0, offset=9), magic=0, offset=9),
    ),
}  # fmt: skip

# Codes of batches whose bytes `malformed` has, too.
OF_RECORD_BATCHES: Final[dict[str, CodeCase]] = {
    "codec-unknown": _case("a codec of 5", "a codec of 4", packed(ZSTD, build.zstd_frame)),
    "decompression-failed": _case("gzip with a wrong checksum", "gzip with its checksum", GZIPPED),
    "decompression-over-limit": _case(
        "raw snappy that says 2**32 - 1 bytes", "raw snappy that says its size", RAW_SNAPPY
    ),
    "control-record-malformed": case_of(
        "a leader change that is cut",
        partition(malformed.CASES["a leader change that is cut"][0], name=METADATA),
        "a leader change that is whole",
        partition(control(b"\0\0\0\2", LEADER_CHANGE, attributes=CONTROL, producer_id=-1, producer_epoch=-1), name=METADATA),
        "verify", ".",
    ),
    "empty-batch-odd": _case(
        "a codec of a batch of no records", "a batch of no records without one", batch(records_count=0)
    ),
    "attributes-unused": _case(
        "attribute bit 7", "attribute bit 6, a delete horizon", batch(record(), attributes=DELETE_HORIZON)
    ),
    "delete-horizon-odd": _case(
        "a delete horizon that is no time", "no delete horizon, and no time",
        batch(record(), base_timestamp=-1, max_timestamp=-1),
    ),
    "timestamp-odd": _case(
        "a largest timestamp of -2", "one of -1, which stands for no value",
        batch(record(), attributes=LOG_APPEND_TIME, max_timestamp=-1),
    ),
    "max-timestamp-wrong": _case(
        "a largest timestamp that is too large", "one that the broker set",
        batch(record(), attributes=LOG_APPEND_TIME, max_timestamp=build.TIME + 1),
    ),
    "message-crc-mismatch": _case("a wrong checksum in a wrapper", "a right one", build.wrapper(build.message())),
    "control-batch-odd": case_of(
        "a control record of type 2, outside of the metadata log",
        partition(control(b"\0\0\0\2", LEADER_CHANGE, attributes=CONTROL, producer_id=-1, producer_epoch=-1)),
        "the same in it",
        partition(control(b"\0\0\0\2", LEADER_CHANGE, attributes=CONTROL, producer_id=-1, producer_epoch=-1), name=METADATA),
        "verify", ".",
    ),
}  # fmt: skip
