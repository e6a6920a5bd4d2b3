"""Test vectors: bytes computed once, apart from this project, and what they say."""

from __future__ import annotations

import random
from pathlib import Path

import crc32c
import pytest

import build
import kafkalog
from kafkalog.kafka.compression import DecompressionError, decompress
from kafkalog.kafka.index import aborted_transactions
from kafkalog.kafka.internal_records import internal_record, record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import decode
from kafkalog.kafka.snapshot import producer_snapshot
from kafkalog.kernel import headers
from scanned import scanned

V1 = bytes.fromhex(
    "000000000000002a00000042 00000007 02 0e5f7535 0030 00000000 0000018bcfe56800 0000018bcfe56800 00000000000003e8 0005"
    "ffffffff 00000001 20 00 00 00 08 00000001 0c 000000000003 00"
)
V2 = bytes.fromhex(
    "000000000000006400000054 00000007 02 62a943bf 0010 00000002 0000018bcfe56800 0000018bcfe56be8 00000000000003e8 0004"
    "7ffffffe 00000003 22 00 00 00 04 6b31 04 7631 04 02 68 02 78 02 6e 01 0c 00 09 02 01 00 00"
    "12 00 d00f 04 04 6b33 01 00"
)
V3 = bytes.fromhex(
    "00000000000000c800000031 00000007 02 07b47284 0010 00000009 ffffffffffffffff 0000018bcfe56800 00000000000003e8 0004"
    "00000011 00000000"
)
V4_KEY = bytes.fromhex("0000 0004 74782d31")
V4_ONGOING = bytes.fromhex(
    "0000 00000000000003e8 0005 0000ea60 01 00000001 0001 74 00000002 00000000 00000003"
    "0000018bcfe569f4 0000018bcfe56800"
)
V4_PREPARE_COMMIT = bytes.fromhex(
    "0001 00000000000003e8 0006 0000ea60 02 02 02 74 03 00000000 00000003 00 0000018bcfe569f4 0000018bcfe56800"
    "02 00 08 00000000000003e8 02 02 0002"
)
V5 = bytes.fromhex("0000 00000000000003e8 0000000000000064 000000000000008e 000000000000008f")
V6 = bytes.fromhex(
    "0001 ff35636b 00000001 00000000000003e8 0004 00000000 0000000000000066 00000002 0000018bcfe56be8 ffffffff"
    "0000000000000064"
)
# The value of a __transaction_state record as section 5.2 of the format's description lays it out.
STATE = record_types(Internal.TRANSACTION_LOG)[0]


def test_v1_is_a_commit_marker() -> None:
    """A COMMIT marker gives its header, its type and its coordinator's epoch."""
    found = scanned(V1)

    assert found.findings == []
    assert found.batches == [
        kafkalog.Batch(0, 78, 42, 42, 7, 2, 241136949, True, 0x30, build.TIME, build.TIME, 1000, 5, -1, -1, 1)
    ]
    (marker,) = found.records
    control = kafkalog.control_record(marker.key, marker.value)
    assert (control.name, control.type, control.coordinator_epoch) == ("commit", 1, 3)


def test_v2_is_a_transactional_batch_whose_sequences_wrap() -> None:
    """After sequence 2147483647 comes 0; null and empty keys, values and header values are told apart."""
    found = scanned(V2)

    assert found.findings == []
    (batch,) = found.batches
    assert (batch.size, batch.crc, batch.last_offset, batch.base_sequence, batch.last_sequence, batch.records_count) == (
        96, 1655260095, 102, 2147483646, 0, 3,
    )  # fmt: skip
    assert [(r.offset, r.timestamp, r.sequence, r.key, r.value, r.headers) for r in found.records] == [
        (100, build.TIME, 2147483646, b"k1", b"v1", ((b"h", b"x"), (b"n", None))),
        (101, build.TIME - 5, 2147483647, None, b"", ()),
        (102, build.TIME + 1000, 0, b"k3", None, ()),
    ]


def test_v3_is_an_empty_batch() -> None:
    """A batch that the cleaner emptied keeps its offsets and its producer and has no records."""
    found = scanned(V3)

    assert (found.findings, found.records) == ([], [])
    (batch,) = found.batches
    assert (batch.size, batch.crc, batch.base_offset, batch.last_offset, batch.records_count) == (
        61,
        129266308,
        200,
        209,
        0,
    )
    assert (batch.base_timestamp, batch.base_sequence, batch.last_sequence) == (-1, 17, 26)
    assert batch.is_transactional


@pytest.mark.parametrize("vector", [V1, V2, V3], ids=["V1", "V2", "V3"])
def test_the_specification_reads_and_writes_the_vectors(vector: bytes) -> None:
    """What construct reads from a vector, it writes back byte for byte: tests may build bytes from the layouts."""
    assert build.BATCH.build(build.BATCH.parse(vector)) == vector


