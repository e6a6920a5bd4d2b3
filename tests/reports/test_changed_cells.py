"""Whatever a cell of an audit that was written is changed to, who reads it says which cell it is, or goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from invoke import Ended, kafkalog
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_schema
from kafkalog.tables.audit_tables import AUDIT_TABLES
from kafkalog.tables.declared import Column
from kafkalog.zone import Zone
from official import FIXTURES
from resealed import change_cell, change_type

CASES: Final = ("k4-f-marker-leaderless", "k4-k-unclean-election")  # the second one has copies of lost records
FORMS: Final = ("table", "html", "markdown", "trace", "timesketch", "prometheus", "junit")
SAMPLE: Final = 31  # make test has every so many of the cells, each with one command

TEXTS: Final = ("nonsense", "a\0b", "x" * 1_000_000, "", "</script><b>", None)
JSON: Final = (
    "", "[", "[1", "5", '"x"', "[5]", '["a"]', '{"a": 1}', '[{"a": 1}]', "[null]", "[[]]", "[1e999]", "[NaN]",
    '["\\ud800"]', "[" * 5000, f"[{'9' * 30}]", '[{"text": 5, "command": []}]', '{"read_committed": 5}', '["a\\u0000"]',
    '["' + "x" * 1_000_000 + '"]', None,
)  # fmt: skip
TYPES: Final = (
    pa.string(), pa.int64(), pa.int32(), pa.float64(), pa.binary(), pa.bool_(), pa.timestamp("ms"), pa.list_(pa.int64()),
)  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def audit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an audit."""
    folder = tmp_path_factory.mktemp("written") / request.param
    assert kafkalog("txn-audit", "--exit-zero", "-o", folder, FIXTURES / request.param).status == 0
    return folder


@pytest.fixture(scope="module")
def one_audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the first of them."""
    folder = tmp_path_factory.mktemp("written") / "audit"
    assert kafkalog("txn-audit", "--exit-zero", "-o", folder, FIXTURES / CASES[0]).status == 0
    return folder


def _cells(column: Column) -> tuple[Any, ...]:
    if column.type.startswith("int"):
        most = (1 << int(column.type[3:]) - 1) - 1
        return most, -most - 1, -7, 253_402_300_799_999 if column.type == "int64" else 0, None
    return JSON if column.type == "json" else TEXTS


def _changes(audit: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield each change of one cell: table, column, the new cell."""
    for table in AUDIT_TABLES:
        files = list((audit / table.name).glob("*.parquet"))
        if files and pq.read_metadata(files[0]).num_rows:
            yield from ((table.name, column.name, cell) for column in table.columns for cell in _cells(column))


def _copy(audit: Path, new: Path) -> Path:
    """Make a directory of two nights, one to be changed; return that."""
    shutil.rmtree(new, ignore_errors=True)
    new.with_suffix(".parquet").unlink(missing_ok=True)  # what a command of the last one wrote
    for name in ("good", "changed"):
        shutil.copytree(audit, new / name)
    return new / "changed"


def _commands(audit: Path, changed: Path) -> list[tuple[str | Path, ...]]:
    return [
        *(("report", "--format", name, changed) for name in FORMS),
        ("report", "--tz", "Asia/Tokyo", "--format", "html", changed),
        ("diff", "--exit-zero", audit, changed),
        ("diff", "--exit-zero", changed, audit),
        ("history", changed.parent),
        ("history", "--format", "parquet", "-o", changed.parent.with_suffix(".parquet"), changed.parent),
    ]


def _hold(ended: Ended, changed: Path, place: str) -> None:
    """Hold that a run went on, or refused this place."""
    assert ended.status in (0, 1, 3), (place, ended.err)
    if ended.status == 3:
        (line,) = (line for line in ended.err.splitlines() if str(changed) in line)
        assert place in line or "the sum of " in line, (place, line)
        assert len(line) < 1000


