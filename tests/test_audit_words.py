"""What docs/txn-audit.md explains is what an audit can say: each word of its tables, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from kafkalog.tables.audit import AUDIT_TABLES, CAUSES, CERTAINTIES, GAP_CAUSES, GAP_KINDS, STATES
from kafkalog_cli.exit import Exit

PAGE: Final = (Path(__file__).parent.parent / "docs" / "txn-audit.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the page's table whose first column has this heading."""
    (body,) = re.findall(rf"^\| {re.escape(heading)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines()]


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("state", STATES),
        ("cause", CAUSES),
        ("certainty", CERTAINTIES),
        ("cause of a gap", GAP_CAUSES),
        ("table", tuple(table.name for table in AUDIT_TABLES)),
    ],
)
def test_every_word_is_explained(heading: str, words: tuple[str, ...]) -> None:
    """The page has one line for each word and none for another."""
    explained = rows(heading)

    assert sorted(line[0] for line in explained) == sorted(f"`{word}`" for word in words)
    assert [line for line in explained if not line[-1]] == []


def test_every_kind_of_gap_is_explained() -> None:
    """Each cause of a gap has its kind beside it, and every kind has a cause."""
    assert {line[1] for line in rows("cause of a gap")} == set(GAP_KINDS)


def test_every_exit_status_is_explained() -> None:
    """The statuses of the page are those that the command ends with."""
    assert {int(number) for line in rows("exit") for number in line[0].split(", ")} == {int(status) for status in Exit}
