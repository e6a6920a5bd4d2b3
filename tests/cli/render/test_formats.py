"""The formats of rows against each other, against the library and against the columns that ``tables.py`` declares."""

from __future__ import annotations

import base64
import json
import warnings
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog as library
import official
import sampled
from handmade import batch, damaged, each, one, record, segment
from invoke import HEAD, PARTITION, SEGMENT, Ended, Row, files_of, kafkalog, rows_of
from kafkalog.segments.file_rows import TABLES_OF
from kafkalog.tables import SCHEMA_VERSION, TABLES, Column
from official import FIXTURES

CASES = official.cases(FIXTURES)
M = 2**63 - 1
DEEP = ("dump", "--deep-iteration", "--format")


def fits(column: Column, value: Any) -> bool:
    """Say whether a JSON value is one that the column declares."""
    if value is None or column.type in ("json", "headers"):
        return True
    if column.type.startswith("int"):
        bits = int(column.type.removeprefix("int"))
        return type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1
    if column.type == "bool":
        return type(value) is bool
    # An unknown codec is its number.
    return isinstance(value, str) and (not column.words or value in column.words or value.isdecimal())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_row_is_as_declared(case: Path) -> None:
    """Rows of ndjson have exactly their table's columns in order, and every value is of its column's type and words."""
    ended = kafkalog(*DEEP, "ndjson", *(name for name in files_of(case) if name.startswith("data")), cwd=case)

    assert ended.out.isascii()
    assert ended.out.endswith(b"\n")
    for row in ended.rows:
        table = TABLES[row["table"]]
        assert tuple(row) == (*HEAD, *table.usual)
        assert row["schema_version"] == SCHEMA_VERSION
        shown = [column for column in table.columns if column.name in row]
        wrong = {column.name: row[column.name] for column in shown if not fits(column, row[column.name])}
        assert not wrong, table.name


@pytest.mark.some(every=3)
@sampled.each("case", CASES)
def test_json_is_one_object_of_the_rows_of_ndjson(case: Path) -> None:
    """Json holds schema_version and a list for each table, with what ndjson has, and is ASCII."""
    files = [name for name in files_of(case) if name.startswith("data")]
    ended = kafkalog(*DEEP, "json", *files, cwd=case)
    rows = kafkalog(*DEEP, "ndjson", *files, cwd=case)
    tables = json.loads(ended.out)

    assert ended.out.isascii()
    assert tables.pop("schema_version") == SCHEMA_VERSION
    assert {name: tables[name] for name in tables if tables[name]} == {
        name: rows.table(name) for name in TABLES if rows.table(name)
    }


def payload(row: Row, name: str) -> bytes | None:
    """Put the bytes of a key or value together from their two columns, of which at least one is null."""
    text, encoded = row[name], row[f"{name}_base64"]
    assert text is None or encoded is None
    return None if text is encoded is None else text.encode() if encoded is None else base64.b64decode(encoded)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_records_lose_nothing(case: Path) -> None:
    """Keys, values and headers put together from the columns are the library's bytes, and so are the numbers."""
    names = [name for name in files_of(case) if name.endswith(".log")]
    assert names
    for name in names:
        with warnings.catch_warnings(action="ignore"):
            wanted = list(library.open(case / name).records())
        rows = [row for row in rows_of("--table", "records", name, cwd=case) if row["table"] == "records"]
        assert [(row["offset"], row["timestamp_ms"], row["sequence"], row["size_bytes"]) for row in rows] == [
            (record.offset, record.timestamp, record.sequence, record.size) for record in wanted
        ]
        for row, one_of in zip(rows, wanted, strict=True):
            headers = tuple((payload(header, "key"), payload(header, "value")) for header in row["headers"])
            assert (payload(row, "key"), payload(row, "value"), headers) == (
                one_of.key, one_of.value, tuple(one_of.headers),
            )  # fmt: skip
            assert (row["key_size"], row["value_size"], row["headers_count"]) == (
                -1 if one_of.key is None else len(one_of.key), -1 if one_of.value is None else len(one_of.value),
                len(one_of.headers),
            )  # fmt: skip


EXTREMES = batch(
    record(b"k", b"v"), base_offset=M - 9, timestamp=-M, producer_id=M, producer_epoch=32767, base_sequence=M >> 32
)


@pytest.mark.parametrize("form", ["ndjson", "json", "csv", "table"])
def test_integers_are_exact(tmp_path: Path, form: str) -> None:
    """No format rounds an offset, a producer id or a timestamp near the ends of int64."""
    ended = kafkalog("dump", "--format", form, "--table", "batches", segment(tmp_path, EXTREMES))

    for number in (M - 9, -M, M, 2147483647, 32767):
        assert str(number) in ended.text


