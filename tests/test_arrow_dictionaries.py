"""Arrow files of many rows that come one by one: a column of words may need new ones in every batch."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import duckdb
import pyarrow as pa

from invoke import kafkalog
from kafkalog.tables.arrow import arrow_batches, chosen_schema
from kafkalog.tables.metadata import CONFIGS

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
    schema = chosen_schema(CONFIGS, ["resource_type", "name"], coded=True)
    words: dict[str, dict[str, int]] = {}
    first = list(arrow_batches([("topic", "a"), (None, "b"), ("7", "c"), ("topic", "d")], schema, words))
    second = list(arrow_batches([("7", "e"), ("broker", "f")], schema, words))
    found = [batch.column(0) for batch in (*first, *second)]

    assert [one.dictionary.to_pylist() for one in found] == [["topic", "7"], ["topic", "7", "broker"]]
    assert [one.to_pylist() for one in found] == [["topic", None, "7", "topic"], ["7", "broker"]]
