"""Writes an audit in one of the forms that are no rows: reports for people, and what other programs read."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain, islice, pairwise
from typing import Any, BinaryIO, Final

from kafkalog.auditing.incidents import Verdict, groups_said, lost_said, worst_first
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.escape import escape, escape_line
from kafkalog.narrowing import nothing_matches
from kafkalog.quantities import iso, many, offset_range, producer_name
from kafkalog.reports import FirstScreen, Line, cause_said, in_words, page, parts_said, records_line
from kafkalog.tables.change_tables import CHANGES
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.zone import Zone
from kafkalog_cli.render.overview import LINES, Overview, Sheet, TimesOfDay, alike, cut
from kafkalog_cli.render.people import PAPER, encoded, style
from kafkalog_cli.render.showing import Showing, Told

__all__ = [
    "Report",
    "incident_lines",
    "is_report",
    "print_headline",
    "report_of",
    "wrapped",
    "write_form",
    "write_markdown",
    "write_page",
    "write_pieces",
    "write_text",
]

# Incidents as text: what happened, since when, to whom, what consumers get, what to do now.


_COLORS: Final = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1m"}

_INDENT: Final = 4  # before a label

_LABEL: Final = 12

_TITLE: Final = 10  # before what follows the first line of a title

_FEW: Final = 5  # rows of what else happened that are better one line: two of them are no more than a heading

_EVENTS: Final = 8  # of an incident: the first and the last ones

_MOST_NAMES: Final = 8

_GROUPS: Final = 20

_STEPS: Final = 8

_WHOLE: Final = 100  # events and steps of an incident that is shown alone

_ALIKE: Final = 4  # incidents of one kind and cause, of which only the first is drawn whole


def incident_lines(
    row: Row, number: int, *, moments: TimesOfDay, sheet: Sheet, most: int | None = None,
    told: str = "", proof: bool = True,
) -> Iterator[str]:  # fmt: skip
    """Yield an incident's lines, each fact once; a command is never wrapped, so that it can be copied.

    With `most` there are this many of its events and steps. `told` is a sentence that stands before it, and may have
    its title; without `proof` its events are left out.
    """
    moments = moments.block()
    yield from _head(row, f"{number:>2}", moments=moments, sheet=sheet, told=told)
    before = ""
    for label, text in _facts(row):
        yield from _labelled("" if label == before else label, text, moments, sheet)
        before = label
    if proof:
        yield from _proof(row, moments, sheet, most or _EVENTS)
    yield from _steps(row, moments, sheet, most or _STEPS)
    if (line := records_line(row)) is not None:
        yield f"{' ' * _INDENT}{'records':<{_LABEL}}{escape_line(line)}"
    yield from _labelled("incident", f"{row['id']}  {row['kind']}, {cause_said(row)}", moments, sheet)


def _proof(row: Row, moments: TimesOfDay, sheet: Sheet, most: int) -> Iterator[str]:
    label = "proof"
    for event in _some(row["events"] or (), most):
        if isinstance(event, str):
            yield from _labelled("", event, moments, sheet)
            continue
        is_said = event["time_ms"] is None or iso(event["time_ms"]) in event["what"]
        when = "" if is_said else f"{moments.time(event['time_ms'])}  "
        said = "" if event["what"] in row["title"] else f"{event['what']} "
        yield from _labelled(label, f"{when}{said}{_place(event)}".rstrip(), moments, sheet)
        label = ""


def _head(
    row: Row, number: str, *, moments: TimesOfDay, sheet: Sheet, told: str = ""
) -> Iterator[str]:  # fmt: skip
    begin, end = (_COLORS[row["severity"]], "\x1b[0m") if sheet.color else ("", "")
    first = f"{number} {row['severity'].upper()}  "
    title = in_words(row) if row["title"].removesuffix(".") in told else moments.prose(escape(row["title"]))
    yield from (f"{begin}{line}{end}" for line in wrapped(title, first, " " * _TITLE, sheet))


def _labelled(label: str, text: str, moments: TimesOfDay, sheet: Sheet) -> Iterator[str]:
    indent = " " * _INDENT
    yield from wrapped(moments.prose(escape(text)), f"{indent}{label:<{_LABEL}}", indent + " " * _LABEL, sheet)


def _each_step(
    row: Row, moments: TimesOfDay, sheet: Sheet, *, short: tuple[str, ...] = ()
) -> Iterator[list[str]]:  # fmt: skip
    """Yield the lines of each step; of those that begin as in `short` only what they lose follows the colon."""
    steps, label = row["next_steps"] or (), "do"
    for number, step in enumerate(steps, 1):
        said = _in_brief(step["text"]) if step["text"].startswith(short) else step["text"]
        lines = list(_labelled(label, f"{number}. {said}" if len(steps) > 1 else said, moments, sheet))
        if step["command"]:
            lines.append(f"{' ' * (_INDENT + _LABEL)}{escape_line(step['command'])}")
        yield lines
        label = ""


def _in_brief(said: str) -> str:
    """Return a step that saves or ends something with what it loses in two words, and a question without its asides."""
    if said.startswith("Ask "):
        return re.sub(r" \([^()]*\)", "", said)
    what, _, loses = said.partition(": ")
    skipped = re.search("skip ([0-9]+ records?)", loses)
    brief = {
        "loses nothing": "loses nothing",
        "discards": "committed",
    }
    more = f"skips {skipped[1]}" if skipped else next((brief[word] for word in brief if word in loses), "")
    return f"{what.replace('End the transaction of ', 'End ')}{more and f': {more}.'}"


def _steps(row: Row, moments: TimesOfDay, sheet: Sheet, most: int) -> Iterator[str]:
    steps = row["next_steps"] or ()
    for lines in islice(_each_step(row, moments, sheet), most):
        yield from lines
    if len(steps) > most:
        yield from _labelled("", f"… {len(steps) - most} more steps: --incident {row['id']}", moments, sheet)


def _drawn(rows: Sequence[Row], *, zone: Zone, sheet: Sheet, most: int | None) -> Iterator[str]:
    """Yield the lines of incidents; of many that are alike the first is whole, the others are titles and commands."""
    number = 1
    for some in alike(rows):
        whole = some if len(some) < _ALIKE else some[:1]
        for row in whole:
            moments = TimesOfDay(zone)
            yield from ("", *incident_lines(row, number, moments=moments, sheet=sheet, most=most))
            number += 1
        if rest := some[len(whole) :]:
            yield from ("", f"{number:>2}-{number + len(rest) - 1}  {len(rest)} more like {number - 1}:")
        for row in rest:
            yield from _head(row, f"{number:>2}", moments=TimesOfDay(zone), sheet=sheet)
            for step in row["next_steps"] or ():
                if step["command"]:
                    yield f"{' ' * (_INDENT + _LABEL)}{escape_line(step['command'])}"
            yield from _labelled("incident", row["id"], TimesOfDay(zone), sheet)
            number += 1


def _listed(rows: Sequence[Row], *, moments: TimesOfDay, sheet: Sheet) -> list[str]:
    """Return a line for each incident."""
    lines = [""] * bool(rows)
    for head, text in Overview(rows, moments).lines():
        begin, end = (_COLORS[head.split()[-1].lower()], "\x1b[0m") if sheet.color else ("", "")
        first, *rest = wrapped(text, f"{head:<{_TITLE}} ", " " * (_TITLE + 1), sheet)
        lines += [f"{begin}{first[: len(head)]}{end}{first[len(head) :]}", *rest]
    return lines


def _on_screen(
    rows: Sequence[Row], also: Sequence[Line], told: str, room: int, *, moments: TimesOfDay, sheet: Sheet
) -> Iterator[str]:  # fmt: skip
    """Yield what fits into some rows of a terminal: a line for each of several incidents, one whole, and what else is.

    The proof is left out first, then the words of what else happened and all of it but how much there is, and only then
    some of what to do. `told` is the verdict's sentence.
    """
    listed = _listed(rows, moments=moments, sheet=sheet) if len(rows) > 1 else []
    others = [_also(some, moments.zone, moments, sheet) for some in (also, _shortly(also))]
    at = _urgent(rows)
    stories = [
        ["", *incident_lines(rows[at], at + 1, moments=moments, sheet=sheet, told=told, proof=proof)]
        for proof in (True, False) if rows
    ]  # fmt: skip
    listed = cut(listed, room, sheet)
    room -= sheet.rows(listed)
    yield from listed
    beside = _beside(rows, at, moments, sheet)
    for story in stories or [[]]:
        for other in others:
            if sheet.rows([*story, *chain(*beside), *other]) <= room:
                yield from (*story, *chain(*beside), *other)
                return
    shortest, none = _labels(also, sheet), list[str]()
    brief, labels = none, shortest
    for number in range(len(beside), -1, -1) if rows else ():  # what else happened gives way before another incident
        for labels in (shortest, none):
            space = room - sheet.rows([*labels, *chain(*beside[:number])])
            brief = _brief(rows[at], at + 1, told, space, named=bool(listed), moments=moments, sheet=sheet)
            if brief and not any(_MORE_STEPS in line for line in brief):
                break
        else:
            continue
        brief = [*brief, *chain(*beside[:number])]
        break
    left = room - sheet.rows(brief)
    yield from brief
    if sheet.rows(others[-1]) <= left:
        yield from others[-1]
    else:
        yield from cut(others[-1], left, sheet) if left > _FEW else labels


def _urgent(rows: Sequence[Row]) -> int:
    """Return the place of the incident that is told whole: the first one, which is the worst.

    If that is put right downstream, an incident that stops consumers now is told before it; one that only may stop them
    is not.
    """
    stops = (at for at, row in enumerate(rows) if row["kind"] == "consumers-stopped" and row["severity"] == "error")
    return next(stops, 0) if rows and rows[0]["kind"] in _DOWNSTREAM else 0


_DOWNSTREAM: Final = frozenset({"transaction-torn", "wrong-fate"})


def _beside(rows: Sequence[Row], at: int, moments: TimesOfDay, sheet: Sheet) -> list[list[str]]:
    """Return lines for each incident beside the told one: its first step, or as whose its steps are, with what else."""
    whole, found = [at], []
    for number, row in enumerate(rows[:_BESIDE]):
        steps = row["next_steps"] or ()
        if number == at or not steps:
            continue
        like = next((one for one in whole if (theirs := _in_place(rows[one], row)) is not None), None)
        first = _in_brief(steps[0]["text"]).removesuffix(".") + "."
        said = f"as {like + 1}, of {theirs}" if like is not None else f"{first}{_again(row, 0)}"
        lines = wrapped(moments.prose(escape(said)), f"{number + 1:>2} ", " " * _INDENT, sheet)
        if like is None:
            whole.append(number)
            lines += [f"{' ' * _INDENT}{escape_line(steps[0]['command'])}"] if steps[0]["command"] else []
        found.append(lines)
    return found


def _in_place(told: Row, row: Row) -> str | None:
    """Return whose an incident is, and what its steps have where another one's have others; None if more differs."""
    try:
        mine, theirs = ([shlex.split(step["command"] or "") for step in one["next_steps"] or ()] for one in (told, row))
    except ValueError:  # somebody else wrote this audit
        return None
    shapes = ([[word for word in words if word.startswith("-")] for words in one] for one in (mine, theirs))
    if not mine or next(shapes) != next(shapes):
        return None
    options: dict[str, None] = {}
    for words in theirs:
        for option, value in pairwise(words):
            if option.startswith("--") and not value.startswith("-") and option != "--bootstrap-server":
                options[f"{option} {shlex.quote(value)}"] = None
    ids, producers = list(row["transactional_ids"] or ()), list(row["producer_ids"] or ())
    who = ", ".join([*ids, *map("producer {}".format, producers)])
    if len(ids) == len(producers) == 1:
        who = producer_name(ids[0], producers[0])
    is_said = row["first_offset"] is None or any("--start-offset" in words for words in theirs)
    offset = "" if is_said else f", from offset {row['first_offset']}"
    after, said = (_AFTER.findall(" ".join(step["text"] for step in one["next_steps"])) for one in (row, told))
    later = f" ({after[0]})" if after and after != said else ""
    whose = who or _names(row["partitions"], row["partitions_total"])
    return f"{whose}{offset}: {' '.join(options)}{later}.{_again(row)}"


