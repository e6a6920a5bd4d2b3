"""The report that a person reads: the verdict, the incidents, the totals, and how to see more."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from kafkalog.escape import escape, escape_line
from kafkalog_cli.render.zone import Zone

__all__ = [
    "INFORMATIVE",
    "MORE",
    "Report",
    "by_severity",
    "incident_lines",
    "incident_markdown",
    "informative_words",
    "wrapped",
    "write_findings",
    "write_markdown",
    "write_report",
]


# Incidents as text: what happened, since when, to whom, what consumers get, what to do now.


# What happens in a healthy cluster all day: it is counted, and listed where somebody asks for it.
INFORMATIVE: Final = frozenset({"writer-fenced", "transactions-aborted"})

_ORDER: Final = {"error": 0, "warning": 1, "note": 2}

_COLORS: Final = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1m"}

_LABEL: Final = 11

_EVENTS: Final = 12  # of an incident: the first and the last ones

_NAMES: Final = 8

_STEPS: Final = 8

_PARTS: Final = 2  # of a file's path that are shown: its directory's name and its own


def by_severity(rows: Iterable[Row]) -> list[Row]:
    """Return incidents, the worst first; equal ones as they are."""
    return sorted(rows, key=lambda row: _ORDER[row["severity"]])


def incident_lines(row: Row, *, zone: Zone, width: int | None, color: bool) -> Iterator[str]:
    """Yield an incident's lines, at most a screen of them; a command is never wrapped, so that it can be copied."""
    head = f"{row['severity'].upper()}: {zone.prose(escape(row['title']))}"
    begin, end = (_COLORS[row["severity"]], "\x1b[0m") if color else ("", "")
    yield from (f"{begin}{line}{end}" for line in wrapped(head, "", "  ", width))
    for label, text in _facts(row, zone):
        yield from wrapped(zone.prose(escape(text)), f"  {label:<{_LABEL}}", " " * (_LABEL + 2), width)
    for event in _some(row["events"] or ()):
        if isinstance(event, str):
            yield f"    {event}"
            continue
        when = "" if event["time_ms"] is None else f"{zone.time(event['time_ms'])}  "
        said = _place(event).lstrip() if event["what"] in row["title"] else f"{event['what']}{_place(event)}"
        yield from wrapped(when + zone.prose(escape(said)), "    ", "      ", width)
    for name, said in _consumers(row):
        yield from wrapped(zone.prose(escape(said)), f"  {name}: ", "    ", width)
    steps = row["next_steps"] or ()
    for number, step in enumerate(steps[:_STEPS], 1):
        yield from wrapped(zone.prose(escape(step["text"])), f"  {number}. ", "     ", width)
        if step["command"]:
            yield f"     {escape_line(step['command'])}"
    if len(steps) > _STEPS:
        yield from wrapped(
            f"… {len(steps) - _STEPS} more steps: --table incidents --format ndjson", "  ", "     ", width
        )


def _facts(row: Row, zone: Zone) -> Iterator[tuple[str, str]]:
    yield "kind", ", ".join(word for word in (row["kind"], row["cause"], row["certainty"]) if word)
    if row["since_ms"] is not None:
        until = "" if row["until_ms"] in (None, row["since_ms"]) else f" until {zone.time(row['until_ms'])}"
        clock = " (the producer's own clock)" if row["since_clock"] == "producer" else ""
        began = zone.time(row["since_ms"])
        if row["since_until_ms"] is not None:
            began = f"between {began} and {zone.time(row['since_until_ms'])}"
        yield "since", f"{began}{clock}{until}"
    where = _listed(row["partitions"], row["partitions_total"])
    if row["first_offset"] is not None:
        where += f", {_offsets(row['first_offset'], row['last_offset'])}"
    if row["records"] is not None:
        where += f", {row['records']} record{'s' * (row['records'] != 1)}"
    if where:
        yield "where", where
    who = [_listed(row["transactional_ids"], row["transactional_ids_total"])]
    producers = _listed(row["producer_ids"], row["producer_ids_total"])
    who.append(producers and f"producer{'s' * (len(row['producer_ids']) > 1)} {producers}")
    if any(who):
        yield "who", "; ".join(filter(None, who))
    if row["lost_records"] is not None:
        kept = [f"{_offsets(one['first_offset'], one['last_offset'])} in {one['log']}" for one in row["kept_in"] or ()]
        lost = f"{row['lost_records']} record{'s' * (row['lost_records'] != 1)}"
        yield "lost", lost + (f"; copies: {', '.join(kept)}" if kept else "")


