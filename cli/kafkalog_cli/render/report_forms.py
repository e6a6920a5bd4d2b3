"""Writes an audit in one of the forms that are no rows: reports for people, and what other programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO, Final

from kafkalog.auditing.incidents import Verdict, incidents_asked, worst_first
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.escape import escape, escape_line
from kafkalog.reports import (
    FirstScreen,
    ended_alike,
    page,
    plan_of,
)
from kafkalog.tables.change_tables import CHANGES
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.zone import Zone
from kafkalog_cli.render.fitting import Fitting, also_lines, counted_of, numbers_of, unnamed
from kafkalog_cli.render.incident_text import (
    each_step,
    facts_of,
    incident_lines,
    place_of,
    row_lines,
    whole_lines,
    wrapped,
)
from kafkalog_cli.render.overview import LINES, Sheet, TimesOfDay
from kafkalog_cli.render.people import PAPER, encoded, style
from kafkalog_cli.render.showing import Showing, Told

__all__ = [
    "Report",
    "is_report",
    "print_headline",
    "report_of",
    "write_form",
    "write_markdown",
    "write_page",
    "write_pieces",
    "write_text",
]

_WHOLE: Final = 100  # events and steps of an incident that is shown alone


def _asked(report: Report, *, zone: Zone, sheet: Sheet) -> Iterator[str]:
    """Yield the lines of the incidents that were asked for, each whole; what one plan ends has its steps once."""
    asked, listed = {row["id"] for row in report.drawn}, report.listed
    numbered = {row["id"] for row in listed}
    rows = [*listed, *(row for row in report.drawn if row["id"] not in numbered)]
    for places in ended_alike(rows):
        some = [place for place in places if rows[place]["id"] in asked]
        for place in some:
            number, moments, steps = place + 1 if place < len(listed) else "", TimesOfDay(zone), len(some) == 1
            lines = incident_lines(rows[place], number, moments=moments, sheet=sheet, most=_WHOLE, steps=steps)
            yield from ("", *lines)
        if len(some) > 1:
            label = f"do {numbers_of(some)}:" if some[-1] < len(listed) else "do"
            among, moments = len(some) < len(places), TimesOfDay(zone)
            plan = each_step([rows[place] for place in some], moments, sheet, label=label, among_others=among)
            yield from ("", *chain(*plan))


def incident_markdown(row: Row, *, zone: Zone) -> Iterator[str]:
    """Yield an incident as Markdown; what comes from the evidence can't be markup there."""
    yield f"## {row['severity'].capitalize()}: {zone.prose(_literal(row['title']))}"
    yield ""
    for label, text in facts_of(row):
        yield f"- **{label}**: {_literal(zone.prose(text))}"
    if row["events"]:
        yield ""
        yield "| time | what | where |"
        yield "|---|---|---|"
        for event in row["events"]:
            when = "" if event["time_ms"] is None else zone.time(event["time_ms"])
            yield f"| {when} | {_literal(event['what'])} | {_literal(place_of(event).strip('[]'))} |"
    for number, step in enumerate(plan_of([row]), 1):
        yield ""
        yield f"{number}. {_literal(step.text)}"
        yield from _fenced(step.commands)
    yield ""


def _fenced(commands: Sequence[str]) -> Iterator[str]:
    """Yield the lines of commands of a list's item."""
    if commands:
        fence = "`" * max(3, *(_longest_run(line) + 1 for line in commands))
        yield from ("", f"   {fence}", *(f"   {escape_line(line)}" for line in commands), f"   {fence}")


_MARKS: Final = frozenset("\\`*_{}[]<>()#+!|~&")


def _literal(text: str) -> str:
    return "".join(f"\\{one}" if one in _MARKS else one for one in escape(text))


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


_WORDS: Final = {
    "LOST": "\x1b[1;31m", "MISSING": "\x1b[1;31m", "DAMAGED": "\x1b[1;31m", "TORN": "\x1b[1;31m",
    "BLOCKED": "\x1b[1;31m", "SUSPICIOUS": "\x1b[1;33m", "INCOMPLETE": "\x1b[1;31m", "EMPTY": "\x1b[1;33m",
    "NO": "\x1b[1;31m", "YES, BUT": "\x1b[1;33m",
}  # fmt: skip

