"""The plan that ends hanging transactions: save, check, end and verify, and whether to write their records again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import EVENTS, SHOWN, Row, Step, TransactionPart, first_of
from kafkalog.auditing.incidents.open_transactions import COPY_AGAIN, PREPARED, Decided, Open, lists
from kafkalog.auditing.transactions import ABORT
from kafkalog.few_of_many import grouped
from kafkalog.files.names import STATE_TOPIC
from kafkalog.kafka.transaction_state import NO_TIMEOUT
from kafkalog.quantities import iso, listed, many, offset_range, producer_name

__all__ = [
    "AGAIN",
    "ASKED",
    "CHECK",
    "END",
    "OLD_BROKERS",
    "ONLY",
    "SAVE",
    "SAVE_DECIDED",
    "abort_steps",
    "again_said",
    "ask_steps",
    "asked_of",
    "asking",
    "owing",
    "skipped",
]

# The plan that ends a hanging transaction, for the screen and for docs/runbook.md. A second run changes nothing: the
# file of the first line is there, and where no transaction begins the broker refuses the abort.
SAVE_FIRST: Final = "Save {records} of {who}: this loses nothing."
SAVE: Final = "Save {records} of {who} {at}: this loses nothing."
SAVE_DECIDED: Final = "Save {records} of {who} {at}: the abort discards what was committed{may}."
CHECK: Final = (
    "Check that kafka-topics.sh prints nothing (else stop: a coordinator is missing), and that find-hanging lists"
    " {each}{late}. Leave alone what it does not list."
)
END: Final = (
    "End the transaction of {who} in {place}: read_committed consumers then skip {skips} {at}, and find-hanging lists"
    " it no more."
)

# The plan for one that may hang. Its rows have no line that ends it, as most that may hang do not; people see one on
# screens, after the question (reports/joint_plan.py).
ASK: Final = (
    "Ask the broker: kafka-topics.sh must print nothing, else stop: a coordinator is missing. If find-hanging lists"
    " {each}{late}, it hangs: go on. If not, all is well: stop."
)
ASK_WHICH: Final = (
    "Ask the broker: kafka-topics.sh must print nothing, else stop: a coordinator is missing. Do the rest only for"
    " {which}{late}. If it lists none, {well}."
)
END_ONLY: Final = (
    "End what is listed with kafka-transactions.sh --bootstrap-server HOST:PORT abort {which}: read_committed"
    " consumers then skip {records}."
)
END_WHICH: Final = "--topic {topic} --partition {partition} --start-offset {first}"

# What ``find-hanging`` lists is open in its partition, and no coordinator says that it has the partition: no marker
# comes. Coordinators that are not there say nothing, so without them it lists what they have. Where an id's newer
# transaction has the partition, too, nothing is listed: the marker of that one ends both, as an abort would.
_LEADERS: Final = "kafka-topics.sh --bootstrap-server HOST:PORT --describe --unavailable-partitions"
_FIND: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT find-hanging"
OLD_BROKERS: Final = " If it fails, as with brokers before 3.0: kafkalog explain hanging."  # no metadata: old ones?
_WELL: Final = "all is well: stop"
_LATE: Final = ", a minute after the last write"  # it omits what is younger
_THERE: Final = {"check": "Check what it lists in {topic}.", "ask": "Ask what it lists in {topic}."}

# Whether what was saved has to be sent again: whoever wrote it counts on what its coordinator committed.
_AGAIN: Final = {
    "yes": "yes, from its saved file: {because}. Who reads uncommitted gets {them} twice",
    "no": "no, {because}",
    "if-missed": "ask {owner}: {because}",
    "if-committed": "ask {owner}: yes if {because}",
    "ask": "ask {owner}, as {because}",
    "ask-writers": "ask who writes to {topic}, as {because}",
}
AGAIN: Final = "Send again what was ended?"
ONLY: Final = " Only what its owner has neither aborted nor sent since."  # where somebody is to be asked
ASKED: Final = ("ask", "ask-writers", "if-missed")
_COMMITTED: Final = "{they} committed"
_MAYBE: Final = "{they} most likely committed"
_WITHOUT: Final = "it committed every transaction they could belong to, the first at {time}"
_WITHOUT_IT: Final = "the only transaction they could belong to was committed at {time}"
_ABORTED: Final = "it aborted every transaction they could belong to, the first at {time}"
_ABORTED_THEM: Final = "their transaction was aborted at {time}"
_DISCARDED: Final = "{they} to be aborted"
_LEFT: Final = "{it} came after the {decision} of {time}"
_LATER: Final = "{it} came after the {decision} of {time}, in a later epoch"
_STAYED_OPEN: Final = "the transaction that wrote them, that of {time}{or_later}, committed"
_UNKNOWN: Final = "these files do not tell"
_NO_OWNER: Final = "no file has its id"


def abort_steps(tables: ClusterTables, every: list[Open], *, alone: bool = False) -> list[Step]:
    """Return the steps that end hanging transactions: save, check and end, each before what needs it.

    They are the incident's only records if they are `alone`.
    """
    proved = [one for one in every[:EVENTS] if one.is_proved]
    saves, ends = [], []
    for one in proved:
        row, (facts, of_place) = one.row, _facts(one)
        text = SAVE_DECIDED if one.is_committed else SAVE
        if not one.is_aborted and row["records"]:
            saves.append(_saving(one, text, is_all=alone and len(every) == 1))
        skips = skipped([owing(tables, one).row()])
        ends.append(
            Step.running(END.format(**facts, skips=skips), ABORT, *of_place, ("--start-offset", row["first_offset"]))
        )
    steps = [*saves, *_asking(tables, proved, "check"), *(end.to("end") for end in ends)]
    if unproved := list(dict.fromkeys(one.who for one in every[:EVENTS] if not one.is_proved)):
        steps.append(Step(f"Leave alone what may not hang, of {listed(unproved)}."))
    if (more := len(every) - EVENTS) > 0:
        steps.append(Step(f"{more} more: each finding has its command in the column remedy."))
    return [*steps, *_again(tables, proved)]


def skipped(parts: Sequence[Mapping[str, Any]]) -> str:
    """Say how many records of parts an abort skips, and how many of these are committed, or may be missed."""
    known = [part for part in parts if part["records"]]
    number = sum(part["records"] for part in known)
    fates = grouped(known, _fate)
    counts = {fate: sum(part["records"] for part in some) for fate, some in fates.items() if fate}
    if [*counts.values()] == [number]:
        (fate,) = counts
        return many(number, "committed record") if fate == "committed" else f"{many(number, 'record')} {fate}"
    apart = ", ".join(f"{count} {fate}" for fate, count in counts.items())
    return f"{many(number, 'record')}{f' ({apart})' if apart else ''}"


def _fate(part: Mapping[str, Any]) -> str:
    """Say what an abort of a part costs, nothing for what was to be aborted."""
    if part["fate"] == "committed":
        return "committed"
    again = part.get("write_again")
    return "to send again" if again == "yes" else "of unknown fate" if again in (*ASKED, "if-committed") else ""


def _saving(one: Open, words: str, *, is_all: bool) -> Step:
    """Return the step that saves a transaction's records in its partition, in a file of their own."""
    row, (facts, of_place) = one.row, _facts(one)
    span = f"{row['first_offset']}..{row['last_offset']}"
    which = () if is_all else (*of_place, ("--producer-id", row["producer_id"]), ("--offset", span))
    place = () if is_all else (row["topic"], row["partition"], row["first_offset"])
    return Step.saving(words.format(**facts), *which, place=place)


