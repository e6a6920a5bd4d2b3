"""The steps of an incident, and those of several that are ended alike: each step once, with the lines of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, takewhile
from typing import Any, Final, NamedTuple

from kafkalog.auditing.incidents import SHOWN, again_said
from kafkalog.auditing.transactions import ABORT
from kafkalog.escape import command_line
from kafkalog.few_of_many import grouped
from kafkalog.quantities import age, iso, listed, many
from kafkalog.tables.words import OF_OPEN

__all__ = ["PlanStep", "ended_alike", "plan_of"]

_SAVE: Final = "Save {records} of {transactions}: this loses nothing."
_SAVE_AMONG: Final = "Save all that hangs, {records} of {transactions} among it: this loses nothing."
_SAVE_ASKED: Final = "If one hangs, save {records} of {transactions}: this loses nothing."
_CHECK: Final = "Check CurrentTransactionStartOffset: {each}."
_ASK: Final = (
    "Ask the broker{whom} after {time} (where the files end, {timeout}a minute more). One hangs if its"
    " CurrentTransactionStartOffset is still {each}."
)
_LISTED: Final = "Leave alone what differs, or has its partition in TopicPartitions: its marker will come.{nameless}"
_DIFFERS: Final = " Leave alone what differs."
_END: Final = "End them: read_committed consumers then skip {records}. The check then says None."
_END_ASKED: Final = "End what hangs{whom}: read_committed consumers then skip its records. The check then says None."
_END_ONE_ASKED: Final = "If it hangs, end it: read_committed consumers then skip {records}."

_END_SOME_ASKED: Final = "End those that hang: read_committed consumers then skip their records, {records} of all."

_FEW: Final = 3  # transactions whose partitions the lines of commands show well enough

_HANGING: Final = frozenset(cause for cause, words in OF_OPEN.items() if words.in_title)  # whose outcome is hanging

_WITH_LINE: Final = frozenset({"save", "check", "ask", "look"})

_NOT_OF_EACH: Final = frozenset({"save", "ask", "check", "look", "again", "instead"})  # in a plan of several

_KINDS: Final = frozenset({*_NOT_OF_EACH, "end", "verify"})

Row = Mapping[str, Any]


class PlanStep(NamedTuple):
    """A step, and the commands that it takes; `kind` is what it is in a plan that ends transactions."""

    text: str
    commands: tuple[str, ...]
    kind: str | None = None


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
        is_alike = all(part.get("hangs_after_ms") is not None for part in parts)  # as two-phase commit has not
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
    together = groupby(row["next_steps"] or (), lambda step: "check" if _kind(step) == "look" else _kind(step))
    return list(chain.from_iterable(_together(row, list(some)) for _, some in together))


def _together(row: Row, some: Sequence[Row]) -> Iterator[PlanStep]:
    """Yield an incident's steps of one kind that follow each other: a check has its line for each transactional id."""
    if _kind(some[0]) == "check":
        unshown = (step["text"] for step in some[1:] if not step["command"])  # which says why
        yield PlanStep(" ".join([some[0]["text"], *unshown]), _lines(some), "check")
    elif _kind(some[0]) == "look" and len(some) > 1 and all(step["command"] for step in some):
        yield PlanStep(_LISTED.format(nameless=""), _lines(some), "look")
    elif _kind(some[0]) == "end" and any(_kind(step) == "ask" for step in row["next_steps"]):
        yield from (_to_end(row, step) for step in some)
    else:
        yield from (PlanStep(*_told(step)) for step in some)


def _kind(step: Row) -> str | None:
    kind: str | None = step.get("kind")
    return kind


def _to_end(row: Row, step: Row) -> PlanStep:
    """Return the step that ends what hangs by the broker's answer, with the lines that a program is not given."""
    lines = tuple(_abort_lines(row))
    if len(lines) < len(_ended(row)) or not lines:  # a name that no line may have: the text says it
        return PlanStep(*_told(step))
    records = many(sum(part["records"] for part in _ended(row)), "record")
    words = _END_ONE_ASKED if len(lines) == 1 else _END_SOME_ASKED
    return PlanStep(words.format(records=records), lines, "end")


