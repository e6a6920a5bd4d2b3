"""The steps of an incident, and those of several that are ended alike: each step once, with the lines of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, takewhile
from typing import Any, Final, NamedTuple

from kafkalog.auditing.incidents import (
    AGAIN,
    ASKED,
    GROUPS,
    OLD_BROKERS,
    ONLY,
    SHOWN,
    TORN,
    again_said,
    asking,
    skipped,
)
from kafkalog.auditing.transactions import ABORT
from kafkalog.escape import command_line
from kafkalog.few_of_many import grouped
from kafkalog.quantities import many
from kafkalog.tables.words import OF_OPEN

__all__ = ["PlanStep", "ended_alike", "plan_of", "why_open"]

_SAVE: Final = "Save {records} of {transactions}: this loses nothing."
_SAVE_EACH: Final = "Save what it lists of these, each in a file of its own: this loses nothing."
_SAVE_AMONG: Final = "Save all that hangs, {records} of {transactions} among it: this loses nothing."
_END: Final = "End them: read_committed consumers skip {skipped}. Then none is listed."
_END_IT: Final = "End it, if find-hanging lists it: read_committed consumers skip {skipped}. Then it is not listed."
_END_LISTED: Final = "End what it lists: read_committed consumers skip at most {skipped}. Then none is listed."
_HANGING: Final = frozenset(cause for cause, words in OF_OPEN.items() if words.in_title)  # whose outcome is hanging

_TOO: Final = "-too"  # after a kind: another line for a step

_WITH_LINE: Final = frozenset({"save", "check", "ask"})

_NOT_OF_EACH: Final = frozenset({"save", "ask", "check", "again", "instead"})  # in a plan of several

_KINDS: Final = frozenset({*_NOT_OF_EACH, "end"})

Row = Mapping[str, Any]


class PlanStep(NamedTuple):
    """A step, and the commands that it takes; `kind` is what it is in a plan that ends transactions.

    Its `points` are lines of their own, one for each of those that it is about.
    """

    text: str
    commands: tuple[str, ...]
    kind: str | None = None
    points: tuple[str, ...] = ()


def ended_alike(rows: Sequence[Row]) -> list[list[int]]:
    """Return the places of incidents in their order, of those that one plan ends together."""
    places = grouped(range(len(rows)), lambda at: _shape(rows[at]) or (str(at),))
    return sorted(places.values())


def _shape(row: Row) -> tuple[str, ...] | None:
    """Return what incidents have in common that one plan is for: None if an incident has a plan of its own.

    The transactions of each are ended alike, whether or not a broker is asked first; or their steps have the same
    words.
    """
    steps, parts = row["next_steps"] or (), row.get("parts") or ()
    kinds = {_kind(step) for step in steps}
    if "end" not in kinds:
        return (row["severity"], str(row["cluster_id"]), *(step["text"] for step in steps)) if steps else None
    if "ask" in kinds:
        is_alike = all(part.get("write_again") is not None for part in parts)  # as that of two-phase commit is not
    else:  # what was decided has words of its own
        is_alike = all(part["fate"] in ("none", "open", "unknown") for part in parts)
    is_shown = all(step["command"] for step in steps if _kind(step) in _WITH_LINE)  # its text says why not, else
    to_end = list(takewhile(lambda step: _kind(step) != "end", steps))
    if row["kind"] not in ("consumers-stopped", "copy-skewed") or any(_kind(step) not in _KINDS for step in to_end):
        return None
    words = (_kind(step) or step["text"] for step in steps if _kind(step) not in _NOT_OF_EACH)
    return (row["kind"], str(row["cluster_id"]), *dict.fromkeys(words)) if parts and is_alike and is_shown else None


def plan_of(rows: Sequence[Row], *, among_others: bool = False) -> list[PlanStep]:
    """Return the steps of an incident, or of several that are ended alike, of which there may be others."""
    if len(rows) > 1:
        return list(_joint(rows, among_others))
    (row,) = rows
    together = groupby(row["next_steps"] or (), _kind)
    return list(chain.from_iterable(_together(row, list(some)) for _, some in together))


def _together(row: Row, some: Sequence[Row]) -> Iterator[PlanStep]:
    """Yield an incident's steps of one kind that follow each other: a question has its lines together."""
    kind = _kind(some[0])
    if kind in ("check", "ask", GROUPS):
        yield _with_all_lines(some)
    elif kind == "save" and len(some) > 1 and _is_asked(row) and all(step["command"] for step in some):
        yield PlanStep(_SAVE_EACH, _lines(some), "save")
    elif kind == "end" and _is_asked(row):
        yield from (_to_end(row, step) for step in some)
    elif kind == "again" and (answers := _to_send([row], in_brief=len(some) > 1)) is not None:
        yield answers
    else:
        yield from (PlanStep(*_told(step)) for step in some)


def _is_asked(row: Row) -> bool:
    """Say whether a broker is asked about an incident before anything is ended."""
    return any(_kind(step) == "ask" for step in row["next_steps"])


def _with_all_lines(some: Sequence[Row]) -> PlanStep:
    """Return one step of several of an incident: the words of the first, and the lines of all."""
    texts = (step["text"] for step in some if not step["kind"].endswith(_TOO) or not step["command"])  # it says why
    return PlanStep(" ".join(dict.fromkeys(texts)), _lines(some), _kind(some[0]))


def _kind(step: Row) -> str | None:
    kind: str | None = step.get("kind")
    return kind and kind.removesuffix(_TOO)