def asked_of(tables: ClusterTables, every: Sequence[Open]) -> list[Open]:
    """Return the first of some transactions, in the order of an incident's parts: those that may be ended.

    One of two-phase commit may not: its owner ends it.
    """
    ordered = sorted(every, key=lambda one: first_of(one.part))
    return [one for one in ordered if not _is_two_phase(tables, one)][:SHOWN]


def ask_steps(tables: ClusterTables, every: list[Open]) -> list[Step]:
    """Return how to ask the brokers whether transactions hang, which files cannot decide, and what to do if they do."""
    asked = asked_of(tables, every)
    prepared = [one for one in every if _is_two_phase(tables, one)]
    more = len(every) - len(asked) - len(prepared)
    steps = [*_asking(tables, asked, "ask", "ask about the others" if more else _WELL)] if asked else [COPY_AGAIN]
    if prepared:
        whose = listed(dict.fromkeys(one.who for one in prepared))
        steps.append(Step(f"Leave to their owners what is of two-phase commit: {whose}."))
    if more:
        steps.append(Step(f"{more} more may hang: ask about each in the same way."))
    if ends := [one for one in asked if one.row["records"]]:
        records = skipped([owing(tables, one).row() for one in ends])
        which = " or ".join(END_WHICH.format(**_facts(one)[0]) for one in ends)
        steps += (_saving(one, SAVE_FIRST, is_all=len(every) == 1) for one in ends)
        steps.append(Step(END_ONLY.format(which=which, records=records)).to("end"))
        steps += _again(tables, ends)
    return steps


def _asking(tables: ClusterTables, every: Sequence[Open], kind: str, well: str = _WELL) -> Iterator[Step]:
    is_old = not any(tables.leadership.get(one.place) for one in every)
    parts = [one.part.row() for one in every]
    return asking(parts, kind, is_old=is_old, is_sure=kind == "check", well=well)