def test_the_smallest_timestamp_is_no_null(tmp_path: Path) -> None:
    """-2**63 in a batch's header is a value like others, though the columns inside use it for none."""
    path = segment(tmp_path, batch(record(b"k", b"v"), timestamp=-M - 1))
    [row] = [row for row in rows_of(path) if row["table"] == "batches"]

    assert (row["base_timestamp_ms"], row["max_timestamp_ms"]) == (-M - 1, -M - 1)


def test_null_differs_from_empty(tmp_path: Path) -> None:
    """A record without a key, one with an empty key and one with the key ``null`` are three things."""
    rows = rows_of("--table", "records", segment(tmp_path, each(None, b"", b"null")))

    assert [(row["key"], row["key_size"], row["value"], row["value_size"]) for row in rows] == [
        (None, -1, None, -1), ("", 0, "", 0), ("null", 4, "null", 4),
    ]  # fmt: skip


def test_bytes_that_are_no_utf_8_are_in_the_base64_columns(tmp_path: Path) -> None:
    """The text column is null then; a surrogate, which strict UTF-8 has not, counts as no UTF-8."""
    keys = (b"\xff\x00", b"\xed\xa0\x80", "\U0001f600".encode())
    rows = rows_of("--table", "records", segment(tmp_path, each(*keys)))

    assert [(row["key"], row["key_base64"]) for row in rows] == [(None, "/wA="), (None, "7aCA"), ("\U0001f600", None)]
    assert [payload(row, "value") for row in rows] == list(keys)


def test_headers_keep_order_doubles_nulls_and_bytes(tmp_path: Path) -> None:
    """All headers arrive, in order, with their values; a null value differs from an empty one."""
    headers = [(b"b", b"1"), (b"a", None), (b"b", b""), (b"\xff", b"\xfe"), (b"", b'x,"y\n')]
    [row] = rows_of("--table", "records", segment(tmp_path, one(b"k", b"v", headers)))

    assert [(payload(header, "key"), payload(header, "value")) for header in row["headers"]] == headers
    assert row["headers"][3] == {"key": None, "key_base64": "/w==", "value": None, "value_base64": "/g=="}


def test_what_says_something_to_a_line_reader_or_a_browser_is_escaped_in_json(tmp_path: Path) -> None:
    """Line separators, C1, bidi and DEL arrive as escapes or not at all raw, and back as they were."""
    key = "a\u2028b\u2029c\x85d\u202ee\x9bf\x7fg\nh\0"
    path = segment(tmp_path, one(key.encode()))
    for form in ("ndjson", "json"):
        ended = kafkalog(*DEEP, form, "--table", "records", path)
        assert all(byte in b"\n" or 32 <= byte < 127 for byte in ended.out)
        assert key in [row["key"] for row in (ended.rows if form == "ndjson" else json.loads(ended.out)["records"])]


@pytest.mark.parametrize("form", ["ndjson", "json"])
def test_findings_are_rows_of_the_same_stream(tmp_path: Path, form: str) -> None:
    """Damage is a row of ``findings`` in the machine formats, and nothing is said on standard error."""
    ended = kafkalog("dump", "--format", form, damaged(tmp_path))
    findings = ended.table("findings") if form == "ndjson" else json.loads(ended.out)["findings"]

    assert [(row["code"], row["severity"], row["position"], row["offset"]) for row in findings] == [
        ("crc-mismatch", "error", 70, 1)
    ]
    assert ended.err == ""


@pytest.mark.parametrize("form", ["kafka", "table", "csv"])
def test_findings_go_to_standard_error(tmp_path: Path, form: str) -> None:
    """Where a row has no room for them, findings are lines of ours on standard error, and only there."""
    path = damaged(tmp_path)
    ended = kafkalog("dump", "--format", form, path)

    assert ended.err.startswith(f"kafkalog: error: {path}@70: crc-mismatch: ")
    assert ended.err.count("\n") == 1
    assert b"crc-mismatch" not in ended.out


def test_tables_chooses_what_comes(tmp_path: Path) -> None:
    """``--table`` gives the rows of that table and findings; given twice, of both."""
    path = damaged(tmp_path)

    assert {row["table"] for row in rows_of("--table", "records", path)} == {"records", "findings"}
    assert {row["table"] for row in rows_of("--table", "records", "--table", "batches", path)} == {
        "batches", "records", "findings",
    }  # fmt: skip
    assert {row["table"] for row in rows_of("--table", "findings", path)} == {"findings"}


def test_control_records_have_type_version_and_coordinator_epoch() -> None:
    """Markers are rows of ``control``, with what the dump of the tool says of them and more."""
    rows = rows_of("--table", "control", SEGMENT)

    assert {(row["type"], row["type_number"], row["version"], row["coordinator_epoch"]) for row in rows} == {
        ("commit", 1, 0, 0), ("abort", 0, 0, 0),
    }  # fmt: skip


