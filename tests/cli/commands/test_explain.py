"""``kafkalog explain`` knows every name that an output has, and names what is near to a name that it does not know."""

from __future__ import annotations

from typing import Final

import pytest
from click.shell_completion import get_completion_class

from invoke import kafkalog
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS
from kafkalog.tables import TABLES, audit_tables, incident_tables
from kafkalog.tables.words import WORDS
from kafkalog_cli.commands.explain import ASKED
from kafkalog_cli.group import cli

COLUMNS: Final = sorted({column for table in TABLES.values() for column in table.names})


def test_every_word_of_the_tables_has_its_text() -> None:
    """The texts are of the kinds of incidents, each once, and of no other; the other words are those of the texts."""
    assert tuple(INCIDENT_KINDS) == incident_tables.KINDS
    assert audit_tables.CERTAINTIES == ("proved", "unless-copied-while-running", "damage-between", "contradicted")
    for words in (incident_tables.CAUSES, audit_tables.CAUSES, audit_tables.STATES, audit_tables.GAP_CAUSES):
        assert set(words) <= set(WORDS)


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
        ("skew", "copy-skewed"),
    ],
)
def test_a_name_near_in_spelling_or_in_meaning_is_suggested(asked: str, name: str) -> None:
    """The message of a name that does not exist has up to three that do, and the status is that of wrong usage."""
    ended = kafkalog("explain", asked)

    assert ended.status == 2
    assert repr(name) in ended.err


def test_what_people_ask_for_is_called_something_that_there_is() -> None:
    """The names that everyday words stand for are explained."""
    names = {name for called in ASKED.values() for name in called.split()}

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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("begun", "expected"),
    [
        ("transaction-h", {"transaction-hanging"}),  # a code
        ("consumers-st", {"consumers-stopped"}),  # a kind of incident
        ("commit-pen", {"commit-pending"}),  # a state
        ("last_stable", {"last_stable_offset"}),  # a column
        ("leader_epo", {"leader_epoch", "leader_epochs"}),  # a column, and a table
        ("nothing-begins-so", set()),
    ],
)
def test_shells_complete_the_names_that_explain_knows(
    shell: str, begun: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes, kinds of incidents, words, columns and tables, in each shell, also as a second name."""
    found = get_completion_class(shell)
    assert found is not None
    monkeypatch.setenv("COMP_WORDS", f"kafkalog explain isr {begun}")
    monkeypatch.setenv("COMP_CWORD", begun if shell == "fish" else "3")
    args, incomplete = found(cli, {}, "kafkalog", "_KAFKALOG_COMPLETE").get_completion_args()
    offered = found(cli, {}, "kafkalog", "_KAFKALOG_COMPLETE").get_completions(args, incomplete)

    assert {one.value for one in offered} == expected


def test_every_name_that_shells_complete_is_explained() -> None:
    """And every code, kind and word is offered."""
    found = get_completion_class("bash")
    assert found is not None
    offered = {one.value for one in found(cli, {}, "kafkalog", "_").get_completions(["explain"], "")}

    assert offered == {*CATALOGUE, *INCIDENT_KINDS, *WORDS, *COLUMNS, *TABLES}
    assert kafkalog("explain", *sorted(offered)).status == 0


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (("consumers stopped",), "consumers-stopped"), (("data", "after", "marker"), "data-after-marker"),
        (("consumers may be stopped",), "consumers-stopped"), (("log", "start"), "log start"),
    ],
)  # fmt: skip
def test_words_as_a_screen_writes_them_are_a_name(asked: tuple[str, ...], name: str) -> None:
    """With spaces, quoted or not, where the tables have hyphens; a label has its own."""
    ended = kafkalog("explain", *asked)

    assert ended.status == 0
    assert ended.text == kafkalog("explain", name).text
