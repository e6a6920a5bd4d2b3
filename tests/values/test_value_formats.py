"""Keys and values in the formats of Kafka's serializers and of a registry: what fits is text, all else says why."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2, struct_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from build import batch, marker, record
from invoke import kafkalog
from kafkalog import Schemas, Undecoded, Value, decoder, schemas
from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.values import protobuf
from kafkalog.values.budget import OVER, DecodingBudget
from kafkalog.values.format_names import FORMATS, PLAIN

# Formats without a schema.


@pytest.mark.parametrize(
    ("form", "data", "text"),
    [
        ("string", "größe €".encode(), "größe €"),
        ("string", b"", ""),
        ("short", b"\xff\xfe", "-2"),
        ("int", b"\x80\0\0\0", "-2147483648"),
        ("long", b"\x7f" + b"\xff" * 7, "9223372036854775807"),
        ("float", struct.pack(">f", 0.1), "0.1"),
        ("float", struct.pack(">f", 16777216), "16777216.0"),
        ("float", struct.pack(">f", -0.0), "-0.0"),
        ("float", b"\x7f\x7f\xff\xff", "3.4028235e+38"),
        ("float", b"\x7f\xc0\0\0", "NaN"),
        ("double", struct.pack(">d", 0.1), "0.1"),
        ("double", struct.pack(">d", float("-inf")), "-Infinity"),
        ("uuid", b"01234567-89ab-cdef-0123-456789ABCDEF", "01234567-89ab-cdef-0123-456789abcdef"),
        ("uuid", uuid.UUID(int=5).bytes, "00000000-0000-0000-0000-000000000005"),
        ("json", b'{"a": 1.10, "b": 12345678901234567890123}', '{"a": 1.10, "b": 12345678901234567890123}'),
        ("json", b"9" * 100_000, "9" * 100_000),
        ("hex", b"\0\xff", "00ff"),
        ("base64", b"\0\xff", "AP8="),
        ("json-schema", b"\0\0\0\0\x07[1]", "[1]"),
    ],
)
def test_what_serializers_write_is_read(form: str, data: bytes, text: str) -> None:
    """Numbers are big-endian, and every text is exact: JSON stays as it is."""
    found = decoder(form)(data)

    assert isinstance(found, Value)
    assert found.text == text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_is_that_float(number: float) -> None:
    """The shortest text that gives the same four bytes back."""
    found = decoder("float")(struct.pack(">f", number))

    assert isinstance(found, Value)
    assert struct.pack(">f", found.data) == struct.pack(">f", number)


@pytest.mark.parametrize(
    ("form", "data", "why"),
    [
        ("string", b"\xff", "not UTF-8"),
        ("int", b"\0" * 8, "not the 4 bytes"),
        ("long", b"", "not the 8 bytes"),
        ("float", b"abc", "not the 4 bytes"),
        ("uuid", b"{01234567-89ab-cdef-0123-456789abcdef}", "UUID"),
        ("uuid", "٠1234567-89ab-cdef-0123-456789abcdef".encode(), "UUID"),
        ("json", b"{", "not JSON"),
        ("json", b"NaN", "not JSON"),
        ("json", b"[" * 1_000_000, "too many levels"),
        ("json-schema", b"{}", "fewer than the 5 bytes"),
        ("json-schema", b"\x01\0\0\0\x07{}", "byte 0"),
        ("json-schema", b"\0\0\0\0\x07", "not JSON"),
    ],
)
def test_what_is_something_else_says_why(form: str, data: bytes, why: str) -> None:
    """No bytes end a run, however they are made."""
    found = decoder(form)(data)

    assert isinstance(found, Undecoded)
    assert why in found.why


@pytest.mark.parametrize("form", FORMATS)
def test_null_is_null_in_each_format(form: str) -> None:
    """A tombstone has no bytes to decode."""
    assert decoder(form)(None) == Value(None)


def test_the_formats_are_those_that_are_named() -> None:
    """Help names the formats without importing what reads them."""
    assert all(callable(decoder(form)) for form in PLAIN)
    with pytest.raises(UnsupportedError, match="yaml is no format"):
        decoder("yaml")


# Avro.

ORDER: dict[str, Any] = {
    "type": "record", "name": "Order", "namespace": "shop", "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "tags", "type": {"type": "map", "values": "State"}},
        {"name": "parts", "type": {"type": "array", "items": ["int", "double"]}},
        {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "next", "type": ["null", "Order"]},
    ],
}  # fmt: skip
NODE = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}


def avro(schema: Any, value: Any, schema_id: int = 7) -> bytes:
    """Write a value as a registry's serializer does, with fastavro's own encoder."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return b"\0" + schema_id.to_bytes(4, "big") + out.getvalue()


