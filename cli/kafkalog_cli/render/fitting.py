"""What fits on one screen: a line for each incident, how they are ended, and what else happened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from kafkalog.auditing.incidents import can_wait
from kafkalog.escape import escape, escape_line
from kafkalog.few_of_many import grouped
from kafkalog.quantities import many
from kafkalog.reports import (
    Line,
    ended_alike,
    parts_said,
    plan_of,
    why_open,
)
from kafkalog.zone import UTC, Zone
from kafkalog_cli.render.incident_text import (
    LABEL,
    STEP,
    each_step,
    facts_of,
    incident_lines,
    labelled,
    names_of,
    row_lines,
    title_lines,
    wrapped,
)
from kafkalog_cli.render.overview import Sheet, TimesOfDay, cut

__all__ = ["Fitting", "also_lines", "counted_of", "numbers_of", "unnamed"]

Row = Mapping[str, Any]


@dataclass(slots=True)
class _Story:
    """Incidents that one plan ends, by their `places`, and how much the screen shows: nothing, their steps, or more.

    `others` are those for which there is no room, and `whole` the steps that are not in brief. One that is `titled` has
    its title before other stories have steps.
    """

    places: list[int]
    detail: int = 0
    others: list[int] = field(default_factory=list)
    whole: set[int] = field(default_factory=set)
    titled: bool = False


_ASK, _FIRST, _BRIEF, _WHY, _PLAN, _HEADS, _FACTS, _PROOF = range(1, 9)  # how much the screen shows of a story


@dataclass(slots=True)
class Fitting:
    """What fits into some rows of a terminal: a line for each of several incidents, how they are ended, what else is.

    Each story takes what room is left, one detail after the other: the steps of the most urgent one come first, then
    those of the others, how much else there is, then titles, what else happened, and last the proof. `told` is the
    verdict's sentence; how much else there is stands elsewhere if it `is_counted`.
    """

    rows: Sequence[Row]
    also: Sequence[Line]
    told: str
    room: int
    moments: TimesOfDay
    sheet: Sheet
    is_counted: bool = False
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
        lines = row_lines(self.rows, moments=self.moments, sheet=self.sheet, told=frozenset(told))[1:]
        return cut(lines, self.room, self.sheet)

    def fits(self, spare: int = 0) -> bool:
        """Say whether they fit, and leave some rows to spare."""
        return self.sheet.rows(self.lines()) <= self.room - spare

    def fill(self) -> list[str]:
        """Return the lines with as much as fits."""
        every = [_Story(places) for places in ended_alike(self.rows) if any(map(self._has_steps, places))]
        urgent = sorted(every, key=lambda one: can_wait(self.rows[one.places[0]]))[:_STORIES]
        for number, story in enumerate(urgent, 1):
            self._take(story, others=len(urgent) - number)
            if not self.stories:  # the most urgent incident does not fit: no other one takes its room
                return self._cut(story.places[0])
        if not self.stories and self.rows:
            return self._cut(0)
        labels = [] if self.is_counted else _labels(self.also, self.sheet)
        self._try_beside([labels])
        forms = [["", *labels] if labels else [], *(self._also_of(some) for some in (_shortly(self.also), self.also))]
        for beside, detail in ((0, _WHY), (0, _PLAN), (1, _HEADS), (1, _FACTS), (2, _PROOF)):
            self._try_beside(forms[: beside + 1])
            for story in sorted(self.stories, key=lambda one: one.places):
                if story.detail >= _BRIEF and not self._try(story, detail):
                    if detail > _PLAN:
                        break  # no later one has a title, or more, that an earlier one lacks
                    if detail == _PLAN:
                        self._lengthen(story)
            self._try_airy(1 if detail == _WHY else 2)
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

    def _lengthen(self, story: _Story) -> None:
        """Tell those steps of a story whole for which there is room, the last ones first: what a step costs later."""
        for number in range(len(plan_of([self.rows[place] for place in story.places])), 0, -1):
            story.whole.add(number)
            if not self.fits():
                story.whole.remove(number)

    def _try_airy(self, blank: int) -> None:
        before, self.airy = self.airy, blank
        if not self.fits():
            self.airy = before

    def _try_beside(self, forms: Sequence[list[str]]) -> None:
        for form in forms:
            before, self.beside = self.beside, form
            if not self.fits(spare=int(form[:1] == [""])):
                self.beside = before

    def _also_of(self, lines: Sequence[Line]) -> list[str]:
        return also_lines(lines, self.moments.zone, self.moments, self.sheet)

    def _of_story(self, story: _Story) -> Iterator[str]:
        rows, named = [self.rows[place] for place in story.places], len(self.rows) > 1
        if story.detail >= _PROOF and len(rows) == 1:
            number = story.places[0] + 1
            yield from incident_lines(rows[0], number, moments=self.moments, sheet=self.sheet, told=self.told)
            return
        if story.places != min(one.places for one in self.stories) and story.detail > _WHY:
            yield ""
        yield from chain(*self._above(story, rows, named=named))
        if story.detail in (_WHY, _PLAN) and named and not story.titled:
            yield from self._why(story)
        steps = self._steps(story, rows, named=named, is_brief=story.detail <= _WHY)
        if story.detail <= _FIRST and len(steps) > 1:
            more = many(len(steps) - 1, "more step")
            lines, commands = steps[0], plan_of(rows)[0].commands
            if story.detail == _ASK and commands:
                lines, more = lines[: -len(commands)], f"the lines for it, and {more}"
            steps = [lines, self._left(f"… {more}", story.places)]
        yield from chain(*steps)
        if story.others:
            is_asked = any(
                step.get("kind") == "ask" for place in story.others for step in self.rows[place]["next_steps"]
            )
            how = "may hang; to ask, and to end them" if is_asked else "in the same way"
            yield from self._left(f"… {numbers_of(story.others)} {how}", story.others)

    def _why(self, story: _Story) -> list[str]:
        """Say why the transactions of incidents that have no titles here do not end, and what is not certain of it."""
        every = sorted((*story.places, *story.others))
        by_why = grouped(every, lambda place: why_open(self.rows[place]))
        whys = "; ".join(f"{numbers_of(places)}: {why}" for why, places in by_why.items() if why is not None)
        said = [whys] if whys else []
        stopped = [place for place in every if self.rows[place]["kind"] == "consumers-stopped"]
        doubts = grouped(stopped, lambda place: _doubt(self.rows[place]))
        sure = doubts.pop(None, ())
        if said and sure:
            verb = "hangs" if len(sure) == 1 else "hang"
            certain = f"{numbers_of(sure)} {verb} for certain: the coordinator's later records are here"
            said.append(certain if doubts else f"No coordinator ends {'it' if len(sure) == 1 else 'them'}")
        for doubt, places in doubts.items():
            said.append(f"{numbers_of(places)} may have ended, as {doubt}")
        return wrapped(f"{'. '.join(said)}.", f"{'why':>{STEP - 1}} ", " " * STEP, self.sheet) if said else []

    def _left(self, said: str, places: Sequence[int]) -> list[str]:
        return [f"{' ' * STEP}{said}: this audit with --incident {numbers_of(places)}"]

    def _above(self, story: _Story, rows: Sequence[Row], *, named: bool) -> Iterator[list[str]]:
        """Yield the titles of a story's incidents and what they do not say, as far as there is room for these."""
        for place, row in zip(story.places, rows, strict=True):
            moments = self.moments.block()
            if story.detail >= _HEADS or story.titled or not named:
                yield list(
                    title_lines(
                        row, f"{place + 1:>2}", moments=moments, sheet=self.sheet, told=self.told, is_listed=named
                    )
                )
            before = ""
            for label, text in facts_of(row):
                is_part = label == "who" and parts_said(row)
                if story.detail >= _FACTS or is_part or (label in _NAMING and not named):
                    yield list(labelled("" if label == before else label, text, moments, self.sheet))
                    before = label

    def _steps(
        self, story: _Story, rows: Sequence[Row], *, named: bool, is_brief: bool
    ) -> list[list[str]]:  # fmt: skip
        label = f"do {numbers_of(story.places)}:" if named else "do"
        return list(
            each_step(
                rows, self.moments.block(), self.sheet, label=label, is_brief=is_brief, whole=story.whole,
                said=self._said_before(story),
                among_others=bool(story.others),
            )
        )  # fmt: skip

    def _said_before(self, story: _Story) -> set[str]:
        before = (one for one in self.stories if one.detail >= _BRIEF and one.places < story.places)
        steps = chain.from_iterable(plan_of([self.rows[place] for place in one.places]) for one in before)
        return {step.text for step in steps}

    def _cut(self, place: int) -> list[str]:
        """Return the lines with some of what is to do for the most urgent incident, and how to see more."""
        row, named = self.rows[place], len(self.rows) > 1
        lines, story = self._table([place]), _Story([place], _BRIEF)
        lines = ["", *lines] if lines else []
        above = ["", *chain(*self._above(story, [row], named=named))]
        title = ["", *([] if named else title_lines(row, " 1", moments=self.moments, sheet=self.sheet, told=self.told))]
        steps = self._steps(story, [row], named=named, is_brief=True)
        for some in range(len(steps), 0 if named else -1, -1):
            left = len(steps) - some
            more = self._left(f"… {many(left, 'more step')}", [place]) if left else []
            for head in (above, title):  # whose each part is stands before some of what to do is left out
                if self.sheet.rows(found := [*lines, *head, *chain(*steps[:some]), *more]) <= self.room:
                    return found
        return ["", *self._table(())] if named else lines


