"""The catalogue of findings: every code is explained in full, every code in it is found somewhere, and no other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from invoke import kafkalog
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import Code
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS
from official import ROOT

PARTS: Final = tuple(field.name for field in fields(Code) if field.type == "str")
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


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_says_all_four_things(code: str) -> None:
    """What it means, how sure it is, what Kafka does and what to do next are sentences, each its own."""
    texts = [getattr(CATALOGUE[code], part) for part in PARTS]

    assert PARTS == ("meaning", "certainty", "kafka", "next")
    assert len(set(texts)) == len(texts)
    assert [text for text in texts if not text.endswith(".") or "\n" in text] == []


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


@pytest.mark.lint
def test_every_code_is_found_somewhere() -> None:
    """A code that no module names is not in the catalogue."""
    named = {string for path in SOURCES for string in strings(path)}

    assert [code for code in CATALOGUE if code not in named] == []


@pytest.mark.lint
def test_every_code_that_is_made_is_in_the_catalogue() -> None:
    """``Finding.of`` is given no code that ``explain`` does not know."""
    codes = {code for path in SOURCES for code in made(path)}

    assert len(codes) > 20
    assert codes <= set(CATALOGUE)
