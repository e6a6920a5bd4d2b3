"""Generated messages: what is written is read, what brokers wrote is written back, and no bytes raise anything else."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import official
from kafkalog.kafka.internal_records import InternalRecord, RecordType, UnknownTypeError, internal_record, record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MalformedError, decode
from kafkalog.kafka.message_definitions import definitions
from kafkalog.kafka.message_json import kafka_json, plain
from kafkalog.kafka.message_primitives import uvarint
from kafkalog.kafka.message_schema import Array, Message, MessageField, Struct
from kafkalog.kafka.message_writer import encode, encode_uvarint
from messages import KINDS, TOPICS, internal_segments, messages, plain_records

FEW = settings(
    max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None
)
BY_NAME = {kind.name: kind for internal in Internal for kind in record_types(internal).values()}


def written(kind: RecordType, record: InternalRecord) -> tuple[bytes | None, bytes | None]:
    """Encode a record that was read."""
    value = None if record.value is None or record.version is None else encode(kind.value, record.version, record.value)
    if kind.key is None:
        return None, b"\1" + encode_uvarint(kind.number) + encode_uvarint(record.version or 0) + (value or b"")
    key = kind.number.to_bytes(2, "big") + encode(kind.key, 0, record.key or {})
    return key, value if value is None else (record.version or 0).to_bytes(2, "big") + value


def differing(root: Path) -> tuple[int, list[str]]:
    """Read and write back every record of a root's internal topics: how many, and which are not the same bytes."""
    count, wrong = 0, []
    for path in internal_segments(root):
        internal = TOPICS[path.parent.name.rpartition("-")[0]]
        for record in plain_records(path):
            read = internal_record(internal, record.key, record.value)
            key, value = written(record_types(internal)[read.type], read)
            count += 1
            if read.remarks or value != record.value or (key is not None and key != record.key):
                wrong.append(f"{path}: {record.offset}")
    return count, wrong


@pytest.mark.some(every=4)
@pytest.mark.parametrize(("internal", "kind", "version"), KINDS, ids=[f"{kind.name}-{v}" for _, kind, v in KINDS])
@given(data=st.data())
@FEW
def test_what_is_written_is_read(internal: Internal, kind: RecordType, version: int, data: st.DataObject) -> None:
    """Every kind of record in every version is read as it was written, to its last byte, unknown tags included."""
    value = data.draw(messages(kind.value, version))
    key = data.draw(messages(kind.key, 0)) if kind.key else None
    record = InternalRecord(kind.number, kind.name, key, version, value)

    assert internal_record(internal, *written(kind, record)) == record


@pytest.mark.parametrize(
    "message", [one.message for one in definitions("consumer_protocol").values()], ids=lambda message: message.name
)
@given(data=st.data())
@FEW
def test_the_consumer_protocol_is_read_as_it_was_written(message: Message, data: st.DataObject) -> None:
    """The protocol inside of group metadata has versions of its own."""
    version = data.draw(st.integers(0, message.newest))
    fields = data.draw(messages(message, version))
    encoded = encode(message, version, fields)

    assert decode(message, version, encoded) == (fields, len(encoded), ())


def test_what_brokers_wrote_is_written_back() -> None:
    """No byte of the fixtures' internal topics is lost: what is read of a record gives the record again."""
    count, wrong = differing(official.FIXTURES)

    assert count > 2000
    assert not wrong


@pytest.mark.corpus
def test_what_brokers_wrote_in_the_corpus_is_written_back(capsys: pytest.CaptureFixture[str]) -> None:
    """The same for every internal topic of the corpus; the count is printed."""
    count, wrong = differing(official.CORPUS)
    with capsys.disabled():
        print(f"\nrecords of internal topics read and written back: {count}")

    assert count > 13000
    assert not wrong


@given(kind=st.sampled_from(KINDS), value=st.binary(max_size=300), said=st.integers(-2, 6))
def test_no_bytes_raise_anything_else(kind: tuple[Internal, RecordType, int], value: bytes, said: int) -> None:
    """Bytes at random are a record or malformed, with the newest schemas and with those of a release."""
    internal, one, _ = kind
    key = one.number.to_bytes(2, "big") + value[:40]
    framed = b"\1" + encode_uvarint(one.number) + encode_uvarint(max(said, 0)) + value
    for release in ((99, 0), (4, 2), (4, 4)):
        for data in (framed, said.to_bytes(2, "big", signed=True) + value, value):
            with contextlib.suppress(MalformedError):
                kafka_json(internal_record(internal, key, data, release=release).value)


