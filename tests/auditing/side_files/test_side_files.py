"""Side files held against logs: nothing is said of healthy ones, and one damage gives one finding."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from beside import above_note, told
from kafkalog.findings import Severity
from official import CORPUS, FIXTURES, cases, left_out, materialize, of_corpus
from side_damage import CASE, DAMAGE, LOG, ahead

DAMAGED: Final = "made-damaged"


@pytest.mark.parametrize("case", cases(FIXTURES), ids=lambda case: case.name)
def test_healthy_side_files_say_what_the_logs_say(case: Path, tmp_path: Path) -> None:
    """Brokers of every line wrote them: whatever they are not, they are no findings above a note."""
    root = materialize(case, tmp_path)

    serious = [f for f in told(*sorted(root.glob("data*"))) if f.severity > Severity.NOTE]
    assert [str(f) for f in serious if f.code not in left_out(case)] == []


@pytest.mark.corpus
@pytest.mark.parametrize("case", of_corpus(cases(CORPUS)), ids=lambda case: case.name)
def test_healthy_side_files_of_the_corpus(case: Path) -> None:
    """The same for every case of the corpus."""
    assert [str(f) for f in told(*sorted(case.glob("data*"))) if f.severity > Severity.NOTE] == []


# Damage.


@pytest.mark.parametrize("what", DAMAGE)
def test_one_damage_gives_one_finding(what: str, tmp_path: Path) -> None:
    """Its own code and no other above a note: what follows from it is a note."""
    damage, codes = DAMAGE[what]
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    damage(root / LOG)

    assert above_note(root) == codes


def test_a_copy_of_a_running_broker_may_lag(tmp_path: Path) -> None:
    """Without the mark of a clean stop a checkpoint ahead of its log is a note: it was copied later."""
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    ahead("recovery-point-offset-checkpoint")(root / LOG)
    (root / ".kafka_cleanshutdown").unlink()
    found = told(root)

    assert [finding.code for finding in found if finding.severity > Severity.NOTE] == []
    assert "checkpoint-ahead" in {finding.code for finding in found}
