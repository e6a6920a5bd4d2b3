"""An incident as text: what happened, since when, to whom, what consumers get, what to do now."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from kafkalog.auditing.incidents import groups_said, lost_said
from kafkalog.certainty import is_proved
from kafkalog.escape import escape, escape_line
from kafkalog.quantities import iso, many, offset_range
from kafkalog.reports import (
    PlanStep,
    cause_said,
    in_words,
    parts_said,
    plan_of,
    records_line,
)
from kafkalog.zone import Zone
from kafkalog_cli.render.overview import Overview, Sheet, TimesOfDay, alike

__all__ = [
    "LABEL",
    "STEP",
    "each_step",
    "facts_of",
    "incident_lines",
    "labelled",
    "names_of",
    "place_of",
    "row_lines",
    "title_lines",
    "whole_lines",
    "wrapped",
]

Row = Mapping[str, Any]


_COLORS: Final = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1m"}

_INDENT: Final = 4  # before a label

LABEL: Final = 12

STEP: Final = 8  # before a step

_TITLE: Final = 10  # before what follows the first line of a title

_EVENTS: Final = 8  # of an incident: the first and the last ones

_MOST_NAMES: Final = 8

_GROUPS: Final = 20

_STEPS: Final = 12

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
    yield from title_lines(row, f"{number:>2}", moments=moments, sheet=sheet, told=told)
    before = ""
    for label, text in facts_of(row):
        yield from labelled("" if label == before else label, text, moments, sheet)
        before = label
    yield from _proof(row, moments, sheet, most or _EVENTS)
    if steps:
        yield from _steps(row, moments, sheet, most or _STEPS)
    if (line := records_line(row)) is not None:
        yield f"{' ' * _INDENT}{'records':<{LABEL}}{escape_line(line)}"
    yield from labelled("incident", f"{row['id']}  {row['kind']}, {cause_said(row)}", moments, sheet)


def _proof(row: Row, moments: TimesOfDay, sheet: Sheet, most: int) -> Iterator[str]:
    label = "proof"
    for event in _some(row["events"] or (), most):
        if isinstance(event, str):
            yield from labelled("", event, moments, sheet)
            continue
        is_said = event["time_ms"] is None or iso(event["time_ms"]) in event["what"]
        when = "" if is_said else f"{moments.time(event['time_ms'])}  "
        said = "" if event["what"] in row["title"] else f"{event['what']} "
        yield from labelled(label, f"{when}{said}{place_of(event)}".rstrip(), moments, sheet)
        label = ""


def title_lines(
    row: Row, number: str, *, moments: TimesOfDay, sheet: Sheet, told: str = "", is_listed: bool = False
) -> Iterator[str]:  # fmt: skip
    """Yield an incident's title; of one that is listed above it is what more there is to say."""
    begin, end = (_COLORS[row["severity"]], "\x1b[0m") if sheet.color else ("", "")
    first, others = f"{number} {row['severity'].upper()}  ", " " * _TITLE
    if is_listed:
        first, others = f"{f'on {number.lstrip()}:':>{STEP - 1}} ", " " * STEP
    title = in_words(row) if row["title"].removesuffix(".") in told else moments.prose(escape(row["title"]))
    yield from (f"{begin}{line}{end}" for line in wrapped(title, first, others, sheet))


def labelled(label: str, text: str, moments: TimesOfDay, sheet: Sheet) -> Iterator[str]:
    indent = " " * _INDENT
    yield from wrapped(moments.prose(escape(text)), f"{indent}{label:<{LABEL}}", indent + " " * LABEL, sheet)


def each_step(
    rows: Sequence[Row], moments: TimesOfDay, sheet: Sheet, *, label: str = "do", is_brief: bool = False,
    whole: Collection[int] = (), said: Collection[str] = (), among_others: bool = False,
) -> Iterator[list[str]]:  # fmt: skip
    """Yield the lines of each step of an incident, or of several that are ended alike; in brief without alternatives.

    The `whole` ones are not in brief, by their numbers. What was `said` is not said again.
    """
    steps = [
        step for step in plan_of(rows, among_others=among_others) if step.text not in said or step.commands or step.kind
    ]
    if is_brief:
        steps = [step for step in steps if step.kind != "instead"]
    for number, full in enumerate(steps, 1):
        shortens = is_brief and number not in whole
        step = _in_a_line(full) if shortens else full
        lines: list[str] = []
        for words in (step.text, *(_in_brief(step) if shortens else ())):
            text = escape(f"{number}. {words}" if len(steps) > 1 else words)
            shorter = wrapped(moments.prose(text), f"{label:>{STEP - 1}} ", " " * STEP, sheet)
            lines = shorter if not lines or len(shorter) < len(lines) else lines
        points = (wrapped(moments.prose(escape(text)), " " * STEP, " " * (STEP + 2), sheet) for text in step.points)
        yield [*lines, *chain(*points), *(f"{' ' * STEP}{escape_line(command)}" for command in step.commands)]
        label = ""


