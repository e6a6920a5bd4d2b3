"""``--format csv``: exactly one table, as RFC 4180 has it, with nothing lost."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import official
import sampled
from handmade import batch, damaged, each, one, record, segment
from invoke import PARTITION, SEGMENT, files_of, kafkalog, rows_of
from kafkalog.tables import TABLES
from kafkalog.writing.row_formats import PartedCsv, as_csv
from official import FIXTURES

CASES = official.cases(FIXTURES)


def read(data: bytes) -> list[list[str]]:
    """Read a csv strictly; line ends inside quotes stay as they are."""
    return list(csv.reader(io.StringIO(data.decode("utf-8", "surrogateescape"), newline=""), strict=True))


def written(value: Any) -> str:
    """Say how a value of ndjson stands in a csv."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def dump(path: Path, *options: str) -> bytes:
    """Dump one file as csv."""
    return kafkalog("dump", "--format", "csv", *options, path).out


@sampled.each("case", CASES)
def test_a_csv_holds_what_ndjson_holds(case: Path) -> None:
    """Read back, a csv of any table has the declared columns and the values of ndjson, all of them."""
    files = [name for name in files_of(case) if name.startswith("data")]
    rows = rows_of("--deep-iteration", *files, cwd=case)
    tables = {row["table"] for row in rows} - {"findings"}
    assert tables
    for name in tables:
        ended = kafkalog("dump", "--format", "csv", "--table", name, *files, cwd=case)
        header, *lines = read(ended.out)
        assert tuple(header) == TABLES[name].usual
        wanted = [[written(row[column]) for column in header] for row in rows if row["table"] == name]
        assert lines == wanted, name


def test_lines_end_as_rfc_4180_has_it(tmp_path: Path) -> None:
    """Every line ends in CR LF, the last and the header's too."""
    out = dump(segment(tmp_path, each(b"a", b"b")), "--table", "records")

    assert out.count(b"\n") == out.count(b"\r\n") == 3
    assert out.endswith(b"\r\n")


@pytest.mark.parametrize(
    "text", ['"', '""', ",", "a,b", "\n", "\r\n", "\r", " a", "a ", "\t", "'", ";", "é\U0001f600", "=1+1", "\0"]
)
def test_a_value_comes_back(tmp_path: Path, text: str) -> None:
    """Commas, quotes, line ends, blanks at the ends and NULs are read back by Python's csv as they were written."""
    out = dump(segment(tmp_path, one(text.encode(), b"behind")), "--table", "records", "--columns", "key,value")

    assert read(out) == [["key", "value"], [text, "behind"]]


def test_null_differs_from_empty(tmp_path: Path) -> None:
    """Null is an empty field, an empty text two quotes; Python's csv reads both as empty."""
    out = dump(segment(tmp_path, each(None, b"")), "--table", "records", "--columns", "offset,key,offset")

    assert out.splitlines()[1:] in ([b"0,,0", b'1,"",1'], [b"0,", b'1,""'])


def test_a_row_of_one_null_is_a_row(tmp_path: Path) -> None:
    """A csv of a single column has as many rows for its readers as there are records, null or not."""
    out = dump(segment(tmp_path, each(b"a", None, b"b")), "--table", "records", "--columns", "key")

    assert len([line for line in read(out) if line]) == 4


def test_a_column_asked_for_twice_is_no_two_columns() -> None:
    """Names in a header are unique."""
    ended = kafkalog("dump", "--format", "csv", "--columns", "crc,crc", SEGMENT)

    assert (ended.status, ended.text.splitlines()[0]) == (0, "crc")


def test_exactly_one_table() -> None:
    """Two tables in one csv are a usage error that says so."""
    ended = kafkalog("dump", "--format", "csv", "--table", "batches", "--table", "control", SEGMENT)

    assert (ended.status, ended.out) == (2, b"")
    assert "exactly one --table" in ended.err


def test_batches_or_records_by_default() -> None:
    """Without ``--table`` a csv has batches, with the tool's options for records it has records."""
    assert read(dump(SEGMENT))[0] == list(TABLES["batches"].usual)
    assert read(dump(SEGMENT, "--deep-iteration"))[0] == list(TABLES["records"].usual)
    assert read(dump(SEGMENT, "--print-data-log"))[0] == list(TABLES["records"].usual)


@pytest.mark.parametrize("name", ["00000000000000000000.index", "00000000000000000000.txnindex", "partition.metadata"])
def test_entries_of_a_side_file_are_not_left_out_silently(name: str) -> None:
    """A csv of an index alone has its entries."""
    ended = kafkalog("dump", "--format", "csv", PARTITION / name)

    assert ended.status == 0
    assert len(ended.text.splitlines()) > 1


