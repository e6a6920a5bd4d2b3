"""The catalogue of findings: every code is explained in full."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

import pytest

from invoke import kafkalog
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import Code
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS, KIND_OF, kind_of

PARTS: Final = tuple(field.name for field in fields(Code) if field.type == "str")


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_says_all_four_things(code: str) -> None:
    """What it means, how sure it is, what Kafka does and what to do next are sentences, each its own."""
    texts = [getattr(CATALOGUE[code], part) for part in PARTS]

    assert PARTS == ("meaning", "certainty", "kafka", "next")
    assert len(set(texts)) == len(texts)
    assert [text for text in texts if not text.endswith(".") or "\n" in text] == []


def test_a_code_without_a_kind_is_a_note_about_a_copy() -> None:
    """What a running broker leaves in a copy stops no consumer."""
    assert {kind_of(code).kind for code in CATALOGUE.keys() - KIND_OF.keys()} == {"copy-skewed"}


@pytest.mark.parametrize("code", CATALOGUE)
def test_explain_prints_all_of_it(code: str) -> None:
    """``kafkalog explain CODE`` gives the code, its severity and the four texts, then other meanings of the word."""
    ended = kafkalog("explain", code)
    first, *lines = ended.text.splitlines()

    assert ended.status == 0
    assert first == f"{code} ({CATALOGUE[code].severity.word})"
    assert [line.partition(": ")[2] for line in lines[: len(PARTS)]] == [
        getattr(CATALOGUE[code], part) for part in PARTS
    ]


def test_without_a_code_explain_lists_all() -> None:
    """One line a kind of incident and a code, in the catalogue's order."""
    listed = [line.split()[0] for line in kafkalog("explain").text.splitlines()]

    assert listed == [*INCIDENT_KINDS, *CATALOGUE]