def known(schema: Any, schema_id: int = 7, **more: Any) -> Schemas:
    """Return schemas of which one is registered."""
    found = Schemas()
    assert found.add_registered({"id": schema_id, "schema": json.dumps(schema), **more})
    return found


def test_avro_is_json() -> None:
    """Decimals are exact texts, bytes base64, times the number that was written; a union is its branch's value."""
    order = {
        "id": 2**62, "note": "größe", "price": __import__("decimal").Decimal("12.30"), "state": "PAID",
        "tags": {"a": "NEW"}, "parts": [1, 2.5], "digest": b"\0\xff", "at": 1795245918120, "next": None,
    }  # fmt: skip

    found = decoder("avro", known(ORDER))(avro(ORDER, {**order, "next": order}))

    plain = {**order, "price": "12.30", "digest": "AP8="}
    assert isinstance(found, Value)
    assert found.data == {**plain, "next": plain}


VALUES = st.recursive(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TREE = {
    "type": "record", "name": "Box", "fields": [
        {"name": "is", "type": [
            "null", "long", "double", "string", {"type": "array", "items": "Box"}, {"type": "map", "values": "Box"},
        ]},
    ],
}  # fmt: skip


def boxed(value: Any) -> Any:
    """Return a value as the schema TREE has it."""
    if isinstance(value, list):
        return {"is": [boxed(one) for one in value]}
    if isinstance(value, dict):
        return {"is": {name: boxed(one) for name, one in value.items()}}
    return {"is": value}


@given(VALUES)
def test_what_fastavro_writes_is_read_back(value: Any) -> None:
    """The proof that a payload is whole refuses none that is."""
    found = decoder("avro", known(TREE))(avro(TREE, boxed(value)))

    assert isinstance(found, Value)
    assert found.data == boxed(value)


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_say_why(payload: bytes) -> None:
    """Whatever comes after the id costs one value, and never an exception."""
    for schema in (ORDER, TREE, NODE):
        found = decoder("avro", known(schema))(b"\0\0\0\0\x07" + payload)
        assert isinstance(found, (Value, Undecoded))


def zigzag(number: int) -> bytes:
    """Write a long as Avro and the list of indexes have it."""
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def doubled(levels: int) -> Any:
    """Return a schema whose value has no bytes and 2**levels nulls."""
    inner: Any = "null"
    for level in range(levels):
        first = {"name": "a", "type": inner}
        inner = {"type": "record", "name": f"R{level}", "fields": [first, {"name": "b", "type": "null"}]}
        if level:
            inner["fields"][1]["type"] = f"R{level - 1}"
    return inner


NULLS = {"name": "l", "type": {"type": "array", "items": "null"}}


@pytest.mark.parametrize(
    ("schema", "payload", "why"),
    [
        ({"type": "array", "items": "null"}, zigzag(2**31) + b"\0", "far more than its bytes"),
        ({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}, zigzag(-(2**62)) + b"\0\0", "far more"),
        ({"type": "array", "items": "int"}, zigzag(2**62), "ends too early"),
        (doubled(40), b"", "far more than its bytes"),
        ({"type": "record", "name": "S", "fields": [{"name": "s", "type": "S"}]}, b"", "levels"),
        (NODE, b"\x02" * 1_000_000, "more than 64 levels"),
        ({"type": "array", "items": {"type": "record", "name": "L", "fields": [{"name": "n" * 90_000, "type": "boolean"}]}},
         zigzag(50_000) + b"\0" * 50_001, "far more than its bytes"),
        ({"type": "record", "name": "M", "fields": [{"name": "s", "type": "string"}, NULLS]},
         zigzag(1 << 20) + b"a" * (1 << 20) + zigzag(1 << 21) + b"\0", "more than 1,048,576 parts"),
        ("string", b"a" * (9 << 20), "more than 8,388,608 bytes"),
        ("string", zigzag(2**62) + b"abc", "ends too early"),
        ("bytes", zigzag(-2) + b"abc", "ends too early"),
        ("long", b"\xff" * 1_000_000, "more than 64 bits"),
        ("int", zigzag(2**40), "more than 32 bits"),
        ("string", b"\x02\xff", "a text or number that is none"),
        (ORDER["fields"][3]["type"], zigzag(-1), "a symbol of an enum that does not exist"),
        (["null", "int"], zigzag(-1), "a branch of a union that does not exist"),
        ("boolean", b"\x05", "neither 0 nor 1"),
        ("int", b"\x02\x02", "bytes are left"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, zigzag(1 << 20) + b"\x7f" * (1 << 20), "decimal"),
    ],
)  # fmt: skip
def test_a_hostile_payload_costs_nothing(schema: Any, payload: bytes, why: str) -> None:
    """Nulls without bytes, levels, sizes and indexes: each has a ceiling, and fastavro is not asked."""
    found = decoder("avro", known(schema))(b"\0\0\0\0\x07" + payload)

    assert isinstance(found, Undecoded)
    assert why in found.why


def record_named(name: str) -> Any:
    """Return a schema in which a name means a record by what it says, and a type by what fastavro does."""
    inner = {"type": "record", "name": name, "fields": []}
    return {"type": "record", "name": "A", "fields": [{"name": "a", "type": inner}, {"name": "b", "type": name}]}


def nested(levels: int) -> Any:
    """Return a schema of so many levels."""
    inner: Any = "int"
    for _ in range(levels):
        inner = {"type": "array", "items": inner}
    return inner


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (nested(300), "more than 64 levels"),
        ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "Missing"}]}, "Missing"),
        ({"type": "record", "name": "R"}, "lacks its fields"),
        ({"type": "fixed", "name": "F", "size": -4}, "lacks its size"),
        ({"type": "enum", "name": "E", "symbols": "abc"}, "lacks its symbols"),
        ({"type": "array"}, "lacks its items"),
        ({"no": "type"}, "a type of it is none"),
        ({"type": "record", "name": "R", "fields": [], "__fastavro_parsed": True, "__named_schemas": 5}, None),
        (7, "a type of it is none"),
        *((record_named(name), "is no name: it is a type") for name in ("int", "array", "a.long", "error_union")),
    ],
)
def test_a_hostile_schema_costs_its_values(schema: Any, why: str | None) -> None:
    """A schema that can't be used says so at each value; what a schema says of fastavro's own state is not taken."""
    found = decoder("avro", known(schema))(b"\0\0\0\0\x07")

    if why is None:
        assert found == Value("{}", is_json=True)
    else:
        assert isinstance(found, Undecoded)
        assert why in found.why


