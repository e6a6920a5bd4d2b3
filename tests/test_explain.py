"""``kafkalog explain`` knows every name that an output has, and names what is near to a name that it does not know."""

from __future__ import annotations

from typing import Final

import pytest

from invoke import kafkalog
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.incidents import INCIDENT_KINDS
from kafkalog.catalogue.words import CAUSES, CERTAINTIES, GAP_CAUSES, GAP_KINDS, INCIDENT_CAUSES, STATES, WORDS
from kafkalog.tables import TABLES, audit, incidents
from kafkalog_cli.commands.explain import _ASKED

COLUMNS: Final = sorted({column for table in TABLES.values() for column in table.names})


def test_every_word_of_the_tables_has_its_text() -> None:
    """States, causes, certainties and kinds: the texts are of the tables' words, each once, and of no other."""
    assert tuple(STATES) == audit.STATES
    assert tuple(CAUSES) == audit.CAUSES
    assert tuple(GAP_KINDS) == audit.GAP_KINDS
    assert tuple(GAP_CAUSES) == audit.GAP_CAUSES
    assert tuple(CERTAINTIES) == incidents.CERTAINTIES
    assert tuple(INCIDENT_KINDS) == incidents.KINDS
    assert set(INCIDENT_CAUSES) | set(CAUSES) >= set(incidents.CAUSES) >= set(INCIDENT_CAUSES)


@pytest.mark.parametrize("word", sorted({*WORDS, *INCIDENT_KINDS}))
def test_a_word_is_explained_with_its_column(word: str) -> None:
    """The first line names the word and what it is a word of; sentences follow."""
    ended = kafkalog("explain", word)
    first, second, *_ = ended.text.splitlines()

    assert ended.status == 0
    assert first.startswith(f"{word} (")
    assert second.startswith("  What it means: ")
    assert second.endswith(".")


def test_every_column_is_explained() -> None:
    """All columns of all tables at once, each with the tables that have it."""
    ended = kafkalog("explain", *COLUMNS)

    assert ended.status == 0
    told = {line.partition(" ")[0] for line in ended.text.splitlines() if not line.startswith(" ")}
    assert told == set(COLUMNS)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("transaction-hangng", "transaction-hanging"),
        ("TRANSACTION-HANGING", "transaction-hanging"),
        ("consumer-stopped", "consumers-stopped"),
        ("last_stable_ofset", "last_stable_offset"),
        ("stuck", "consumers-stopped"),
        ("unclean", "unclean-election"),
        ("zombie", "writer-fenced"),
        ("corruption", "crc-mismatch"),
        ("split-brain", "replicas-diverged"),
        ("skewed", "copy-skewed"),
    ],
)
def test_a_name_near_in_spelling_or_in_meaning_is_suggested(asked: str, name: str) -> None:
    """The message of a name that does not exist has up to three that do, and the status is that of wrong usage."""
    ended = kafkalog("explain", asked)

    assert ended.status == 2
    assert repr(name) in ended.err


def test_what_people_ask_for_is_called_something_that_there_is() -> None:
    """The names that everyday words stand for are explained."""
    names = {name for called in _ASKED.values() for name in called.split()}

    assert kafkalog("explain", *sorted(names)).status == 0


def test_what_is_near_to_nothing_says_where_all_names_are() -> None:
    """No suggestion is made up."""
    ended = kafkalog("explain", "xyzzy")

    assert ended.status == 2
    assert "Did you mean" not in ended.err
    assert "kafkalog explain lists all names" in ended.err


def test_every_kind_and_code_says_something_of_its_own() -> None:
    """No text is that of another kind."""
    texts = [text for kind in INCIDENT_KINDS.values() for text in (kind.meaning, kind.next)]

    assert len(set(texts)) == len(texts)
    assert not set(INCIDENT_KINDS) & set(CATALOGUE) - {"clusters-mixed", "copy-skewed"}