def _again(row: Row, most: int = 80) -> str:
    """Return what becomes of an incident's saved records, with the reason where that has at most so many characters."""
    sentences = re.split(r"(?<=\.) (?=[A-Z])", " ".join(step["text"] for step in row["next_steps"]))
    said = (one if len(one) <= most else f"{one.partition(': ')[0]}." for one in sentences if one.startswith(_AGAIN))
    return "".join(f" {one}" for one in dict.fromkeys(said))


_BESIDE: Final = 8  # incidents of which something stands beside the told one

_AGAIN: Final = ("Write ", "Do not write ", "Ask the owner ", "No file names ")  # how it begins what becomes of those

_AFTER: Final = re.compile(r"after \d{4}-\S+Z")


def _also(lines: Sequence[Line], zone: Zone, moments: TimesOfDay | None, sheet: Sheet) -> list[str]:
    """Write what else happened, label by label; without `moments` each line has the date."""
    said = ["", "Also"] if lines else []
    for line in lines:
        text = (moments or TimesOfDay(zone)).prose(escape(line.text))
        said += wrapped(text, f"   {line.label:<{_LABEL}}", " " * (_LABEL + 3), sheet)
    return said


def _labels(lines: Sequence[Line], sheet: Sheet) -> list[str]:
    """Say in one line of what kinds the lines of what else happened are, and how many of each."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts[line.label] += line.counts
    said = ", ".join(
        f"{number or ''} {_IN_A_LINE.get(label, label)}".lstrip() for label, number in counts.items() if label
    )
    return ["", *wrapped(f"Also: {said}: --full", "", "  ", sheet)] if said else []


_IN_A_LINE: Final = {"by hand": "aborted by hand", "cleaning": "without cleaning", "group": "of groups"}


def _shortly(lines: Sequence[Line]) -> list[Line]:
    """Return a line for each label, with the names that each of its lines begins with."""
    labels = dict.fromkeys(line.label for line in lines if line.label)
    shorts = ([line.short for line in lines if line.label == label] for label in labels)
    return [
        Line(label, ("; " if any(", " in short for short in some) else ", ").join(some))
        for label, some in zip(labels, shorts, strict=True)
    ]


_NAMING: Final = frozenset({"since", "where", "who", "groups"})


def _brief(
    row: Row, number: int, told: str, room: int, *, named: bool, moments: TimesOfDay, sheet: Sheet
) -> list[str]:  # fmt: skip
    """Return an incident's title and as many of its steps as there is room for, and how to see more.

    Where it is not `named` by a line of its own, its names are here; whose each part is stands here always.
    """
    head = title = ["", *_head(row, f"{number:>2}", moments=moments, sheet=sheet, told=told)]
    before = ""
    for label, text in _facts(row):
        if label in _NAMING and (not named or label == "who"):
            head = [*head, *_labelled("" if label == before else label, text, moments, sheet)]
            before = label
    steps: list[list[str]] = []
    for short in ((), ("Save ",), ("Save ", "End ", "Ask ")):
        steps = list(_each_step(row, moments, sheet, short=short))
        if sheet.rows(lines := [*head, *chain(*steps)]) <= room:
            return lines
    texts = [step["text"] for step in row["next_steps"] or ()]
    verify = next((at for at, text in enumerate(texts) if text.startswith("Verify")), -1)
    for some in range(len(steps), -1, -1):  # how it is verified stays: it says what becomes of what was saved
        kept = steps[verify] if some <= verify else []
        left = len(steps) - some - bool(kept)
        more = [f"{' ' * _INDENT}… {many(left, _MORE_STEPS)}: --incident {number}"] if left else []
        for above in (head, title):  # whose each part is stands before some of what to do is left out
            if sheet.rows(lines := [*above, *chain(*steps[:some]), *more, *kept]) <= room:
                return lines
    return []


_MORE_STEPS: Final = "more step"


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    """Yield what an incident's title does not say: since when, where, who, what is lost, what consumers get."""
    title = row["title"]
    if since := _since(row, title):
        yield "since", since
    where, parts = [_names(row["partitions"], row["partitions_total"], title)], parts_said(row, title)
    if row["first_offset"] is not None and not parts and row["kind"] != "wrong-fate":  # whose title has the late ones
        where.append(_unsaid(_offsets(row["first_offset"], row["last_offset"]), title))
    if row["records"] is not None and row["lost_records"] is None and not parts:
        where.append(_unsaid(many(row["records"], "record"), title))
    if any(where):
        yield "where", ", ".join(filter(None, where))
    producers = _names(row["producer_ids"], row["producer_ids_total"], title, "producer ")
    who = [
        _names(row["transactional_ids"], row["transactional_ids_total"], title),
        producers and f"producer{'s' * (len(row['producer_ids']) > 1)} {producers}",
    ]
    if parts:
        yield from (("who", line) for line in parts)
    elif all(who) and len(row["transactional_ids"]) == len(row["producer_ids"]) == 1:
        yield "who", f"{who[0]} ({who[1]})"
    elif any(who):
        yield "who", "; ".join(filter(None, who))
    elif row["kind"] in _HAD_RECORDS and row["partitions"] and not row["producer_ids"] and _unsaid(_WHOSE, title):
        yield "who", f"unknown: no file says {_WHOSE}"
    if row["lost_records"] is not None:
        kept = [f"{_offsets(one['first_offset'], one['last_offset'])} in {one['log']}" for one in row["kept_in"] or ()]
        lost = _unsaid(lost_said([row]), title)
        if said := "; ".join(filter(None, (lost, f"copies: {', '.join(kept)}" if kept else ""))):
            yield "lost", said
    if every := row.get("groups"):
        yield "groups", groups_said(every, is_one=(row["partitions_total"] or 0) < 2, most=_GROUPS)
    yield from _consumers(row, title)


