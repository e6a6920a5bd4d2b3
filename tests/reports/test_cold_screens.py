"""What an SRE must learn from one screen of an incident, and what would mislead: a file for each in ``cold``.

A line of a file begins with ``+`` where the screen must have its words, and with ``-`` where it must not.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from kafkalog_cli.render.overview import LINES
from kafkalog_cli.render.people import PAPER
from official import CORPUS, FIXTURES

COLD: Final = sorted(Path(__file__).with_name("cold").iterdir())
COMMANDS: Final = ("kafka", "records", "mkdir", "mv ")


def case_of(told: Path) -> Path:
    """The directory of a case: the fixture, or else that of the corpus."""
    name = re.sub(r"^(copies|remedies)\.", r"\1/", told.stem)
    return FIXTURES / name if (FIXTURES / name).is_dir() else CORPUS / name


def cases() -> list[Any]:
    """The files, marked where the case is in the corpus alone."""
    return [
        pytest.param(one, marks=[] if FIXTURES in case_of(one).parents else [pytest.mark.corpus], id=one.stem)
        for one in COLD
        if case_of(one).is_dir()
    ]


@pytest.mark.some(every=4)
@pytest.mark.parametrize("told", cases())
def test_a_screen_says_what_is_asked_first(told: Path) -> None:
    """In thirty lines, none but a command longer than a hundred characters."""
    text = kafkalog("txn-audit", *sorted(one for one in case_of(told).glob("data*") if one.is_dir())).text
    words = " ".join(text.split())
    lines = told.read_text().splitlines()

    assert [line for line in lines if line[0] not in "+-"] == []
    assert {line[2:]: line[2:] in words for line in lines} == {line[2:]: line[0] == "+" for line in lines}
    assert len(text.splitlines()) <= LINES
    assert [one for one in text.splitlines() if len(one) > PAPER and not one.lstrip().startswith(COMMANDS)] == []


def test_there_are_twenty_seven() -> None:
    """Sixteen incidents, and eleven more."""
    assert len(COLD) == 27
