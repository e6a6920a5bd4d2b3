"""Transactions that are open: each with its row and the coordinator's records, and the steps that end hanging ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import EVENTS, SHOWN, Event, Row, Since, Step, TransactionPart
from kafkalog.auditing.incidents.leadership import leader_at
from kafkalog.auditing.transactions import ABORT
from kafkalog.certainty import is_proved
from kafkalog.few_of_many import grouped
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.kafka.transaction_state import NO_TIMEOUT
from kafkalog.quantities import age, capital, iso, listed, many, offset_range, producer_name

__all__ = [
    "AUDIT",
    "CHECK",
    "COLLECT_AGAIN",
    "COPY_AGAIN",
    "END",
    "OR_COPY_AGAIN",
    "OTHER_BROKERS",
    "PRODUCERS",
    "SAVE",
    "SAVE_DECIDED",
    "VERIFY",
    "Decided",
    "Open",
    "abort_steps",
    "ask_steps",
    "decided",
    "describing",
    "hangs_after",
    "is_alone",
    "open_transaction",
    "other_replicas",
    "row_of",
    "since",
]


# What the coordinator's records say of one open or lost transaction: when it began, what was decided, when.


_PREPARED: Final = ("prepare_commit", "prepare_abort")

_REGISTERED: Final = (None, "marker-missing", "begins-before-log")  # causes of transactions that list their partition


class Decided(NamedTuple):
    """The newest transaction of an id that listed a partition: its records; one that is gone is None.

    `begun` is the first that listed the partition. Where the cleaner took all that did, it is the newest commit of the
    producer, which is only `completed`: it may have had the partition.
    """

    begun: Row | None = None
    prepared: Row | None = None
    completed: Row | None = None

    @property
    def committed(self) -> bool:
        """Say whether the coordinator decided to commit it."""
        said = self.prepared or self.completed
        return said is not None and said["state"] in ("prepare_commit", "complete_commit")

    def events(self, tables: ClusterTables, place: TopicPartition) -> Iterator[Event]:
        """Say what the coordinator wrote, and once which one: its epoch is the leader epoch of its partition."""
        named: tuple[int, int] | None = None
        for row, what in (
            (self.begun, f"added {place} to the transaction"),
            (self.prepared, f"decided to {'commit' if self.committed else 'abort'} the transaction"),
            (self.completed, "completed the transaction"),
        ):
            if row is not None:
                whose = f"{row['transactional_id']} (producer {row['producer_id']}, epoch {row['producer_epoch']})"
                time = row["last_update_timestamp_ms"]
                led = leader_at(tables.leadership.get(TopicPartition.of_log(row["log"]), ()), time)
                which = ""
                if led is not None and led["leader"] is not None and named != (led["leader"], led["leader_epoch"]):
                    named = led["leader"], led["leader_epoch"]
                    which = f" (broker {led['leader']}, coordinator epoch {led['leader_epoch']})"
                yield Event(time, "broker", row["log"], row["offset"], f"The coordinator{which} {what} of {whose}.")

    @property
    def may(self) -> str:
        """Say of a commit that may have been another transaction's that it may."""
        is_alone = self.prepared is None and self.completed is not None
        return " by all that is left of the coordinator's records" if is_alone else ""

    def at(self) -> str:
        """Say when it was decided, as far as records are left."""
        said = self.prepared or self.completed
        return "" if said is None else f" at {iso(said['last_update_timestamp_ms'])}{self.may}"


def decided(tables: ClusterTables, row: Row, record: int | None = None) -> Decided:
    """Return the coordinator's records of a transaction, a row of ``notable``; of its producer's newest one there.

    Where the offset of its `record` is known, it is that one's.
    """
    steps = tables.steps.get(row["transactional_id"] or "", [])
    place = str(TopicPartition.of(row))
    newest = (at for at in range(len(steps) - 1, -1, -1) if record in (None, steps[at]["offset"]))
    last = next((at for at in newest if _lists(steps[at], place) and _of(steps[at], row)), None)
    if last is None:
        return Decided(completed=_commit_alone(steps, row))
    begun = _begun(steps, last, place)
    prepared = steps[last] if steps[last]["state"] in _PREPARED else None
    after = steps[last + 1] if prepared is not None and last + 1 < len(steps) else None
    completed = after if after is not None and after["state"].startswith("complete") else None
    return Decided(begun, prepared, completed)


