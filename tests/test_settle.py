"""Severity and certainty are lowered in one place, for reasons that say why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog
from kafkalog.certainty import PROVED, Doubt, certainty_of
from kafkalog.findings import Finding, Severity
from kafkalog.settle import Reason, lowered

ROOT = Path(kafkalog.__file__).parent.parent
SOURCES = [path for room in ("kafkalog", "cli", "spark") for path in (ROOT / room).rglob("*.py")]


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


@pytest.mark.lint
def test_no_other_module_changes_a_severity_or_a_certainty() -> None:
    """The catalogue and ``kafkalog/settle.py`` alone decide how severe and how certain a finding is."""
    assert len(SOURCES) > 300
    assert {path.name for path in SOURCES if changes_words(path)} == {"settle.py"}


@pytest.mark.lint
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


# The words of columns.
OF_OTHERS: Final = {"kafkalog/tables/space_tables.py", "kafkalog/tables/words.py"}


@pytest.mark.parametrize("doubt", Doubt)
def test_every_doubt_is_used_and_says_why(doubt: Doubt) -> None:
    """In a sentence of its own; of several doubts the first one counts."""
    assert doubt.value.because.endswith(".")
    assert any(f"Doubt.{doubt.name}" in path.read_text() for path in SOURCES)
    assert certainty_of(*reversed(Doubt)) == next(iter(Doubt)).value.word
    assert certainty_of(None, doubt) == doubt.value.word


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_never_makes_a_finding_worse(reason: Reason) -> None:
    """Whatever its severity was."""
    for severity in Severity:
        finding = Finding.of("crc-mismatch", "f", "m")._replace(severity=severity)
        assert lowered(finding, reason).severity == min(severity, reason.value.most)


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
    assert named <= {"outcome.py", "main.py"}


def test_an_outcome_is_told_why_it_is_incomplete() -> None:
    """Nobody else sets that a run is incomplete or has findings: a method says which of the reasons it is."""
    setting = {
        f"{path.name}:{node.lineno}"
        for path in SOURCES
        if path.name != "outcome.py"
        for node in nodes(path, "outcome")
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and node.attr in ("incomplete", "found", "_incomplete", "_found")
        and "outcome" in ast.unparse(node.value)
    }
    assert not setting