_CALM: Final = "\x1b[1;32m"  # of an OK beside which there is nothing

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says; `findings` are those that it prints besides the incidents. `more` is its last line.

    With `every` no incident is only a line.
    """

    screen: FirstScreen
    totals: str
    incidents: Sequence[Row]
    findings: Iterable[Row]
    more: str
    every: bool = False
    incident: str | None = None  # those that alone are drawn: numbers of the screen, ids

    @property
    def listed(self) -> list[Row]:
        """Return the incidents of the screen, worst first; what happens all day in a healthy cluster is a line."""
        return worst_first(row for row in self.incidents if self.every or row["kind"] not in INFORMATIVE)

    @property
    def drawn(self) -> list[Row]:
        """Return the incidents that the report describes, worst first."""
        if self.incident is None:
            return self.listed
        return incidents_asked(self.incidents, self.incident)


def write_report(
    report: Report, stream: BinaryIO, *, zone: Zone, sheet: Sheet, full: bool = False,
    more: Callable[[BinaryIO], None] | None = None,
) -> None:  # fmt: skip
    """Write the report as text; `more` writes what comes before the last line.

    Where there are several incidents, each has a line first. The worst one follows, as far as it fits on a screen.
    A file and a pipe are as high as one, too. The `full` report tells all.
    """
    screen, moments = report.screen, TimesOfDay(zone)
    verdict = screen.verdict
    lines = wrapped(moments.prose(escape(f"{verdict.words}  {verdict.sentence}")), "", "  ", sheet)
    if sheet.color:
        begin = _CALM if screen.calm else _WORDS.get(verdict.word, "\x1b[1m")
        lines[0] = f"{begin}{verdict.words}\x1b[0m{lines[0][len(verdict.words) :]}"
    rows, before_last = report.drawn, _written(more)
    identity = screen.identity if full else screen.short
    lines += wrapped(moments.prose(escape(identity)), "", "  ", sheet)
    last = wrapped(report.more, "", "  ", sheet)
    if report.incident is not None:
        lines = [*_asked(report, zone=zone, sheet=sheet), ""]
    elif full:
        listed = row_lines(rows, moments=moments, sheet=sheet) if len(rows) > 1 else []
        lines += [*listed, *whole_lines(rows, zone=zone, sheet=sheet)]
        lines += [*also_lines(screen.also, zone, None, sheet), ""]
    else:
        fixed = [*lines, *before_last.decode("utf-8", "replace").splitlines(), *last]
        room = LINES - sheet.rows(fixed)
        counted = counted_of(screen.also)
        with_all = wrapped(report.more.replace("--full: all", f"--full: all, and {counted}"), "", "  ", sheet)
        is_counted = bool(counted) and sheet.rows(with_all) <= sheet.rows(last)
        kept = 0  # rows for names that the lines lack
        while True:
            drawing = Fitting(rows, screen.also, verdict.sentence, room - kept, moments, sheet, is_counted)
            body = drawing.fill()
            unsaid = () if drawing.beside else screen.also
            names = [*unnamed(rows, unsaid, [*lines, *body], sheet)]
            if sheet.rows(names) <= kept:
                break
            kept = sheet.rows(names)
        body += names
        lines += [*body, *[""] * (sheet.rows(body) < room)]
        last = with_all if is_counted and not (drawing.beside or names) else last
    _write(stream, lines)
    write_findings(report.findings, stream, zone)
    stream.write(before_last)
    _write(stream, last)


def _written(write: Callable[[BinaryIO], None] | None) -> bytes:
    stream = BytesIO()
    if write is not None:
        write(stream)
    return stream.getvalue()


def write_markdown(told: Told, showing: Showing, stream: BinaryIO) -> None:
    """Write the same report as Markdown, for a ticket or a chat."""
    report, zone = report_of(told, findings=showing.findings), showing.zone
    _write(
        stream, [f"# {_literal(zone.prose(report.screen.verdict.headline))}", "", _literal(report.screen.identity), ""]
    )
    for row in report.drawn:
        _write(stream, incident_markdown(row, zone=zone))
    if report.screen.also:
        _write(stream, ["## Also", ""])
        for line in report.screen.also:
            _write(stream, [f"- **{line.label}**: {_literal(zone.prose(line.text))}", *_fenced(line.commands)])
        _write(stream, [""])
    for row in report.findings:
        _write(stream, [f"- **{row['severity']}: {row['code']}**: `{escape(_where(row))}`: {escape(row['message'])}"])
    _write(stream, ["", report.totals])


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
    stream.write(encoded("".join(f"{line}\n" for line in lines)))


_MORE: Final = "--all: all rows · --table {}: one table · kafkalog explain WORD"

_OF_INCIDENTS: Final = "--incident {}: all of {} · --full: all · kafkalog explain WORD"


def report_of(told: Told, *, findings: bool = False) -> Report:
    """Return what a report of an audit says; with `findings` also each of them that is above a note.

    Where incidents were asked for, it shows these alone. Raises NothingMatchesError if the audit has none of them.

    Without, nothing is missing: each finding above a note is in an incident.
    """
    source, incident = told.source, told.incident
    incidents = list(source.rows("incidents"))
    rows = (row for row in source.rows("findings") if row["severity"] != "note") if findings else ()
    report = Report(told.screen, told.screen.verdict.counts, incidents, rows, "", told.every, incident)
    if CHANGES.name in source.tables:
        return replace(report, more=f"Not compared: {'; '.join(source.scope) or 'nothing'}.")
    of_audit = "transactions" in source.tables
    if report.listed and of_audit:
        which = ("1", "it") if len(report.listed) == 1 else (f"N (1-{len(report.listed)})", "one")
        return replace(report, more=f"More: {_OF_INCIDENTS.format(*which)}")
    return replace(report, more=f"More: {_MORE.format('transactions' if of_audit else 'files')}")


def is_report(showing: Showing) -> bool:
    """Say whether a report is asked for, and no rows; a table of incidents has no room for what happened."""
    if not showing.form.has_rows or showing.form.report is None:
        return not showing.form.has_rows
    incidents_alone = showing.tables == (INCIDENTS.name,) and not showing.columns
    return not showing.everything and (not showing.tables or incidents_alone)


def print_headline(verdict: Verdict) -> None:
    """Print the verdict as one line."""
    print(escape(verdict.headline))


def write_form(told: Told, showing: Showing, inputs: Sequence[str]) -> None:
    """Write an audit of the `inputs` as a report for people or for another program."""
    assert showing.form.report is not None
    with showing.target.stream(inputs) as stream:
        showing.form.report(told, showing, stream)


def write_text(told: Told, showing: Showing, stream: BinaryIO) -> None:
    """Write the report as text."""
    look = style(showing.target.on_terminal)
    sheet = Sheet(look["width"] or PAPER, look["color"], wraps=showing.target.on_terminal)
    report = report_of(told, findings=showing.findings)
    write_report(report, stream, zone=showing.zone, sheet=sheet, full=showing.full, more=told.more)


def write_page(told: Told, showing: Showing, stream: BinaryIO) -> None:
    """Write the report as a page of HTML."""
    write_pieces(page(told.source, told.origin(), showing.zone, told.nights, told.since), showing, stream)


def write_pieces(pieces: Iterable[bytes], showing: Showing, stream: BinaryIO) -> None:
    """Write what is made for a program, harmless where it goes to a terminal."""
    for piece in pieces:
        stream.write(_harmless(piece) if showing.target.on_terminal else piece)


def _harmless(piece: bytes) -> bytes:
    """Escape what a terminal may act on, line by line; everything else stays as another program reads it."""
    lines = piece.decode("utf-8", "surrogateescape").split("\n")
    shown = (
        line if line.isprintable() else "".join(one if one.isprintable() else escape(one) for one in line)
        for line in lines
    )
    return "\n".join(shown).encode()