def test_our_builders_make_the_vectors() -> None:
    """Builders give the vectors' bytes from what the vectors say."""
    who = {"producer_id": 1000, "partition_leader_epoch": 7}
    records = (
        build.record(b"v1", b"k1", [(b"h", b"x"), (b"n", None)]),
        build.record(b"", None, delta=1, later=-5),
        build.record(None, b"k3", delta=2, later=1000),
    )

    assert build.marker(base_offset=42, producer_epoch=5, coordinator_epoch=3, **who) == V1
    assert build.batch(
        *records, base_offset=100, producer_epoch=4, base_sequence=2147483646, attributes=build.TRANSACTIONAL,
        max_timestamp=build.TIME + 1000, **who,
    ) == V2  # fmt: skip
    assert build.aborted(0, 1000, 100, 142, 143) == V5
    assert build.snapshot((1000, 4, 0, 102, 2, build.TIME + 1000, -1, 100)) == V6


def test_v4_values_decode_by_a_schema() -> None:
    """Both encodings, fixed and flexible with tagged fields, are read to their last byte."""
    old, old_size, _ = decode(STATE.value, 0, V4_ONGOING[2:])
    new, new_size, _ = decode(STATE.value, 1, V4_PREPARE_COMMIT[2:])

    partitions = [{"topic": "t", "partitionIds": [0, 3]}]
    times = {"transactionLastUpdateTimestampMs": build.TIME + 500, "transactionStartTimestampMs": build.TIME}
    common = {"producerId": 1000, "transactionTimeoutMs": 60000, "transactionPartitions": partitions, **times}
    assert old == {**common, "producerEpoch": 5, "transactionStatus": 1}
    tags = {"previousProducerId": 1000, "clientTransactionVersion": 2}
    assert new == {**common, "producerEpoch": 6, "transactionStatus": 2, **tags}
    assert (old_size, new_size) == (len(V4_ONGOING) - 2, len(V4_PREPARE_COMMIT) - 2)


def test_v4_key_is_a_version_and_a_string() -> None:
    """The key of a transactional id: its type, then the id behind an int16 size."""
    read = internal_record(Internal.TRANSACTION_LOG, V4_KEY, None)

    assert (read.name, read.key, read.value, read.remarks) == ("TransactionLog", {"transactionalId": "tx-1"}, None, ())


def test_v5_is_an_aborted_transaction(tmp_path: Path) -> None:
    """An entry of a ``.txnindex`` has 34 bytes and four numbers behind its version."""
    (tmp_path / "0.txnindex").write_bytes(V5)
    row = kafkalog.AbortedTransaction(0, 1000, 100, 142, 143)

    assert aborted_transactions(V5).rows == [row]
    assert kafkalog.read_aborted_transactions(tmp_path / "0.txnindex") == [row]


def test_v6_is_a_producer_snapshot() -> None:
    """A snapshot's checksum holds, and its entry's first sequence wraps."""
    found = producer_snapshot(V6)

    assert (found.version, found.wrong, found.crc) == (1, "", 0xFF35636B)
    assert [tuple(entry) for entry in found.entries] == [(1000, 4, 0, 102, 2, build.TIME + 1000, -1, 100)]
    assert found.entries[0].first_sequence == 2147483646


def test_v7_both_lz4_header_checksums_are_read_where_they_belong() -> None:
    """Magic 0 has the old wrong checksum, 0x1A, and Kafka ignores it there; magic 1 and 2 must have 0x82."""
    right, wrong = build.lz4_frame(b"data"), build.old_lz4_frame(b"data")
    assert (right[4:7].hex(), wrong[4:7].hex()) == ("604082", "60401a")

    assert [decompress(build.LZ4, memoryview(frame), 100, magic=0) for frame in (right, wrong)] == [b"data", b"data"]
    for magic in (1, 2):
        assert decompress(build.LZ4, memoryview(right), 100, magic=magic) == b"data"
        with pytest.raises(DecompressionError):
            decompress(build.LZ4, memoryview(wrong), 100, magic=magic)


def test_the_checksum_of_nine_digits() -> None:
    """CRC-32C and CRC-32 have their published check values."""
    digits = b"123456789"

    assert headers.crc32c(digits, 0, 9) == 0xE3069283
    assert headers.crc32(digits, 0, 9) == 0xCBF43926


@pytest.mark.parametrize("around", [0, 8, 256, 3 * 256, 3 * 2048, 3 * 2048 + 3 * 256, 50_000])
def test_the_checksum_of_long_stretches(around: int) -> None:
    """Lanes of any length are joined to the sum that another implementation has."""
    data = random.Random(around).randbytes(around + 9)

    for stop in range(max(around - 9, 0), around + 10):
        assert headers.crc32c(data, 0, stop) == crc32c.crc32c(data[:stop])