def test_a_schema_refers_to_others() -> None:
    """References are followed by subject and version, however they go round."""
    found = known({"type": "record", "name": "A", "fields": [{"name": "c", "type": "C"}]}, subject="a", version=1,
                  references=[{"name": "C", "subject": "c", "version": 2}])  # fmt: skip
    assert "version 2 of c, which is not known" in str(decoder("avro", found)(b"\0\0\0\0\x07\x02"))

    found.add_registered({
        "id": 8, "subject": "c", "version": 2, "references": [{"name": "A", "subject": "a", "version": 1}],
        "schema": '{"type":"record","name":"C","fields":[{"name":"n","type":"int"}]}',
    })  # fmt: skip

    assert decoder("avro", found)(b"\0\0\0\0\x07\x02") == Value('{"c":{"n":1}}', is_json=True)


# Protobuf.


def shop() -> descriptor_pb2.FileDescriptorSet:
    """Return what `protoc -o` writes of a file with two messages, the second with one inside."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/struct.proto"])
    field = descriptor_pb2.FieldDescriptorProto
    optional, repeated = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    file.message_type.add(name="Other").field.add(name="n", number=1, type=field.TYPE_INT32, label=optional)
    order = file.message_type.add(name="Order")
    order.field.add(name="order_id", number=1, type=field.TYPE_INT64, label=optional)
    order.field.add(name="raw", number=2, type=field.TYPE_BYTES, label=repeated)
    order.field.add(name="next", number=3, type=field.TYPE_MESSAGE, type_name=".shop.Order", label=optional)
    order.field.add(
        name="at", number=4, type=field.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=optional
    )
    order.field.add(name="any", number=5, type=field.TYPE_MESSAGE, type_name=".google.protobuf.Value", label=optional)
    order.nested_type.add(name="Line").field.add(name="text", number=1, type=field.TYPE_STRING, label=optional)
    return descriptor_pb2.FileDescriptorSet(file=[file])


def message(name: str) -> Any:
    """Return a class of shop.proto."""
    pool = DescriptorPool()
    for other in (timestamp_pb2, struct_pb2):
        pool.AddSerializedFile(other.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(shop().file[0].SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}"))


def of_file(folder: Path, data: bytes, name: str = "7.desc") -> Schemas:
    """Return the schemas of a file."""
    (folder / name).write_bytes(data)
    return schemas(folder / name)


def test_protobuf_is_json_with_the_names_of_the_schema(tmp_path: Path) -> None:
    """The list of indexes chooses the message: nothing for the first one, a path for one inside another."""
    decode = decoder("protobuf", of_file(tmp_path, shop().SerializeToString()))
    order = message("Order")(order_id=2**62, raw=[b"\0\xff"])
    order.at.seconds = 1
    head = b"\0\0\0\0\x07"

    found = [
        decode(head + b"\0" + message("Other")(n=-1).SerializeToString()),
        decode(head + zigzag(1) + zigzag(1) + order.SerializeToString()),
        decode(head + zigzag(2) + zigzag(1) + zigzag(0) + message("Order.Line")(text="€").SerializeToString()),
    ]

    assert [one.data for one in found if isinstance(one, Value)] == [
        {"n": -1},
        {"order_id": str(2**62), "raw": ["AP8="], "at": "1970-01-01T00:00:01Z"},
        {"text": "€"},
    ]


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "list of message indexes"),
        (b"\xff" * 9, "list of message indexes"),
        (zigzag(40), "list of message indexes"),
        (zigzag(1) + zigzag(-1), "list of message indexes"),
        (zigzag(1) + zigzag(9), "has no message 9"),
        (b"\0\xff\xff", "is no message shop.Other"),
        (zigzag(1) + zigzag(1) + b"\x1a\x80\x80\x80\x80\x08", "is no message shop.Order"),
        (zigzag(1) + zigzag(1) + b"\x22\x0a\x08" + b"\xff" * 8 + b"\x7f", "is no message shop.Order"),
    ],
)
def test_what_is_no_protobuf_says_why(tmp_path: Path, payload: bytes, why: str) -> None:
    """Indexes, sizes and times that do not exist cost one value."""
    found = decoder("protobuf", of_file(tmp_path, shop().SerializeToString()))(b"\0\0\0\0\x07" + payload)

    assert isinstance(found, Undecoded)
    assert why in found.why


def test_protobuf_of_many_levels_is_refused(tmp_path: Path) -> None:
    """A message in a message, and a list in a list, ten thousand times."""
    decode = decoder("protobuf", of_file(tmp_path, shop().SerializeToString()))
    inner = b""
    for _ in range(10_000):
        size, number = len(inner), bytearray()
        while size > 0x7F:
            number.append(size & 0x7F | 0x80)
            size >>= 7
        inner = b"\x1a" + bytes([*number, size]) + inner

    found = decode(b"\0\0\0\0\x07" + zigzag(1) + zigzag(1) + inner)

    assert isinstance(found, Undecoded)
    assert "is no message shop.Order" in found.why


def test_words_that_are_repeated_have_a_ceiling(tmp_path: Path) -> None:
    """A byte of a packed list of enums is a word of 250 characters: two megabytes would be half a gigabyte."""
    files = shop()
    field = descriptor_pb2.FieldDescriptorProto
    files.file[0].enum_type.add(name="Word").value.add(name="W" * 250, number=0)
    files.file[0].message_type[0].field.add(
        name="words", number=2, type=field.TYPE_ENUM, type_name=".shop.Word", label=field.LABEL_REPEATED
    )
    decode = decoder("protobuf", of_file(tmp_path, files.SerializeToString()))

    few, many = (
        decode(b"\0\0\0\0\x07\0\x12" + size + bytes(count))
        for size, count in ((b"\x02", 2), (b"\x80\x80\x80\x01", 2 << 20))
    )

    assert isinstance(few, Value)
    assert few.data == {"words": ["W" * 250] * 2}
    assert isinstance(many, Undecoded)
    assert "it may become more than" in many.why


def test_what_would_take_too_much_memory_stays_bytes(tmp_path: Path) -> None:
    """Messages without content, and JSON of empty lists, take twenty to sixty times their bytes."""
    found = decoder("protobuf", of_file(tmp_path, shop().SerializeToString()))(b"\0\0\0\0\x07\0" + bytes(5 << 20))
    assert found == Undecoded("it has more than 4,194,304 bytes")
    assert decoder("json")(b"[" + b"[]," * (3 << 20) + b"1]") == Undecoded("JSON of more than 8,388,608 bytes")


def test_schemas_that_anybody_wrote_have_ceilings() -> None:
    """A record of the registry's topic is not read if it is too long for one, nor a schema kept as more than its text."""

    def record(size: int) -> bytes:
        return json.dumps({"id": 7, "schema": f'["int"{" " * size}]'}).encode()

    found = Schemas()
    assert not found.add_record(record(5 << 20))
    assert not found.add_record(b"[" * (9 << 20))
    assert found.add_record(record(1 << 20))
    assert isinstance(found.by_id[7].content, bytes)


