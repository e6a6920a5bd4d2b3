"""Writes an audit in one of the forms that are no rows: reports for people, and what other programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, Final

from kafkalog.escape import escape
from kafkalog.narrowing import nothing_matches
from kafkalog.reports import AuditSource, Night, first_screen, junit, page, prometheus, timesketch, trace
from kafkalog.tables.change_tables import CHANGES
from kafkalog.zone import Zone
from kafkalog_cli.render.report_text import Report, write_markdown, write_report
from kafkalog_cli.render.sinks import Style

__all__ = ["report_of", "write_form"]

_FORMS: Final[Mapping[str, Callable[[AuditSource], Iterable[bytes]]]] = {
    "junit": junit, "prometheus": prometheus, "timesketch": timesketch, "trace": trace,
}  # fmt: skip


_MORE: Final = "all rows: --all · one table: --table {} · what a word means: kafkalog explain WORD"


def report_of(
    source: AuditSource, *, findings: bool = False, every: bool = False, incident: str | None = None
) -> Report:
    """Return what a report of an audit says; with `findings` also each of them that is above a note.

    With the id of an `incident` it shows that one alone, in full. Raises NothingMatchesError if no incident has the id.

    Without, nothing is missing: each finding above a note is in an incident.
    """
    incidents = list(source.rows("incidents"))
    rows = (row for row in source.rows("findings") if row["severity"] != "note") if findings else ()
    if incident is not None and incident not in {row["id"] for row in incidents}:
        raise nothing_matches("incident", [incident], [row["id"] for row in incidents])
    screen = first_screen(source, incidents)
    if CHANGES.name in source.tables:
        more = f"Not compared: {'; '.join(source.scope) or 'nothing'}."
        return Report(screen, source.totals, incidents, rows, more, every, incident)
    more = _MORE.format("transactions" if "transactions" in source.tables else "files")
    report = Report(screen, source.totals, incidents, rows, f"More: {more}", every, incident)
    if report.drawn and "transactions" in source.tables:
        report = replace(report, more=f"More: one incident: --incident ID · {more}")
    return report


def write_form(
    form: str, source: AuditSource, origin: Callable[[], Mapping[str, Any]], stream: BinaryIO, *, zone: Zone,
    style: Style, findings: bool = False, every: bool = False, incident: str | None = None,
    more: Callable[[BinaryIO], None] | None = None, nights: Sequence[Night] = (),
) -> None:  # fmt: skip
    """Write an audit as a report for people (``table``, ``markdown``, ``html``) or for another program.

    With `every` a report draws also what happens in healthy clusters. `origin` gives what ``provenance.json`` has, and
    is called only for what shows it; `more` writes what a text has
    before its totals.
    """
    if form == "table":
        report = report_of(source, findings=findings, every=every, incident=incident)
        write_report(report, stream, zone=zone, more=more, **style)
    elif form == "markdown":
        write_markdown(report_of(source, findings=findings), stream, zone=zone)
    else:
        on_terminal = style["width"] is not None
        for piece in page(source, origin(), zone, nights) if form == "html" else _FORMS[form](source):
            stream.write(_harmless(piece) if on_terminal else piece)


def _harmless(piece: bytes) -> bytes:
    """Escape what a terminal may act on, line by line; everything else stays as another program reads it."""
    lines = piece.decode("utf-8", "surrogateescape").split("\n")
    shown = (
        line if line.isprintable() else "".join(one if one.isprintable() else escape(one) for one in line)
        for line in lines
    )
    return "\n".join(shown).encode()
