"""The catalogue of findings: every code is explained in full."""

from __future__ import annotations

from dataclasses import fields
from typing import Final, get_args

import pytest

from invoke import kafkalog
from kafkalog.catalogue import CATALOGUE, codes_of_story, codes_with
from kafkalog.catalogue.code import Code, StoryName, Trait
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS, kind_of
from kafkalog.severity import Severity

PARTS: Final = tuple(field.name for field in fields(Code) if field.type == "str")  # each has its own text


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_says_all_four_things(code: str) -> None:
    """What it means, how sure it is, what Kafka does and what to do next are sentences, each its own."""
    texts = [getattr(CATALOGUE[code], part) for part in PARTS]

    assert PARTS == ("meaning", "certainty", "kafka", "next")
    assert len(set(texts)) == len(texts)
    assert [text for text in texts if not text.endswith(".") or "\n" in text] == []


def test_a_code_without_a_kind_is_a_note_about_a_copy() -> None:
    """What a running broker leaves in a copy stops no consumer."""
    without = {code for code, about in CATALOGUE.items() if about.kind is None}

    assert {kind_of(code).kind for code in without} == {"copy-skewed"}
    assert {CATALOGUE[code].severity for code in without} == {Severity.NOTE}


@pytest.mark.parametrize("code", CATALOGUE)
def test_what_a_code_names_is_there(code: str) -> None:
    """The codes that it follows from, and the kinds of incidents that say the same as it says of two audits."""
    about = CATALOGUE[code]

    assert set(about.follows) <= CATALOGUE.keys() - {code}
    assert set(about.told_by) <= INCIDENT_KINDS.keys()
    assert len(set(about.lowered_by)) == len(about.lowered_by)


@pytest.mark.parametrize("name", get_args(StoryName))
def test_each_story_has_codes(name: StoryName) -> None:
    """Each story takes the findings of one code at least."""
    assert codes_of_story(name)


def test_every_trait_is_asked_for() -> None:
    """A trait that no code has, or all codes have, says nothing."""
    for trait in Trait:
        assert 0 < len(codes_with(trait)) < len(CATALOGUE), trait


@pytest.mark.parametrize("code", CATALOGUE)
def test_explain_prints_all_of_it(code: str) -> None:
    """``kafkalog explain CODE`` gives the code, its severity and the four texts, then other meanings of the word."""
    ended = kafkalog("explain", code)
    first, *lines = ended.text.splitlines()

    assert ended.status == 0
    assert first == f"{code} ({CATALOGUE[code].severity.word})"
    said = [getattr(CATALOGUE[code], part) for part in PARTS]
    said[3:3] = [reason.value.because for reason in CATALOGUE[code].lowered_by]
    assert [line.partition(": ")[2] for line in lines[: len(said)]] == said


def test_without_a_code_explain_lists_all() -> None:
    """One line a kind of incident and a code, in the catalogue's order."""
    listed = [line.split()[0] for line in kafkalog("explain").text.splitlines()]

    assert listed == [*INCIDENT_KINDS, *CATALOGUE]