def _since(row: Row, title: str) -> str:
    """Say since when, as far as a title does not."""
    if row["since_ms"] is None:
        is_asked = row["kind"] in _BEGAN and row["cause"] != "odd-batches"  # which were odd from the beginning
        return "unknown: no file says when" if is_asked and _unsaid("no file says when", title) else ""
    times = [row["since_ms"]]
    said = iso(row["since_ms"])
    if row["since_until_ms"] is not None:
        times.append(row["since_until_ms"])
        said = f"some time between {said} and {iso(row['since_until_ms'])}"
    if row["since_clock"] == "producer":
        said += " (the producer's own clock)"
    if row["until_ms"] not in (None, row["since_ms"]):
        times.append(row["until_ms"])
        said += f" until {iso(row['until_ms'])}"
    return "" if all(iso(time) in title for time in times) else said


_HAD_RECORDS: Final = ("records-lost", "records-unreadable")

_WHOSE: Final = "whose records these are"

_BEGAN: Final = frozenset(  # kinds of which a person asks since when
    ("consumers-stopped", "records-lost", "records-unreadable", "transaction-torn", "wrong-fate", "replicas-diverged")
)


def _unsaid(words: str, title: str) -> str:
    """Return words that a title does not have."""
    return "" if re.search(rf"(?<!\w){re.escape(words)}(?!\w)", title, re.IGNORECASE) else words