def test_findings_asked_for_are_there(tmp_path: Path) -> None:
    """``--table findings`` in a csv gives the findings."""
    ended = kafkalog("dump", "--format", "csv", "--table", "findings", damaged(tmp_path))

    assert ended.status == 1
    assert "crc-mismatch" in ended.text


def test_json_columns_are_json() -> None:
    """Headers of records and data of control records are JSON in their field."""
    header, *lines = read(
        dump(FIXTURES / "v0.11-codecs/data/append-gzip-0/00000000000000000000.log", "--deep-iteration")
    )
    found = [json.loads(line[header.index("headers")]) for line in lines]

    assert any(found)
    assert all(set(one_of) == {"key", "key_base64", "value", "value_base64"} for headers in found for one_of in headers)


# --csv-safe: no cell is a formula to a spreadsheet, and nothing is lost.


FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'x", "plain", "", " =1", "a=b", '=HYPERLINK("x","y")', "\n=1",
    "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20A1", "\ufeff=1",
]  # fmt: skip
STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", " ", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufeff")


UNMARKED = re.compile("([;\t\r\n] *)'(?='*[=+@\\-\uf000-\uffff])")


def unmarked(cell: str) -> str:
    return UNMARKED.sub(r"\1", cell).removeprefix("'")


def cells(out: bytes, column: str) -> list[str]:
    return [row[column] for row in csv.DictReader(io.StringIO(out.decode(), newline=""))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a segment with these texts as keys."""
    return segment(tmp_path, batch(*(record(text.encode(), b"v", delta=n) for n, text in enumerate(FORMULAS))))


def test_texts_get_a_mark_and_numbers_never(path: Path) -> None:
    """Off by default; who removes one mark from each marked cell has the texts back."""
    dump = ("dump", "--table", "records", "--format", "csv", path)
    plain, safe = kafkalog(*dump), kafkalog(*dump, "--csv-safe")

    assert cells(plain.out, "key") == FORMULAS
    marked = cells(safe.out, "key")
    assert not [cell for cell in marked if cell.startswith(STARTS)]
    assert [unmarked(cell) for cell in marked] == FORMULAS
    for column in ("offset", "sequence", "timestamp_ms", "key_size"):
        assert cells(safe.out, column) == cells(plain.out, column)
    assert "-1" in cells(safe.out, "sequence")


def test_other_tables_have_it_too(path: Path, tmp_path: Path) -> None:
    """Names of groups, topics and files, in every command that writes CSV."""
    (tmp_path / "=cmd-0").mkdir()
    (tmp_path / "=cmd-0" / path.name).write_bytes(path.read_bytes())
    ended = kafkalog("txn-audit", "--table", "partitions", "--format", "csv", "--csv-safe", tmp_path / "=cmd-0")

    assert cells(ended.out, "topic") == ["'=cmd"]
    assert cells(
        kafkalog("verify", "--table", "logs", "--format", "csv", "--csv-safe", tmp_path / "=cmd-0").out, "topic"
    ) == ["'=cmd"]


PARTS = ["a;=1", "a; +1", "a;'=1", "a;b=1", "a\t@x", "x\n=1", "x\r\n-1", ";", "a;\uff1d1", "x\n;  =1", 'q";=1', "n\n1"]


def test_no_part_of_a_text_is_a_formula(tmp_path: Path) -> None:
    """Neither behind a semicolon or a tab nor on a line of its own, wherever what is written is cut."""
    where = segment(tmp_path, batch(*(record(text.encode(), b"v", delta=n) for n, text in enumerate(PARTS))))
    ended = kafkalog("dump", "--table", "records", "--format", "csv", "--csv-safe", "--columns", "offset,key", where)

    for separator in ";\t":
        for row in csv.reader(io.StringIO(ended.out.decode(), newline=""), delimiter=separator, quoting=csv.QUOTE_NONE):
            assert not [cell for cell in row if cell.lstrip(' "').startswith(STARTS[:4])], row
    assert [unmarked(cell) for cell in cells(ended.out, "key")] == PARTS
    whole, pieces = io.BytesIO(), io.BytesIO()
    PartedCsv(whole).write(ended.out)
    cut = PartedCsv(pieces)
    for at in range(len(ended.out)):
        cut.write(ended.out[at : at + 1])
    assert pieces.getvalue() == whole.getvalue()


@given(st.text())
def test_the_mark_is_reversible(text: str) -> None:
    """No two texts look the same."""
    (cell,) = next(csv.reader(io.StringIO(as_csv(text, safe=True) + "\r\n", newline="")), [""])

    assert cell.removeprefix("'") == text
    assert not cell.startswith(STARTS)