def asking(
    parts: Sequence[Mapping[str, Any]], kind: str, *, is_old: bool, step: int | None = None, is_sure: bool = False,
    well: str = _WELL,
) -> Iterator[Step]:  # fmt: skip
    """Yield how to ask whether transactions hang, parts of incidents: whether the answer counts, and topic by topic.

    ``find-hanging`` takes one partition of a topic or all. It is to look at what was last written more than a minute
    ago, instead of a quarter of an hour. Brokers of a release that `is_old` may not know it. Where they begin stands
    in the lines of another `step`, if there is one. Where all `is_sure`, it was long ago. `well` is
    what to do if nothing hangs.
    """
    words = CHECK if kind == "check" else ASK if len(parts) == 1 else ASK_WHICH
    if parts:
        each = f"StartOffset {_numbers(parts)}"
        which = f"what find-hanging lists of {each}"
        if step is not None:
            each = f"each partition and StartOffset of step {step}"
            which = f"what find-hanging lists of the partitions and StartOffsets of step {step}"
        text = words.format(each=each, which=which, late="" if is_sure else _LATE, well=well) + OLD_BROKERS * is_old
        yield Step.running(text, _LEADERS, ("--topic", STATE_TOPIC)).to(kind)
    for topic, some in grouped(parts, lambda part: part["topic"]).items():
        places = dict.fromkeys(part["partition"] for part in some)
        of_one = [("--partition", *places)] if len(places) == 1 else []
        options = ("--topic", topic), *of_one, ("--max-transaction-timeout", 1)
        yield Step.running(_THERE[kind].format(topic=topic), _FIND, *options).to(f"{kind}-too")


def _numbers(parts: Sequence[Mapping[str, Any]]) -> str:
    """Say at which StartOffset transactions begin in each partition, in the order of the parts."""
    places = grouped(parts, lambda part: f"{part['topic']}-{part['partition']}")
    firsts = ([str(part["first_offset"]) for part in some] for some in places.values())
    each = [f"{' and '.join(dict.fromkeys(some))} in {place}" for place, some in zip(places, firsts, strict=True)]
    return listed(each, len(each))


def _facts(one: Open) -> tuple[dict[str, object], tuple[tuple[str, object], tuple[str, object]]]:
    """Return what the steps say of a transaction, and the options that name its partition."""
    row = one.row
    at = offset_range(row["first_offset"], row["last_offset"])
    span = (row["last_offset"] or row["first_offset"]) - row["first_offset"] + 1
    is_between = 0 < (row["records"] or 0) < span
    facts = {
        "records": many(row["records"] or 0, "record"),
        "who": one.who, "place": one.place,
        "at": f"{'among' if is_between else 'at'} {at}", "may": one.decided.may,
        "first": row["first_offset"], "topic": row["topic"], "partition": row["partition"],
    }  # fmt: skip
    return facts, (("--topic", row["topic"]), ("--partition", row["partition"]))


def _is_two_phase(tables: ClusterTables, one: Open) -> bool:
    """Say whether only its owner may end a transaction: the id's records have no timeout, and it is not decided."""
    steps = tables.steps.get(one.row["transactional_id"] or "", ())
    is_decided = one.is_committed or one.is_aborted  # the decision of the one before says nothing of this one
    return not is_decided and any(step["timeout_ms"] == NO_TIMEOUT for step in steps)


def owing(tables: ClusterTables, one: Open) -> TransactionPart:
    """Return a hanging transaction as a part of an incident, with whether to write its records again, and why."""
    word, words, facts = _owed(tables, one)
    it, they = ("it", "it was") if one.row["records"] == 1 else ("they", "they were")
    return one.part._replace(write_again=word, because=words.format(it=it, they=they, **facts))


def _again(tables: ClusterTables, every: Sequence[Open]) -> Iterator[Step]:
    parts = [owing(tables, one).row() for one in every if one.row["records"]]
    for part in parts:
        for text in again_said([part]):
            yield Step(f"{AGAIN}{ONLY * (part['write_again'] in ASKED)} {text}.").to("again")


