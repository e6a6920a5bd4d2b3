"""Writes an audit in one of the forms that are no rows: reports for people, and what other programs read."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import chain, islice
from typing import Any, BinaryIO, Final

from kafkalog.auditing.incidents import Verdict, groups_said, incidents_asked, lost_said, worst_first
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.certainty import is_proved
from kafkalog.escape import escape, escape_line
from kafkalog.quantities import iso, many, offset_range
from kafkalog.reports import (
    FirstScreen,
    Line,
    PlanStep,
    cause_said,
    ended_alike,
    in_words,
    page,
    parts_said,
    plan_of,
    records_line,
)
from kafkalog.tables.change_tables import CHANGES
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.zone import UTC, Zone
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

_STEP: Final = 8  # before a step

_TITLE: Final = 10  # before what follows the first line of a title

_EVENTS: Final = 8  # of an incident: the first and the last ones

_MOST_NAMES: Final = 8

_GROUPS: Final = 20

_STEPS: Final = 12

_WHOLE: Final = 100  # events and steps of an incident that is shown alone

_ALIKE: Final = 4  # incidents of one kind and cause, of which only the first is drawn whole


def incident_lines(
    row: Row, number: int | str, *, moments: TimesOfDay, sheet: Sheet, most: int | None = None,
    told: str = "", steps: bool = True,
) -> Iterator[str]:  # fmt: skip
    """Yield an incident's lines, each fact once; a command is never wrapped, so that it can be copied.

    With `most` there are this many of its events and steps. `told` is a sentence that stands before it, and may have
    its title; without `steps` what is to do is left out.
    """
    moments = moments.block()
    yield from _head(row, f"{number:>2}", moments=moments, sheet=sheet, told=told)
    before = ""
    for label, text in _facts(row):
        yield from _labelled("" if label == before else label, text, moments, sheet)
        before = label
    yield from _proof(row, moments, sheet, most or _EVENTS)
    if steps:
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
    rows: Sequence[Row], moments: TimesOfDay, sheet: Sheet, *, label: str = "do", is_brief: bool = False,
    said: Collection[str] = (), among_others: bool = False,
) -> Iterator[list[str]]:  # fmt: skip
    """Yield the lines of each step of an incident, or of several that are ended alike; in brief without alternatives.

    What was `said` is not said again.
    """
    steps = [
        step for step in plan_of(rows, among_others=among_others) if step.text not in said or step.commands or step.kind
    ]
    steps = [step for step in steps if not (is_brief and step.kind == "instead")]
    for number, step in enumerate(steps, 1):
        lines: list[str] = []
        for words in (step.text, *(_in_brief(step) if is_brief else ())):
            text = escape(f"{number}. {words}" if len(steps) > 1 else words)
            text = _by_the_clock(text, moments.zone) if step.kind == "ask" else moments.prose(text)
            shorter = wrapped(text, f"{label:>{_STEP - 1}} ", " " * _STEP, sheet)
            lines = shorter if not lines or len(shorter) < len(lines) else lines
        yield [*lines, *(f"{' ' * _STEP}{escape_line(command)}" for command in step.commands)]
        label = ""


def _by_the_clock(text: str, zone: Zone) -> str:
    """Write the times of a text with their date and without milliseconds: somebody compares them with a clock."""
    return re.sub(r"(:\d\d)\.000(?=Z|[+-]\d\d:)", r"\1", TimesOfDay(zone).prose(text))


def _in_brief(step: PlanStep) -> Iterator[str]:
    """Yield shorter and shorter words of a step: what it loses in two words, a question without its asides."""
    if step.kind == "ask":
        yield re.sub(r" \(where the files end, [^()]*\)", " (timeout and a minute)", step.text)
        yield re.sub(r" \((where the files end|a marker comes)[^()]*\)", "", step.text)
    elif step.kind == "again":
        yield step.text.replace(" Who reads uncommitted gets them twice.", "")
    elif step.kind == "look":
        shorter = step.text.replace(": its marker will come", "")
        yield shorter
        yield re.sub(r"\. P(roducers? .*) no transactional id: .*", r" (p\1 no id).", shorter)
    elif step.kind in ("save", "end") and len(step.commands) == 1:
        what, _, loses = step.text.partition(": ")
        skipped = re.search("skip ([0-9]+ records?)", loses)
        brief = {"loses nothing": "loses nothing", "discards": "committed"}
        more = f"skips {skipped[1]}" if skipped else next((brief[word] for word in brief if word in loses), "")
        yield f"{what.replace('End the transaction of ', 'End ')}{more and f': {more}.'}"


def _steps(row: Row, moments: TimesOfDay, sheet: Sheet, most: int) -> Iterator[str]:
    steps = row["next_steps"] or ()
    for lines in islice(_each_step([row], moments, sheet), most):
        yield from lines
    if len(steps) > most:
        yield f"{' ' * _STEP}… {len(steps) - most} more steps: --incident {row['id']}"


def _drawn(rows: Sequence[Row], *, zone: Zone, sheet: Sheet) -> Iterator[str]:
    """Yield the lines of incidents; of many that are alike the first is whole, the others are titles and commands."""
    number = 1
    for some in alike(rows):
        whole = some if len(some) < _ALIKE else some[:1]
        for row in whole:
            moments = TimesOfDay(zone)
            yield from ("", *incident_lines(row, number, moments=moments, sheet=sheet))
            number += 1
        if rest := some[len(whole) :]:
            yield from ("", f"{number:>2}-{number + len(rest) - 1}  {len(rest)} more like {number - 1}:")
        for row in rest:
            yield from _head(row, f"{number:>2}", moments=TimesOfDay(zone), sheet=sheet)
            for step in row["next_steps"] or ():
                if step["command"]:
                    yield f"{' ' * _STEP}{escape_line(step['command'])}"
            yield from _labelled("incident", row["id"], TimesOfDay(zone), sheet)
            number += 1


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
            label = f"do {_numbers(some)}" if some[-1] < len(listed) else "do"
            among, moments = len(some) < len(places), TimesOfDay(zone)
            plan = _each_step([rows[place] for place in some], moments, sheet, label=label, among_others=among)
            yield from ("", *chain(*plan))


def _listed(
    rows: Sequence[Row], *, moments: TimesOfDay, sheet: Sheet, told: frozenset[int] = frozenset()
) -> list[str]:  # fmt: skip
    """Return a line for each incident; the steps of those that are `told`, by their places, follow."""
    lines = [""] * bool(rows)
    for head, text in Overview(rows, moments).lines(told):
        begin, end = (_COLORS[head.split()[-1].lower()], "\x1b[0m") if sheet.color else ("", "")
        first, *rest = wrapped(text, f"{head:<{_TITLE}} ", " " * (_TITLE + 1), sheet)
        lines += [f"{begin}{first[: len(head)]}{end}{first[len(head) :]}", *rest]
    return lines


@dataclass(slots=True)
class _Story:
    """Incidents that one plan ends, by their `places`, and how much the screen shows: nothing, their steps, or more.

    `others` are those for which there is no room. One that is `titled` has its title before other stories have steps.
    """

    places: list[int]
    detail: int = 0
    others: list[int] = field(default_factory=list)
    titled: bool = False


_ASK, _FIRST, _BRIEF, _PLAN, _HEADS, _FACTS, _PROOF = range(1, 8)  # how much the screen shows of a story


@dataclass(slots=True)
class _Screen:
    """What fits into some rows of a terminal: a line for each of several incidents, how they are ended, what else is.

    Each story takes what room is left, one detail after the other: the steps of the most urgent one come first, then
    those of the others, how much else there is, then titles, what else happened, and last the proof. `told` is the
    verdict's sentence.
    """

    rows: Sequence[Row]
    also: Sequence[Line]
    told: str
    room: int
    moments: TimesOfDay
    sheet: Sheet
    stories: list[_Story] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    airy: int = 0  # blank lines: before the first line, and before what is to do

    def lines(self) -> list[str]:
        """Return the lines."""
        whole = sorted(self.stories, key=lambda story: story.places)
        table = self._table(chain.from_iterable((*story.places, *story.others) for story in whole))
        above = [""] * (self.airy > 0 and bool(table or whole))
        between = [""] * (self.airy > 1 and bool(table and whole))
        return [*above, *table, *between, *chain.from_iterable(map(self._of_story, whole)), *self.beside]

    def _table(self, told: Iterable[int]) -> list[str]:
        if len(self.rows) < 2:
            return []
        lines = _listed(self.rows, moments=self.moments, sheet=self.sheet, told=frozenset(told))[1:]
        return cut(lines, self.room, self.sheet)

    def fits(self, spare: int = 0) -> bool:
        """Say whether they fit, and leave some rows to spare."""
        return self.sheet.rows(self.lines()) <= self.room - spare

    def fill(self) -> list[str]:
        """Return the lines with as much as fits."""
        every = [_Story(places) for places in ended_alike(self.rows) if any(map(self._has_steps, places))]
        urgent = sorted(every, key=lambda one: _urgency(self.rows[one.places[0]]))[:_STORIES]
        for number, story in enumerate(urgent, 1):
            self._take(story, others=len(urgent) - number)
        if not self.stories and self.rows:
            return self._cut()
        labels = _labels(self.also, self.sheet)
        self._try_beside([labels])
        self._try_airy(1)
        forms = [["", *labels] if labels else [], *(self._also(some) for some in (_shortly(self.also), self.also))]
        for beside, detail in ((0, _PLAN), (1, _HEADS), (1, _FACTS), (2, _PROOF)):
            self._try_beside(forms[: beside + 1])
            for story in sorted(self.stories, key=lambda one: one.places):
                if story.detail >= _BRIEF and not self._try(story, detail) and detail > _PLAN:
                    break  # no later one has a title, or more, that an earlier one lacks
            self._try_airy(2)
        return self.lines()

    def _has_steps(self, place: int) -> bool:
        return bool(self.rows[place]["next_steps"])

    def _take(self, story: _Story, *, others: int) -> None:
        """Take a story in brief, or as many of its incidents as there is room for; of a later one its first step.

        Where it is of several incidents there is some room for each of the `others`.
        """
        places = story.places
        details = (_BRIEF, _FIRST, _ASK) if self.stories else (_BRIEF,)
        self.stories.append(story)
        for number in range(min(len(places), _BESIDE), 0, -1):
            for story.detail in details:
                story.places, story.others = places[:number], places[number:]
                if self.fits(spare=others * _LEAST if number > 1 else 0):
                    story.titled = self.rows[places[0]]["kind"] in _TITLED
                    story.titled = story.titled and self.fits()
                    return
        self.stories.remove(story)

    def _try(self, story: _Story, detail: int) -> bool:
        before, story.detail = story.detail, detail
        if not self.fits(spare=int(detail > _HEADS)):
            story.detail = before
        return story.detail == detail

    def _try_airy(self, blank: int) -> None:
        before, self.airy = self.airy, blank
        if not self.fits():
            self.airy = before

    def _try_beside(self, forms: Sequence[list[str]]) -> None:
        for form in forms:
            before, self.beside = self.beside, form
            if not self.fits(spare=int(form[:1] == [""])):
                self.beside = before

    def _also(self, lines: Sequence[Line]) -> list[str]:
        return _also(lines, self.moments.zone, self.moments, self.sheet)

    def _of_story(self, story: _Story) -> Iterator[str]:
        rows, named = [self.rows[place] for place in story.places], len(self.rows) > 1
        if story.detail >= _PROOF and len(rows) == 1:
            number = story.places[0] + 1
            yield from incident_lines(rows[0], number, moments=self.moments, sheet=self.sheet, told=self.told)
            return
        if story.places != min(one.places for one in self.stories) and story.detail > _BRIEF:
            yield ""
        yield from chain(*self._above(story, rows, named=named))
        steps = self._steps(story, rows, named=named, is_brief=story.detail <= _BRIEF)
        if story.detail <= _FIRST and len(steps) > 1:
            more = many(len(steps) - 1, "more step")
            lines, commands = steps[0], plan_of(rows)[0].commands
            if story.detail == _ASK and commands:
                lines, more = lines[: -len(commands)], f"the lines for it, and {more}"
            steps = [lines, self._left(f"… {more}", story.places)]
        yield from chain(*steps)
        if story.others:
            later = 0 if _asked_at(rows) else _asked_at([self.rows[place] for place in story.others])
            how = "not in these lines"
            if later:
                how = f"if still there after {_by_the_clock(iso(later), self.moments.zone)}"
            yield from self._left(f"… {_numbers(story.others)} in the same way, {how}", story.others)

    def _left(self, said: str, places: Sequence[int]) -> list[str]:
        return [f"{' ' * _STEP}{said}: --incident {_numbers(places)}"]

    def _above(self, story: _Story, rows: Sequence[Row], *, named: bool) -> Iterator[list[str]]:
        """Yield the titles of a story's incidents and what they do not say, as far as there is room for these."""
        for place, row in zip(story.places, rows, strict=True):
            moments = self.moments.block()
            if story.detail >= _HEADS or story.titled or not named:
                yield list(_head(row, f"{place + 1:>2}", moments=moments, sheet=self.sheet, told=self.told))
            before = ""
            for label, text in _facts(row):
                is_part = label == "who" and parts_said(row)
                if story.detail >= _FACTS or is_part or (label in _NAMING and not named):
                    yield list(_labelled("" if label == before else label, text, moments, self.sheet))
                    before = label

    def _steps(
        self, story: _Story, rows: Sequence[Row], *, named: bool, is_brief: bool
    ) -> list[list[str]]:  # fmt: skip
        is_titled = (story.titled or story.detail >= _HEADS) and len(rows) == 1
        label = "do" if is_titled or not named else f"do {_numbers(story.places)}"
        return list(
            _each_step(
                rows, self.moments.block(), self.sheet, label=label, is_brief=is_brief, said=self._said_before(story),
                among_others=bool(story.others),
            )
        )  # fmt: skip

    def _said_before(self, story: _Story) -> set[str]:
        before = (one for one in self.stories if one.detail >= _BRIEF and one.places < story.places)
        steps = chain.from_iterable(plan_of([self.rows[place] for place in one.places]) for one in before)
        return {step.text for step in steps}

    def _cut(self) -> list[str]:
        """Return the lines with some of what is to do for the most urgent incident, and how to see more."""
        place = min(range(len(self.rows)), key=lambda one: _urgency(self.rows[one]))
        row, named = self.rows[place], len(self.rows) > 1
        lines, story = self._table([place]), _Story([place], _BRIEF)
        lines = ["", *lines] if lines else []
        above = ["", *chain(*self._above(story, [row], named=named))]
        title = ["", *([] if named else _head(row, " 1", moments=self.moments, sheet=self.sheet, told=self.told))]
        steps = self._steps(story, [row], named=named, is_brief=True)
        for some in range(len(steps), -1, -1):
            left = len(steps) - some
            more = [f"{' ' * _STEP}… {many(left, 'more step')}: --incident {place + 1}"] if left else []
            for head in (above, title):  # whose each part is stands before some of what to do is left out
                if self.sheet.rows(found := [*lines, *head, *chain(*steps[:some]), *more]) <= self.room:
                    return found
        return lines


