"""The report that a person reads: the verdict, the incidents, the totals, and how to see more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from kafkalog.escape import escape, escape_line
from kafkalog_cli.render.incidents import (
    INFORMATIVE,
    by_severity,
    incident_lines,
    incident_markdown,
    informative_words,
    wrapped,
)
from kafkalog_cli.render.zone import Zone

__all__ = ["MORE", "Report", "write_findings", "write_markdown", "write_report"]

MORE: Final = "All rows: --all, or --format ndjson. What a word means: kafkalog explain WORD."
MORE_COUNTED: Final = "One by one: --table incidents. All rows: --all. A word: kafkalog explain WORD."
_VERDICTS: Final = {"OK": "\x1b[1;32m", "SUSPICIOUS": "\x1b[1;33m", "WRONG": "\x1b[1;31m", "INCOMPLETE": "\x1b[1;31m"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says; `findings` are those that it prints besides the incidents.

    With `every` no incident is only counted.
    """

    verdict: str
    totals: str
    incidents: Sequence[Row]
    findings: Iterable[Row]
    every: bool = False

    @property
    def drawn(self) -> list[Row]:
        """Return the incidents that are drawn, worst first; what happens all day in a healthy cluster is counted."""
        return by_severity(row for row in self.incidents if self.every or row["kind"] not in INFORMATIVE)

    @property
    def counted(self) -> str:
        """Return the totals, with what is only counted."""
        words = informative_words(row for row in self.incidents if row["kind"] in INFORMATIVE)
        return f"{self.totals}; {words}" if words else self.totals


def write_report(
    report: Report, stream: BinaryIO, *, zone: Zone, color: bool, width: int | None,
    more: Callable[[BinaryIO], None] | None = None,
) -> None:  # fmt: skip
    """Write the report as text; `more` writes what comes before the totals."""
    word, colon, rest = report.verdict.partition(":")
    verdict = f"{_VERDICTS.get(word.partition(' ')[0], '')}{word}\x1b[0m{colon}{rest}" if color else report.verdict
    _write(stream, wrapped(verdict, "", "  ", width))
    for row in report.drawn:
        _write(stream, ["", *incident_lines(row, zone=zone, width=width, color=color)])
    _write(stream, [""] * bool(report.drawn))
    write_findings(report.findings, stream, zone)
    if more is not None:
        more(stream)
    _write(stream, wrapped(report.counted, "", "  ", width))
    _write(stream, [MORE_COUNTED if len(report.drawn) < len(report.incidents) else MORE])


def write_markdown(report: Report, stream: BinaryIO, *, zone: Zone) -> None:
    """Write the same report as Markdown, for a ticket or a chat."""
    _write(stream, [f"# {report.verdict}", ""])
    for row in report.drawn:
        _write(stream, incident_markdown(row, zone=zone))
    for row in report.findings:
        _write(stream, [f"- **{row['severity']}: {row['code']}**: `{escape(_where(row))}`: {escape(row['message'])}"])
    _write(stream, ["", report.counted])


def write_findings(rows: Iterable[Row], stream: BinaryIO, zone: Zone) -> None:
    """Write rows of the table ``findings``, two lines each."""
    for row in rows:
        lines = [
            f"{row['severity']}: {row['code']}: {escape(_where(row))}",
            f"    {zone.prose(escape(row['message']))}",
        ]
        if row["remedy"]:
            lines.append(f"    to end it, run: {escape_line(row['remedy'])}")
        _write(stream, [*lines, ""])


def _where(row: Row) -> str:
    return str(row["file"]) if row["position"] is None else f"{row['file']}@{row['position']}"


def _write(stream: BinaryIO, lines: Iterable[str]) -> None:
    stream.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