def _joint(rows: Sequence[Row], among_others: bool) -> Iterator[PlanStep]:
    steps = [step for row in rows for step in row["next_steps"]]
    by_kind = grouped(steps, lambda step: _kind(step) or step["text"])
    if "end" not in by_kind:
        for some in grouped(steps, lambda step: step["text"]).values():
            yield PlanStep(some[0]["text"], _lines(some), _kind(some[0]))
        return
    asked = [row for row in rows if any(_kind(step) == "ask" for step in row["next_steps"])]
    sure = [row for row in rows if row not in asked]
    is_asked = not sure
    parts = [part for row in rows for part in row["parts"]]
    waits = [part.get("timeout_ms") for row in asked for part in row["parts"]]
    timeout = f"their longest timeout of {age(max(filter(None, waits)))} and " if any(waits) else ""
    timeout = "15 min, the longest timeout by default, and " if None in waits else timeout
    facts = {
        "records": many(sum(part["records"] or 0 for part in parts), "record"),
        "transactions": many(sum(row["transactions"] or 1 for row in rows), "transaction"),
        "each": listed(_numbers(parts), len(parts)),
        "timeout": timeout,
        "time": iso(max((part.get("hangs_after_ms") or 0 for part in parts), default=0)),
        "whom": "" if is_asked else f": {_producers(sure)} now, the others",
    }
    save = _SAVE_AMONG if among_others else _SAVE_ASKED if is_asked else _SAVE
    if not all(row["cause"] in _HANGING for row in rows):
        saves = _lines(by_kind.get("save", ()))
    else:
        saves = tuple(_all_that_hangs(rows))
    checks = [step for row in rows for step in row["next_steps"] if _kind(step) in ("ask", "check")]
    looks = by_kind.get("look")
    text = (_ASK if asked else _CHECK).format(**facts) + _DIFFERS * (not looks)
    check = PlanStep(text, _lines(checks), "ask" if asked else "check")
    plan = [PlanStep(save.format(**facts), saves, "save"), check]
    yield from reversed(plan) if is_asked else plan
    if looks:
        without = list(dict.fromkeys(str(part["producer_id"]) for part in parts if part["transactional_id"] is None))
        s, its = ("", "its offset is") if len(without) == 1 else ("s", "their offsets are")
        why = "kafka-transactions.sh list may" if asked else f"{its} enough"
        nameless = f" No file has the transactional id{s} of producer{s} {listed(without, len(without))}: {why}."
        nameless = nameless if without else ""
        yield PlanStep(_LISTED.format(nameless=nameless), _lines(looks), "look")
    ends = tuple(line for row in rows for line in _abort_lines(row))
    facts["whom"] = "" if is_asked else " (the others after that time)"
    yield PlanStep((_END_ASKED if asked else _END).format(**facts), ends, "end")
    yield from (PlanStep(text, (), "again") for text in [" ".join(again_said(parts, in_brief=True))] if text)
    for kind, some in by_kind.items():
        if kind not in _KINDS:
            yield PlanStep(some[0]["text"], _lines(some))


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
    """Return the parts that a broker was asked about, as no time ends the others."""
    parts = (part for part in row.get("parts") or () if part.get("hangs_after_ms") is not None)
    return [part for part in parts if part["records"]][:SHOWN]


def _producers(rows: Sequence[Row]) -> str:
    ids = dict.fromkeys(str(part["producer_id"]) for row in rows for part in row["parts"])
    return f"producer{'s' * (len(ids) > 1)} {listed(ids, len(ids))}"


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


def _numbers(parts: Sequence[Row]) -> list[str]:
    """Name where each transaction begins, and its partition where one producer has several, or there are many."""
    places = grouped(parts, lambda part: part["producer_id"])
    named = [
        f" in {part['topic']}-{part['partition']}" if len(places[part["producer_id"]]) > 1 or len(parts) > _FEW else ""
        for part in parts
    ]
    return [
        f"{part['first_offset']} (producer {part['producer_id']}{where})"
        for part, where in zip(parts, named, strict=True)
    ]