@pytest.mark.parametrize("subject", ["s{}", "s{}" + "s" * 4096])
def test_schemas_of_one_id_are_counted(subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stays known by its subject and version: how many there are and the length of these count, too."""
    monkeypatch.setattr("kafkalog.values.schemas.MOST_SCHEMAS", 100)
    monkeypatch.setattr("kafkalog.values.schemas.MOST_BYTES", 100 << 10)
    found = Schemas()

    with pytest.raises(UnreadableError, match="there are more than"):
        for at in range(101):
            found.add_registered({"id": 7, "schema": '"int"', "subject": subject.format(at), "version": 1})
    assert len(found.by_version) <= 100


def test_text_of_protobuf_is_compiled_in_no_log_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files obey the rule of all outputs."""
    (tmp_path / "7.proto").write_text('syntax = "proto3"; message A { int32 n = 1; }')
    (tmp_path / "broker" / "orders-0").mkdir(parents=True)
    (tmp_path / "broker" / "meta.properties").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "broker" / "orders-0"))

    with pytest.raises(UnsupportedError, match="TMPDIR"):
        schemas(tmp_path / "7.proto")


@pytest.mark.parametrize("data", [b"", b"\xff" * 100, b"\x0a\x02\x0a\x00"])
def test_descriptors_that_are_none_say_so(tmp_path: Path, data: bytes) -> None:
    """A file of any bytes costs the values of its id."""
    found = decoder("protobuf", of_file(tmp_path, data))(b"\0\0\0\0\x07\0")

    assert isinstance(found, Undecoded)
    assert "can't be used" in found.why or "has no message" in found.why


