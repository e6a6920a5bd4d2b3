"""The plan that ends hanging transactions: save, check, end and verify, and whether to write their records again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import EVENTS, SHOWN, Row, Step, TransactionPart, first_of
from kafkalog.auditing.incidents.open_transactions import OR_COPY_AGAIN, PREPARED, Decided, Open, lists
from kafkalog.auditing.transactions import ABORT
from kafkalog.few_of_many import grouped
from kafkalog.kafka.transaction_state import NO_TIMEOUT
from kafkalog.quantities import age, iso, listed, many, offset_range, producer_name

__all__ = [
    "CHECK",
    "END",
    "PRODUCERS",
    "SAVE",
    "SAVE_DECIDED",
    "VERIFY",
    "abort_steps",
    "again_said",
    "ask_steps",
    "asked_of",
    "describing",
    "hangs_after",
    "owing",
    "timeout_of",
]

PRODUCERS: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers"

_DESCRIBE: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe"

# The plan that ends a hanging transaction, for the screen and for docs/runbook.md. A second run changes nothing: the
# file of the first line is there, and where no transaction begins the broker refuses the abort.
SAVE: Final = "Save {records} of {who} {at}: this loses nothing."
SAVE_DECIDED: Final = "Save {records} of {who} {at}: the abort discards what was committed{may}."
CHECK: Final = "Check that CurrentTransactionStartOffset of producer {producer} is {first}{idle}; if not, {stop}."
# What is listed is ended by its own marker. An abort would end it, too: the start offset is still that of the first.
IDLE: Final = ", and that TopicPartitions of {ids} lacks {place}"
LISTED: Final = "Check that TopicPartitions of {id} lacks {place}; if not, leave it alone: its marker will come."
LISTED_SOME: Final = "Check TopicPartitions of {id}: leave alone what it has of {place}, its marker will come."
END: Final = "End the transaction of {who} in {place}: read_committed consumers then skip {records} {at}."
END_TOO: Final = (
    "End that of {who}, if the check above says {first} of producer {producer}: consumers skip {records} {at}."
)
VERIFY: Final = "Verify: the check now says None for what was ended."

# The plan for one that may hang. Its rows have no line that ends it, as most that may hang do not; people see one on
# screens, after the question (reports/joint_plan.py).
ASK: Final = (
    "Ask the broker after {later}. If CurrentTransactionStartOffset of producer {producer} is still {first}, go on."
    " None, or another: it has ended, stop here."
)
ASK_TOO: Final = "Ask the same of producer {producer} in {place}: go on if that is still {first}."
SAVE_FIRST: Final = "If it hangs, save {records} of {who}: this loses nothing."
END_ONLY: Final = (
    "If it hangs, end it with kafka-transactions.sh --bootstrap-server HOST:PORT abort {which}: read_committed"
    " consumers then skip {records}."
)
END_WHICH: Final = "--topic {topic} --partition {partition} --start-offset {first}"

# Whether what was saved has to be sent again: whoever wrote it counts on what its coordinator committed.
_AGAIN: Final = {
    "yes": (
        "Let the owner of {who} send {the records} again, from the saved file: {because}. Who reads uncommitted gets"
        " {them} twice."
    ),
    "no": "Do not send {the records} of {who} again: {because}.",
    "if-missed": "Send {the records} of {who} again only if its owner misses {them}: {because}.",
    "if-committed": (
        "Ask the owner of {who} whether {because} committed; if so, send {the records} again: it does not have {them}."
    ),
    "ask": "Ask the owner of {who} whether to send {the records} again: {because}.",
    "ask-writers": "Ask who writes to {topic} whether to send {the records} of {who} again: {because}.",
}
_AGAIN_OF_SEVERAL: Final = {
    "yes": (
        "Let the owners send again, from the saved file, {each}: {because}. Who reads uncommitted gets them twice."
    ),
    "no": "Do not send again {each}: {because}.",
    "ask": "Ask the owners whether to send again {each}: {because}.",
    "ask-writers": "Ask those who write there whether to send again {each}: {because}.",
}
_COMMITTED: Final = "{they} committed"
_MAYBE: Final = "{they} most likely committed"
_WITHOUT: Final = "it committed at {time}, without this partition"
_ABORTED: Final = "it aborted all its transactions of that time, the first at {time}"
_ABORTED_THEM: Final = "it aborted their transaction at {time}"
_DISCARDED: Final = "{they} to be aborted"
_LEFT: Final = "{it} came after its last {decision}, of {time}"
_STAYED_OPEN: Final = "its transaction that began at {time}"
_UNKNOWN: Final = "no file says"
_NO_OWNER: Final = "no file says whose {it} {are}"


_LONGEST_MS: Final = 900_000  # transaction.max.timeout.ms by default
_MORE_MS: Final = 60_000  # in which a coordinator ends what has timed out, and clocks may differ


def abort_steps(tables: ClusterTables, every: list[Open], *, alone: bool = False) -> list[Step]:
    """Return the steps that end hanging transactions: save, check, end and verify, each before what needs it.

    They are the incident's only records if they are `alone`.
    """
    steps: list[Step] = []
    is_one = alone and len(every) == 1
    for some in grouped(every[:EVENTS], lambda one: (one.place, one.is_proved)).values():
        if not some[0].is_proved:
            steps += (Step(END.format(**_facts(tables, one)[0])) for one in some)
        else:
            steps += _ending(tables, some, alone=is_one, stop="stop" if is_one else "leave it")
    if len(every) > EVENTS:
        steps.append(Step(f"{len(every) - EVENTS} more: each finding has its command in the column remedy.", None))
    proved = [one for one in every[:EVENTS] if one.is_proved]
    if proved:
        steps.append(Step(VERIFY).to("verify"))
    return [*steps, *_again(tables, proved, "" if alone else "If that was ended, ")]


def _ending(tables: ClusterTables, some: Sequence[Open], *, alone: bool, stop: str) -> Iterator[Step]:
    """Yield the steps for hanging transactions of a partition, whose producers one line shows."""
    saves: list[Step] = []
    checks: list[Step] = []
    ends: list[Step] = []
    for one in some:
        facts, of_place = _facts(tables, one)
        row = one.row
        which = (
            *of_place, ("--producer-id", row["producer_id"]),
            ("--offset", f"{row['first_offset']}..{row['last_offset']}"),
        )  # fmt: skip
        text = (SAVE_DECIDED if one.is_committed else SAVE).format(**facts)
        if alone and not one.is_aborted and row["records"]:
            saves.append(Step.saving(text))
        elif not one.is_aborted and row["records"]:
            saves.append(Step.saving(text, *which, place=(row["topic"], row["partition"], row["first_offset"])))
        if not checks:
            ids = dict.fromkeys(filter(None, map(_described, some)))
            idle = IDLE.format(ids=listed(ids, len(ids)), place=one.place) if ids else ""
            check = CHECK.format(**facts, stop=stop, idle=idle)
            checks.append(Step.running(check, PRODUCERS, *of_place).to("check"))
            checks += (describing(LISTED.format(id=name, place=one.place), name).to("look") for name in ids)
        end = (END_TOO if ends else END).format(**facts)
        ends.append(Step.running(end, ABORT, *of_place, ("--start-offset", row["first_offset"])).to("end"))
    yield from (*saves, *checks, *ends)


def asked_of(tables: ClusterTables, every: Sequence[Open]) -> list[Open]:
    """Return the first of some transactions, in the order of an incident's parts: those that brokers are asked about.

    One of two-phase commit is only if there is no other: no time ends it.
    """
    ordered = sorted(every, key=lambda one: first_of(one.part))
    timed = [one for one in ordered if hangs_after(tables, one) is not None]
    return (timed or ordered)[:SHOWN]


def ask_steps(tables: ClusterTables, every: list[Open]) -> list[Step]:
    """Return how to ask the brokers whether transactions hang, which files cannot decide, and what to do if they do."""
    steps: list[Step] = []
    asked = asked_of(tables, every)
    latest = max(asked, key=lambda one: hangs_after(tables, one) or 0)
    for one in asked:
        facts, of_place = _facts(tables, one)
        text = (ASK_TOO if steps else ASK).format(**{**facts, "later": _later(tables, latest)})
        steps.append(Step.running(text, PRODUCERS, *of_place).to("ask"))
    prepared = [one for one in every if hangs_after(tables, one) is None and one not in asked]
    if prepared:
        whose = listed(dict.fromkeys(one.who for one in prepared))
        steps.append(Step(f"Leave to their owners what is of two-phase commit: {whose}."))
    if more := len(every) - len(asked) - len(prepared):
        steps.append(Step(f"{more} more may hang: ask about each in the same way."))
    steps.append(OR_COPY_AGAIN)
    if ends := [one for one in asked if one.row["records"]]:
        records = many(sum(one.row["records"] for one in ends), "record")
        who = listed(dict.fromkeys(one.who for one in ends))
        which = " or ".join(END_WHICH.format(**_facts(tables, one)[0]) for one in ends)
        steps.append(Step.saving(SAVE_FIRST.format(records=records, who=who)))
        steps += _listed(ends)
        steps.append(Step(END_ONLY.format(which=which, records=records)).to("end"))
        steps += [Step(VERIFY).to("verify"), *_again(tables, ends)]
    return steps


def _facts(tables: ClusterTables, one: Open) -> tuple[dict[str, object], tuple[tuple[str, object], tuple[str, object]]]:
    """Return what the steps say of a transaction, and the options that name its partition."""
    row = one.row
    at = offset_range(row["first_offset"], row["last_offset"])
    span = (row["last_offset"] or row["first_offset"]) - row["first_offset"] + 1
    is_between = 0 < (row["records"] or 0) < span
    facts = {
        "records": many(row["records"] or 0, "record"), "who": one.who, "place": one.place,
        "at": f"{'among' if is_between else 'at'} {at}", "may": one.decided.may,
        "producer": row["producer_id"], "first": row["first_offset"], "topic": row["topic"],
        "partition": row["partition"], "later": _later(tables, one),
    }  # fmt: skip
    return facts, (("--topic", row["topic"]), ("--partition", row["partition"]))


def _listed(every: Sequence[Open]) -> list[Step]:
    """Return how to ask the coordinator whether the newest transaction of an id has a partition in its list.

    Then its marker ends what is open there, older data, too. A partition is in the list until it has the marker.
    """
    by_id = grouped(every, _described)
    steps = []
    for name, some in by_id.items():
        places = dict.fromkeys(str(one.place) for one in some)
        if name is not None:
            words = LISTED if len(places) == 1 else LISTED_SOME
            steps.append(describing(words.format(id=name, place=listed(places, len(places))), name).to("look"))
    return steps


def _described(one: Open) -> str | None:
    """Return the id of which `describe` says whether a marker comes; of a forgotten or a new producer's none does."""
    name: str | None = one.row["transactional_id"]
    return None if one.row["cause"] in ("id-expired", "producer-replaced") else name


