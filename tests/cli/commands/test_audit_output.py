"""The formats of ``kafkalog txn-audit``: every one says the same, and which version of the schema it speaks."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from invoke import HEAD, Ended, kafkalog
from kafkalog.tables import SCHEMA_VERSION, TABLES
from kafkalog.tables.audit_tables import AUDIT_TABLES, SUMMARY
from official import FIXTURES, materialize

CASE: Final = FIXTURES / "k4-f-hanging-late-produce-tv0"
DATA: Final = CASE / "data"
SHOWN: Final = tuple(table.name for table in AUDIT_TABLES if table.name != "visible")


def audited(*arguments: str | Path) -> Ended:
    """Run ``kafkalog txn-audit ARGUMENTS`` on a fixture with three hanging transactions."""
    return kafkalog("txn-audit", "--exit-zero", DATA, *arguments)


# The version of the schema.


def test_every_row_of_ndjson_carries_the_schema_version() -> None:
    """A row is of a table and of a version; its columns are the table's."""
    rows = audited("--format", "ndjson").rows
    columns = {table.name: (*HEAD, *table.names) for table in (SUMMARY, *AUDIT_TABLES)}

    assert rows[0]["table"] == "summary"
    assert {row["table"] for row in rows} == {"summary", *SHOWN} - {"gaps", "remote_segments"}  # there are none
    assert {row["schema_version"] for row in rows} == {SCHEMA_VERSION}
    assert [row for row in rows if tuple(row) != columns[row["table"]]] == []


def test_json_carries_the_schema_version() -> None:
    """One object with the version, the verdict, the totals and every table, empty ones too, with the rows of ndjson."""
    tables = json.loads(audited("--format", "json").out)
    rows = audited("--format", "ndjson")
    (summary,) = rows.table("summary")

    assert {name: tables.pop(name) for name in TABLES["summary"].names} == {
        name: summary[name] for name in TABLES["summary"].names
    }
    assert tables.pop("schema_version") == SCHEMA_VERSION
    assert tables == {name: rows.table(name) for name in SHOWN}


def test_parquet_carries_the_schema_version(tmp_path: Path) -> None:
    """Each file says it in its metadata, provenance.json as a number; the rows are those of ndjson."""
    assert audited("-o", tmp_path / "audit").status == 0
    rows = audited("--format", "ndjson")

    assert json.loads((tmp_path / "audit" / "provenance.json").read_text())["schema_version"] == SCHEMA_VERSION
    for name in SHOWN:
        found = pq.read_table(tmp_path / "audit" / name)
        (file,) = (tmp_path / "audit" / name).iterdir()
        footer = json.loads(pq.read_metadata(file).metadata[b"org.apache.spark.sql.parquet.row.metadata"])
        assert {column["metadata"]["schema_version"] for column in footer["fields"]} == {SCHEMA_VERSION}
        assert [column["name"] for column in footer["fields"]] == found.column_names == list(TABLES[name].names)
        lists = [{key: json.dumps(row[key]) if isinstance(row[key], (list, dict)) else row[key] for key in row}
                 for row in rows.table(name)]  # fmt: skip
        assert found.to_pylist() == lists, name


def test_parquet_says_the_least_and_the_largest_where_readers_leave_groups_out(tmp_path: Path) -> None:
    """Of offsets, times, and what people ask for: topic, partition, log, state, producer."""
    assert audited("-o", tmp_path / "audit").status == 0
    (file,) = (tmp_path / "audit" / "transactions").iterdir()
    group = pq.read_metadata(file).row_group(0)
    known = {group.column(at).path_in_schema for at in range(group.num_columns) if group.column(at).is_stats_set}

    assert {"topic", "partition", "log", "state", "producer_id", "first_offset", "marker_timestamp_ms"} <= known


# Where it goes.


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.txt", "table"), ("a.ndjson", "ndjson"), ("a.jsonl", "ndjson"), ("a.JSON", "json"), ("a.csv", "csv")],
)
def test_the_suffix_chooses_the_format(tmp_path: Path, name: str, form: str) -> None:
    """A file holds what standard output would; nothing else is left beside it."""
    table = ("--table", "transactions") if form == "csv" else ()
    ended = audited(*table, "-o", tmp_path / name)

    assert ended.status == 0
    assert ended.text.startswith("BLOCKED: 3 hanging transactions hold back read_committed consumers of 3 partitions, ")
    assert ended.text.count("\n") == 1
    assert (tmp_path / name).read_bytes() == audited("--format", form, *table).out
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_format_wins_over_the_suffix(tmp_path: Path) -> None:
    """``--format`` says what it is, whatever the file is called."""
    audited("--format", "ndjson", "-o", tmp_path / "a.csv")

    assert (tmp_path / "a.csv").read_bytes() == audited("--format", "ndjson").out


@pytest.mark.parametrize("name", ["a.parquet", "a.xlsx"])
def test_a_suffix_that_promises_another_format_is_refused(tmp_path: Path, name: str) -> None:
    """Such a file is not filled with text, and the way out is named."""
    ended = audited("-o", tmp_path / name)

    assert ended.status == 2
    assert "--format" in ended.err
    assert list(tmp_path.iterdir()) == []


# Checksums of the evidence.


def test_hash_puts_the_checksum_of_every_segment_into_the_provenance(tmp_path: Path) -> None:
    """The SHA-256 of each segment that was read; without the option there is none."""
    audited("--hash", "-o", tmp_path / "with")
    audited("-o", tmp_path / "without")
    files = {
        name: json.loads((tmp_path / name / "provenance.json").read_text())["files"] for name in ("with", "without")
    }

    assert {entry["file"]: entry["sha256"] for entry in files["with"]} == {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in DATA.rglob("*.log")
    }
    assert [entry for entry in files["without"] if "sha256" in entry] == []


def test_what_cannot_be_read_has_no_checksum(tmp_path: Path) -> None:
    """A segment that can't be read costs its own checksum, no more."""
    root = materialize(CASE, tmp_path) / "data"
    path = root / "tickets-tickets.26-2" / f"{0:020}.log"
    path.unlink()
    os.mkfifo(path)
    ended = kafkalog("txn-audit", root, "--hash", "-o", tmp_path / "audit")
    files = json.loads((tmp_path / "audit" / "provenance.json").read_text())["files"]

    assert ended.status == 3
    assert [entry["file"] for entry in files if entry["sha256"] is None] == [str(path)]


def test_parquet_is_filtered_like_the_others(tmp_path: Path) -> None:
    """Filters choose rows of any format; columns are left to Parquet's readers, and choosing them is refused."""
    filters = ("--state", "hanging", "--partition", "0")
    audited(*filters, "-o", tmp_path / "audit")
    found = pq.read_table(tmp_path / "audit" / "transactions").to_pylist()

    assert found == audited("--format", "ndjson", *filters).table("transactions")
    assert len(found) == 1
    assert audited("--columns", "topic", "-o", tmp_path / "other").status == 2


@pytest.mark.parametrize("arguments", [(), ("--format", "ndjson"), ("-o", "a.json")])
def test_hash_without_provenance_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """No other format has a place for the checksums: asking for them is wrong usage."""
    ended = kafkalog("txn-audit", "--hash", DATA, *arguments, cwd=tmp_path)

    assert (ended.status, ended.out) == (2, b"")
    assert "--hash needs --format parquet" in ended.err
    assert list(tmp_path.iterdir()) == []