def test_columns_come_in_the_order_asked() -> None:
    """``--columns`` chooses and orders; ndjson keeps ``table`` and ``schema_version`` in front."""
    [first, *_] = rows_of("--columns", "last_offset,base_offset", SEGMENT)

    assert list(first.items()) == [
        ("table", "batches"), ("schema_version", SCHEMA_VERSION), ("last_offset", 2), ("base_offset", 0),
    ]  # fmt: skip


def test_no_column_comes_that_was_not_asked_for() -> None:
    """Columns of another table don't turn into all columns: that is refused."""
    ended = kafkalog("dump", "--format", "csv", "--table", "records", "--columns", "base_offset", SEGMENT)

    assert refused(ended, "records")


def refused(ended: Ended, *words: str) -> bool:
    """Say whether a run ended as one that was asked wrongly, with `words` on standard error."""
    return ended.status == 2 and not ended.out and all(word in ended.err for word in words)


def test_the_text_of_the_tool_has_no_tables_and_columns() -> None:
    """``--table`` and ``--columns`` with the format kafka are refused, with the formats that know them."""
    assert refused(kafkalog("dump", "--table", "batches", SEGMENT), "ndjson", "csv")
    assert refused(kafkalog("dump", "--columns", "crc", SEGMENT), "ndjson", "csv")
    assert refused(kafkalog("dump", "--format", "csv", "--columns", "crk", SEGMENT), "crk", "crc")


# What there is in files of these kinds; the rest is an audit's, or another command's.
OF_FILES: Final = {table.name for tables in TABLES_OF.values() for table in tables} - {"internal"} | {"findings"}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_that_is_offered_can_be_given(name: str) -> None:
    """``--table`` refuses the tables that no file holds: those of the audit."""
    files = [path for path in PARTITION.iterdir() if path.is_file()]
    ended = kafkalog("dump", "--format", "ndjson", "--table", name, *files, *PARTITION.parent.glob("*checkpoint"))

    if name in OF_FILES:
        assert (ended.status, bool(ended.table(name))) == (0, name != "findings")  # the files are whole
    else:
        assert refused(ended, name)


def test_an_empty_segment_gives_no_rows(tmp_path: Path) -> None:
    """Ndjson is empty then, csv has its header, json has the empty table."""
    path = segment(tmp_path)
    (tmp_path / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n")

    assert kafkalog("dump", "--format", "ndjson", path) == Ended(0, b"", "")
    assert kafkalog("dump", "--format", "csv", path).text == ",".join(TABLES["batches"].usual) + "\r\n"
    assert json.loads(kafkalog("dump", "--format", "json", path).out)["batches"] == []


def test_schema_prints_what_is_declared() -> None:
    """``kafkalog schema`` shows every table and column with type, unit, meaning and words."""
    lines = kafkalog("schema").text.splitlines()

    for table in TABLES.values():
        assert f"{table.name}: {table.row}" in lines
        for column in table.columns:
            words = (column.meaning, column.unit, *column.words)
            matching = [line for line in lines if line.split()[:2] == [column.name, column.type]]
            assert any(all(word in line for word in words) for line in matching), column


def test_schema_of_one_table() -> None:
    """``kafkalog schema batches`` shows that table alone; one that there isn't is a usage error."""
    text = kafkalog("schema", "batches").text

    assert text.splitlines()[2].startswith("batches: ")
    assert "producer_states" not in text
    assert refused(kafkalog("schema", "batch"), "batches")


def test_schema_as_json() -> None:
    """The same for programs, with the version of the schema."""
    read = json.loads(kafkalog("schema", "--format", "json").out)

    assert read["schema_version"] == SCHEMA_VERSION
    assert [(name, [column["name"] for column in table["columns"]]) for name, table in read["tables"].items()] == [
        (table.name, list(table.names)) for table in TABLES.values()
    ]


def test_every_column_of_a_batch_is_there() -> None:
    """The header's every field is a column: the first batch of a broker's file, in full."""
    [first, *_] = rows_of(SEGMENT.name, cwd=PARTITION)

    assert first == {
        "table": "batches", "schema_version": SCHEMA_VERSION, "file": SEGMENT.name, "position": 0, "size_bytes": 149,
        "base_offset": 0, "last_offset": 2, "last_offset_delta": 2, "count": 3, "magic": 2, "crc": 3316990189,
        "crc_holds": True, "attributes": 16, "codec": "none", "timestamp_type": "create_time",
        "is_transactional": True, "is_control": False,
        "has_delete_horizon": False, "unused_attribute_bits": 0, "base_timestamp_ms": 1795251278420,
        "delete_horizon_ms": None, "max_timestamp_ms": 1795251278421, "producer_id": 3, "producer_epoch": 0,
        "base_sequence": 0, "last_sequence": 2, "partition_leader_epoch": 0,
    }  # fmt: skip