def _asked_at(rows: Iterable[Row]) -> int:
    """Return from when on brokers are asked about incidents (ms), 0 for none."""
    return max((part.get("hangs_after_ms") or 0 for row in rows for part in row.get("parts") or ()), default=0)


def _urgency(row: Row) -> int:
    """Return the rank of an incident for what room there is: what a repair downstream mends can wait for others.

    So can unreadable records at which no consumer fails now. One that only may stop consumers goes before neither.
    """
    stops = row["kind"] == "consumers-stopped" and row["severity"] == "error"
    return 1 if not stops and row["kind"] in _CAN_WAIT and not row.get("offsets_waiting") else 0


_CAN_WAIT: Final = frozenset({"transaction-torn", "wrong-fate", "records-unreadable"})

_TITLED: Final = frozenset({"records-lost", "records-unreadable"})  # whose titles say since when, and how

_BESIDE: Final = 8  # incidents that one plan ends

_STORIES: Final = 8  # for which there may be room

_LEAST: Final = 2  # rows: a first step, and that there are more


def _numbers(places: Sequence[int]) -> str:
    """Name incidents by their numbers on the screen."""
    first, last = places[0] + 1, places[-1] + 1
    if len(places) > 1 and last - first == len(places) - 1:
        return f"{first}-{last}"
    return ",".join(str(place + 1) for place in places)


