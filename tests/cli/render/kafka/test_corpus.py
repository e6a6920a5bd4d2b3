"""The whole corpus, as `test_official_text.py` has the fixtures: ``pytest -m corpus``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import official
from compare import differences, show

pytestmark = pytest.mark.corpus

# Without the corpus the one test that remains fails: who asks for it is told that nothing was compared.
CASES = official.of_corpus(official.cases(official.CORPUS))


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Count what is compared, and print the counts behind the module's tests."""
    counts: Counter[str] = Counter()
    yield counts
    show(request.config, counts)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_recorded_run_of_the_corpus_is_met(case: Path, tally: Counter[str]) -> None:
    """For every run of both tools standard output is the same byte for byte, and so are the true summaries."""
    found = differences(case, tally)

    assert not found, "\n\n".join(found)