@pytest.mark.process
def test_text_of_protobuf_is_compiled() -> None:
    """The registry keeps the text of .proto files, with the names that they import."""
    found = Schemas()
    text = 'syntax = "proto3"; import "other.proto"; import "google/protobuf/timestamp.proto"; message A { B b = 1; }'
    found.add_registered({"id": 7, "schemaType": "PROTOBUF", "schema": text, "subject": "a", "version": 1,
                          "references": [{"name": "other.proto", "subject": "b", "version": 1}]})  # fmt: skip
    found.add_registered({"id": 8, "schemaType": "PROTOBUF", "subject": "b", "version": 1,
                          "schema": 'syntax = "proto3"; message B { int32 n = 1; }'})  # fmt: skip
    found.add_registered({"id": 9, "schemaType": "PROTOBUF", "schema": "message {", "subject": "c", "version": 1})
    decode = decoder("protobuf", found)

    assert decode(b"\0\0\0\0\x07\0\x0a\x02\x08\x05") == Value('{"b":{"n":5}}', is_json=True)
    assert "protoc says: " in str(decode(b"\0\0\0\0\x09\0"))


@pytest.mark.process
def test_a_file_of_text_imports_those_beside_it(tmp_path: Path) -> None:
    """In a folder 7.proto may import common.proto."""
    (tmp_path / "common.proto").write_text('syntax = "proto3"; message B { int32 n = 1; }')
    (tmp_path / "7.proto").write_text('syntax = "proto3"; import "common.proto"; message A { B b = 1; }')

    found = decoder("protobuf", schemas(tmp_path))(b"\0\0\0\0\x07\0\x0a\x02\x08\x05")

    assert found == Value('{"b":{"n":5}}', is_json=True)


# As macOS does with a limit of memory.
_REFUSED = """
import resource, sys
limit = resource.setrlimit
def refused(what, limits):
    if what == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    limit(what, limits)
resource.setrlimit = refused
sys.platform = {!r}
"""