def _in_a_line(step: PlanStep) -> PlanStep:
    """Return a step whose first point stands in its first line."""
    return step._replace(text=" ".join([step.text, *step.points[:1]]), points=step.points[1:])


def _in_brief(step: PlanStep) -> Iterator[str]:
    """Yield shorter and shorter words of a step: what it loses in two words, a question without its asides."""
    if step.kind in ("check", "ask"):
        yield step.text.replace("else stop: a coordinator is missing", "else stop")
    elif step.kind == "again":
        yield step.text.replace(": no command commits what was aborted", "")
        yield re.sub(r"\. Who reads uncommitted gets (it|them) twice\.", " (twice if read uncommitted).", step.text)
    elif step.kind == "end" and len(step.commands) > 1:
        yield step.text.replace("read_committed consumers", "consumers")
    elif step.kind in ("save", "end") and len(step.commands) == 1:
        shorter = re.sub(", which read_committed consumers (miss|got)", "", step.text)
        shorter = shorter.replace("End the transaction of", "End").replace("the abort discards what was ", "")
        shorter = re.sub(r"read_committed consumers then (skip .*?)(?: at| among) [^.]*", r"consumers \1", shorter)
        yield re.sub(r"(?<=^End )(.*?) \(producer \d+\)", r"\1", shorter)


def _steps(row: Row, moments: TimesOfDay, sheet: Sheet, most: int) -> Iterator[str]:
    steps = list(each_step([row], moments, sheet))
    yield from chain(*steps[:most])
    if len(steps) > most:
        yield f"{' ' * STEP}… {many(len(steps) - most, 'more step')}: --incident {row['id']}"


def whole_lines(rows: Sequence[Row], *, zone: Zone, sheet: Sheet) -> Iterator[str]:
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
            yield from title_lines(row, f"{number:>2}", moments=TimesOfDay(zone), sheet=sheet)
            for step in row["next_steps"] or ():
                if step["command"]:
                    yield f"{' ' * STEP}{escape_line(step['command'])}"
            yield from labelled("incident", row["id"], TimesOfDay(zone), sheet)
            number += 1


def row_lines(
    rows: Sequence[Row], *, moments: TimesOfDay, sheet: Sheet, told: frozenset[int] = frozenset()
) -> list[str]:  # fmt: skip
    """Return a line for each incident; the steps of those that are `told`, by their places, follow."""
    lines = [""] * bool(rows)
    for head, text in Overview(rows, moments).lines(told):
        begin, end = (_COLORS[head.split()[-1].lower()], "\x1b[0m") if sheet.color else ("", "")
        first, *rest = wrapped(text, f"{head:<{_TITLE}} ", " " * (_TITLE + 1), sheet)
        lines += [f"{begin}{first[: len(head)]}{end}{first[len(head) :]}", *rest]
    return lines


def facts_of(row: Row) -> Iterator[tuple[str, str]]:
    """Yield what an incident's title does not say: since when, where, who, what is lost, what consumers get."""
    title = row["title"]
    if since := _since(row, title):
        yield "since", since
    where, parts = [names_of(row["partitions"], row["partitions_total"], title)], parts_said(row, title)
    if row["first_offset"] is not None and not parts and row["kind"] != "wrong-fate":  # whose title has the late ones
        where.append(_unsaid(_offsets(row["first_offset"], row["last_offset"]), title))
    if row["records"] is not None and row["lost_records"] is None and not parts:
        where.append(_unsaid(many(row["records"], "record"), title))
    if any(where):
        yield "where", ", ".join(filter(None, where))
    producers = names_of(row["producer_ids"], row["producer_ids_total"], title, "producer ")
    who = [
        names_of(row["transactional_ids"], row["transactional_ids_total"], title),
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


def names_of(values: Sequence[Any] | None, total: int | None, title: str = "", before: str = "") -> str:
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


def place_of(event: Row) -> str:
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