def _also(lines: Sequence[Line], zone: Zone, moments: TimesOfDay | None, sheet: Sheet) -> list[str]:
    """Write what else happened, label by label; without `moments` each line has the date."""
    said = ["", "Also"] if lines else []
    for line in lines:
        text = (moments or TimesOfDay(zone)).prose(escape(line.text))
        said += wrapped(text, f"   {line.label:<{_LABEL}}", " " * (_LABEL + 3), sheet)
        said += [f"{' ' * (_LABEL + 3)}{escape_line(command)}" for command in line.commands]
    return said


def _labels(lines: Sequence[Line], sheet: Sheet) -> list[str]:
    """Say in one line of what kinds the lines of what else are, how many of each, and whose if there is room."""
    said = (_counted(lines, named=True), _counted(lines))
    every = [wrapped(f"Also: {one}: --full", "", "  ", sheet) for one in said if one]
    return min(every, key=len, default=[])


def _counted(lines: Sequence[Line], *, named: bool = False) -> str:
    counts: Counter[str] = Counter()
    for line in lines:
        counts[line.label] += line.counts
    said = []
    for label, number in counts.items():
        some = [line for line in lines if line.label == label]
        whose = ", ".join(line.who for line in some) if named and all(line.who for line in some) else ""
        aside = "normal" if all(line.is_normal for line in some) else whose
        said.append(f"{number or ''} {_IN_A_LINE.get(label, label)}{aside and f' ({aside})'}".lstrip())
    return ", ".join(filter(None, said))