def describing(text: str, transactional_id: str) -> Step:
    """Return a step that asks the coordinator about a transactional id."""
    return Step.running(text, _DESCRIBE, ("--transactional-id", transactional_id))


def timeout_of(tables: ClusterTables, one: Open) -> int | None:
    """Return the timeout (ms) of a transaction, 0 for one that is decided, None where no record has it."""
    return 0 if _is_decided(one) else _timeout(tables, one) or None


def hangs_after(tables: ClusterTables, one: Open) -> int | None:
    """Return the time (ms) from which on a transaction that the broker still has does not end by itself.

    It began before the files end, and then its timeout counts. A decided one has its marker at once; of another that no
    record names, the longest timeout counts. One of two-phase commit has none.
    """
    timeout = timeout_of(tables, one)
    timeout = _LONGEST_MS if timeout is None else timeout
    if timeout == NO_TIMEOUT:
        return None
    return (max(tables.now, 0) + timeout + _MORE_MS) // 1000 * 1000 + 1000


def _later(tables: ClusterTables, one: Open) -> str:
    """Say from when on it hangs, and why then."""
    time, timeout = hangs_after(tables, one), _timeout(tables, one)
    if time is None:
        return "its owner has ended it"
    if _is_decided(one):
        return f"{iso(time)} (a marker comes within a minute)"
    longest = f"its timeout of {age(timeout)}" if timeout else "15 min, the longest timeout by default"
    return f"{iso(time)} (where the files end, {longest} and a minute more)"