def test_some_changed_cells_end_no_run_with_an_internal_error(audit: Path, tmp_path: Path) -> None:
    """A report, a diff or a history; or exit 3 and the line that names the cell."""
    statuses = set()
    for number, (table, column, cell) in enumerate(list(_changes(audit))[::SAMPLE]):
        changed = _copy(audit, tmp_path / "nights")
        row = change_cell(changed, table, column, cell)
        commands = _commands(audit, changed)
        ended = kafkalog(*commands[number % len(commands)])
        statuses.add(ended.status)
        _hold(ended, changed, f"row {row}, column ")
    assert {0, 3} <= statuses


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_no_changed_cell_ends_a_run_with_an_internal_error(audit: Path, tmp_path: Path) -> None:
    """Each column of each table, each change of it, each command."""
    for table, column, cell in _changes(audit):
        changed = _copy(audit, tmp_path / "nights")
        row = change_cell(changed, table, column, cell)
        for command in _commands(audit, changed):
            _hold(kafkalog(*command), changed, f"row {row}, column ")


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_no_other_type_ends_a_run_with_an_internal_error(audit: Path, tmp_path: Path) -> None:
    """Each column of each table, each type that Parquet has."""
    for table in AUDIT_TABLES:
        for column in table.columns if list((audit / table.name).glob("*.parquet")) else ():
            for kind in set(TYPES) - {arrow_schema(table).field(column.name).type}:
                changed = _copy(audit, tmp_path / "nights")
                change_type(changed, table.name, column.name, kind)
                for command in (
                    ("report", changed),
                    ("diff", "--exit-zero", audit, changed),
                    ("history", changed.parent),
                ):
                    _hold(kafkalog(*command), changed, f"column {column.name}: needs the type ")


@pytest.mark.parametrize(
    ("table", "column", "cell", "said"),
    [
        ("incidents", "severity", "bad", "needs one of note, warning, error, has 'bad'"),
        ("incidents", "severity", None, "needs a value, has null"),
        ("incidents", "producer_ids", '["5"]', """needs JSON like ["int64"], has '["5"]'"""),
        ("incidents", "events", "[", "needs JSON like [{"),
        ("transactions", "last_offset", None, "needs a value, as first_offset has, has null"),
        ("partitions", "partition", -1, "needs a number from 0 on, has -1"),
        ("partitions", "highest_remote_offset", -2, "needs a number from -1 on, has -2"),
        ("partitions", "log_end_offset", None, "needs a value, has null"),
        ("partitions", "open", -(1 << 63), f"needs a number from 0 on, has {-(1 << 63)}"),
    ],
)
def test_a_bad_cell_is_one_line(table: str, column: str, cell: Any, said: str, one_audit: Path, tmp_path: Path) -> None:
    """The file, the row, the column, what is needed and what is there; the exit status is 3."""
    changed = _copy(one_audit, tmp_path / "nights")
    row = change_cell(changed, table, column, cell)
    ended = kafkalog("report", "--format", "html", changed)

    assert ended.status == 3
    (line,) = ended.err.splitlines()
    assert f"{changed}/{table}/part-00000.parquet: row {row}, column {column}: {said}" in line


def test_names_that_came_later_may_lack(one_audit: Path, tmp_path: Path) -> None:
    """In what an older audit wrote, as far as they may be null."""
    changed = _copy(one_audit, tmp_path / "nights")
    part = {"transactional_id": None, "producer_id": 7, "topic": "t", "partition": 0, "first_offset": 3, "fate": "none"}
    change_cell(changed, "incidents", "parts", json.dumps([part]))
    assert kafkalog("report", changed).status == 0
    change_cell(changed, "incidents", "parts", json.dumps([{**part, "topic": None}]))
    assert kafkalog("report", changed).status == 3


