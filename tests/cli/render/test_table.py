"""``--format table``: for eyes, in a file or pipe as wide as it must be."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

import pytest

from handmade import batch, each, one, record, segment
from invoke import PARTITION, SEGMENT, kafkalog, rows_of
from kafkalog.tables import TABLES
from kafkalog.tables.internal_tables import COMMITTED
from kafkalog_cli.render.text_table import TableSink
from official import FIXTURES


def dump(*arguments: str | Path) -> list[str]:
    """Return the lines of a table that goes to a pipe."""
    ended = kafkalog("dump", "--format", "table", *arguments)
    assert ended.status == 0
    return ended.text.splitlines()


def test_a_table_says_what_it_shows() -> None:
    """Its first line names the table and counts its rows."""
    assert dump(SEGMENT)[0] == "batches: 29 rows"


def test_what_is_the_same_in_every_row_is_said_once() -> None:
    """Columns that say the same throughout stand above the table, with their value, and not in it."""
    lines = dump(SEGMENT)
    header = next(line for line in lines if "base_offset" in line and "in every row" not in line)

    assert re.search(r"in every row: .*\bmagic 2\b.*\bcodec none\b", "\n".join(lines[:3]))
    assert "codec" not in header.split()
    assert ", members (empty), " in kafkalog("groups", FIXTURES / "k4-c-group-offsets-tv0" / "data").text


def test_every_column_of_every_row_is_there() -> None:
    """In a pipe nothing is cut: a table has, row for row, what ndjson has."""
    columns = "position,base_offset,last_offset,count,crc,producer_id,is_control"
    rows = rows_of("--columns", columns, SEGMENT)
    shown = [line.split() for line in dump("--columns", columns, SEGMENT) if re.match(r"\s*\d", line)]

    assert shown == [
        [str(row[name]).lower() if isinstance(row[name], bool) else str(row[name]) for name in columns.split(",")]
        for row in rows
    ]


def test_no_line_is_cut_and_no_row_takes_two(tmp_path: Path) -> None:
    """A long value, also one of many lines, stays in its row."""
    long = b"x" * 3000 + b"\ny"
    lines = dump(
        "--print-data-log",
        "--table",
        "records",
        segment(tmp_path, batch(record(b"a", long), record(b"b", b"", delta=1))),
    )

    assert sum("x" * 3000 in line for line in lines) == 1
    assert any("x\\x0ay" in line for line in lines)


def test_there_is_no_colour_in_a_pipe() -> None:
    """No escape sequence goes to a file or pipe, whatever the environment says."""
    assert not any("\x1b" in line for line in dump("--deep-iteration", SEGMENT))


@pytest.mark.parametrize(
    "text", ["[red]x[/red]", "[link=http://x]y[/link]", "[/]", "[bold", ":smile:", "{{}}", "%s", "\\[red]"]
)
def test_markup_of_rich_is_text(tmp_path: Path, text: str) -> None:
    """What looks like markup in a key appears as it is; only backslashes are doubled."""
    lines = dump("--table", "records", "--columns", "offset,key", segment(tmp_path, each(text.encode(), b"other")))

    assert any(line.split()[1:] == [text.replace("\\", "\\\\")] for line in lines if line.strip())


def test_absent_differs_from_empty(tmp_path: Path) -> None:
    """A null key and an empty key do not look the same."""
    lines = dump("--table", "records", "--columns", "offset,key,value", segment(tmp_path, each(None, b"", b"x")))
    shown = [line.split() for line in lines if re.match(r"\s*\d", line)]

    assert [row[:2] for row in shown] == [["0", "-"], ["1"], ["2", "x"]]


def test_side_files_have_their_tables() -> None:
    """Files of several kinds in one run give one table each."""
    lines = dump(
        *(PARTITION / f"00000000000000000000.{suffix}" for suffix in ("log", "index", "timeindex", "txnindex"))
    )

    assert [line for line in lines if re.fullmatch(r"\w+: \d+ rows?", line)] == [
        "batches: 29 rows", "offset_index: 1 row", "time_index: 2 rows", "aborted_transactions: 6 rows",
    ]  # fmt: skip


def test_a_part_of_a_table_does_not_look_like_all_of_it(tmp_path: Path) -> None:
    """A table that is drawn in parts says so: each says which rows it has, and all are counted once, at the end."""
    path = segment(tmp_path, *(one(b"k", base_offset=number) for number in range(20_050)))
    lines = dump("--columns", "base_offset", path)

    assert [line for line in lines if line.startswith("batches")] == [
        "batches, in parts: rows 1 to 10000", "batches, in parts: rows 10001 to 20000",
        "batches, in parts: rows 20001 to 20050", "batches: 20050 rows",
    ]  # fmt: skip
    assert lines[-1] == "batches: 20050 rows"
    assert [int(line) for line in lines if re.match(r"\s*\d", line)] == list(range(20_050))


def test_as_many_rows_as_a_part_has_are_one_table(tmp_path: Path) -> None:
    """Where nothing follows there are no parts."""
    path = segment(tmp_path, *(one(b"k", base_offset=number) for number in range(10_000)))

    assert dump("--columns", "base_offset", path)[0] == "batches: 10000 rows"


LONG_GROUP = "g-" + "payments" * 5


def committed(width: int) -> str:
    """A table of one group's offsets in a partition, of which a transaction holds it back."""
    stream = io.BytesIO()
    sink = TableSink(stream, (), color=False, width=width)
    cells: dict[str, object] = dict.fromkeys(COMMITTED.names) | {
        "group": LONG_GROUP, "topic": "ledger", "partition": 1, "offset": 2, "lag": 7, "visible_lag": 0,
        "stuck_by": {"transactional_id": "tx-1", "producer_id": 4, "producer_epoch": 0, "first_offset": 3},
    }  # fmt: skip
    for partition in (1, 2):
        sink.row(COMMITTED, tuple((cells | {"partition": partition}).values()))
    sink.close()
    return stream.getvalue().decode()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_that_tell_rows_apart_are_never_cut(width: int) -> None:
    """Where they do not fit each row has a line for each field; what is in a cell is written as words."""
    shown = committed(width)

    assert "…" not in shown
    assert shown.count(LONG_GROUP) == 2
    assert "transactional_id tx-1, producer_id 4," in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= width