def _commit_alone(steps: Sequence[Row], row: Row) -> Row | None:
    """Return the newest commit of a transaction's producer whose other records, with its partitions, are gone."""
    for at in range(len(steps) - 1, -1, -1):
        if steps[at]["state"] == "complete_commit" and _of(steps[at], row):
            return None if at and steps[at - 1]["state"] in _PREPARED else steps[at]
    return None


def _of(step: Row, row: Row) -> bool:
    return bool(step["producer_id"] == row["producer_id"])


def _lists(step: Row, place: str) -> bool:
    return place in (step["partitions"] or ())


def _begun(steps: Sequence[Row], last: int, place: str) -> Row | None:
    """Return the first record of the transaction of a record that listed the partition."""
    begun = None
    for at in range(last, -1, -1):
        if steps[at]["state"] == "ongoing" and _lists(steps[at], place):
            begun = steps[at]
        elif at != last:
            break
    return begun


def since(tables: ClusterTables, row: Row) -> Since | None:
    """Return since when a transaction has been open in its partition: by a broker's clock, where one shows it."""
    begun = None
    if row["cause"] in _REGISTERED and row["state"] != "undecided":
        begun = decided(tables, row).begun
    if begun is not None:
        return Since(begun["last_update_timestamp_ms"], "broker")
    low, high = row["not_before_ms"], row["not_after_ms"]
    created = _created(tables, row)
    low = created if low is None and created >= 0 else low
    assigned = _assigned(tables, row)
    low = assigned if low is None else max(low, assigned or low)
    high = tables.now if high is None and tables.now >= 0 else high
    return Since.bounded(row["first_timestamp_ms"], low, high)


def _assigned(tables: ClusterTables, row: Row) -> int | None:
    """Return when the coordinator gave a producer its id, None where its records do not show it.

    The first record of the id in epoch 0 and without a transaction is that of InitProducerId: no data is older.
    """
    steps = tables.steps.get(row["transactional_id"], ())
    first = next((one for one in steps if one["producer_id"] == row["producer_id"]), None)
    if first is None or first["state"] != "empty" or first["producer_epoch"] != 0:
        return None
    given: int = first["last_update_timestamp_ms"]
    return given


def _created(tables: ClusterTables, row: Row) -> int:
    """Return when a partition was created, -1 where no metadata shows it."""
    rows = tables.leadership.get(TopicPartition.of(row), ())
    return rows[0]["since_ms"] if rows and rows[0]["change"] == "created" else -1


AUDIT: Final = "kafkalog txn-audit"

DESCRIBE: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe"

OTHER_BROKERS: Final = (AUDIT, "DIR", "OTHER_BROKERS_DIR")


def is_alone(tables: ClusterTables, place: TopicPartition) -> bool:
    """Say whether a partition has one replica, by its newest state in the metadata."""
    rows = tables.leadership.get(place) or []
    return bool(rows) and len(rows[-1]["replicas"] or ()) == 1


def other_replicas(tables: ClusterTables, places: Iterable[TopicPartition], where: str) -> Step:
    """Return how to look for what a replica lacks: in the others, or where the topics have one each in a backup."""
    every = list(places)
    if all(is_alone(tables, place) for place in every):
        has = "it has" if len(every) == 1 else "they have"
        return Step(f"Look in a backup for the files of {where}: {has} no other replica.")
    return Step.running(
        f"Read the other replicas of {where} together with this one: they may be whole.", *OTHER_BROKERS
    )


COPY_AGAIN: Final = Step.running(
    "Copy again, from a volume snapshot or a broker that can be stopped: this copy cannot prove it.",
    AUDIT,
    "NEW_COPY",
)

OR_COPY_AGAIN: Final = Step("Or audit another copy, from a volume snapshot or a broker that can be stopped.")

COLLECT_AGAIN: Final = Step("Collect again with a later --offset or --until, or without: the bundle was cut there.")