@pytest.mark.parametrize("query", ["SELECT count(*) FROM Partitions", "WITH a AS (FROM partitions) SELECT 1 FROM a"])
def test_sql_answers_from_no_bad_cell(query: str, one_audit: Path, tmp_path: Path) -> None:
    """A query that names the table ends with 3 and that line; another one is answered."""
    changed = _copy(one_audit, tmp_path / "nights")
    row = change_cell(changed, "partitions", "open", -5)
    ended = kafkalog("sql", changed, query)

    assert (ended.status, ended.out) == (3, b"")
    assert (
        f"{changed}/partitions/part-00000.parquet: row {row}, column open: needs a number from 0 on, has -5"
        in ended.err
    )
    assert kafkalog("sql", changed, "SELECT count(*) FROM transactions").status == 0


@pytest.mark.parametrize("kind", [pa.int32(), pa.string(), pa.float64(), pa.list_(pa.int64())])
def test_a_column_of_another_type_is_one_line(kind: pa.DataType, one_audit: Path, tmp_path: Path) -> None:
    """Which type is needed, and which one is there."""
    changed = _copy(one_audit, tmp_path / "nights")
    change_type(changed, "partitions", "open", kind)
    ended = kafkalog("report", "--format", "html", changed)

    assert ended.status == 3
    assert "part-00000.parquet: column open: needs the type int64, has " in ended.err


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("size_bytes", -1, "column size_bytes: needs a number from 0 on, has -1"),
        ("open", (1 << 63) - 1, "the sum of open is "),
        ("last_stable_offset", (1 << 63) - 1, "the sum of log_end_offset - last_stable_offset is -"),
    ],
)
def test_a_bad_night_costs_that_night_alone(column: str, cell: int, said: str, one_audit: Path, tmp_path: Path) -> None:
    """The others are shown, it is shown as unreadable, and the exit status is 3."""
    changed = _copy(one_audit, tmp_path / "nights")
    change_cell(changed, "partitions", column, 1)
    change_cell(changed, "partitions", column, cell)
    ended = kafkalog("history", changed.parent)

    assert ended.status == 3
    assert ", 1 of 1 nights  " in ended.text
    shown = ended.text.splitlines()[-1]
    assert shown.startswith("unreadable  ")
    assert str(changed) in shown
    assert said in shown
    assert shown.removeprefix("unreadable  ") in ended.err
    rows = kafkalog("history", "--format", "ndjson", changed.parent).rows
    assert [Path(row["audit"]).name for row in rows] == ["good"]


def test_nights_none_of_which_can_be_read_are_shown(one_audit: Path, tmp_path: Path) -> None:
    """A line for each."""
    changed = _copy(one_audit, tmp_path / "nights")
    shutil.rmtree(changed.with_name("good"))
    change_cell(changed, "partitions", "size_bytes", -1)
    ended = kafkalog("history", changed.parent)

    assert ended.status == 3
    assert [line.partition("  ")[0] for line in ended.text.splitlines()] == ["unreadable"]


def test_a_time_after_the_year_9999_of_a_zone_is_in_utc() -> None:
    """No calendar has it there."""
    last = 253_402_300_799_000

    assert Zone(ZoneInfo("Asia/Tokyo")).time(last) == "9999-12-31T23:59:59.000Z"
    assert Zone(ZoneInfo("Asia/Tokyo")).time(last - 9 * 3_600_000) == "9999-12-31T23:59:59.000+09:00"


def test_every_column_of_json_in_an_audit_has_a_shape() -> None:
    """Without one, JSON of any shape would come in."""
    assert [column.name for table in AUDIT_TABLES for column in table.columns if column.type == "json"]
    assert not [
        (table.name, column.name)
        for table in AUDIT_TABLES
        for column in table.columns
        if column.type == "json" and not column.shape
    ]


def test_what_rows_must_have_are_columns() -> None:
    """A column that a table does not have would never be asked for."""
    for table in TABLES.values():
        assert set(table.filled) <= set(table.names)
        assert {name for names in table.together for name in names} <= set(table.names)
