"""Reports as a terminal of 80, 120 and 200 columns shows them, held against screens that a person has read.

``WRITE_SCREENS=1`` writes the screens anew: read what changed before it is stored.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import pytest

from invoke import kafkalog
from kafkalog.tables import TABLES
from official import FIXTURES
from pseudo import acting, on_terminal, plain

SCREENS: Final = Path(__file__).with_name("screens")
WIDTHS: Final = (80, 120, 200)
REPORTS: Final[dict[str, str]] = {
    "healthy": "txn-audit k4-h-upgraded/data",
    "hanging": "txn-audit k4-f-hanging-late-produce-tv0/data",
    "no-leader": "txn-audit k4-f-marker-leaderless/data-1 k4-f-marker-leaderless/data-2",
    "dead-cluster": "txn-audit k4-f-marker-pending/data-1 k4-f-marker-pending/data-2",
    "unclean-election": "txn-audit remedies/fork-dead-leader/data-1 remedies/fork-dead-leader/data-2"
    " remedies/fork-dead-leader/data-3",
    "torn": "txn-audit k4-g-foreign-markers/data",
    "fenced": "txn-audit --table incidents k4-d-fencing-tv2-400/data",
    "damage": "txn-audit made-damaged/data",
    "groups": "txn-audit --now 2026-11-22T00:00:00Z k4-c-group-offsets-tv0/data",
    "tables": "txn-audit --table partitions --table transactions --table findings v2.8-hanging/data",
    "verify-damage": "verify made-damaged/data",
    "verify-replicas": "verify --replicas remedies/fork-dead-leader/data-2 remedies/fork-dead-leader/data-3",
    "verify-tables": "verify --table logs --table files v2.8-hanging/data",
}


def screen(line: str, columns: int, **environment: str) -> bytes:
    """What a terminal gets of a command on the fixtures; progress and messages go elsewhere."""
    _, shown, _ = on_terminal(*line.split(), columns=columns, err=False, cwd=FIXTURES, environment=environment)
    return shown.replace(b"\r\n", b"\n")


@pytest.mark.some(every=3)
@pytest.mark.process
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", REPORTS)
def test_a_screen_is_as_it_was_read(name: str, columns: int) -> None:
    """Every character; without colour it is the same, so no meaning is in the colours."""
    shown = screen(REPORTS[name], columns)
    stored = SCREENS / f"{name}.{columns}.txt"
    if os.environ.get("WRITE_SCREENS"):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(plain(shown))

    assert plain(shown) == stored.read_text()
    assert acting(shown) == ""
    if columns == WIDTHS[0] and name in ("hanging", "tables"):
        assert screen(REPORTS[name], columns, NO_COLOR="1").decode() == plain(shown)


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", REPORTS)
def test_a_screen_has_only_lines_that_fit(name: str, columns: int) -> None:
    """But for commands, which stay whole, so that they can be copied; no time is a bare number."""
    shown = (SCREENS / f"{name}.{columns}.txt").read_text()
    wide = [line for line in shown.splitlines() if len(line) > columns]

    assert [line for line in wide if not re.match(r" +(records +)?(kafka|kafkalog|mkdir)[-. ]", line)] == []
    assert not re.search(r"\b1[5-9]\d{11}\b", shown)


@pytest.mark.process
@pytest.mark.parametrize(
    "line",
    [
        "explain consumers-stopped",
        "space made-damaged/data",
        "collect --plan --incident 1 made-damaged/data",
        "history {}",
    ],
)
def test_sentences_of_other_commands_are_wrapped(line: str, tmp_path: Path) -> None:
    """On a terminal, at their words; a file and a pipe have each in one line."""
    if line.startswith("history"):
        kafkalog("txn-audit", "-o", tmp_path / "night", FIXTURES / "made-damaged" / "data")
    shown = plain(screen(line.format(tmp_path), 60)).splitlines()
    piped = kafkalog(*line.format(tmp_path).split(), cwd=FIXTURES).text.splitlines()

    assert max(map(len, shown)) <= 60 < max(map(len, piped))
    assert "".join(map("".join, map(str.split, shown))) == "".join(map("".join, map(str.split, piped)))


@pytest.mark.process
def test_an_incident_comes_before_what_else_happened() -> None:
    """Its title and its first step, too, where a narrow terminal has no room for all."""
    shown = plain(screen("txn-audit copies/k4-j-copied-under-load/data", 60))

    assert " 1 NOTE  A transaction of claims-claims.48-1" in shown
    assert "1. Ask the broker:" in shown
    assert len(shown.splitlines()) <= 30


def test_there_are_screens() -> None:
    """One for each report and width, and no other."""
    assert {path.name for path in SCREENS.iterdir()} == {f"{name}.{width}.txt" for name in REPORTS for width in WIDTHS}


def test_a_healthy_directory_is_short() -> None:
    """The verdict, what it stands on, what else there is, and how to see more."""
    assert len((SCREENS / "healthy.200.txt").read_text().splitlines()) < 10


def test_the_columns_that_answer_are_columns() -> None:
    """A table's `answers` are names of its own, each once; the tables of an audit and of a verification have some."""
    for table in TABLES.values():
        assert set(table.answers) <= set(table.names), table.name
        assert len(set(table.answers)) == len(table.answers), table.name
    assert all(TABLES[name].answers for name in ("incidents", "transactions", "partitions", "findings", "files"))


@pytest.mark.process
def test_columns_stay_where_they_are() -> None:
    """Another directory with other values has the same columns of transactions on a terminal of the same width."""

    def header(case: str) -> str:
        shown = plain(screen(f"txn-audit --table transactions {case}", 80))
        return " ".join(next(line for line in shown.splitlines() if "first_offset " in line).split())

    assert header("v2.8-hanging/data") == header("k4-h-upgraded/data") == header("k4-d-fencing-tv2-400/data")
