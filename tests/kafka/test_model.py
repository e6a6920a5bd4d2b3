"""What is written is read back equal, and as two decoders read it that are not ours: kafka-python and aiokafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import aiokafka.record.memory_records as aiokafka_records
import kafka.record.memory_records as kafka_records
import pytest
import snappy
from hypothesis import given
from hypothesis import strategies as st

import build
import kafkalog
from kafkalog import Batch, Record
from official import FIXTURES
from scanned import scanned

INT32: Final = 2**31 - 1
PACKERS: Final[dict[int, list[Callable[[bytes], bytes]]]] = {
    build.NONE: [bytes],
    build.GZIP: [build.gzipped, lambda data: build.gzipped(data[:9]) + build.gzipped(data[9:])],
    build.SNAPPY: [build.xerial, snappy.compress, lambda data: build.xerial(data, 11)],
    build.LZ4: [build.lz4_frame],
    build.ZSTD: [build.zstd_frame, lambda data: build.zstd_frame(data[:9]) + build.zstd_frame(data[9:])],
}


@dataclass(frozen=True)
class Piece:
    """Bytes of one batch, or one old message, and what must be read of them; positions are left out."""

    data: bytes
    batch: Batch
    records: list[Record]
    next_offset: int


blobs = st.none() | st.binary(max_size=20) | st.binary(min_size=300, max_size=300)
names = st.text(max_size=5).map(str.encode) | st.just("ключ😀".encode())
headers = st.lists(st.tuples(names, st.none() | st.binary(max_size=8)), max_size=3)
times = st.integers(0, 2**42)


def _sequence(base: int, delta: int) -> int:
    return -1 if base < 0 else (base + delta) % 2**31


@st.composite
def new_batches(draw: st.DrawFn, offset: int) -> Piece:
    """Draw a batch of magic 2 that a broker could hold: with holes and bits of all kinds, or a control batch."""
    control = draw(st.booleans()) and draw(st.booleans())
    deltas = [0] if control else sorted(draw(st.sets(st.integers(0, 40), max_size=6)))
    codec = build.NONE if control or not deltas else draw(st.sampled_from(list(PACKERS)))
    append, horizon = draw(st.booleans()), draw(st.booleans())
    attributes = codec | build.LOG_APPEND_TIME * append | build.DELETE_HORIZON * horizon
    attributes |= build.TRANSACTIONAL * draw(st.booleans()) | build.CONTROL * control
    base_time, sequence = draw(times), draw(st.sampled_from([-1, 0, 5, INT32 - 3]))
    last_delta = (deltas[-1] if deltas else 0) + draw(st.integers(0, 3))
    contents = []
    for delta in deltas:
        key, value = draw(blobs), draw(blobs)
        if control:
            kind, value = draw(st.sampled_from([0, 1, 7, 300])), bytes(2) + draw(st.binary(min_size=4, max_size=9))
            key = build.CONTROL_RECORD_KEY.construct.build({"version": 0, "type": kind})
        contents.append((delta, draw(st.integers(-(10**6), 10**12)), key, value, draw(headers)))
    newest = draw(times)
    encoded = [build.record(value, key, more, delta=d, later=later) for d, later, key, value, more in contents]
    fields = {
        "base_offset": offset,
        "partition_leader_epoch": draw(st.integers(-1, INT32)),
        "last_offset_delta": last_delta,
        "base_timestamp": base_time,
        "max_timestamp": newest,
        "producer_id": draw(st.integers(-1, 2**63 - 1)),
        "producer_epoch": draw(st.integers(-1, 2**15 - 1)),
        "base_sequence": sequence,
    }
    data = build.batch(
        *encoded, codec=codec, pack=draw(st.sampled_from(PACKERS[codec])), attributes=attributes, **fields
    )
    records = [
        Record(
            offset + delta, newest if append else base_time + later, _sequence(sequence, delta), key, value, tuple(more),
            len(encoded[number]), 0, 2, None, None,
        )
        for number, (delta, later, key, value, more) in enumerate(contents)
    ]  # fmt: skip
    batch = Batch(
        0, len(data), offset, offset + last_delta, fields["partition_leader_epoch"], 2,
        int.from_bytes(data[17:21], "big"), True, attributes, base_time, newest, fields["producer_id"],
        fields["producer_epoch"], sequence, _sequence(sequence, last_delta), len(deltas),
    )  # fmt: skip
    return Piece(data, batch, records, offset + last_delta + 1)


@st.composite
def old_messages(draw: st.DrawFn, offset: int, magic: int) -> Piece:
    """Draw a message of magic 0 or 1, or a wrapper with holes between the messages in it."""
    codec = draw(st.sampled_from([build.NONE, build.GZIP, build.SNAPPY, build.LZ4]))
    append = magic == 1 and draw(st.booleans())
    own = draw(times) if magic else -1
    deltas = [0] if codec == build.NONE else sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=5)))
    if codec and magic:
        deltas = [
            delta - deltas[0] for delta in deltas
        ]  # the first message's is taken for 0 by the decoders we compare
    contents = [(delta, draw(times) if magic else -1, draw(blobs), draw(blobs)) for delta in deltas]
    last = offset + deltas[-1]
    attributes = build.LOG_APPEND_TIME * append
    if codec == build.NONE:
        (_, timestamp, key, value) = contents[0]
        inner = [build.message(value, key, offset=offset, magic=magic, attributes=attributes, timestamp=timestamp)]
        data, own = inner[0], timestamp
    else:
        inner = [
            build.message(value, key, offset=delta if magic else offset + delta, magic=magic, timestamp=timestamp)
            for delta, timestamp, key, value in contents
        ]
        data = build.wrapper(*inner, codec=codec, offset=last, magic=magic, attributes=attributes, timestamp=own)
    records = [
        Record(
            offset + delta, own if append else timestamp, -1, key, value, (), len(message), 0, magic,
            int.from_bytes(message[12:16], "big"), True,
        )
        for message, (delta, timestamp, key, value) in zip(inner, contents, strict=True)
    ]  # fmt: skip
    crc = int.from_bytes(data[12:16], "big")
    first = offset + deltas[0] if codec == build.NONE else None
    count = 1 if codec == build.NONE else None
    attributes |= codec
    batch = Batch(0, len(data), first, last, -1, magic, crc, True, attributes, None, own, -1, -1, -1, -1, count)
    return Piece(data, batch, records, last + 1)


@st.composite
def logs(draw: st.DrawFn) -> list[Piece]:
    """Draw a log: batches of any magic behind each other, their offsets rising."""
    pieces: list[Piece] = []
    offset = draw(st.sampled_from([0, 1, 7, 2**31, 2**62]))
    for _ in range(draw(st.integers(1, 5))):
        magic = draw(st.sampled_from([2, 2, 2, 1, 0]))
        pieces.append(draw(new_batches(offset) if magic == 2 else old_messages(offset, magic)))
        offset = pieces[-1].next_offset + draw(st.sampled_from([0, 0, 0, 5]))
    return pieces


@given(logs())
def test_what_is_written_is_read(pieces: list[Piece]) -> None:
    """Batches and records with all their fields, whatever the magic, the codec and the bits."""
    found = scanned(b"".join(piece.data for piece in pieces))
    position, batches, records = 0, [], []
    for piece in pieces:
        batches.append(piece.batch._replace(position=position))
        records += [record._replace(position=position) for record in piece.records]
        position += len(piece.data)

    assert set(found.codes) <= {"offset-gap", "leader-epoch-decreasing"}
    inner = {batch.position for batch in batches if batch.base_offset is None}
    # Once its messages are read, a wrapper's first offset and their number are known.
    known = [
        batch._replace(base_offset=None, records_count=None) if batch.position in inner else batch
        for batch in found.batches
    ]
    assert known == batches
    assert found.records == records


@pytest.mark.parametrize("path", ["file", "columns"])
@given(logs())
def test_the_library_reads_the_same_from_a_file(
    path: str, tmp_path_factory: pytest.TempPathFactory, pieces: list[Piece]
) -> None:
    """Row by row and as columns, a segment on disk gives what its bytes give."""
    data = b"".join(piece.data for piece in pieces)
    file = tmp_path_factory.mktemp("log") / "a.checkpoint"
    file.write_bytes(data)
    found = scanned(data)
    findings: list[kafkalog.Finding] = []
    ignore = findings.append
    if path == "file":
        assert list(kafkalog.open(file, on_finding=ignore).records()) == found.records
        assert len(list(kafkalog.batches(file, on_finding=ignore))) == len(found.batches)
        wanted = [
            r.offset for r in found.records if any(b.is_control and b.position == r.position for b in found.batches)
        ]
        controls = kafkalog.control_records(file, on_finding=ignore)
        assert [record.offset for _, record, _ in controls] == wanted
    else:
        columns = kafkalog.record_columns(file, on_finding=ignore)
        assert columns["offset"].tolist() == [record.offset for record in found.records]
        assert columns["timestamp"].tolist() == [record.timestamp for record in found.records]
        heads = kafkalog.batch_columns(file, on_finding=ignore)
        assert heads["last_offset"].tolist() == [batch.last_offset for batch in found.batches]
        assert heads["producer_id"].tolist() == [batch.producer_id for batch in found.batches]


# Differential: decoders that we did not write.

DECODERS: Final = [kafka_records.MemoryRecords, aiokafka_records.MemoryRecords]
Row = tuple[int, int | None, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def _theirs(decoder: Any, data: bytes) -> Iterator[tuple[bool, list[Row]]]:
    """Yield what a decoder gives of each batch: whether its checksum holds, and the records.

    It is given one batch at a time: aiokafka reads a batch of magic 2 with the magic of the one behind it.
    """
    while data:
        size = 12 + int.from_bytes(data[8:12], "big")
        batch = decoder(data[:size]).next_batch()
        holds = batch.validate_crc()
        yield holds, [(r.offset, r.timestamp, r.key, r.value, [tuple(header) for header in r.headers]) for r in batch]
        data = data[size:]


def _ours(data: bytes) -> Iterator[tuple[bool, list[Row]]]:
    found = scanned(data)
    for batch in found.batches:
        rows: list[Row] = [
            (
                record.offset, None if batch.magic == 0 else record.timestamp, record.key, record.value,
                [(key.decode(), value) for key, value in record.headers],
            )
            for record in found.records
            if record.position == batch.position
        ]  # fmt: skip
        yield batch.crc_holds, rows


@pytest.mark.parametrize("decoder", DECODERS, ids=["kafka-python", "aiokafka"])
@given(logs())
def test_other_decoders_read_the_same(decoder: Any, pieces: list[Piece]) -> None:
    """Neither reads LZ4 in magic 0; all else is equal."""
    data = b"".join(piece.data for piece in pieces if piece.batch.magic or piece.batch.codec != "lz4")

    assert list(_ours(data)) == list(_theirs(decoder, data))


SEGMENTS: Final = sorted(
    path
    for path in FIXTURES.glob("v*/data*/*-0/*.log")
    if 0 < path.stat().st_size < 20_000 and "odd" not in str(path) and "lz4" not in str(path)
)


@pytest.mark.parametrize("decoder", DECODERS, ids=["kafka-python", "aiokafka"])
def test_other_decoders_read_the_same_of_what_brokers_wrote(decoder: Any) -> None:
    """Every small segment of the older brokers, but for LZ4 in magic 0."""
    assert len(SEGMENTS) > 50
    for path in SEGMENTS:
        data = path.read_bytes()
        if any(batch.magic == 0 and batch.codec == "lz4" for batch in scanned(data).batches):
            continue
        assert list(_ours(data)) == list(_theirs(decoder, data)), path
