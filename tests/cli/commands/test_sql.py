"""``kafkalog sql``: the recipes run, results are as every command's, and a query reaches nothing but the audits."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from invoke import PROGRAM, kafkalog, processed
from kafkalog.tables import TABLES
from official import FIXTURES

RECIPES = re.findall(r"^```sql\n(.*?)^```", (FIXTURES.parent / "docs" / "sql.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Audit a directory with every kind of trouble."""
    place = tmp_path_factory.mktemp("sql") / "audit"
    kafkalog("txn-audit", "--exit-zero", FIXTURES / "made-damaged" / "data", "-o", place)
    return place


def test_there_are_twelve_recipes() -> None:
    """Each is a query of its own."""
    assert len(set(RECIPES)) == 12


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_a_recipe_runs(recipe: str, audit: Path) -> None:
    """On an audit as it is written."""
    ended = kafkalog("sql", audit, recipe)

    assert ended.status == 0, ended.err
    assert ended.text.startswith("result: ")


def test_a_recipe_says_what_the_report_says(audit: Path) -> None:
    """The hanging transaction blocks twelve offsets; incidents are unfolded to their partitions."""
    rows = kafkalog("sql", "--format", "ndjson", audit, RECIPES[0]).rows
    blocked = [row for row in rows if row["topic"] == "clicks-coupons.10"]
    assert [(row["partition"], row["last_stable_offset"], row["waiting"]) for row in blocked] == [(1, 0, 12)]
    places = {row["partition"] for row in kafkalog("sql", "--format", "ndjson", audit, RECIPES[-1]).rows}
    assert {"clicks-coupons.10-1", "tickets-tickets.26-2", "clicks-coupons.10-0"} <= places


def test_every_table_is_a_view_with_types_and_meanings(audit: Path) -> None:
    """As ``kafkalog schema`` lists them."""
    query = "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
    said = {
        (row["table_name"], row["column_name"]): (row["data_type"], row["comment"])
        for row in kafkalog("sql", "--format", "ndjson", audit, query).rows
    }
    types = {"int64": "BIGINT", "int32": "INTEGER", "int16": "SMALLINT", "string": "VARCHAR", "json": "VARCHAR"}
    for name in ("partitions", "transactions", "incidents", "coordinator"):
        for column in TABLES[name].columns:
            assert said[name, column.name] == (types[column.type], column.meaning)


def test_each_format(audit: Path, tmp_path: Path) -> None:
    """Whole numbers stay numbers, also sums; times are times; lists are JSON."""
    query = "SELECT topic, sum(records) AS records, min(log_end_offset) AS end, [1, 2] AS list, 1795251278420 AS at_ms" \
            " FROM partitions GROUP BY ALL ORDER BY ALL LIMIT 1"  # fmt: skip
    [row] = kafkalog("sql", "--format", "ndjson", audit, query).rows
    assert (type(row["records"]), row["list"], row["at_ms"]) == (int, "[1, 2]", 1795251278420)
    assert "2026-11-21T" in kafkalog("sql", audit, query).text
    assert kafkalog("sql", "--format", "csv", audit, query).text.startswith("topic,records,end,list,at_ms\r\n")
    for name in ("x.parquet", "x.arrow"):
        assert kafkalog("sql", audit, query, "-o", tmp_path / name).status == 0
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names == ["topic", "records", "end", "list", "at_ms"]
    assert table["list"].to_pylist() == [[1, 2]]
    assert kafkalog("sql", audit, "SELECT 1 AS a, 2 AS a WHERE false").text == "result: 0 rows\n"


def test_several_audits_and_records(audit: Path, tmp_path: Path) -> None:
    """Rows of several audits say whose they are; what extract wrote is the view ``records``."""
    other = tmp_path / "other"
    kafkalog("txn-audit", "--exit-zero", FIXTURES / "k4-c-group-offsets-tv0" / "data", "-o", other)
    data = FIXTURES / "k4-c-group-offsets-tv0" / "data"
    assert kafkalog("extract", data, "-o", tmp_path / "records.parquet").status == 0
    query = "SELECT audit, count(*) AS logs FROM partitions GROUP BY ALL ORDER BY logs"
    rows = kafkalog("sql", "--format", "ndjson", audit, other, query).rows
    assert {row["audit"] for row in rows} == {str(audit), str(other)}

    joined = "SELECT count(*) AS n FROM records JOIN partitions USING (topic, partition)"
    [row] = kafkalog("sql", "--format", "ndjson", other, tmp_path / "records.parquet", joined).rows
    assert row["n"] == pq.read_metadata(tmp_path / "records.parquet").num_rows > 0