def _consumers(row: Row, title: str) -> Iterator[tuple[str, str]]:
    """Yield what consumers get, as far as a title does not say it: once where the isolation level is no difference."""
    by_level = {level: said for level, said in (row["consumers"] or {}).items() if _stopped_at(said) not in title}
    label = "blocked" if row["kind"] == "consumers-stopped" else "consumers"
    if len(by_level) > 1 and len(set(by_level.values())) == 1:
        yield "consumers", next(iter(by_level.values()))
        return
    for level, said in by_level.items():
        rest = f" consumers {said.removeprefix('They ')}" if said.startswith("They ") else f": {said}"
        yield label, f"{level}{rest}"


def _stopped_at(said: str) -> str:
    return said.removeprefix("They stop at ").removesuffix(".")


def _offsets(first: int, last: int | None) -> str:
    return f"from offset {first} on" if last is None else offset_range(first, last)


def _names(values: Sequence[Any] | None, total: int | None, title: str = "", before: str = "") -> str:
    """Name the first things of a cell, nothing where a title names all of them, each with a word before it."""
    if values and len(values) == (total or 0) and not any(_unsaid(f"{before}{value}", title) for value in values):
        return ""
    shown = [str(value) for value in (values or ())[:_MOST_NAMES]]
    more = (total or len(values or ())) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _some(events: Sequence[Row], most: int) -> list[Row | str]:
    if len(events) <= most + 1:
        return list(events)
    half = most // 2
    return [*events[:half], f"… {len(events) - most} more events …", *events[-half:]]


