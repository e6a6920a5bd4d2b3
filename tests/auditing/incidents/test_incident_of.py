"""What an incident has of its findings: how severe and how certain it is."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalog.auditing.incidents.incident import Incident, Subject, Words
from kafkalog.certainty import DAMAGE_BETWEEN, POSSIBLE, PROVED
from kafkalog.findings import Severity


def finding(severity: str = "warning", certainty: str | None = None) -> dict[str, Any]:
    """A row of ``findings``."""
    return {
        "id": "f", "topic": "t", "partition": 0, "producer_id": None, "severity": severity, "certainty": certainty
    }  # fmt: skip


@pytest.mark.parametrize(
    ("certainties", "expected"),
    [((None, PROVED), PROVED), ((None, POSSIBLE), POSSIBLE), ((POSSIBLE, DAMAGE_BETWEEN), DAMAGE_BETWEEN)],
)
def test_an_incident_has_the_first_doubt_of_its_findings(certainties: tuple[str | None, ...], expected: str) -> None:
    """Unless its story knows better; a finding without a certainty has no doubt."""
    findings = [finding(certainty=word) for word in certainties]

    assert Incident.of("k", "c", Subject(), findings, None).certainty == expected
    assert Incident.of("k", "c", Subject(), findings, None, certainty=PROVED).certainty == PROVED


@pytest.mark.parametrize(
    ("severities", "worst", "expected"),
    [
        (("note", "error", "warning"), Severity.ERROR, Severity.ERROR),
        (("note", "error"), Severity.WARNING, Severity.WARNING),
        (("note",), Severity.WARNING, Severity.NOTE),
        ((), Severity.ERROR, Severity.NOTE),
    ],
)
def test_an_incident_is_as_severe_as_its_findings(
    severities: tuple[str, ...], worst: Severity, expected: Severity
) -> None:
    """At most as its story says; a note without findings."""
    found = Incident.of("k", "c", Subject(), [finding(word) for word in severities], None, worst=worst)

    assert found.severity is expected


@pytest.mark.parametrize(
    ("records", "certainty", "expected"),
    [
        (1, PROVED, "1 record is lost"),
        (2, PROVED, "2 records are lost"),
        (None, PROVED, "Records are lost"),
        (1, POSSIBLE, "Perhaps 1 record may be lost"),
    ],
)
def test_a_title_has_the_number_and_the_doubt(records: int | None, certainty: str, expected: str) -> None:
    """One that is not proved has words of its own, where its cause has such."""
    incident = Incident.of("k", "c", Subject(), [finding()], None, certainty=certainty)
    incident.records = records
    incident.say(Words("{records} {are} lost", "All.", doubtful="Perhaps {records} {are} lost"))

    assert incident.title == expected
    assert incident.consumers == ("All.", "All.")
