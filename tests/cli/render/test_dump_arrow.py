"""``dump --format arrow`` and ``parquet``: the rows of ndjson, typed, for readers that are not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import build
import kafkalog as library
from handmade import segment
from invoke import SEGMENT, kafkalog, rows_of
from kafkalog.tables import TABLES
from official import FIXTURES

FORMS = pytest.mark.parametrize("form", ["arrow", "parquet"])
SEGMENTS = sorted(FIXTURES.glob("*/data*/*/*.log"))[::7]
ODD = build.batch(
    build.record(b"", None, [(b"h", b"1"), (b"h", None), (b"", b"\xff"), (b"\xfe", b"")]),
    build.record(b"\xed\xa0\x80", b"\xff", [], delta=1, later=2**62),
    build.record(None, "é\U0001f600\0".encode(), [], delta=2),
    base_offset=2**63 - 3,
    base_timestamp=-(2**63),
    producer_id=2**63 - 1,
    attributes=0x7FF8,
    last_offset_delta=2,
)


def read(path: Path) -> pa.Table:
    """Read a file by its suffix."""
    return pa.ipc.open_file(path).read_all() if path.suffix == ".arrow" else pq.read_table(path)


def wanted_of(table: str, path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table in ndjson, without what says which table they are of."""
    rows = rows_of("--table", table, "--deep-iteration", "--exit-zero", path)
    return [{name: row[name] for name in TABLES[table].usual} for row in rows if row["table"] == table]


@pytest.mark.some(every=3)
@FORMS
@pytest.mark.parametrize("table", ["batches", "records", "control"])
def test_a_file_has_the_rows_of_ndjson(form: str, table: str, tmp_path: Path) -> None:
    """Of segments that brokers wrote: every value of every column but JSON's own, which is text."""
    for number, path in enumerate(SEGMENTS):
        wanted = wanted_of(table, path)
        out = tmp_path / f"{number}.{form}"
        kafkalog("dump", "--table", table, "--deep-iteration", "--exit-zero", "-o", out, path)
        found = read(out)
        assert found.schema.names == list(TABLES[table].usual)
        if table == "control":
            found, wanted = found.drop(["data"]), [{k: v for k, v in row.items() if k != "data"} for row in wanted]
        assert found.to_pylist() == wanted, path


@FORMS
def test_extremes_come_through(form: str, tmp_path: Path) -> None:
    """Ends of int64, bytes that are not UTF-8, null, empty, header keys that repeat."""
    (tmp_path / "in").mkdir()
    path, out = segment(tmp_path / "in", ODD), tmp_path / f"out.{form}"
    kafkalog("dump", "--table", "records", "-o", out, path)
    found = read(out).to_pylist()

    assert found == wanted_of("records", path)
    assert [row["offset"] for row in found] == [2**63 - 3, 2**63 - 2, 2**63 - 1]


@FORMS
def test_several_tables_are_a_directory(form: str, tmp_path: Path) -> None:
    """Each table is a file of its name, those without rows too."""
    out = tmp_path / "out"
    ended = kafkalog("dump", "--format", form, "--deep-iteration", "-o", out, SEGMENT)

    assert ended.status == 0
    assert sorted(path.name for path in out.iterdir() if path.name != "manifest.json") == [
        *(f"{name}.{form}" for name in ("batches", "control", "findings")), "provenance.json", f"records.{form}",
    ]  # fmt: skip
    rows = rows_of("--deep-iteration", SEGMENT)
    for name in ("batches", "control", "records"):
        assert read(out / f"{name}.{form}").num_rows == sum(row["table"] == name for row in rows)


@FORMS
def test_standard_output_has_the_same_file(form: str, tmp_path: Path) -> None:
    """A pipe takes it: nothing has to be written twice."""
    out = tmp_path / f"out.{form}"
    out.write_bytes(kafkalog("dump", "--format", form, "--columns", "offset,value", "--print-data-log", SEGMENT).out)

    assert read(out).schema.names == ["offset", "value"]
    assert read(out).num_rows == len(rows_of("--table", "records", SEGMENT))


@FORMS
def test_selection_and_limit_hold(form: str, tmp_path: Path) -> None:
    """The same options choose the same rows."""
    out = tmp_path / f"out.{form}"
    options = ("--table", "records", "--offset", "3..40", "--limit", "9")
    kafkalog("dump", *options, "-o", out, SEGMENT)

    assert [row["offset"] for row in read(out).to_pylist()] == [row["offset"] for row in rows_of(*options, SEGMENT)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--table", "batches", "--table", "records", "-o", "x.parquet"), "need a directory"),
        (("--table", "batches", "--table", "records", "--format", "arrow"), "need a directory"),
    ],
)
def test_several_tables_in_one_file_are_refused(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    """It says what to do instead."""
    ended = kafkalog("dump", *options, SEGMENT, cwd=tmp_path)

    assert ended.status == 2
    assert words in ended.err


def test_the_library_gives_the_same_table() -> None:
    """All columns, or only those that are named; findings go where the others go."""
    findings: list[library.Finding] = []
    table = library.open(SEGMENT, on_finding=findings.append).records().to_arrow()

    assert table.to_pylist() == wanted_of("records", SEGMENT)
    assert library.open(SEGMENT).batches().to_arrow().to_pylist() == wanted_of("batches", SEGMENT)
    assert library.open(SEGMENT).records().select("value", "offset").to_arrow().schema.names == ["value", "offset"]
    assert findings == []
    with pytest.raises(library.InvalidInputError):
        library.open(SEGMENT).records().select("nonsense")