def _to_end(row: Row, step: Row) -> PlanStep:
    """Return the step that ends what hangs by the broker's answer, with the lines that a program is not given."""
    lines = tuple(_abort_lines(row))
    if len(lines) < len(_ended(row)) or not lines:  # a name that no line may have: the text says it
        return PlanStep(*_told(step))
    number = sum(part["records"] for part in _ended(row))
    words = _END_IT if len(lines) == 1 else _END_LISTED
    return PlanStep(words.format(skipped=skipped(_ended(row)), number=number), lines, "end")


def _joint(rows: Sequence[Row], among_others: bool) -> Iterator[PlanStep]:
    steps = [step for row in rows for step in row["next_steps"]]
    by_kind = grouped(steps, lambda step: _kind(step) or step["text"])
    if "end" not in by_kind:
        for some in grouped(steps, lambda step: step["text"]).values():
            yield PlanStep(some[0]["text"], _lines(some), _kind(some[0]))
        return
    asked = list(filter(_is_asked, rows))
    sure = [row for row in rows if row not in asked]
    is_asked = not sure
    parts = [part for row in rows for part in row["parts"]]
    facts = {
        "records": many(sum(part["records"] or 0 for part in parts), "record"),
        "number": sum(part["records"] or 0 for part in parts),
        "skipped": skipped(parts),
        "transactions": many(sum(row["transactions"] or 1 for row in rows), "transaction"),
    }
    is_alone = any(part.get("write_again") == "yes" for part in parts)  # whose file has nothing else
    if is_alone or not all(row["cause"] in _HANGING for row in rows):
        save, saves = _SAVE, _lines(by_kind.get("save", ()))
    else:
        saves = tuple(_all_that_hangs(rows))
        save = _SAVE_AMONG if among_others and len(saves) == 1 else _SAVE
    is_old = any(OLD_BROKERS in step["text"] for step in steps)
    asks = asking(parts, "ask" if is_asked else "check", is_old=is_old, step=3, is_sure=not asked)
    check = _with_all_lines([step._asdict() for step in asks])
    plan = [PlanStep(save.format(**facts), saves, "save"), check]
    yield from reversed(plan) if is_asked else plan
    ends = tuple(line for row in rows for line in _abort_lines(row))
    yield PlanStep((_END_LISTED if asked else _END).format(**facts), ends, "end")
    if (answers := _to_send(rows, in_brief=True)) is not None:
        yield answers
    for kind, some in by_kind.items():
        if kind not in _KINDS:
            yield PlanStep(some[0]["text"], _lines(some))


def _to_send(rows: Sequence[Row], *, in_brief: bool) -> PlanStep | None:
    """Return the step that says of each transaction whether its records have to be sent again, None of none."""
    parts = [part for row in rows for part in row.get("parts") or ()]
    points = tuple(_with_file(f"{text}.", rows) for text in again_said(parts, in_brief=in_brief))
    first = f"{AGAIN}{ONLY * any(part.get('write_again') in ASKED for part in parts)}"
    if len(points) < 2 and not in_brief:
        return PlanStep(f"{first} {points[0]}", (), "again") if points else None
    return PlanStep(first, (), "again", points)


def _with_file(text: str, rows: Sequence[Row]) -> str:
    """Name the file of whoever has one of their own."""
    for row in rows:
        saves = _lines([step for step in row["next_steps"] if _kind(step) == "save"])
        parts = row.get("parts") or ()
        whose = {part["transactional_id"] for part in parts if part["fate"] != "aborted"}  # that is not saved
        if len(saves) == len(whose) == 1 and text.startswith(f"{whose.pop()} ("):
            return text.replace("from its saved file", f"from {saves[0].partition(' -o ')[2].partition(' ')[0]}")
    return text


def _abort_lines(row: Row) -> Iterator[str]:
    """Yield the lines that end an incident's transactions: its own, or of what a broker is asked about each part's."""
    ends = [step for step in row["next_steps"] if _kind(step) == "end"]
    if lines := _lines(ends):
        yield from lines
        return
    for part in _ended(row):
        place = ("--topic", part["topic"]), ("--partition", part["partition"])
        yield from filter(None, [command_line(ABORT, *place, ("--start-offset", part["first_offset"]))])


def _ended(row: Row) -> list[Row]:
    """Return the parts that a broker was asked about: not those that their owner ends."""
    parts = (part for part in row.get("parts") or () if part.get("write_again") is not None)
    return [part for part in parts if part["records"]][:SHOWN]


def why_open(row: Row) -> str | None:
    """Say why an incident's transactions do not end, None where its cause is no reason for that."""
    if row["kind"] == "transaction-torn" and row["cause"] in TORN:
        return "a marker that no coordinator sent ended it here"
    if row["kind"] == "copy-skewed" and row["cause"] != "cut-in-bundle":
        return "most likely it ended after this log was copied"
    words = OF_OPEN.get(row["cause"])
    return None if words is None else words.in_title or f"{words.meaning[0].lower()}{words.meaning[1:-1]}"


def _lines(steps: Sequence[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(step["command"] for step in steps if step["command"]))


def _told(step: Row) -> tuple[str, tuple[str, ...], str | None]:
    return step["text"], _lines([step]), _kind(step)


def _all_that_hangs(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one line that saves the records of all, made from that of the first: it says the directories."""
    first = rows[0]["id"]
    saves = _lines([step for row in rows for step in row["next_steps"] if _kind(step) == "save"])
    named = f"--incident {first} -o saved-{first}.ndjson"
    if saves and named in saves[0]:
        yield saves[0].replace(named, f"--outcome hanging -o saved-hanging-{first}.ndjson")
    else:
        yield from saves
