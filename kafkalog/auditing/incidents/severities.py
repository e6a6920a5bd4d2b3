"""The severity of an incident: that of its worst finding."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalog.auditing.incidents.known import Row
from kafkalog.findings import Severity

__all__ = ["severity_of"]


def severity_of(findings: Iterable[Row]) -> Severity:
    """Return the highest severity of some findings, a note where there are none."""
    return max((Severity[row["severity"].upper()] for row in findings), default=Severity.NOTE)