@pytest.mark.process
@pytest.mark.parametrize("system", ["darwin", "linux"])
def test_only_macos_compiles_without_a_limit_of_memory(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses such a limit; where another system does, nothing is compiled."""
    monkeypatch.setattr(protobuf, "_COMPILE", _REFUSED.format(system) + protobuf._COMPILE)
    text = 'syntax = "proto3"; message A { int32 n = 1; }'
    if system == "darwin":
        set_of_files = descriptor_pb2.FileDescriptorSet.FromString(protobuf.compiled(text, {}))
        assert [message.name for message in set_of_files.file[0].message_type] == ["A"]
    else:
        with pytest.raises(UnsupportedError, match="protoc says: "):
            protobuf.compiled(text, {})


# Where schemas come from.


def test_the_names_of_files_are_ids(tmp_path: Path) -> None:
    """In a folder a number is an id; a file of another name is for each id, as long as it is the only one."""
    (tmp_path / "3.avsc").write_text('"string"')
    (tmp_path / "orders.avsc").write_text('"long"')
    (tmp_path / "README").write_text("not a schema")
    decode = decoder("avro", schemas(tmp_path))
    assert decode(b"\0\0\0\0\x03\x02a") == Value('"a"', is_json=True)
    assert decode(b"\0\0\0\0\x63\x02") == Value("1", is_json=True)

    (tmp_path / "returns.avsc").write_text('"int"')
    found = decoder("avro", schemas(tmp_path))(b"\0\0\0\0\x63\x02")
    assert found == Undecoded("schema id 99 is not known: of 2 files none is named 99")


def test_the_answer_of_a_registry_is_a_file_of_schemas(tmp_path: Path) -> None:
    """What GET /schemas answers is read as it is."""
    answer = [{"subject": "a", "version": 1, "id": 7, "schema": '"long"'},
              {"subject": "b", "version": 1, "id": 8, "schemaType": "JSON", "schema": "{}"}]  # fmt: skip
    (tmp_path / "all.json").write_text(json.dumps(answer))
    decode = decoder("avro", schemas(tmp_path / "all.json"))

    assert decode(b"\0\0\0\0\x07\x02") == Value("1", is_json=True)
    assert decode(b"\0\0\0\0\x08\x02") == Undecoded("schema id 8 is of kind JSON")
    assert decode(b"\0\0\0\0\x09\x02") == Undecoded("schema id 9 is not known")


def test_a_topic_of_schemas_is_found_wherever_it_is(tmp_path: Path) -> None:
    """Below a broker's directories, as the folder itself, alone, and beside what is damaged."""
    path = registered(tmp_path / "broker-1" / "disk")
    other = path.with_name("00000000000000000009.log")
    data = path.read_bytes()

    for logs in ([tmp_path], [tmp_path / "broker-1"], [path.parent], [path], [tmp_path / "missing", path]):
        assert decoder("avro", schemas(logs=logs))(HEAD + b"\x02") == Value("1", is_json=True)
    other.write_bytes(data)
    path.write_bytes(data[:70] + b"\xff" * 20)
    for named in (path.parent, path.parent.parent, other):
        assert decoder("avro", schemas(named))(HEAD + b"\x02") == Value("1", is_json=True)
    assert not schemas(logs=[path])


def test_a_folder_without_schemas_is_said(tmp_path: Path) -> None:
    """Then the user meant another one."""
    with pytest.raises(UnreadableError, match="has no schema"):
        schemas(tmp_path)


@pytest.mark.parametrize(("name", "text"), [("a.avsc", "{"), ("a.avsc", "[" * 100_000), ("a.json", '[{"schema":"1"}]')])
def test_a_file_that_is_no_schema_is_said(tmp_path: Path, name: str, text: str) -> None:
    """A user who names a file meant it: then it is not passed over."""
    (tmp_path / name).write_text(text)

    with pytest.raises(UnreadableError, match="can't be read"):
        schemas(tmp_path / name)


# The command.

HEAD = b"\0\0\0\0\x07"


def segment(folder: Path, *values: bytes | None, name: str = "orders-0") -> Path:
    """Write a segment with these values, and a marker at its end."""
    (folder / name).mkdir(parents=True)
    path = folder / name / "00000000000000000000.log"
    batches = [batch(record(value, b"\0\0\0\x05"), base_offset=at) for at, value in enumerate(values)]
    path.write_bytes(b"".join([*batches, marker(base_offset=len(values))]))
    return path


def registered(folder: Path) -> Path:
    """Write a topic ``_schemas`` in which id 7 is a long, after records that are none."""
    value = {"subject": "orders-value", "version": 1, "id": 7, "schema": '"long"', "deleted": False}
    return segment(folder, None, b"{", b'{"id":"x","schema":"{}"}', json.dumps(value).encode(), name="_schemas-0")


def test_values_are_decoded_with_the_schemas_of_the_topic(tmp_path: Path) -> None:
    """A segment of ``_schemas`` among the inputs is enough; what does not fit stays bytes, and a finding says why."""
    path = segment(tmp_path, HEAD + b"\x02", HEAD, None, HEAD, b"\0\0\0\0\x08\x02")

    ended = kafkalog(
        "dump", "--format", "ndjson", "--table", "records", "--table", "findings", "--key-format", "int",
        "--value-format", "avro", path, registered(tmp_path),
    )  # fmt: skip

    rows = [json.loads(line) for line in ended.text.splitlines()]
    orders = [row for row in rows if row["table"] == "records" and "orders" in row["file"]]
    assert [row["key"] for row in orders[:5]] == ["5"] * 5
    assert [row["value"] for row in orders[:5]] == ["1", None, None, None, None]
    assert [row["value_base64"] for row in orders[:5]] == [None, "AAAAAAc=", None, "AAAAAAc=", "AAAAAAgC"]
    assert orders[5]["is_control"]
    assert (orders[5]["key_size"], orders[5]["key"]) == (4, "\0\0\0\1")
    found = [(row["offset"], row["code"]) for row in rows if row["table"] == "findings" and "orders" in row["file"]]
    assert found == [(1, "value-undecodable"), (4, "value-undecodable")]
    assert "schema id 8 is not known" in ended.text


def test_a_json_schema_of_an_unknown_id_is_told(tmp_path: Path) -> None:
    """Where schemas are given: as with the other formats, what an unknown schema is for is not decoded."""
    path = segment(tmp_path, b"\0\0\0\0\x07[1]", b"\0\0\0\0\x08[2]")
    (tmp_path / "7.json").write_text('{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array"}')
    options = (
        "dump",
        "--format",
        "ndjson",
        "--table",
        "records",
        "--table",
        "findings",
        "--value-format",
        "json-schema",
    )
    without, known = kafkalog(*options, path), kafkalog(*options, "--schema", tmp_path / "7.json", path)

    assert "not compared with its schema" in without.err
    assert [row["value"] for row in without.table("records")][:2] == ["[1]", "[2]"]
    assert [row["value"] for row in known.table("records")][:2] == ["[1]", None]
    assert not without.table("findings")
    [found] = known.table("findings")
    assert (found["code"], found["offset"]) == ("value-undecodable", 1)
    assert "schema id 8 is not known" in found["message"]


def test_a_compressed_topic_is_read_too(tmp_path: Path) -> None:
    """As every input, a segment of ``_schemas`` may be compressed."""
    path, topic = segment(tmp_path, HEAD + b"\x02"), registered(tmp_path)
    (topic.parent / "00000000000000000000.log.gz").write_bytes(gzip.compress(topic.read_bytes()))
    topic.unlink()
    options = ("--format", "csv", "--table", "records", "--columns", "value", "--limit", 1, "--value-format", "avro")

    ended = kafkalog("dump", *options, path, topic.parent / "00000000000000000000.log.gz")

    assert (ended.status, ended.text.split()) == (0, ["value", "1"])


def test_every_way_out_has_the_decoded_values(tmp_path: Path) -> None:
    """csv, json, tables and Parquet are made of the same block, in batches of any number of records."""
    import pyarrow.parquet

    values = [HEAD + zigzag(number) for number in range(-50, 3000)]
    path, schema = segment(tmp_path / "logs", *values), tmp_path / "orders.avsc"
    schema.write_text('"long"')
    texts = [str(number) for number in range(-50, 3000)]
    options = ("--value-format", "avro", "--schema", schema, "--columns", "offset,value", "--limit", len(values), path)

    (tmp_path / "made").mkdir()

    csv = kafkalog("dump", "--format", "csv", "--table", "records", *options)
    ended = kafkalog("dump", "--table", "records", "-o", tmp_path / "made" / "x.parquet", *options)

    assert [line.split(",")[1] for line in csv.text.split()[1:]] == texts
    assert ended.status == 0
    assert pyarrow.parquet.read_table(tmp_path / "made" / "x.parquet")["value"].to_pylist() == texts


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--value-format", "avro", "--format", "ndjson"), "needs schemas: --schema FILE"),
        (("--value-format", "long"), "need a --format of rows"),
        (("--schema", "."), "needs --key-format or --value-format"),
        (("--value-format", "yaml"), "'yaml' is not one of"),
    ],
)
def test_what_can_not_be_meant_is_wrong_usage(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """Nothing is read before the options make sense."""
    ended = kafkalog("dump", *options, segment(tmp_path, b"x"))

    assert (ended.status, ended.out) == (2, b"")
    assert words in ended.err


@pytest.mark.some(every=2)
@pytest.mark.process
@pytest.mark.parametrize(
    ("form", "hidden", "words"),
    [
        ("avro", "fastavro", "Avro needs fastavro: pip install fastavro"),
        ("protobuf", "google.protobuf", "Protobuf needs protobuf: pip install protobuf"),
    ],
)
def test_a_missing_extra_is_one_line(tmp_path: Path, form: str, hidden: str, words: str) -> None:
    """Without the libraries the command says what to install; other formats need none."""
    code = f"import sys; sys.modules[{hidden!r}] = None; from kafkalog_cli.start import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "dump", "--format", "ndjson", "--key-format", "int"]
    path = segment(tmp_path, HEAD + b"\x02")

    ended = subprocess.run(
        [*command, "--value-format", form, str(path), str(registered(tmp_path))], capture_output=True, check=False
    )
    plain = subprocess.run([*command, str(path)], capture_output=True, check=False)

    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.decode().count(words) == 1
    assert b'"key":"5"' in plain.stdout


def test_a_missing_compiler_is_one_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without grpcio-tools a schema of text says what to install."""
    monkeypatch.setattr("kafkalog.values.protobuf.find_spec", lambda _: None)
    found = Schemas()
    found.add_registered({"id": 7, "schemaType": "PROTOBUF", "schema": "", "subject": "a", "version": 1})

    assert "pip install grpcio-tools" in str(decoder("protobuf", found)(b"\0\0\0\0\x07\0"))


def test_a_schema_that_may_never_come_is_refused(tmp_path: Path) -> None:
    """A FIFO has no end, and opening one waits for who writes to it."""
    os.mkfifo(tmp_path / "7.avsc")

    with pytest.raises(UnreadableError, match="not a regular file"):
        schemas(tmp_path / "7.avsc")


def _framed(schema_id: int, payload: bytes) -> bytes:
    return b"\0" + struct.pack(">I", schema_id) + payload


def _number(number: int) -> bytes:
    found = io.BytesIO()
    fastavro.schemaless_writer(found, "long", number)
    return found.getvalue()


def test_nulls_are_counted_over_a_run() -> None:
    """Each payload is small enough alone; a million parts without bytes are enough for all, and others are read on."""
    known = Schemas()
    fields = [{"name": "p", "type": "bytes"}, {"name": "a", "type": {"type": "array", "items": "null"}}]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    assert known.add_registered({"id": 1, "schema": text})
    decode = decoder("avro", known)
    bomb = _framed(1, _number(66_000) + bytes(66_000) + _number(1_000_000) + _number(0))
    plain = _framed(1, _number(1) + b"p" + _number(0))

    assert isinstance(decode(bomb), Value)
    assert decode(bomb) == Undecoded(OVER)
    assert isinstance(decode(plain), Value)


def test_a_schema_costs_all_that_it_refers_to() -> None:
    """A chain of references is parsed for each schema at its end; the last ones are over the budget, in the same words."""
    known = Schemas()
    for number in range(1, 400):
        inner = f"R{number - 1}" if number > 1 else "int"
        text = json.dumps({"type": "record", "name": f"R{number}", "fields": [{"name": "x", "type": ["null", inner]}]})
        refers = [{"name": inner, "subject": f"s{number - 1}", "version": 1}] if number > 1 else []
        about = {"id": number, "subject": f"s{number}", "version": 1, "schema": text, "references": refers}
        assert known.add_registered(about)
    decode = decoder("avro", known)
    found = [decode(_framed(number, b"\0")) for number in range(1, 400)]

    assert isinstance(found[0], Value)
    assert found[-1] == Undecoded(OVER)
    assert {type(one) for one in found[:100]} == {Value}


def test_schemas_that_come_in_turn_are_not_parsed_again() -> None:
    """What was parsed stays, and what is over is refused: three large ones took a second for each record."""
    known = Schemas()
    for number in range(3):
        fields = [{"name": f"f{field}_{number}", "type": "int"} for field in range(80_000)]
        assert known.add_registered(
            {"id": number, "schema": json.dumps({"type": "record", "name": "R", "fields": fields})}
        )
    decode = decoder("avro", known)
    found = [decode(_framed(number % 3, b"\0" * 80_000)) for number in range(9)]

    assert [isinstance(one, Value) for one in found] == [True, True, False] * 3
    assert found[2] == Undecoded(OVER)


def test_the_json_of_a_run_has_a_budget() -> None:
    """A field's long name is written for each value: 16 bytes of a payload's byte are free, more is counted."""
    budget = DecodingBudget()

    assert budget.takes_text(100, 1600 + (1 << 30))
    assert budget.takes_text(100, 1600)
    assert not budget.takes_text(100, 1601)