def _consumers(row: Row) -> Iterator[tuple[str, str]]:
    """Yield what consumers get, once where the isolation level makes no difference."""
    by_level = row["consumers"] or {}
    if len(by_level) > 1 and len(set(by_level.values())) == 1:
        yield "consumers", next(iter(by_level.values()))
    else:
        yield from by_level.items()


def _offsets(first: int, last: int | None) -> str:
    if last is None:
        return f"from offset {first} on"
    return f"offset {first}" if first == last else f"offsets {first}-{last}"


def _listed(values: Sequence[Any] | None, total: int | None) -> str:
    shown = [str(value) for value in (values or ())[:_NAMES]]
    more = (total or len(values or ())) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _some(events: Sequence[Row]) -> list[Row | str]:
    if len(events) <= _EVENTS + 1:
        return list(events)
    half = _EVENTS // 2
    return [*events[:half], f"… {len(events) - _EVENTS} more events …", *events[-half:]]


def _place(event: Row) -> str:
    if event["file"] is None:
        return ""
    offset = "" if event["offset"] is None else f", offset {event['offset']}"
    return f" [{'/'.join(event['file'].rsplit('/', _PARTS)[-_PARTS:])}{offset}]"


def wrapped(text: str, first: str, others: str, width: int | None) -> list[str]:
    """Wrap a text at its words, without a width not at all."""
    if width is None:
        return [first + text]
    return textwrap.wrap(
        text, max(width, 40), initial_indent=first, subsequent_indent=others, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip


def informative_words(rows: Iterable[Row]) -> str:
    """Return the counts of what is not drawn alone, such as ``aborted: 2 takeover, 1 timeout``."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["kind"], Counter())[row["cause"] or "other"] += row["transactions"] or 1
    words = {"transactions-aborted": "aborted", "writer-fenced": "fenced"}
    return "; ".join(
        f"{words.get(kind, kind)}: {', '.join(f'{count} {cause}' for cause, count in of_kind.most_common())}"
        for kind, of_kind in sorted(counts.items())
    )


def incident_markdown(row: Row, *, zone: Zone) -> Iterator[str]:
    """Yield an incident as Markdown; what comes from the evidence can't be markup there."""
    yield f"## {row['severity'].capitalize()}: {zone.prose(_literal(row['title']))}"
    yield ""
    for label, text in _facts(row, zone):
        yield f"- **{label}**: {_literal(text)}"
    for name, said in _consumers(row):
        yield f"- **{name}**: {_literal(said)}"
    if row["events"]:
        yield ""
        yield "| time | what | where |"
        yield "|---|---|---|"
        for event in row["events"]:
            when = "" if event["time_ms"] is None else zone.time(event["time_ms"])
            yield f"| {when} | {_literal(event['what'])} | {_literal(_place(event).strip(' []'))} |"
    for number, step in enumerate(row["next_steps"] or (), 1):
        yield ""
        yield f"{number}. {_literal(step['text'])}"
        if step["command"]:
            fence = "`" * max(3, _longest_run(step["command"]) + 1)
            yield from ("", f"   {fence}", f"   {escape_line(step['command'])}", f"   {fence}")
    yield ""


_MARKS: Final = frozenset("\\`*_{}[]<>()#+!|~&")


def _literal(text: str) -> str:
    return "".join(f"\\{one}" if one in _MARKS else one for one in escape(text))


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


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
