"""The severity of an incident: that of its worst finding."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalog.auditing.incidents.known import Row
from kafkalog.findings import Severity

__all__ = ["severity_of"]


def severity_of(findings: Iterable[Row], worst: Severity = Severity.ERROR) -> Severity:
    """Return the highest severity of some findings, a note where there are none; `worst` is what it may be at most.

    What harms no consumer is at most a warning.
    """
    return min(worst, max((Severity[row["severity"].upper()] for row in findings), default=Severity.NOTE))