_TITLED: Final = frozenset(  # whose titles say since when and how, or what a start loses
    ("records-lost", "records-unreadable", "start-goes-wrong", "start-empties")
)

_BESIDE: Final = 8  # incidents that one plan ends

_STORIES: Final = 8  # for which there may be room

_LEAST: Final = 2  # rows: a first step, and that there are more


def _doubt(row: Row) -> str | None:
    return next((part.get("doubt") for part in row.get("parts") or ()), None)


def numbers_of(places: Sequence[int]) -> str:
    """Name incidents by their numbers on the screen."""
    first, last = places[0] + 1, places[-1] + 1
    if len(places) > 1 and last - first == len(places) - 1:
        return f"{first}-{last}"
    return ",".join(str(place + 1) for place in places)


def also_lines(lines: Sequence[Line], zone: Zone, moments: TimesOfDay | None, sheet: Sheet) -> list[str]:
    """Write what else happened, label by label; without `moments` each line has the date."""
    said = ["", "Also"] if lines else []
    for line in lines:
        text = (moments or TimesOfDay(zone)).prose(escape(line.text))
        said += wrapped(text, f"   {line.label:<{LABEL}}", " " * (LABEL + 3), sheet)
        said += [f"{' ' * (LABEL + 3)}{escape_line(command)}" for command in line.commands]
    return said


