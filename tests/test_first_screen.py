"""The first screen of every case of the corpora has what its clients know: names, places and numbers of the truth."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import official
from compare import show
from first_words import Fact, facts
from invoke import kafkalog

pytestmark = pytest.mark.corpus

TRUE = [case for case in official.cases(official.CORPUS) if (case / "truth.json").exists()] or [official.CORPUS]
HEALTHY = [
    case
    for case in official.cases(official.CORPUS.with_name("corpus-moving"))
    if (case / "expect.json").exists()
    and "healthy" in json.loads((case / "expect.json").read_text()).get("cluster", "")
]


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Count what is asked, and print the counts behind the module's tests."""
    counts: Counter[str] = Counter()
    yield counts
    show(request.config, counts)


def screen(case: Path, folder: Path) -> str:
    """What a user gets who types nothing but the directories."""
    copy = official.materialize(case, folder)
    return kafkalog("txn-audit", *sorted(copy.glob("data*"))).text


def is_told(fact: Fact, shown: str) -> bool:
    """Say whether one line has the words beside the label; a fact without a label may stand anywhere."""
    lines = shown.splitlines() if fact.label else [shown]
    return any(fact.label in line and any(words in line for words in fact.words) for line in lines)


@pytest.mark.parametrize("case", TRUE, ids=lambda case: case.name)
def test_what_clients_know_is_on_the_first_screen(case: Path, tmp_path: Path, tally: Counter[str]) -> None:
    """Every id that was fenced, timed out or is open, who waits, what was deleted, how many transactions began."""
    assert case != official.CORPUS, f"there are no cases in {official.CORPUS}: nothing was asked"
    asked, shown = list(facts(case)), screen(case, tmp_path)
    tally.update(fact.label or "hanging" for fact in asked)

    assert [fact for fact in asked if not is_told(fact, shown)] == []
    if {fact.label for fact in asked} - {"", "transactions"}:  # all is not well beside one of these
        assert not shown.startswith("OK") or "nothing" not in shown.splitlines()[0]


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_a_copy_of_a_healthy_cluster_has_lost_nothing(case: Path, tmp_path: Path) -> None:
    """Nothing was lost, damaged or blocked in it, however its files moved while they were copied."""
    assert screen(case, tmp_path).split()[0].strip(":") in ("OK", "SUSPICIOUS", "INCOMPLETE")
