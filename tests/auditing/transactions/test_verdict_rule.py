"""The rule of verdicts says what the tables of docs/verdicts.md say, row by row."""

from __future__ import annotations

import re
from itertools import product
from typing import Final

import pytest

from kafkalog.auditing.transactions.verdict_rule import (
    NOT_JUDGED,
    EndedFacts,
    Ending,
    OpenFacts,
    TransactionVerdict,
    Word,
    ended_verdict,
    open_verdict,
)
from kafkalog.certainty import Doubt
from kafkalog.tables.audit_tables import CAUSES, CERTAINTIES, STATES
from official import ROOT

DOCS: Final = (ROOT / "docs" / "verdicts.md").read_text()
NO: Final = (False, True)
DOUBTS: Final = (None, Doubt.COPIED_BEFORE, Doubt.COPIED_TOO_EARLY, Doubt.CUT_OFF, Doubt.NOT_WRITTEN_YET)


def table(head: str) -> dict[str, str]:
    """Return a table of the docs: its first column and what the word there means."""
    lines = DOCS[DOCS.index(f"| {head} | means |") :].split("\n\n")[0].splitlines()[2:]
    return dict(re.findall(r"\| `([^`]+)` \| (.*) \|$", "\n".join(lines), re.MULTILINE))


def every() -> set[TransactionVerdict]:
    """Return all verdicts that there are, of all facts."""
    opened = {
        open_verdict(OpenFacts(word, *booleans, doubt, damage, begins, marker))
        for word, booleans, doubt, damage, begins, marker in product(
            Word, product(NO, repeat=6), DOUBTS, NO, NO, Ending
        )
    }
    ended = {
        ended_verdict(EndedFacts(ending, *booleans))
        for ending, booleans in product((Ending.ABORT, Ending.COMMIT), product(NO, repeat=5))
    }
    return opened | ended | {NOT_JUDGED}


DONE: Final = OpenFacts(Word.IS_DONE, is_decided=True)
# What each row of the docs means, as facts, and the state that goes with it.
OF_CAUSE: Final[dict[str, tuple[OpenFacts | EndedFacts, str]]] = {
    "marker-without-data": (EndedFacts(Ending.COMMIT, has_data=False), "committed"),
    "late-data-adopted": (EndedFacts(Ending.ABORT, has_older_epoch=True, nobody_decided=True), "aborted"),
    "administrator-abort": (EndedFacts(Ending.ABORT, nobody_decided=True), "aborted"),
    "begins-before-log": (OpenFacts(Word.ONGOING, lists_partition=True, begins_before_log=True), "ongoing"),
    "data-after-marker": (DONE._replace(marker_followed=True), "hanging"),
    "partition-not-registered": (OpenFacts(Word.ONGOING), "hanging"),
    "marker-missing": (DONE, "hanging"),
    "superseded-epoch": (OpenFacts(Word.ONGOING, lists_partition=True, has_newer_epoch=True), "hanging"),
    "id-expired": (OpenFacts(Word.FORGOTTEN), "hanging"),
    "producer-replaced": (OpenFacts(Word.REPLACED), "hanging"),
    "producer-unknown": (OpenFacts(Word.NO_RECORD), "hanging"),
    "replica-behind": (DONE._replace(in_replica=Ending.COMMIT), "commit-pending"),
    "state-partition-missing": (OpenFacts(Word.NOT_HERE), "undecided"),
    "copied-while-running": (DONE._replace(doubt=Doubt.COPIED_TOO_EARLY), "undecided"),
    "cut-in-bundle": (DONE._replace(doubt=Doubt.CUT_OFF), "undecided"),
}


# What replicas tell that are compared afterwards: tests/auditing/transactions/test_replica_outcomes.py.
OF_REPLICAS: Final = ("marker-cleaned", "contradicted")


@pytest.mark.parametrize("cause", sorted(set(table("cause")) - {NOT_JUDGED.cause, *OF_REPLICAS}))
def test_a_row_of_the_causes_is_what_the_rule_says(cause: str) -> None:
    """The facts that the row names give its cause, and the state that its words begin with."""
    facts, state = OF_CAUSE[cause]
    found = open_verdict(facts) if isinstance(facts, OpenFacts) else ended_verdict(facts)
    said = table("cause")[cause].partition(":")[0]

    assert (found.state, found.cause, found.certainty) == (
        state, cause, "unless-copied-while-running" if cause in ("copied-while-running", "cut-in-bundle") else "proved",
    )  # fmt: skip
    states = {one.state for one in every() if one.cause == cause}
    assert states == {"hangs": {"hanging"}, "undecided": {"undecided"}}.get(said, states - {"hanging", "undecided"})


def test_the_docs_have_every_word() -> None:
    """States, causes and certainties: those of the docs, of the rule and of the table's columns."""
    assert set(table("state")) == set(STATES) == {one.state for one in every()}
    assert set(table("cause")) == set(CAUSES) == {OF_REPLICAS[0], *(one.cause for one in every())} - {None}
    assert set(table("certainty")) == set(CERTAINTIES) == {OF_REPLICAS[1], *(one.certainty for one in every())}


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (OpenFacts(Word.ONGOING, lists_partition=True), "ongoing"),
        (OpenFacts(Word.COMMITS, lists_partition=True), "commit-pending"),
        (OpenFacts(Word.ABORTS, lists_partition=True), "abort-pending"),
        (OpenFacts(Word.COMMITS, lists_partition=True, is_answered=True), "hanging"),
        (OpenFacts(Word.COMMITS), "hanging"),
    ],
)
def test_the_coordinators_word_gives_the_state(facts: OpenFacts, state: str) -> None:
    """What is on its way is pending; what the coordinator has done, or does not know of, hangs."""
    assert open_verdict(facts).state == state


def test_a_decision_on_its_data_counts_more_than_what_came_later() -> None:
    """The id is forgotten, or goes on with a newer epoch: the transaction was decided, and its marker is not here."""
    for word in (Word.FORGOTTEN, Word.REPLACED, Word.NO_RECORD):
        assert open_verdict(OpenFacts(word, is_decided=True, has_its_epoch=True)).cause == "marker-missing"
        assert open_verdict(OpenFacts(word, is_decided=True)).cause != "marker-missing"


def test_damage_is_named_before_the_copy() -> None:
    """A lost marker and a marker of after the copy are both possible: copying again does not help."""
    unsure = DONE._replace(doubt=Doubt.COPIED_TOO_EARLY, damage_follows=True)

    assert open_verdict(unsure) == TransactionVerdict("hanging", "marker-missing", "damage-between")
    assert ended_verdict(EndedFacts(Ending.COMMIT, damage_between=True)).certainty == "damage-between"
