"""The two engines that read whole directories, behind one small function: what was found, and what stands of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafkalog import Finding, Severity
from kafkalog.auditing.incidents.runner import rows_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.verification.verifying import verify
from kafkalog.tables.verify_tables import VERIFY_TABLES
from verified import accounted

__all__ = ["ENGINES", "Found"]


class Found(NamedTuple):
    """What an engine said: findings, inputs that could not be read at all, and rows by the file or log that they are of."""

    findings: list[Finding]
    refused: list[Finding]
    rows: dict[str, list[tuple[Any, ...]]]

    @property
    def loud(self) -> list[Finding]:
        """The findings above a note."""
        return [finding for finding in self.findings if finding.severity > Severity.NOTE]

    def without(self, path: Path) -> tuple[list[str], dict[str, list[tuple[Any, ...]]]]:
        """What was said of everything but a path and what lies below it."""
        others = (one for one in self.findings if not one.file.startswith(str(path)) and one.log != str(path))
        kept = [str(finding) for finding in others]
        return kept, {name: rows for name, rows in self.rows.items() if not name.startswith(str(path))}


def _audited(paths: Sequence[Path]) -> Found:
    found = audit(paths)
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for table in ("partitions", "transactions", "gaps", "producers"):
        for row in rows_of_audit(found, table):
            rows.setdefault(str(row[0]), []).append(row)
    return Found(list(found.findings()), found.refused, rows)


def _verified(paths: Sequence[Path]) -> Found:
    found = verify(paths)
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for table in VERIFY_TABLES[:2]:
        for row in found.rows(table.name):
            rows.setdefault(str(row[0]), []).append(row)
    accounted(found)
    return Found(list(found.findings()), found.refused, rows)


ENGINES: Final[dict[str, Callable[[Sequence[Path]], Found]]] = {"audit": _audited, "verify": _verified}