@pytest.mark.some(every=3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')", "COPY (SELECT 1) TO '/tmp/never.csv'", "ATTACH '/tmp/never.db'", "INSTALL httpfs",
        "SET threads = 1", "RESET lock_configuration", "SELECT 1; SELECT 2", "DROP VIEW partitions", "CREATE TABLE x (a INT)",
        "PRAGMA version", "SELECT nothing FROM partitions", "no sql",
        "SELECT * FROM read_parquet('{audit}/partitions/part-00000.parquet')", "",
    ],
)  # fmt: skip
def test_a_query_reaches_nothing_else(query: str, audit: Path) -> None:
    """No file, no other statement, no setting: one line says why, and the status is that of a wrong question."""
    ended = kafkalog("sql", audit, query.format(audit=audit))

    assert (ended.status, ended.out) == (2, b"")
    assert ended.err.count("\nError: ") + ended.err.startswith("Error: ") == 1
    assert not Path("/tmp/never.csv").exists()
    assert not Path("/tmp/never.db").exists()


def test_what_is_no_audit_and_what_was_changed(audit: Path, tmp_path: Path) -> None:
    """Other files and directories are refused, and so is a table that is not what was written."""
    duckdb.sql("SELECT 1 AS a").write_parquet(str(tmp_path / "foreign.parquet"))
    assert "kafkalog did not write it" in kafkalog("sql", tmp_path / "foreign.parquet", "SELECT 1").err
    assert kafkalog("sql", tmp_path, "SELECT 1").status == 3
    assert kafkalog("sql", Path(__file__), "SELECT 1").status == 3
    changed = tmp_path / "changed"
    kafkalog("txn-audit", "--exit-zero", FIXTURES / "k4-c-group-offsets-tv0" / "data", "-o", changed)
    file = changed / "gaps" / "part-00000.parquet"
    data = bytearray(file.read_bytes())
    data[10] ^= 1
    file.write_bytes(data)
    assert "manifest.json says" in kafkalog("sql", changed, "SELECT 1").err
    del audit


def test_without_duckdb_one_line_says_which_extra(audit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no part of the default install."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    ended = kafkalog("sql", audit, "SELECT 1")

    assert ended.status == 2
    assert ended.err == "Error: kafkalog sql needs DuckDB: pip install duckdb pyarrow\n"


@pytest.mark.sweep
@pytest.mark.process
def test_a_process_ends_without_a_word_more(audit: Path) -> None:
    """DuckDB says nothing of its own when Python ends."""
    ended = processed("sql", audit, "SELECT 1 AS one")

    assert (ended.status, ended.err) == (0, "")


def test_memory_and_temporary_files_are_chosen(audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not 80 % of the machine, and never the current folder, which may be evidence; nothing is left."""
    temporary, current = tmp_path / "temporary", tmp_path / "current"
    temporary.mkdir()
    current.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    query = "SELECT name, value FROM duckdb_settings() WHERE name IN ('memory_limit', 'temp_directory')"
    ended = kafkalog("sql", "--format", "ndjson", audit, query, cwd=current)
    said = {row["name"]: row["value"] for row in ended.rows}

    assert said["memory_limit"] == "2.0 GiB"
    assert Path(said["temp_directory"]).parent == temporary
    assert not list(temporary.iterdir())
    assert not list(current.iterdir())


@pytest.mark.process
@pytest.mark.parametrize("output", [(), ("-o", "x.parquet")], ids=["rows", "Parquet"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_query_ends_at_a_signal(
    output: tuple[str, ...], number: signal.Signals, status: int, audit: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """DuckDB hears none while it computes; the command does, and leaves nothing."""
    temporary, current = tmp_path / "temporary", tmp_path / "current"
    temporary.mkdir()
    current.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    query = "SELECT count(*) FROM range(1000000000) a, range(100000) b WHERE hash(a.range + b.range) = 5"
    running = subprocess.Popen([*PROGRAM, "sql", *output, audit, query], stdout=subprocess.DEVNULL, cwd=current)
    while not list(temporary.iterdir()):
        assert running.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    running.send_signal(number)
    begun = time.monotonic()
    assert running.wait(60) == status
    assert time.monotonic() - begun < 10  # 2 seconds on a machine that has nothing else to do
    assert not list(temporary.iterdir())
    assert not list(current.iterdir())


@pytest.mark.parametrize("where", ["alone", "in an audit"])
def test_a_fifo_is_not_waited_for(where: str, audit: Path, tmp_path: Path) -> None:
    """It is no regular file, whether it is given or stands in an audit's place of a file."""
    if where == "alone":
        os.mkfifo(tmp_path / "x.parquet")
        ended = kafkalog("sql", tmp_path / "x.parquet", "SELECT 1")
    else:
        copy = Path(shutil.copytree(audit, tmp_path / "audit"))
        path = next(copy.glob("transactions/*.parquet"))
        path.unlink()
        os.mkfifo(path)
        ended = kafkalog("sql", copy, "SELECT 1")

    assert ended.status == 3, ended.err
