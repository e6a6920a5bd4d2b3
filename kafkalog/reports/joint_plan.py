"""The steps of an incident, and those of several that are ended alike: each step once, with the lines of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkalog.escape import command_line
from kafkalog.few_of_many import grouped
from kafkalog.quantities import iso, listed, many
from kafkalog.tables.words import OF_OPEN

__all__ = ["PlanStep", "ended_alike", "plan_of"]

SAVE_ALL: Final = "Save {records} of {transactions}: this loses nothing."
SAVE_AMONG: Final = "Save all that hangs, {records} of {transactions} among it: this loses nothing."
SAVE_ASKED: Final = "If one hangs, save {records} of {transactions}: this loses nothing."
CHECK_ALL: Final = (
    "Check CurrentTransactionStartOffset: {each}. Leave alone what differs, or what describe --transactional-id lists"
    " for its id."
)
END_ALL: Final = "End them: read_committed consumers then skip {records}."
ASK_ALL: Final = (
    "Ask the broker after {time} (where the files end, their longest timeout and a minute more). One hangs if its"
    " CurrentTransactionStartOffset is still {each}; else it has ended, leave it alone."
)
END_ASKED: Final = (
    "End what hangs, unless describe --transactional-id lists it: kafka-transactions.sh --bootstrap-server HOST:PORT"
    " abort and its line. Consumers then skip its records."
)

_SHOWN: Final = 3  # transactions whose partitions the lines of commands show well enough

_HANGING: Final = frozenset(cause for cause, words in OF_OPEN.items() if words.in_title)  # whose outcome is hanging

_WITH_LINE: Final = frozenset({"save", "check", "ask"})

_OPTIONAL: Final = frozenset({"save", "look", "again"})  # steps that not each of the incidents ended alike has

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

    The transactions of each are ended alike, or their steps have the same words.
    """
    steps, parts = row["next_steps"] or (), row.get("parts") or ()
    kinds, of_cluster = {step.get("kind") for step in steps}, (row["severity"], str(row["cluster_id"]))
    if "end" not in kinds:
        return (*of_cluster, *(step["text"] for step in steps)) if steps else None
    if "ask" in kinds:
        is_alike = all(part.get("hangs_after_ms") is not None for part in parts)  # as two-phase commit has not
    else:  # what was decided has words of its own
        is_alike = all(part["fate"] in ("none", "open", "unknown") for part in parts)
    is_shown = all(step["command"] for step in steps if step.get("kind") in _WITH_LINE)  # its text says why not, else
    words = (step.get("kind") or step["text"] for step in steps if step.get("kind") not in _OPTIONAL)
    return (*of_cluster, row["kind"], *dict.fromkeys(words)) if parts and is_alike and is_shown else None


def plan_of(rows: Sequence[Row], *, among_others: bool = False) -> list[PlanStep]:
    """Return the steps of an incident, or of several that are ended alike, of which there may be others."""
    if len(rows) == 1:
        steps = rows[0]["next_steps"] or ()
        return [PlanStep(step["text"], _command(step), step.get("kind")) for step in steps]
    return list(_joint(rows, among_others))


def _joint(rows: Sequence[Row], among_others: bool) -> Iterator[PlanStep]:
    steps = [step for row in rows for step in row["next_steps"]]
    by_kind = grouped(steps, lambda step: step.get("kind") or step["text"])
    parts = [part for row in rows for part in row.get("parts") or ()]
    ended, asked = "end" in by_kind, "ask" in by_kind
    facts = {
        "records": many(sum(part["records"] or 0 for part in parts), "record"),
        "transactions": many(sum(row["transactions"] or 1 for row in rows), "transaction"),
        "each": listed(_numbers(parts), len(parts)),
        "time": iso(max((part.get("hangs_after_ms") or 0 for part in parts), default=0)),
    }
    texts = {
        "save": SAVE_AMONG if among_others else SAVE_ASKED if asked else SAVE_ALL, "check": CHECK_ALL, "ask": ASK_ALL,
        "end": END_ASKED if asked else END_ALL,
    }  # fmt: skip
    order = (*_ORDER, *(kind for kind in by_kind if kind not in _ORDER)) if ended else by_kind
    for kind in order:
        some = by_kind.get(kind, [])
        if kind == "look":
            yield from (PlanStep(step["text"], _command(step), kind) for step in some)
        elif some:
            said = " ".join(dict.fromkeys(step["text"] for step in some))
            commands = tuple(dict.fromkeys(command for step in some for command in _command(step)))
            if kind == "end" and asked:  # no line that ends it: most that may hang do not
                commands = tuple(map(_which, parts))
            text = texts[kind].format_map(facts) if ended and kind in texts else said
            is_all = ended and kind == "save" and all(row["cause"] in _HANGING for row in rows)
            yield PlanStep(text, tuple(_all_that_hangs(rows)) if is_all else commands, kind)


_ORDER: Final = ("ask", "save", "look", "check", "end", "verify", "again")


def _all_that_hangs(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one line that saves the records of all, made from that of the first: it says the directories."""
    first = rows[0]["id"]
    saves = [command for row in rows for step in row["next_steps"] if step.get("kind") == "save"
             for command in _command(step)]  # fmt: skip
    named = f"--incident {first} -o saved-{first}.ndjson"
    if saves and named in saves[0]:
        yield saves[0].replace(named, f"--outcome hanging -o saved-hanging-{first}.ndjson")
    else:
        yield from saves


def _numbers(parts: Sequence[Row]) -> list[str]:
    """Name where each transaction begins, and its partition where one producer has several, or there are many."""
    places = grouped(parts, lambda part: part["producer_id"])
    named = [
        f" in {part['topic']}-{part['partition']}"
        if len(places[part["producer_id"]]) > 1 or len(parts) > _SHOWN
        else ""
        for part in parts
    ]
    return [
        f"{part['first_offset']} (producer {part['producer_id']}{where})"
        for part, where in zip(parts, named, strict=True)
    ]


def _which(part: Row) -> str:
    place = ("--topic", part["topic"]), ("--partition", part["partition"])
    return (command_line("", *place, ("--start-offset", part["first_offset"])) or "").lstrip()


def _command(step: Row) -> tuple[str, ...]:
    return (step["command"],) if step["command"] else ()
