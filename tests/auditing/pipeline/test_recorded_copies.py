"""Copies of a broker that moved, put together from four of its states: every file is taken before or after a moment.

The states in ``fixtures/moving`` are consistent, a few seconds apart. Between them retention deleted segments of one
partition, and the cleaner replaced segments of another.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from build import flipped
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Finding, Severity
from official import FIXTURES
from sampled import steps
from side_damage import cut, removed, segments

STATES: Final = sorted((FIXTURES / "moving").glob("state-*"))
CODE: Final = "copy-skewed"
PAIRS: Final = [(0, 1), (1, 2), (2, 3), (1, 3)]
LEFT_OUT: Final = {"partition-absent", "transaction-undecided"}  # the other partitions of the broker are not here


def order(state: Path, number: int) -> list[str]:
    """List a state's files, a partition after the other, in one of several orders."""
    names = sorted(entry.name for entry in state.iterdir())
    mixed = random.Random(number)
    if number % 2:
        names.reverse()
    if number > 1:
        mixed.shuffle(names)
    files = []
    for name in names:
        inside = sorted(path.relative_to(state).as_posix() for path in (state / name).glob("*")) or [name]
        if number > 1:
            mixed.shuffle(inside)
        files += inside[::-1] if number % 2 else inside
    return files


def copied(files: list[str], cut: int, before: Path, after: Path, to: Path) -> set[str]:
    """Copy files of two moments; return the partitions from which a file had gone."""
    vanished = set()
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for number, file in enumerate(files):
        source = (before if number < cut else after) / file
        (to / file).parent.mkdir(exist_ok=True)
        if source.exists():
            shutil.copyfile(source, to / file)
        else:
            vanished.add(file.partition("/")[0])
    return vanished


def changed(before: Path, after: Path) -> bool:
    """Say whether a file of one state is another one in a later state."""
    return not after.exists() or before.read_bytes() != after.read_bytes()


def damaged(number: int) -> Callable[[Path], object]:
    """One bit of the last batch's records is another."""

    def change(folder: Path) -> None:
        segment = segments(folder)[number]
        content = segment.read_bytes()
        segment.write_bytes(flipped(content, 8 * (len(content) - 3)))

    return change


def found_in(data: Path) -> list[Finding]:
    """What either command says, but of what was left out."""
    found = (*verify([data]).findings(), *audit([data]).findings())
    return [finding for finding in found if finding.code not in LEFT_OUT]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_of_one_moment_is_quiet(state: Path) -> None:
    """Nothing above note is said, and nothing of copies."""
    found = found_in(state)

    assert [str(finding) for finding in found if finding.severity > Severity.NOTE] == []
    assert "copy-skewed" not in {finding.code for finding in found}


@pytest.mark.some(every=5)
@steps(11)
@pytest.mark.parametrize("number", range(4), ids=["sorted", "reversed", "mixed", "mixed and reversed"])
@pytest.mark.parametrize(("first", "later"), PAIRS)
def test_a_copy_that_took_a_moment_is_quiet(first: int, later: int, number: int, step: int, tmp_path: Path) -> None:
    """Whichever file was the first one to be copied later, all is a note, but what files that went leave open."""
    files = order(STATES[first], number)
    skewed = set()
    moved = [at for at, file in enumerate(files, 1) if changed(STATES[first] / file, STATES[later] / file)]
    for end in [0, *moved[number % step :: step]]:
        vanished = copied(files, end, STATES[first], STATES[later], tmp_path / "data")
        found = found_in(tmp_path / "data")
        named = {
            (finding.severity, f"{finding.topic}-{finding.partition}") for finding in found if finding.code == CODE
        }
        skewed |= {partition for _, partition in named}
        wrong = [str(finding) for finding in found if finding.severity > Severity.NOTE and finding.code != CODE]

        assert wrong == [], f"the first {end} files were copied before"
        assert {partition for severity, partition in named if severity > Severity.NOTE} <= vanished
    assert skewed <= {"ret-0", "ctx-0"}


@pytest.mark.parametrize("partition", ["ret-0", "ctx-0"])
@pytest.mark.parametrize("damage", [cut, removed, damaged], ids=["cut short", "removed", "flipped"])
def test_damage_of_a_closed_segment_is_seen_in_a_copy(
    damage: Callable[[int], Callable[[Path], object]], partition: str, tmp_path: Path
) -> None:
    """Above note, whether the cleaner may have replaced the segment or not."""
    data = Path(shutil.copytree(STATES[1], tmp_path / "data"))
    damage(1)(data / partition)

    serious = [finding for finding in verify([data]).findings() if finding.severity > Severity.NOTE]
    assert partition in {f"{finding.topic}-{finding.partition}" for finding in serious}