def flips(kind: RecordType, internal: Internal, record: InternalRecord) -> int:
    """Flip every bit of a record's key and value; return how many were still read."""
    read = 0
    key, value = written(kind, record)
    for which, data in enumerate((key, value)):
        for bit in range(8 * len(data or b"")):
            spoiled = bytearray(data or b"")
            spoiled[bit // 8] ^= 1 << bit % 8
            pair = (bytes(spoiled), value) if which == 0 else (key, bytes(spoiled))
            try:
                found = internal_record(internal, *pair)
            except MalformedError:
                continue
            read += 1
            assert found != record, (kind.name, which, bit)
            plain(found.value)
    return read


@pytest.mark.some(every=4)
@pytest.mark.parametrize(("internal", "kind", "version"), KINDS, ids=[f"{kind.name}-{v}" for _, kind, v in KINDS])
def test_every_flip_of_a_message_is_a_row_or_told(internal: Internal, kind: RecordType, version: int) -> None:
    """A flipped bit gives another record, or MalformedError; nothing is taken for the record that it was."""
    fields = {
        field.name: value_of(field, version) for field in kind.value.fields if field.since <= version <= field.until
    }
    key = {field.name: value_of(field, 0) for field in kind.key.fields} if kind.key else None

    assert flips(kind, internal, InternalRecord(kind.number, kind.name, key, version, fields)) > 0 or not fields


def value_of(field: MessageField, version: int) -> Any:
    """Make a value that is not the default and has one of everything that the type nests."""

    def one(kind: str | Array | Struct) -> Any:
        if isinstance(kind, Struct):
            return {part.name: one(part.type) for part in kind.fields if part.since <= version <= part.until}
        if isinstance(kind, Array):
            return [one(kind.of)]
        plain_values = {
            "bool": True,
            "float64": 1.5,
            "string": "orders",
            "bytes": b"\1\2",
            "uuid": "uSwXVXsfQMKCEEdnQAFDjw",
        }
        return plain_values.get(kind, 3)

    return one(field.type)


# The rules of reading, one by one.

PAIR = Message(
    "Pair",
    (
        MessageField("a", "int16"),
        MessageField("b", "string", since=1, nullable_since=2),
        MessageField("t", "int32", since=2, tag=0, default=-1),
        MessageField("u", Array("int8"), since=2, tag=1),
        MessageField("s", Struct("Nested", (MessageField("n", "int8"),)), since=3, nullable_since=3),
    ),
    flexible_since=2,
    newest=3,
)


@pytest.mark.parametrize(
    ("version", "data", "fields"),
    [
        (0, b"\0\1", {"a": 1}),
        (-1, b"\0\1", {"a": 1}),
        (1, b"\0\1\0\1x", {"a": 1, "b": "x"}),
        (2, b"\0\1\2x\0", {"a": 1, "b": "x"}),
        (2, b"\0\1\0\0", {"a": 1, "b": None}),
        (2, b"\0\1\2x\1\0\4\0\0\0\7", {"a": 1, "b": "x", "t": 7}),
        (2, b"\0\1\2x\1\0\4\xff\xff\xff\xff", {"a": 1, "b": "x"}),  # the default, though written
        (2, b"\0\1\2x\1\1\1\1", {"a": 1, "b": "x"}),
        (2, b"\0\1\2x\1\5\2zz", {"a": 1, "b": "x", "_unknownTaggedFields": [[5, b"zz"]]}),
        (3, b"\0\1\2x\xff\0", {"a": 1, "b": "x", "s": None}),
        (3, b"\0\1\2x\1\7\0\0", {"a": 1, "b": "x", "s": {"n": 7}}),
    ],
)  # fmt: skip
def test_how_versions_are_read(version: int, data: bytes, fields: dict[str, Any]) -> None:
    """Fields come with their versions; from the flexible one on lengths are compact and tags follow."""
    assert decode(PAIR, version, data) == (fields, len(data), ())


@pytest.mark.parametrize(
    ("version", "data", "kafka"),
    [
        (0, b"\0", "null"),
        (1, b"\0\1\xff\xff", "non-nullable field b was serialized as null"),
        (1, b"\0\1\0\5xyz", "Error reading byte array of 5 byte(s): only 3 byte(s) available"),
        (2, b"\0\1\x82\x80\x02", "string field b had invalid length 32769"),
        (2, b"\0\1\2x\1\1\2\7\0", "Tried to allocate a collection of size 6, but there are only 1 bytes remaining."),
        (2, b"\0\1\2x\3", "Tried to read 3 tagged fields, but there are only 0 bytes remaining."),
        (2, b"\0\1\2x\xff\xff\xff\xff\x0f", "Invalid negative number of tagged fields -1"),
        (2, b"\0\1\xff\xff\xff\xff\xff\1",
         "Varint is too long, the most significant bit in the 5th byte is set, converted value: ffffffff"),
        (4, b"\0\1\2x\1\7\0\0", "Can't read version 4 of Nested"),
    ],
)  # fmt: skip
def test_what_kafka_says_of_bytes_that_it_refuses(version: int, data: bytes, kafka: str) -> None:
    """The error carries Kafka's own words beside ours, which say where and what was needed."""
    with pytest.raises(MalformedError) as caught:
        decode(PAIR, version, data)

    assert caught.value.kafka == kafka
    assert str(caught.value) != kafka


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        (b"\0\1\2x\1\0\5\0\0\0\7", "t takes 4 bytes, but its tag's size is 5"),
        (b"\0\1\2x\2\5\0\5\0", "tag 5 comes after tag 5"),
        (b"\0\1\2x\2\5\0\0\4\0\0\0\7", "tag 0 comes after tag 5"),
    ],
)
def test_what_kafka_lets_pass_is_remarked(data: bytes, remark: str) -> None:
    """Sizes of known tags and the order of tags are not looked at by Kafka; no broker writes them wrong."""
    assert decode(PAIR, 2, data).remarks == (remark,)