SOUGHT: Final = frozenset({"group", "topic", "lag", "visible_lag", "stuck_by", "step", "name", "state", "value"})
NAMES: Final = frozenset({"group", "topic", "topics", "transactional_id", "resource", "name"})


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("name", [one.name for one in TABLES.values() if NAMES & set(one.usual)])
def test_no_table_cuts_a_name(name: str, width: int) -> None:
    """Other columns are left out, or each row has a line for each field, in which a long name is wrapped."""
    table, stream = TABLES[name], io.BytesIO()
    sink = TableSink(stream, (), color=False, width=width)
    size = 90 if width == 60 else 24
    names = {column.name: f"{column.name}-{'n' * size}" for column in table.columns if column.name in NAMES}
    for number in (1, 2):
        sink.row(table, tuple(
            f"{names[one.name]}-{number}" if one.name in names else number * 10**9 if one.type.startswith("int") else None
            for one in table.columns
        ))  # fmt: skip
    sink.close()
    shown = stream.getvalue().decode()
    left_out = " ".join(shown.partition("left out, as the terminal is too narrow: ")[2].partition(";")[0].split())

    assert max(map(len, shown.splitlines())) <= width
    assert [
        one for one in names.values() if one not in "".join(shown.split()) and one.partition("-")[0] not in left_out
    ] == []
    assert SOUGHT & set(table.answers) & set(left_out.split(", ")) == set()


def test_a_row_is_a_line_where_there_is_room() -> None:
    assert any(LONG_GROUP in line and "first_offset 3" in line for line in committed(300).splitlines())