class Open(NamedTuple):
    """An open transaction that a finding reports, with its row of ``notable`` and the coordinator's records."""

    place: TopicPartition
    finding: Row
    row: Row
    decided: Decided
    since: Since | None

    @property
    def is_committed(self) -> bool:
        """Say whether the coordinator decided to commit its records: an abort discards them."""
        is_later = self.row["after_commit"] or self.row["cause"] == "data-after-marker"
        return self.decided.committed and not is_later

    @property
    def is_aborted(self) -> bool:
        """Say whether the coordinator decided to abort its records: nobody misses them."""
        said = self.decided.prepared
        is_later = self.row["after_commit"] or self.row["cause"] == "data-after-marker"
        return said is not None and not self.decided.committed and not is_later

    @property
    def is_early(self) -> bool:
        """Say whether the coordinator decided it, and the log may have been copied before the marker came."""
        return self.finding["code"] == "transaction-undecided" and self.decided.prepared is not None

    @property
    def is_proved(self) -> bool:
        """Say whether it hangs for certain, in a replica that consumers read: its remedy may not print all the same."""
        return self.finding["severity"] != "note" and is_proved(self.finding["certainty"])

    @property
    def part(self) -> TransactionPart:
        """Return it as a part of an incident, with what the coordinator decided."""
        row, decided_so = self.row, "committed" if self.is_committed else "aborted" if self.is_aborted else "none"
        fate = "open" if row["state"] == "ongoing" else decided_so
        whose = row["transactional_id"], row["producer_id"], row["records"]
        known = self.finding["code"] == "transaction-pending" or is_proved(self.finding["certainty"])
        fate = fate if known or self.is_early else "unknown"
        return TransactionPart(self.place, row["first_offset"], row["last_offset"], *whose, fate)

    @property
    def who(self) -> str:
        """Name whose transaction it is."""
        return producer_name(self.row["transactional_id"], self.row["producer_id"])


def open_transaction(tables: ClusterTables, finding: Row) -> Open:
    """Return the open transaction that a finding reports."""
    row, known = row_of(tables, finding), Decided()
    if finding["code"] != "transaction-undecided":
        known = decided(tables, row)
    elif (finding["found"] or "").isdecimal():  # the coordinator's record of which the marker may not have been copied
        known = decided(tables, row, int(finding["found"]))
    return Open(TopicPartition.of(row), finding, row, known, since(tables, row))


def row_of(tables: ClusterTables, finding: Row) -> Row:
    """Return the row of a finding's transaction; what the finding alone says where another reading has none."""
    return tables.transaction_of(finding) or {**_NOT_KNOWN, "first_offset": finding["offset"], **finding}


_NOT_KNOWN: Final = {
    **dict.fromkeys(
        ("transactional_id", "cause", "records", "first_timestamp_ms", "not_before_ms", "not_after_ms", "after_commit")
    ),
    "state": "undecided",
}


PRODUCERS: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers"

# The plan that ends a hanging transaction, for the screen and for docs/runbook.md. A second run changes nothing: the
# file of the first line is there, and where no transaction begins the broker refuses the abort.
SAVE: Final = "Save {records} of {who} at {at}: this loses nothing."
SAVE_DECIDED: Final = "Save {records} of {who} at {at}: the abort discards what was committed{may}."
CHECK: Final = "Check that CurrentTransactionStartOffset of producer {producer} is {first}{idle}; if not, {stop}."
# Data of the next transaction there would be ended, too: its start offset is still that of the first.
IDLE: Final = ", and that describe --transactional-id {id} does not list the partition"
END: Final = "End the transaction of {who} in {place}: read_committed consumers then skip {records} at {at}."
END_TOO: Final = (
    "End that of {who}, if the check says {first} of producer {producer}: consumers skip {records} at {at}."
)
VERIFY: Final = "Verify: the check now says None for what was ended."

# The plan for one that may hang. It has no line that ends it: most that may hang do not.
ASK: Final = (
    "Ask the broker after {later}. If CurrentTransactionStartOffset of producer {producer} is still {first}, it hangs:"
    " go on. None, or another: it has ended, stop here."
)
ASK_TOO: Final = "Ask the same of producer {producer} in {place}: it hangs there if that is still {first}."
SAVE_FIRST: Final = "If it hangs, save {records} of {who}: this loses nothing."
LOOK_DECIDED: Final = (
    "Look at the state of {who}. PrepareCommit, or Ongoing with this partition: a marker comes that ends it, leave it"
    " alone. Any other: go on."
)
LOOK: Final = (
    "Look at the state of {who}. Ongoing, PrepareCommit or PrepareAbort: a marker comes that ends it, leave it alone."
    " Any other: go on."
)
UNLESS: Final = (
    "Look at the state of {who}: it had an open transaction in {where} where the files end, and these may be its"
    " records. Go on when it is CompleteCommit or CompleteAbort."
)
END_ONLY: Final = (
    "If it hangs{idle}, end it with kafka-transactions.sh --bootstrap-server HOST:PORT abort {which}: read_committed"
    " consumers then skip {records}."
)
END_WHICH: Final = "--topic {topic} --partition {partition} --start-offset {first}"