def _place(event: Row) -> str:
    if event["file"] is None:
        return ""
    offset = "" if event["offset"] is None else f", offset {event['offset']}"
    return f"[{event['file']}{offset}]"


def wrapped(text: str, first: str, others: str, sheet: Sheet) -> list[str]:
    """Wrap a text at its words; a name that is longer than a line goes on in the next, a path after a slash."""
    width = max(sheet.width, 40)
    return _Wrapper(width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False).wrap(text)


class _Wrapper(textwrap.TextWrapper):
    def _split(self, text: str) -> list[str]:
        """Split what is longer than a line after its slashes, too."""
        room = self.width - len(self.subsequent_indent)
        parts = ([part] if len(part) <= room else re.split("(?<=/)", part) for part in super()._split(text))
        return [*chain(*parts)]


def incident_markdown(row: Row, *, zone: Zone) -> Iterator[str]:
    """Yield an incident as Markdown; what comes from the evidence can't be markup there."""
    yield f"## {row['severity'].capitalize()}: {zone.prose(_literal(row['title']))}"
    yield ""
    for label, text in _facts(row):
        yield f"- **{label}**: {_literal(zone.prose(text))}"
    if row["events"]:
        yield ""
        yield "| time | what | where |"
        yield "|---|---|---|"
        for event in row["events"]:
            when = "" if event["time_ms"] is None else zone.time(event["time_ms"])
            yield f"| {when} | {_literal(event['what'])} | {_literal(_place(event).strip('[]'))} |"
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