_IN_A_LINE: Final = {
    "by hand": "aborted by hand", "cleaning": "without cleaning", "group": "of groups",
    "to do": "nothing to do in the cluster",
}  # fmt: skip


def _shortly(lines: Sequence[Line]) -> list[Line]:
    """Return a line for each label, with the names that each of its lines begins with."""
    labels = dict.fromkeys(line.label for line in lines if line.label)
    shorts = ([line.short for line in lines if line.label == label] for label in labels)
    return [
        Line(label, ("; " if any(", " in short for short in some) else ", ").join(some))
        for label, some in zip(labels, shorts, strict=True)
    ]


_NAMING: Final = frozenset({"since", "where", "who", "groups"})


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
    label = "blocked" if row["kind"] == "consumers-stopped" and is_proved(row["certainty"]) else "consumers"
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
        listed = _listed(rows, moments=moments, sheet=sheet) if len(rows) > 1 else []
        lines += [*listed, *_drawn(rows, zone=zone, sheet=sheet)]
        lines += [*_also(screen.also, zone, None, sheet), ""]
    else:
        fixed = [*lines, *before_last.decode("utf-8", "replace").splitlines(), *last]
        room = LINES - sheet.rows(fixed)
        counted = _counted(screen.also).replace(" (normal)", "")
        with_all = wrapped(report.more.replace("--full: all", f"--full: all, and {counted}"), "", "  ", sheet)
        is_counted = bool(counted) and sheet.rows(with_all) <= sheet.rows(last)
        kept = 0  # rows for names that the lines lack
        while True:
            drawing = _Screen(rows, screen.also, verdict.sentence, room - kept, moments, sheet)
            body = drawing.fill()
            unsaid = () if drawing.beside or is_counted else screen.also
            names = [*_unnamed(rows, unsaid, [*lines, *body], sheet)]
            if sheet.rows(names) <= kept:
                break
            kept = sheet.rows(names)
        body += names
        lines += [*body, *[""] * (sheet.rows(body) < room)]
        last = with_all if is_counted and not drawing.beside else last
    _write(stream, lines)
    write_findings(report.findings, stream, zone)
    stream.write(before_last)
    _write(stream, last)