# Whether what was saved has to be written again: whoever wrote it counts on what its coordinator committed.
COMMITTED: Final = "Write {the records} of {who} again: {were} committed."
MAYBE: Final = "Ask the owner of {who} whether to write {the records} again: {were} most likely committed."
WITHOUT: Final = "Write {the records} of {who} again: it committed at {time}, without this partition."
ABORTED: Final = (
    "Do not write {the records} of {who} again: it aborted all its transactions of that time, the first at {time}."
)
LEFT: Final = (
    "{The records} of {who} came after its last {decision}, of {time}: write {them} again only if its owner misses"
    " {them}."
)
STILL_OPEN: Final = (
    "Write {the records} of {who} again only if its transaction of {time} commits: that does not list the partition,"
    " and will leave them out."
)
ABORTED_THEM: Final = "Do not write {the records} of {who} again: it aborted their transaction at {time}."
DISCARDED: Final = "Do not write {the records} of {who} again: {were} to be aborted."
NO_OWNER: Final = (
    "No file says whose {the records} of {who} are, or whether {were} committed: ask who writes to {topic}."
)
UNKNOWN: Final = "Ask the owner of {who} whether to write {the records} again: no file says."


_LONGEST_MS: Final = 900_000  # transaction.max.timeout.ms by default
_MORE_MS: Final = 60_000  # in which a coordinator ends what has timed out, and clocks may differ


def abort_steps(tables: ClusterTables, every: list[Open], *, alone: bool = False) -> list[Step]:
    """Return the steps that end hanging transactions: save, check, end and verify, each before what needs it.

    They are the incident's only records if they are `alone`.
    """
    steps = []
    checked: TopicPartition | None = None
    for one in every[:EVENTS]:
        facts, of_place = _facts(tables, one)
        row = one.row
        which = (
            *of_place, ("--producer-id", row["producer_id"]),
            ("--offset", f"{row['first_offset']}..{row['last_offset']}"),
        )  # fmt: skip
        end = END.format(**facts)
        text = (SAVE_DECIDED if one.is_committed else SAVE).format(**facts)
        if not one.is_proved:
            steps.append(Step(end))
            continue
        if alone and len(every) == 1 and not one.is_aborted:
            steps.append(Step.saving(text))
        elif not one.is_aborted:
            steps.append(Step.saving(text, *which, place=(row["topic"], row["partition"], row["first_offset"])))
        abort = ABORT, *of_place, ("--start-offset", row["first_offset"])
        if one.place == checked:  # whose producers the check above shows, too
            steps.append(Step.running(END_TOO.format(**facts), *abort).to("end"))
            continue
        checked = one.place
        stop = "stop" if alone else "leave out the next step"
        steps.append(Step.running(CHECK.format(**facts, stop=stop, idle=_idle(one)), PRODUCERS, *of_place).to("check"))
        steps.append(Step.running(end, *abort).to("end"))
    if len(every) > EVENTS:
        steps.append(Step(f"{len(every) - EVENTS} more: each finding has its command in the column remedy.", None))
    proved = [one for one in every[:EVENTS] if one.is_proved]
    if proved:
        steps.append(Step(VERIFY).to("verify"))
    return [*steps, *_again(tables, proved, "" if alone else "If that was ended, ")]


