"""Hanging transactions against the answers that ``kafka-transactions.sh find-hanging`` gave of the same brokers.

It asks one broker, or for one topic, and looks only at transactions whose last batch is older than a limit that is
given in minutes. Both are in its arguments, which a case's ``truth.json`` holds with its answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.surroundings import AuditOptions
from official import CORPUS, FIXTURES, of_corpus
from plain import Row, table

Hanging = tuple[str, int, int, int]  # topic, partition, producer id, first offset

# The tool's answers on the brokers of fixtures that hold all of their state partitions.
ANSWERS: Final[dict[str, set[Hanging]]] = {
    "k4-f-hanging-late-produce-tv0": {
        ("tickets-tickets.26", 0, 0, 4),
        ("tickets-tickets.26", 1, 1, 21),
        ("clicks-coupons.10", 1, 3, 0),
    },
    "k4-f-marker-leaderless": {("quotes-orders.76", 1, 1000, 9), ("quotes-orders.76", 1, 1001, 10)},
}


def answers(case: Path) -> list[set[Hanging]]:
    """What the tool answered, each time that it was asked, by a case's truth.json."""
    path = case / "truth.json"
    truth: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    runs = truth.get("find_hanging") or [truth.get("tool", {}).get("find_hanging")]
    return [_hanging(run["stdout"]) for run in runs if run is not None]


def _hanging(stdout: str) -> set[Hanging]:
    header, *lines = [[cell.strip() for cell in line.split("\t")] for line in stdout.splitlines()]
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    return {(row["Topic"], int(row["Partition"]), int(row["ProducerId"]), int(row["StartOffset"])) for row in rows}


def named(row: Row) -> Hanging:
    """A transaction as the tool names it."""
    return row["topic"], row["partition"], row["producer_id"], row["first_offset"]


def transactions(case: Path) -> list[Row]:
    """The transactions of an audit of all of a case's brokers, whose copies are of one moment."""
    return table(audit(sorted(case.glob("data*")), AuditOptions(snapshot=True)), "transactions")


@pytest.mark.parametrize("name", ANSWERS)
def test_the_audit_names_what_find_hanging_named(name: str) -> None:
    """Every hanging transaction that the tool found on the running broker is found in its files, and no other."""
    assert {named(row) for row in transactions(FIXTURES / name) if row["state"] == "hanging"} == ANSWERS[name]


ASKED: Final = of_corpus(path.parent for path in sorted(CORPUS.glob("*/truth.json")) if answers(path.parent))


@pytest.mark.corpus
@pytest.mark.parametrize("case", ASKED, ids=lambda case: case.name)
def test_every_answer_of_the_corpus_agrees(case: Path) -> None:
    """The same over the corpus; what the tool named before an administrator ended it is an administrator's abort."""
    *before, last = answers(case)
    rows = transactions(case)

    assert last == ANSWERS.get(case.name, last)
    assert {named(row) for row in rows if row["state"] == "hanging"} == last
    ended = {named(row) for row in rows if row["cause"] == "administrator-abort"}
    assert set().union(*before) - last <= ended
