"""Each rule of ARCHITECTURE.md has a mutant in ``tools/mutants.py``, which can still be made.

Whether the tests notice them, ``make mutants`` says.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from official import ROOT

pytestmark = pytest.mark.lint


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    """Import the tool."""
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_each_rule_has_a_mutant(mutants: ModuleType) -> None:
    """The questions are those of the table, in its order."""
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## Where a rule is")[2].partition("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|") and "?" in line]

    assert list(mutants.MUTANTS) == rows
    assert all(mutants.MUTANTS.values())


def test_each_mutant_can_be_made(mutants: ModuleType) -> None:
    """What it changes is in its file exactly once, and the tests that run first are there."""
    every = mutants.chosen("")

    assert list(mutants.wrong(every)) == []
    assert [room for _, one in every for room in one.rooms.split() if not (ROOT / "tests" / room).exists()] == []
