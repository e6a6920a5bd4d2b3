"""More than a thousand findings of one damage code in one file become one that counts them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import kafkalog
from build import much_damaged
from counted import counted
from kafkalog.auditing.verification import Verification, verify
from kafkalog.catalogue import CATALOGUE
from kafkalog.few_of_many import IN_A_FILE
from kafkalog.findings import Bytes, Finding, Where
from kafkalog.segments.repeated_findings import FileFindings
from kafkalog.settle import Reason, lowered

_EXAMINED = 1000  # damaged places that are examined closely, each with its own finding


def _damage(found: Verification) -> Counter[str]:
    """Count the findings about bytes that are no whole batch, by code."""
    return Counter(finding.code for finding in found.findings() if CATALOGUE[finding.code].bytes is Bytes.LOST)


@pytest.mark.parametrize("more", [IN_A_FILE, IN_A_FILE + 1])
def test_from_a_thousand_and_one_on_one_finding_counts_them(tmp_path: Path, more: int) -> None:
    """The table of findings stays readable, the table of extents has every place; up to a thousand nothing changes."""
    found = verify([much_damaged(tmp_path, _EXAMINED + more)])
    extents = list(found.rows("extents"))

    if more == IN_A_FILE:
        assert _damage(found) == {"crc-mismatch": _EXAMINED, "bytes-unreadable": IN_A_FILE}
        assert extents == []
        return
    assert _damage(found) == {"crc-mismatch": _EXAMINED, "bytes-unreadable": 1}
    (one,) = (finding for finding in found.findings() if finding.code == "bytes-unreadable")
    assert one.found == len(extents) == more
    positions = [(row[-2], row[-2] + row[-1]) for row in extents]
    assert (one.position, (one.position or 0) + (one.length or 0)) == (positions[0][0], positions[-1][1])
    (facts,) = (facts for facts in found.files if facts.file.endswith(".log"))
    of_others = sum(f.length or 0 for f in found.findings() if f.code == "crc-mismatch")
    assert facts.damaged == of_others + sum(stop - start for start, stop in positions)


def test_an_audit_folds_the_same(tmp_path: Path) -> None:
    """The finding of an audit has the id that it has in a verification."""
    folder = much_damaged(tmp_path, _EXAMINED + IN_A_FILE + 1)
    both = (kafkalog.open(folder).audit(), kafkalog.open(folder).verify())
    ids = [[row["id"] for row in found.findings if row["code"] == "bytes-unreadable"] for found in both]

    assert len(ids[0]) == 1
    assert ids[0] == ids[1]


@pytest.mark.sweep
def test_the_steps_of_a_verification_grow_with_the_damage(tmp_path: Path) -> None:
    """Four times the damaged batches are at most 4.2 times the calls: nothing is looked at once for each other one."""
    few, many = (much_damaged(tmp_path / str(damaged), damaged) for damaged in (1500, 6000))
    verify([few])  # what is done once in a process

    assert _calls(many) <= 4.2 * _calls(few)


def _calls(folder: Path) -> int:
    """Count the calls of a verification."""
    return counted(lambda: verify([folder]))[1]


@pytest.mark.parametrize("where", [{"position": 0, "length": 100}, {"offset": 5}])
def test_one_finding_for_many_is_as_severe_as_the_worst(where: Where) -> None:
    """That the first of many is a note hides no error behind it."""
    findings = FileFindings()
    error = Finding.of("crc-mismatch", "a.log", "its CRC is wrong", **where)
    findings.add(lowered(error, Reason.BEING_WRITTEN))
    for _ in range(IN_A_FILE):
        findings.add(error)

    (one,) = findings.all()
    assert one.found == IN_A_FILE + 1
    assert (one.severity, one.certainty) == (error.severity, error.certainty)
