"""The findings that no incident has explained yet: each is taken once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkalog.auditing.incidents.known import Row
from kafkalog.findings import Severity

__all__ = ["Pool", "severity_of"]


class Pool:
    """An audit's findings by code; a story takes those that it explains."""

    def __init__(self, findings: Iterable[Row]) -> None:
        self._by_code: dict[str, list[Row]] = {}
        for row in findings:
            self._by_code.setdefault(row["code"], []).append(row)

    def take(self, *codes: str, when: Callable[[Row], bool] = lambda _: True) -> list[Row]:
        """Take the findings of some codes, in the order in which they were reported."""
        taken = []
        for code in codes:
            of_code = self._by_code.get(code, ())
            taken += [row for row in of_code if when(row)]
            self._by_code[code] = [row for row in of_code if not when(row)]
        return taken

    def give_back(self, row: Row) -> None:
        """Leave a finding to other stories."""
        self._by_code.setdefault(row["code"], []).append(row)

    def rest(self) -> list[Row]:
        """Take all that are left."""
        rows = [row for of_code in self._by_code.values() for row in of_code]
        self._by_code.clear()
        return rows


# The severity of an incident: that of its worst finding.


def severity_of(findings: Iterable[Row], worst: Severity = Severity.ERROR) -> Severity:
    """Return the highest severity of some findings, a note where there are none; `worst` is what it may be at most.

    What harms no consumer is at most a warning.
    """
    return min(worst, max((Severity[row["severity"].upper()] for row in findings), default=Severity.NOTE))