def again_said(parts: Sequence[Mapping[str, Any]], *, in_brief: bool = False) -> Iterator[str]:
    """Yield whether the records of hanging transactions, parts of incidents, have to be written again, and why.

    What is the same of several partitions is said once, in brief what is the same of several transactions, too.
    """
    known = [part for part in parts if part.get("write_again") is not None and part["records"]]
    same = grouped(
        known, lambda part: (part["write_again"], part["because"], part["topic"] * _is_of_topic(part), _whose(part))
    )
    said = grouped(same.items(), lambda it: it[0] if not in_brief or it[0][0] in ("yes", "if-committed") else it[0][:3])
    for some in said.values():
        word, because, topic, _ = some[0][0]
        counts = [(who, sum(part["records"] for part in every)) for (_, _, _, who), every in some]
        whose = listed([f"{who} ({many(records, 'record')})" for who, records in counts], len(counts))
        owner, them = "its owner" if len(counts) == 1 else "their owners", "it" if counts[0][1] == 1 else "them"
        yield f"{whose}: {_AGAIN[word].format(because=because, topic=topic, them=them, owner=owner)}"


def _whose(part: Mapping[str, Any]) -> str:
    return part["transactional_id"] or producer_name(None, part["producer_id"])


def _is_of_topic(part: Mapping[str, Any]) -> bool:
    return bool(part["write_again"] == "ask-writers")


def _owed(tables: ClusterTables, one: Open) -> tuple[str, str, dict[str, str]]:
    """Return the word that says whether a hanging transaction's client counts on its records, and why, with the facts.

    It goes by the decisions that may be theirs. A client commits only what brokers have acknowledged: what came after
    the marker of a commit was no part of it. An abort waits for nothing: what came after one may be a request of the
    transaction that it ended. Else they may be of any of their epoch that was open when they came. Where the cleaner
    may have removed one, or the coordinator's records may have been copied before others, no file says it.
    """
    if one.is_committed:
        return ("ask", _MAYBE, {}) if one.decided.prepared is None else ("yes", _COMMITTED, {})
    if one.is_aborted:
        return "no", _DISCARDED, {}
    unknown = ("ask-writers", _NO_OWNER) if one.row["transactional_id"] is None else ("ask", _UNKNOWN)
    steps = [
        step for step in tables.steps.get(one.row["transactional_id"] or "", ())
        if step["producer_id"] == one.row["producer_id"]
    ]  # fmt: skip
    low, before = one.row["not_before_ms"], one.decided.prepared
    if not steps or (steps[0]["state"] != "empty" and (low is None or low < steps[0]["last_update_timestamp_ms"])):
        return *unknown, {}
    high, newest = one.row["not_after_ms"], steps[-1]["last_update_timestamp_ms"]
    is_whole = one.is_proved or (high is not None and high <= newest)
    later = [some for some in _transactions(steps) if low is None or some.prepared is None or low <= _time_of(some)]
    some_of = [some for some in later if _may_have(some, one)]
    if before is not None and not one.decided.committed and _is_of_epoch(one.decided, one):
        some_of.insert(0, one.decided)
    fates = {some.committed if some.prepared is not None else None for some in some_of}
    if len(fates) == 1 and (is_whole or None in fates):
        aborted = _ABORTED_THEM if len(some_of) == 1 else _ABORTED
        committed = _WITHOUT_IT if len(some_of) == 1 else _WITHOUT
        said = {True: ("yes", committed), False: ("no", aborted), None: ("if-committed", _STAYED_OPEN)}[fates.pop()]
        return *said, {"time": iso(_time_of(some_of[0])), "or_later": " or a later one" * (not is_whole)}
    if fates or before is None or not is_whole or any(some.committed for some in later):
        return *unknown, {}
    decision = "commit" if one.decided.committed else "abort"
    is_later = one.decided.begun is not None and one.decided.begun["producer_epoch"] < one.row["producer_epoch"]
    return "if-missed", _LATER if is_later else _LEFT, {"time": iso(_time_of(one.decided)), "decision": decision}


def _time_of(some: Decided) -> int:
    """Return when a transaction was decided, or where it is open when it began."""
    row = some.begun if some.prepared is None else some.prepared
    assert row is not None
    return int(row["last_update_timestamp_ms"])


def _may_have(some: Decided, one: Open) -> bool:
    """Say whether data may be of a transaction that does not list its partition: by its epoch and by when it began."""
    newest, high = some.prepared or some.begun, one.row["not_after_ms"]
    begun = None if some.begun is None else some.begun["last_update_timestamp_ms"]
    in_time = high is None or begun is None or begun <= high
    return newest is not None and in_time and _is_of_epoch(some, one) and not lists(newest, str(one.place))


def _is_of_epoch(some: Decided, one: Open) -> bool:
    return some.begun is None or bool(some.begun["producer_epoch"] == one.row["producer_epoch"])


def _transactions(steps: Sequence[Row]) -> Iterator[Decided]:
    """Yield the transactions of a producer's records, oldest first; the last may be open."""
    begun = None
    for step in steps:
        if step["state"] == "ongoing":
            begun = begun or step
        elif step["state"] in PREPARED:
            yield Decided(begun, step)
            begun = None
    if begun is not None:
        yield Decided(begun)