_WORDS: Final = {
    "LOST": "\x1b[1;31m", "DAMAGED": "\x1b[1;31m", "TORN": "\x1b[1;31m", "BLOCKED": "\x1b[1;31m",
    "SUSPICIOUS": "\x1b[1;33m", "INCOMPLETE": "\x1b[1;31m", "EMPTY": "\x1b[1;33m", "NO": "\x1b[1;31m",
    "YES, BUT": "\x1b[1;33m",
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
    incident: str | None = None  # the only one that is drawn: its id, or its number on the screen

    @property
    def listed(self) -> list[Row]:
        """Return the incidents of the screen, worst first; what happens all day in a healthy cluster is a line."""
        return worst_first(row for row in self.incidents if self.every or row["kind"] not in INFORMATIVE)

    @property
    def drawn(self) -> list[Row]:
        """Return the incidents that the report describes, worst first."""
        if self.incident is None:
            return self.listed
        numbered = {str(number): row["id"] for number, row in enumerate(self.listed, 1)}
        return [row for row in self.incidents if row["id"] == numbered.get(self.incident, self.incident)]


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
        lines = [*_drawn(rows, zone=zone, sheet=sheet, most=_WHOLE), ""]
    elif full:
        listed = _listed(rows, moments=moments, sheet=sheet) if len(rows) > 1 else []
        lines += [*listed, *_drawn(rows, zone=zone, sheet=sheet, most=None)]
        lines += [*_also(screen.also, zone, None, sheet), ""]
    else:
        fixed = [*lines, *before_last.decode("utf-8", "replace").splitlines(), *last, ""]
        room = LINES - sheet.rows(fixed)
        told = verdict.sentence
        lines += _on_screen(rows, screen.also, told, room, moments=moments, sheet=sheet)
        lines.append("")
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
        lines = (f"- **{line.label}**: {_literal(zone.prose(line.text))}" for line in report.screen.also)
        _write(stream, ["## Also", "", *lines, ""])
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

_OF_INCIDENTS: Final = "add --incident {} to the command: all its steps and its proof · --full · kafkalog explain WORD"


def report_of(told: Told, *, findings: bool = False) -> Report:
    """Return what a report of an audit says; with `findings` also each of them that is above a note.

    Of one incident it shows that alone, in full. Raises NothingMatchesError if no incident has the id.

    Without, nothing is missing: each finding above a note is in an incident.
    """
    source, incident = told.source, told.incident
    incidents = list(source.rows("incidents"))
    rows = (row for row in source.rows("findings") if row["severity"] != "note") if findings else ()
    report = Report(told.screen, told.screen.verdict.counts, incidents, rows, "", told.every, incident)
    if incident is not None and not report.drawn:
        raise nothing_matches("incident", [incident], [row["id"] for row in incidents])
    if CHANGES.name in source.tables:
        return replace(report, more=f"Not compared: {'; '.join(source.scope) or 'nothing'}.")
    of_audit = "transactions" in source.tables
    if report.drawn and of_audit:
        number = 1 if len(report.drawn) == 1 or _urgent(report.drawn) else 2
        return replace(report, more=f"More: {_OF_INCIDENTS.format(number)}")
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
