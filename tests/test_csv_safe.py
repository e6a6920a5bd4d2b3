"""``--csv-safe``: no cell is a formula to a spreadsheet, and nothing is lost."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handmade import batch, record, segment
from invoke import kafkalog
from kafkalog_cli.render.row_formats import as_csv

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'x", "plain", "", " =1", "a=b", '=HYPERLINK("x","y")']


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
    assert not [cell for cell in marked if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [cell.removeprefix("'") for cell in marked] == FORMULAS
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


@given(st.text())
def test_the_mark_is_reversible(text: str) -> None:
    """No two texts look the same."""
    (cell,) = next(csv.reader(io.StringIO(as_csv(text, safe=True) + "\r\n", newline="")), [""])

    assert cell.removeprefix("'") == text
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
