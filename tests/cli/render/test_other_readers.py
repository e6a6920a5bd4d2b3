"""Readers that are not ours read the Arrow and Parquet files of a dump: the same query of each gives the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import build
from handmade import segment
from invoke import SEGMENT, Row, kafkalog, rows_of

COLUMNS: Final = ("offset", "timestamp_ms", "key", "value", "value_base64", "timestamp_type", "is_control", "headers")
ODD: Final = build.batch(
    build.record(b"k\xff", "é".encode(), [(b"h", None), (b"h", b"\xfe")]),
    build.record(None, None, [], delta=1),
    base_offset=2**62,
)


def _pandas(path: Path) -> list[Row]:
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_feather(path)
    rows: list[Row] = frame[list(COLUMNS)].astype(object).to_dict("records")
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """Make pandas' lists and missing values ours."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return None if value is None or pd.isna(value) else value


def _polars(path: Path) -> list[Row]:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.read_parquet(path) if path.suffix == ".parquet" else polars.read_ipc(path)
    rows: list[Row] = frame.select(COLUMNS).to_dicts()
    return rows


POLARS = pytest.param(_polars, marks=pytest.mark.polars)


def _duckdb(path: Path) -> list[Row]:
    relation = (
        duckdb.read_parquet(str(path))
        if path.suffix == ".parquet"
        else duckdb.from_arrow(pa.ipc.open_file(path).read_all())  # where pyarrow has it
    )
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    found = relation.project(names).order('"offset"').fetchall()
    return [dict(zip(COLUMNS, row, strict=True)) for row in found]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("read", [_pandas, POLARS, _duckdb], ids=["pandas", "polars", "duckdb"])
@pytest.mark.parametrize("odd", [False, True], ids=["a broker's", "odd"])
def test_a_reader_finds_the_rows_of_ndjson(
    read: Callable[[Path], list[Row]], form: str, odd: bool, tmp_path: Path
) -> None:
    """Numbers, words, text, bytes in base64, lists of structures, null."""
    (tmp_path / "in").mkdir()
    path = segment(tmp_path / "in", ODD) if odd else SEGMENT
    out = tmp_path / f"out.{form}"
    kafkalog("dump", "--table", "records", "-o", out, path)

    wanted = [
        {name: row[name] for name in COLUMNS}
        for row in rows_of("--table", "records", path)
        if row["table"] == "records"
    ]
    assert read(out) == wanted