def _labels(lines: Sequence[Line], sheet: Sheet) -> list[str]:
    """Say in one line of what kinds the lines of what else are, how many of each, and whose if there is room."""
    said = (counted_of(lines, named=True), counted_of(lines))
    every = [wrapped(f"Also: {one}: --full", "", "  ", sheet) for one in said if one]
    return min(every, key=len, default=[])


def counted_of(lines: Sequence[Line], *, named: bool = False) -> str:
    """Count what else happened, kind by kind; `named` says whose it is."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts[line.label] += line.counts
    said = []
    for label, number in counts.items():
        some = [line for line in lines if line.label == label]
        if named and label == "group" and all(line.who for line in some):
            said.append(f"group {', '.join(line.who for line in some)}")
            continue
        whose = (
            " and of ".join(dict.fromkeys(line.who for line in some))
            if named and all(line.who for line in some)
            else ""
        )
        no_loss = " (undid no commit)" if label == "by hand" else ""
        aside = " (normal)" if all(line.is_normal for line in some) else whose and f"{no_loss}, of {whose}"
        said.append(f"{number or ''} {_IN_A_LINE.get(label, label)}{aside}".lstrip())
    return ", ".join(filter(None, said))


_IN_A_LINE: Final = {
    "by hand": "aborted by hand", "cleaning": "without cleaning", "group": "group offsets lost or set back",
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


def unnamed(rows: Sequence[Row], also: Sequence[Line], lines: Iterable[str], sheet: Sheet) -> Iterator[str]:
    """Yield lines for what others do not name: of a sole incident, and of what else happened if a client noticed it."""
    text = " ".join(lines)

    def left(names: Iterable[str]) -> list[str]:
        return [name for name in names if not re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text)]

    for row in rows if len(rows) == 1 else ():
        groups = dict.fromkeys(stand["group"] for stand in row.get("groups") or ())
        for label, names in ("where", row["partitions"]), ("who", row["transactional_ids"]), ("groups", groups):
            if some := left(names or ()):
                yield from labelled(label, f"also {names_of(some, None)}", TimesOfDay(UTC), sheet)
    if left(line.short.split()[0].rstrip(",:") for line in also if line.label in _NOTICED):
        yield from _labels(also, sheet)


_NOTICED: Final = frozenset({"fenced", "timed out", "by hand", "group"})
