"""Where the source says what a finding is: code, severity, certainty and what it means for the status, in one place each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from kafkalog.auditing.incidents.takes import MIXED, STORIES
from kafkalog.catalogue import CATALOGUE
from kafkalog.certainty import PROVED, Doubt
from kafkalog.settle import Reason
from official import ROOT

pytestmark = pytest.mark.lint

SOURCES: Final = [path for folder in ("kafkalog", "cli", "spark") for path in sorted((ROOT / folder).rglob("*.py"))]


def strings(path: Path) -> Iterator[str]:
    """Every string constant in a module, the keys of the catalogue left out."""
    tree = ast.parse(path.read_text())
    keys = {
        id(key)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "CATALOGUE"
        if isinstance(node.value, ast.Dict)
        for key in node.value.keys
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in keys:
            yield node.value


def made(path: Path) -> Iterator[str]:
    """The codes that stand in a module as the first argument of ``Finding.of``."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding.of" and node.args:
            code = node.args[0]
            if isinstance(code, ast.Constant):
                yield code.value


def nodes(path: Path, *words: str) -> Iterator[Any]:
    """The nodes of a module that has one of these words."""
    text = path.read_text()
    return ast.walk(ast.parse(text)) if any(word in text for word in words) else iter(())


def changes_words(path: Path) -> list[int]:
    """The lines of a module that give a finding another severity or certainty."""
    return [
        call.lineno
        for call in nodes(path, "_replace")
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "_replace"
        and {keyword.arg for keyword in call.keywords} & {"severity", "certainty"}
    ]


# The words of columns.
OF_OTHERS: Final = {"kafkalog/rows.py", "kafkalog/tables/space_tables.py", "kafkalog/tables/words.py"}


def test_every_code_is_found_somewhere() -> None:
    """A code that no module names is not in the catalogue."""
    named = {string for path in SOURCES for string in strings(path)}

    assert [code for code in CATALOGUE if code not in named] == []


def test_every_code_that_is_made_is_in_the_catalogue() -> None:
    """``Finding.of`` is given no code that ``explain`` does not know."""
    codes = {code for path in SOURCES for code in made(path)}

    assert len(codes) > 20
    assert codes <= set(CATALOGUE)


def test_no_other_module_changes_a_severity_or_a_certainty() -> None:
    """The catalogue and ``kafkalog/settle.py`` alone decide how severe and how certain a finding is."""
    assert len(SOURCES) > 300
    assert {path.name for path in SOURCES if changes_words(path)} == {"settle.py"}


def test_no_other_module_has_a_word_of_certainty() -> None:
    """``kafkalog/certainty.py`` alone says what is proved; the tables and the catalogue say what the words mean."""
    words = {PROVED, *(doubt.value.word for doubt in Doubt)}
    having = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        for node in nodes(path, *words)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in words
    }

    assert having - {"kafkalog/certainty.py"} == OF_OTHERS


def test_each_condition_says_its_rule_in_one_line() -> None:
    """The table is read by strangers: the name of a condition leads to a sentence."""
    conditions = {
        *MIXED.values(),
        *chain.from_iterable((story.about, *story.follow.values()) for story in STORIES),
    }

    assert [one.__name__ for one in conditions if "\n" in (one.__doc__ or "\n")] == []


@pytest.mark.parametrize("doubt", Doubt)
def test_every_doubt_is_used_and_says_why(doubt: Doubt) -> None:
    """In a sentence of its own."""
    assert doubt.value.because.endswith(".")
    assert any(f"Doubt.{doubt.name}" in path.read_text() for path in SOURCES)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_used_and_says_why(reason: Reason) -> None:
    """In a sentence of its own."""
    assert reason.value.because.endswith(".")
    assert any(f"Reason.{reason.name}" in path.read_text() for path in SOURCES)


def test_one_module_decides_between_findings_and_incomplete() -> None:
    """Whoever runs a command names neither status, but for errors, which have one of their own in the first lines."""
    named = {
        path.name
        for path in SOURCES
        if any(
            isinstance(node, ast.Attribute) and node.attr in ("FINDINGS", "INCOMPLETE")
            for node in nodes(path, "Exit")
            if isinstance(getattr(node, "value", None), ast.Name) and node.value.id == "Exit"
        )
    }
    assert named <= {"exit_status.py", "main.py"}


def test_an_outcome_is_told_why_it_is_incomplete() -> None:
    """Nobody else sets that a run is incomplete or has findings: a method says which of the reasons it is."""
    setting = {
        f"{path.name}:{node.lineno}"
        for path in SOURCES
        if path.name != "exit_status.py"
        for node in nodes(path, "outcome")
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr in ("incomplete", "found", "_incomplete", "_found")
        and "outcome" in ast.unparse(node.value)
    }
    assert not setting
