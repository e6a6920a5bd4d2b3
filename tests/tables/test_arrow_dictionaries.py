"""Arrow files of many rows that come one by one: a column of words may need new ones in every batch."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from invoke import kafkalog
from kafkalog.auditing.topics.metadata_at import METADATA_TABLES
from kafkalog.tables.arrow import arrow_batches, chosen_schema
from kafkalog.tables.metadata_tables import BROKERS
from kafkalog.writing import columnar as render
from metadata_topic import add_settings, write_topics
from state_topic import value, write_state

ROWS = 20_000  # more than a batch has


def test_a_file_may_come_after_many_rows_of_another(tmp_path: Path) -> None:
    """Two long indexes in one Arrow file: each row has its own file's name, also for other readers."""
    paths = [tmp_path / f"{base:020}.index" for base in (0, 100_000)]
    for path in paths:
        path.write_bytes(b"".join(struct.pack(">ii", at + 1, (at + 1) * 100) for at in range(ROWS)))
    made = kafkalog("dump", "--format", "arrow", "--fail-on", "error", *paths)
    assert made.status == 0
    table = pa.ipc.open_file(io.BytesIO(made.out)).read_all()

    assert [table.column("file").to_pylist()[at] for at in (0, ROWS - 1, ROWS, 2 * ROWS - 1)] == [
        str(path) for path in paths for _ in range(2)
    ]
    assert dict(duckdb.sql("select file, count(*) from 'table' group by file").fetchall()) == {
        str(path): ROWS for path in paths
    }


def test_a_dictionary_begins_with_the_one_before() -> None:
    """Words are numbered in the order in which they come, over all calls with the same words."""
    schema = chosen_schema(BROKERS, ["state", "rack"], coded=True)
    words: dict[str, dict[str, int]] = {}
    first = list(arrow_batches([("fenced", "a"), (None, "b"), ("7", "c"), ("fenced", "d")], schema, words))
    second = list(arrow_batches([("7", "e"), ("active", "f")], schema, words))
    found = [batch.column(0) for batch in (*first, *second)]

    assert [one.dictionary.to_pylist() for one in found] == [["fenced", "7"], ["fenced", "7", "active"]]
    assert [one.to_pylist() for one in found] == [["fenced", None, "7", "fenced"], ["7", "active"]]


def _polars(path: Path) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").read_ipc(path)


POLARS = pytest.param(_polars, marks=pytest.mark.polars)


@pytest.mark.parametrize("read", [POLARS, pd.read_feather, feather.read_table], ids=["polars", "pandas", "arrow"])
@pytest.mark.parametrize("table", [one for one in METADATA_TABLES if one not in ("brokers", "features")])
def test_no_dictionary_of_a_view_grows(
    read: Callable[[Path], Any], table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files and words that nobody knows before: other readers have every row, whatever came in which batch."""
    root = tmp_path / "node"
    root.mkdir()
    write_topics(root, 40)
    add_settings(root, [2, 77, 4, 1] * 20, base=1000)
    monkeypatch.setattr(render, "KEPT_ROWS", 16)
    out = tmp_path / "out.arrow"
    assert kafkalog("metadata", "--table", table, "-o", out, root).status == 0

    found = read(out)
    assert len(found) == len(kafkalog("metadata", "--format", "ndjson", "--table", table, root).table(table))


@pytest.mark.parametrize("read", [POLARS, pd.read_feather, feather.read_table], ids=["polars", "pandas", "arrow"])
def test_words_that_are_missing_are_null_for_every_reader(read: Callable[[Path], Any], tmp_path: Path) -> None:
    """Also for those that look at the number of a word that is not there."""
    steps = [("id", value(0)), ("id", value(1, partitions=[("t", [0])])), ("id", value(2, partitions=[("t", [0])]))]
    log, out = write_state(tmp_path / "node", *steps), tmp_path / "out.arrow"
    assert kafkalog("transactions", "-o", out, log).status == 0

    found = read(out)["decided_by"]
    assert [None if isinstance(one, float) else one for one in map(_plain, found)] == [None, None, "producer"]


def _plain(cell: Any) -> Any:
    return cell.as_py() if isinstance(cell, pa.Scalar) else cell