def _unnamed(rows: Sequence[Row], also: Sequence[Line], lines: Iterable[str], sheet: Sheet) -> Iterator[str]:
    """Yield lines for what others do not name: of a sole incident, and of what else happened if a client noticed it."""
    text = " ".join(lines)

    def left(names: Iterable[str]) -> list[str]:
        return [name for name in names if not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text)]

    for row in rows if len(rows) == 1 else ():
        groups = dict.fromkeys(stand["group"] for stand in row.get("groups") or ())
        for label, names in ("where", row["partitions"]), ("who", row["transactional_ids"]), ("groups", groups):
            if some := left(names or ()):
                yield from _labelled(label, f"also {_names(some, None)}", TimesOfDay(UTC), sheet)
    if left(line.short.split()[0].rstrip(",:") for line in also if line.label in _NOTICED):
        yield from _labels(also, sheet)


_NOTICED: Final = frozenset({"fenced", "timed out", "by hand", "group"})


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

_OF_INCIDENTS: Final = "--incident {}: one whole, with its proof · --full: all · kafkalog explain WORD"


def report_of(told: Told, *, findings: bool = False) -> Report:
    """Return what a report of an audit says; with `findings` also each of them that is above a note.

    Of incidents that were asked for it shows these alone, in full. Raises NothingMatchesError if there is none such.

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
        number = "1" if len(report.listed) == 1 else f"N (1-{len(report.listed)})"
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