def test_a_release_reads_with_its_own_schemas() -> None:
    """4.2 has version 3 of RegisterBrokerRecord at most and keeps a tag of 4 as unknown; 4.3 reads both."""
    kind = BY_NAME["RegisterBrokerRecord"].value
    row = {field.name: value_of(field, 4) for field in kind.fields}
    empty = {**row, "endPoints": [], "features": []}

    assert decode(kind, 4, encode(kind, 4, row), release=(4, 3)).fields == row
    with pytest.raises(MalformedError, match="Can't read version 4 of BrokerEndpoint"):
        decode(kind, 4, encode(kind, 4, row), release=(4, 2))
    assert "cordonedLogDirs" not in decode(kind, 4, encode(kind, 4, empty), release=(4, 2)).fields


def test_kinds_and_versions_that_are_not_known_are_named() -> None:
    """A coordinator skips them with a warning, so they are no malformed records but unknown ones."""
    key = (1).to_bytes(2, "big") + encode(BY_NAME["OffsetCommit"].key or PAIR, 0, {})
    with pytest.raises(UnknownTypeError) as caught:
        internal_record(Internal.OFFSETS, key, b"\0\5")
    assert (caught.value.number, caught.value.name, caught.value.version) == (1, "OffsetCommit", 5)

    with pytest.raises(UnknownTypeError) as caught:
        internal_record(Internal.OFFSETS, b"\0\x63", b"\0\0")
    assert (caught.value.number, caught.value.name, caught.value.version) == (99, "", None)


@given(st.integers(0, 2**32 - 1))
def test_uvarints_are_read_as_written(value: int) -> None:
    """32 bits come back as Java's int of the same bits."""
    encoded = encode_uvarint(value)

    assert uvarint(encoded, 0, "it") == (value - (1 << 32) if value >> 31 else value, len(encoded))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (-1024.5, "-1024.5"), (0.001, "0.001"), (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"), (1e7, "1.0E7"), (123456789.125, "1.23456789125E8"), (1.5e-7, "1.5E-7"),
        (5e-324, "4.9E-324"), (1.7976931348623157e308, "1.7976931348623157E308"), (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'), ("\x1b\x1f\x7f\\u001f\"", '"\\u001B\\u001F\x7f\\\\u001f\\""'),
        (b"\0\xff", '"AP8="'), ([True, None, {"a": 1}], '[true,null,{"a":1}]'),
    ],
)  # fmt: skip
def test_json_is_as_java_writes_it(value: Any, text: str) -> None:
    """Doubles, escapes and bytes are in the form of Kafka's own converters."""
    assert kafka_json(value) == text