def ask_steps(tables: ClusterTables, every: list[Open]) -> list[Step]:
    """Return how to ask the brokers whether transactions hang, which files cannot decide, and what to do if they do."""
    steps: list[Step] = []
    ends: list[str] = []
    for one in every[:SHOWN]:
        facts, of_place = _facts(tables, one)
        steps.append(Step.running((ASK_TOO if steps else ASK).format(**facts), PRODUCERS, *of_place).to("ask"))
        if one.row["records"]:
            ends.append(END_WHICH.format(**facts))
    if ends:
        records = many(sum(one.row["records"] or 0 for one in every), "record")
        who = listed(dict.fromkeys(one.who for one in every))
        steps.append(Step.saving(SAVE_FIRST.format(records=records, who=who)))
        look = list(_look(every)) or list(_unless(tables, every[0]))
        idle = "" if look else _idle(every[0])
        end = END_ONLY.format(which=" or ".join(ends), records=records, idle=idle)
        steps += [*look, Step(end).to("end"), *_again(tables, every, "Then ")]
    return [*steps, OR_COPY_AGAIN]


def _facts(tables: ClusterTables, one: Open) -> tuple[dict[str, object], tuple[tuple[str, object], tuple[str, object]]]:
    """Return what the steps say of a transaction, and the options that name its partition."""
    row = one.row
    facts = {
        "records": many(row["records"] or 0, "record"), "who": one.who, "place": one.place,
        "at": offset_range(row["first_offset"], row["last_offset"]), "may": one.decided.may,
        "producer": row["producer_id"], "first": row["first_offset"], "topic": row["topic"],
        "partition": row["partition"], "later": _later(tables, one),
    }  # fmt: skip
    return facts, (("--topic", row["topic"]), ("--partition", row["partition"]))


def _idle(one: Open) -> str:
    name = one.row["transactional_id"]
    return "" if name is None else IDLE.format(id=name)


def _look(every: Sequence[Open]) -> Iterator[Step]:
    """Yield how to ask the coordinator about a transaction that it committed, or of which only the end is not here.

    After a decision another state than that is a later transaction's. What was to be aborted may be ended at once.
    """
    who = every[0].row["transactional_id"]
    is_undecided = all(one.finding["code"] == "transaction-undecided" for one in every)
    if who is not None and is_undecided and not all(one.is_aborted for one in every):
        words = LOOK_DECIDED if all(one.is_committed for one in every) else LOOK
        yield describing(words.format(who=who), who).to("look")


def _unless(tables: ClusterTables, one: Open) -> Iterator[Step]:
    """Yield how to look for a transaction of the same producer that is open in other partitions: it may be this one."""
    steps = tables.steps.get(one.row["transactional_id"] or "", ())
    newest = steps[-1] if steps else None
    if newest is None or newest["state"] != "ongoing" or _is_decided(one):
        return
    if not _of(newest, one.row) or _lists(newest, str(one.place)):
        return
    if places := newest["partitions"] or ():
        who = one.row["transactional_id"]
        text = UNLESS.format(who=who, where=listed(places, SHOWN))
        yield describing(text, who).to("look")


def describing(text: str, transactional_id: str) -> Step:
    """Return a step that asks the coordinator about a transactional id."""
    return Step.running(text, DESCRIBE, ("--transactional-id", transactional_id))


def hangs_after(tables: ClusterTables, one: Open) -> int | None:
    """Return the time (ms) from which on a transaction that the broker still has does not end by itself.

    It began before the files end, and then its timeout counts. A decided one has its marker at once; of another that no
    record names, the longest timeout counts. One of two-phase commit has none.
    """
    timeout = 0 if _is_decided(one) else _timeout(tables, one) or _LONGEST_MS
    if timeout == NO_TIMEOUT:
        return None
    return (max(tables.now, 0) + timeout + _MORE_MS) // 1000 * 1000 + 1000


def _later(tables: ClusterTables, one: Open) -> str:
    """Say from when on it hangs, and why then."""
    time, timeout = hangs_after(tables, one), _timeout(tables, one)
    if time is None:
        return "its owner has ended it"
    if _is_decided(one):
        return f"{iso(time)} (a marker takes no minute)"
    longest = f"its timeout of {age(timeout)}" if timeout else "15 min, the longest timeout by default"
    return f"{iso(time)} (where the files end, {longest} and a minute more)"


def _is_decided(one: Open) -> bool:  # a decision of the transaction before says nothing of this one
    return one.is_committed or one.is_aborted


def _timeout(tables: ClusterTables, one: Open) -> int:
    """Return the longest timeout (ms) that an id's records have, 0 if none has one."""
    return max((step["timeout_ms"] or 0 for step in tables.steps.get(one.row["transactional_id"] or "", ())), default=0)


