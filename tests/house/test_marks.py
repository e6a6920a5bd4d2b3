"""What runs a test follows from its markers, and a test that starts a process must say so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

TESTS: Final = """
import subprocess, sys
import pytest

def test_plain(): ...

@pytest.mark.sweep
def test_sweep(): ...

@pytest.mark.some(every=3)
@pytest.mark.parametrize("case", range(7))
def test_some(case): ...

@pytest.mark.corpus
def test_corpus(): ...

@pytest.fixture
def store(): ...

def test_store(store): ...

def test_starts_in_secret(): subprocess.run([sys.executable, "-c", ""])

@pytest.mark.process
def test_starts(): subprocess.run([sys.executable, "-c", ""])
"""


def ran(folder: Path, expression: str, *options: str) -> list[str]:
    """Return how each of the tests above ended that these markers choose."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "test_made.py").write_text(TESTS)
    homes = os.pathsep.join(map(str, (ROOT, ROOT / "cli", ROOT / "tests" / "make")))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-vrs", "-m", expression, *options, "test_made.py"],
        cwd=folder, env=os.environ | {"PYTHONPATH": homes, "KAFKALOG_CORPORA": str(folder)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    return [" ".join(line.split()[:2]).partition("::")[2] for line in lines if line.startswith("test_made.py::")] + [
        line for line in lines if line.startswith("SKIPPED")
    ]


@pytest.mark.process
def test_make_test_has_one_of_some_and_no_sweep(tmp_path: Path) -> None:
    """Of a test of many cases each third one here; a process that is started in secret fails its test."""
    assert ran(tmp_path, "first") == [
        "test_plain PASSED", "test_some[0] PASSED", "test_some[3] PASSED", "test_some[6] PASSED",
        "test_starts_in_secret FAILED", "test_starts PASSED",
    ]  # fmt: skip


@pytest.mark.process
def test_a_quick_run_has_a_few_cases_of_each_test(tmp_path: Path) -> None:
    """Of those that make test has, too: no test is left out for its number of cases."""
    assert ran(tmp_path, "first and not process", "--cases", "2") == [
        "test_plain PASSED", "test_some[0] PASSED", "test_some[3] PASSED", "test_starts_in_secret FAILED",
    ]  # fmt: skip


@pytest.mark.process
def test_the_rest_is_what_make_test_leaves_out(tmp_path: Path) -> None:
    """What needs a server is there by its fixture; seven of eight of what is sampled are exhaustive; nothing runs twice."""
    assert ran(tmp_path, "rest") == [
        "test_sweep PASSED", "test_some[1] PASSED", "test_store PASSED",
    ]  # fmt: skip
    assert [line for line in ran(tmp_path, "exhaustive") if "some" in line] == [
        "test_some[2] PASSED", "test_some[4] PASSED", "test_some[5] PASSED",
    ]  # fmt: skip


@pytest.mark.process
def test_without_a_corpus_its_tests_are_skipped_by_name(tmp_path: Path) -> None:
    """The reason of the skip names the folder that is missing."""
    name, why = ran(tmp_path, "corpus")

    assert name == "test_corpus SKIPPED"
    assert f"{tmp_path / 'corpus'} is not there" in why
