"""More evidence makes no answer milder, unless it contradicts what less of it said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

import pytest

from kafkalog import api
from kafkalog.auditing.incidents import WORDS, verdict_of
from official import CORPUS, FIXTURES, materialize

# What was wrong by some of a case's directories, and is not by all of them: the case, the partition, and why.
CONTRADICTED: Final[dict[tuple[str, str], str]] = {}
WRONG: Final = WORDS[: WORDS.index("SUSPICIOUS") + 1]  # INCOMPLETE says that evidence is missing
EVERYTHING: Final = ""  # in the place of a partition: the verdict on all of them


def words_of(directories: Sequence[Path]) -> dict[str, int]:
    """Return how mild the worst word of each partition is, and that of all together; none where nothing is wrong."""
    judged = api.open(list(map(str, directories))).audit()
    found: dict[str, int] = {}
    for row in judged.incidents:
        verdict = verdict_of([row], lambda: ("OK", ()))
        words = {verdict.word, (verdict.also or "").upper()}
        for place in row["partitions"]:
            ranks = [WRONG.index(word) for word in words if word in WRONG]
            found[place] = min([found.get(place, len(WRONG)), *ranks])
    if judged.verdict.word in WRONG:
        found[EVERYTHING] = WRONG.index(judged.verdict.word)
    return {place: rank for place, rank in found.items() if rank < len(WRONG)}


def milder(case: Path) -> Iterator[tuple[str, str]]:
    """Yield the partitions of which all directories together say less than some of them."""
    directories = sorted(one for one in case.glob("data-*") if one.is_dir())
    whole = words_of(directories)
    for count in range(1, len(directories)):
        for some in combinations(directories, count):
            for place, rank in words_of(some).items():
                if whole.get(place, len(WRONG)) > rank:
                    yield case.name, place


def several(root: Path) -> list[Path]:
    """Return the cases below a folder of which several directories were kept."""
    return sorted(one.parent for one in root.rglob("case.json") if (one.parent / "data-2").is_dir())


OF_FIXTURES: Final = several(FIXTURES)


@pytest.mark.parametrize("case", OF_FIXTURES, ids=lambda case: case.name)
def test_all_directories_say_no_less_than_some(case: Path, tmp_path: Path) -> None:
    """Of each partition, and of all together."""
    assert set(milder(materialize(case, tmp_path))) <= CONTRADICTED.keys()


@pytest.mark.corpus
def test_all_directories_of_a_brokers_case_say_no_less_than_some(tmp_path: Path) -> None:
    """And each contradiction that is named is one."""
    cases = [case for corpus in sorted(CORPUS.parent.glob("corpus*")) for case in several(corpus)]
    assert len(cases) >= 5
    found = {one for case in cases for one in milder(materialize(case, tmp_path / case.parent.name / case.name))}
    assert found == CONTRADICTED.keys()