def _is_decided(one: Open) -> bool:  # a decision of the transaction before says nothing of this one
    return one.is_committed or one.is_aborted


def _timeout(tables: ClusterTables, one: Open) -> int:
    """Return the longest timeout (ms) that an id's records have, 0 if none has one."""
    return max((step["timeout_ms"] or 0 for step in tables.steps.get(one.row["transactional_id"] or "", ())), default=0)


def owing(tables: ClusterTables, one: Open) -> TransactionPart:
    """Return a hanging transaction as a part of an incident, with whether to write its records again, and why."""
    word, words, facts = _owed(tables, one)
    is_one = one.row["records"] == 1
    it = {"it": "it", "them": "it", "are": "is", "they": "it was"} if is_one else {
        "it": "they", "them": "them", "are": "are", "they": "they were"}  # fmt: skip
    return one.part._replace(write_again=word, because=words.format(**it, **facts))


def _again(tables: ClusterTables, every: Sequence[Open], before: str = "") -> Iterator[Step]:
    parts = [owing(tables, one).row() for one in every if one.row["records"]]
    for text in again_said(parts, in_brief=len(parts) > SHOWN):
        yield Step(f"{before}{text[0].lower()}{text[1:]}" if before else text).to("again")


def again_said(parts: Sequence[Mapping[str, Any]], *, in_brief: bool = False) -> Iterator[str]:
    """Yield whether the records of hanging transactions, parts of incidents, have to be written again, and why.

    What is the same of several partitions is said once, in brief what is the same of several transactions, too.
    """
    known = [part for part in parts if part.get("write_again") is not None and part["records"]]
    same = grouped(known, lambda part: (part["write_again"], part["because"], _whose(part), _there(part)))
    for (word, because), some in grouped(same.items(), lambda it: it[0][:2]).items():
        said = [(who, topic, sum(part["records"] for part in every)) for (*_, who, topic), every in some]
        if len(said) > 1 and in_brief and word in _AGAIN_OF_SEVERAL:
            (who, _, records), *others = said
            each = [f"the {many(records, 'record')} of {who}", *(f"{number} of {name}" for name, _, number in others)]
            yield _AGAIN_OF_SEVERAL[word].format(each=listed(each, len(each)), because=because)
            continue
        for who, topic, records in said:
            facts = {"who": who, "because": because, "topic": topic, "the records": f"the {many(records, 'record')}"}
            yield _AGAIN[word].format_map({**facts, "them": "it" if records == 1 else "them"})


def _whose(part: Mapping[str, Any]) -> str:
    return part["transactional_id"] or producer_name(None, part["producer_id"])


def _there(part: Mapping[str, Any]) -> str | None:
    return part["topic"] if part["write_again"] == "ask-writers" else None


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
        said = {True: ("yes", _WITHOUT), False: ("no", aborted), None: ("if-committed", _STAYED_OPEN)}[fates.pop()]
        return *said, {"time": iso(_time_of(some_of[0]))}
    if fates or before is None or not is_whole or any(some.committed for some in later):
        return *unknown, {}
    decision = "commit" if one.decided.committed else "abort"
    return "if-missed", _LEFT, {"time": iso(_time_of(one.decided)), "decision": decision}


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