def _again(tables: ClusterTables, every: Sequence[Open], before: str = "") -> Iterator[Step]:
    """Yield whether the records have to be written again, and why.

    What is the same of several partitions is said once.
    """
    owed = [(one, *_owed(tables, one)) for one in every if one.row["records"]]
    for some in grouped(owed, lambda it: (it[1], it[0].who, *it[2].values())).values():
        records = sum(one.row["records"] for one, _, _ in some)
        them, were = ("it", "it was") if records == 1 else ("them", "they were")
        one, words, said = some[0]
        who = one.row["transactional_id"] or one.who
        the = f"the {many(records, 'record')}"
        facts = {
            "who": who,
            "topic": one.row["topic"],
            "the records": the,
            "The records": capital(the),
            "them": them,
            "were": were,
            **said,
        }
        text = words.format_map(facts)
        yield Step(f"{before}{text[0].lower()}{text[1:]}" if before else text).to("again")


def _owed(tables: ClusterTables, one: Open) -> tuple[str, dict[str, str]]:
    """Return the words, and their facts, that say whether a hanging transaction's client counts on its records.

    It goes by the decisions that may be theirs. A client commits only what brokers have acknowledged: what came after
    the marker of a commit was no part of it. An abort waits for nothing: what came after one may be a request of the
    transaction that it ended. Else they may be of any of their epoch that was open when they came. Where the cleaner
    may have removed one, or the coordinator's records may have been copied before others, no file says it.
    """
    if one.is_committed:
        return MAYBE if one.decided.prepared is None else COMMITTED, {}
    if one.is_aborted:
        return DISCARDED, {}
    unknown = NO_OWNER if one.row["transactional_id"] is None else UNKNOWN
    steps = [
        step for step in tables.steps.get(one.row["transactional_id"] or "", ())
        if step["producer_id"] == one.row["producer_id"]
    ]  # fmt: skip
    low, before = one.row["not_before_ms"], one.decided.prepared
    if not steps or (steps[0]["state"] != "empty" and (low is None or low < steps[0]["last_update_timestamp_ms"])):
        return unknown, {}
    high, newest = one.row["not_after_ms"], steps[-1]["last_update_timestamp_ms"]
    is_whole = one.is_proved or (high is not None and high <= newest)
    later = [some for some in _transactions(steps) if low is None or some.prepared is None or low <= _time_of(some)]
    some_of = [some for some in later if _may_have(some, one)]
    if before is not None and not one.decided.committed and _is_of_epoch(one.decided, one):
        some_of.insert(0, one.decided)
    fates = {some.committed if some.prepared is not None else None for some in some_of}
    if len(fates) == 1 and (is_whole or None in fates):
        aborted = ABORTED_THEM if len(some_of) == 1 else ABORTED
        return {True: WITHOUT, False: aborted, None: STILL_OPEN}[fates.pop()], {"time": iso(_time_of(some_of[0]))}
    if fates or before is None or not is_whole or any(some.committed for some in later):
        return unknown, {}
    return LEFT, {"time": iso(_time_of(one.decided)), "decision": "commit" if one.decided.committed else "abort"}


def _time_of(some: Decided) -> int:
    """Return when a transaction was decided, or where it is open when it began."""
    row = some.begun if some.prepared is None else some.prepared
    assert row is not None
    return int(row["last_update_timestamp_ms"])


def _may_have(some: Decided, one: Open) -> bool:
    """Say whether data may be of a transaction that does not list its partition: by its epoch and by when it began."""
    lists, high = some.prepared or some.begun, one.row["not_after_ms"]
    begun = None if some.begun is None else some.begun["last_update_timestamp_ms"]
    in_time = high is None or begun is None or begun <= high
    return lists is not None and in_time and _is_of_epoch(some, one) and not _lists(lists, str(one.place))


def _is_of_epoch(some: Decided, one: Open) -> bool:
    return some.begun is None or bool(some.begun["producer_epoch"] == one.row["producer_epoch"])


def _transactions(steps: Sequence[Row]) -> Iterator[Decided]:
    """Yield the transactions of a producer's records, oldest first; the last may be open."""
    begun = None
    for step in steps:
        if step["state"] == "ongoing":
            begun = begun or step
        elif step["state"] in _PREPARED:
            yield Decided(begun, step)
            begun = None
    if begun is not None:
        yield Decided(begun)
