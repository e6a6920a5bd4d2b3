"""Every code of the catalogue is made by some evidence, is not told of what is like it and legal, and says what is true.

The cases are in ``tests/make/code_cases.py``. What is said of each, the first line of the screen among it, is in
``sentences.txt``: ``WRITE_SENTENCES=1`` writes it anew, without ``-n``; read what changed before it is stored.
"""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from code_cases import CODE_CASES, FAMILIES, MADE_BY, MADE_BY_NOTHING
from code_evidence import heard
from kafkalog.catalogue import CATALOGUE
from official import ROOT

SENTENCES: Final = Path(__file__).with_name("sentences.txt")
TO_DO: Final = (
    "{code} has no case: add one to a table of tests/make/cases_of_*.py, with evidence that makes it and the same"
    " evidence made legal; run WRITE_SENTENCES=1 pytest tests/catalogue/test_every_code.py, and read in"
    " tests/catalogue/sentences.txt whether all that is said of it is true"
)


def blocks() -> dict[str, str]:
    """Return what is said of each code, as it was read."""
    return {one.partition(" ")[0]: one for one in SENTENCES.read_text().strip().split("\n\n")}


def said(code: str) -> str:
    """Return what is said of a code: its severity and case, then the screen's first line and the incident's title."""
    case = CODE_CASES[code]
    severity = CATALOGUE[code].severity.word
    sentences = heard(case.made).sentences(code, severity)
    return "\n    ".join([f"{code} ({severity}): {case.what}", *sentences])


def write(code: str) -> None:
    """Store what is said of a code now, and forget codes that have no case any more."""
    found = {**blocks(), code: said(code)}
    SENTENCES.write_text("\n\n".join(found[one] for one in CATALOGUE if one in found and one in CODE_CASES) + "\n")


@cache
def bodies(file: str) -> dict[str, str]:
    """Return the source of each test of a file."""
    source = (ROOT / file).read_text()
    found = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    return {node.name: ast.get_source_segment(source, node) or "" for node in found}


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_is_made_and_says_what_was_read(code: str) -> None:
    """By a case, with the catalogue's severity and these sentences; or by a test that is named, whose text has the code."""
    if code in MADE_BY_NOTHING:
        return
    if code in MADE_BY:
        file, _, name = MADE_BY[code].partition("::")
        assert f'"{code}"' in bodies(file).get(name, ""), f"{MADE_BY[code]} is no test that names {code}"
        return
    if code not in CODE_CASES:
        pytest.fail(TO_DO.format(code=code))
    severities = heard(CODE_CASES[code].made).severities(code)
    assert CATALOGUE[code].severity.word in severities, f"{CODE_CASES[code].what}: {code} is said as {severities}"
    if os.environ.get("WRITE_SENTENCES"):
        write(code)

    assert said(code) == blocks().get(code)


@pytest.mark.parametrize("code", CODE_CASES)
def test_what_is_legal_is_not_told_as_the_code(code: str) -> None:
    """The evidence that is like the case, or the same in another place, does not have it, or as less than it is."""
    case = CODE_CASES[code]
    expected = set() if case.lowered is None else {case.lowered}

    assert heard(case.alike).severities(code) == expected, case.legal


def test_only_one_thing_differs() -> None:
    """The command is the same, or the evidence is."""
    for code, case in CODE_CASES.items():
        one, other = case.made, case.alike
        assert (one.make is other.make) != (one.command == other.command), code


def test_no_case_is_of_a_code_that_is_not_there() -> None:
    """Nor is one in two tables; what is said is of codes with a case, and nothing has no case without a reason."""
    listed = [code for table in (*FAMILIES, MADE_BY, MADE_BY_NOTHING) for code in table]

    assert [code for code in listed if code not in CATALOGUE] == []
    assert sorted(code for code in set(listed) if listed.count(code) > 1) == []
    assert blocks().keys() == CODE_CASES.keys()
    assert all(MADE_BY_NOTHING.values())


def test_a_lowered_severity_is_below_the_codes() -> None:
    """What is legal only by what lies around it is said as less."""
    severities = ["note", "warning", "error"]
    for code, case in CODE_CASES.items():
        if case.lowered is not None:
            assert severities.index(case.lowered) < severities.index(CATALOGUE[code].severity.word), code
