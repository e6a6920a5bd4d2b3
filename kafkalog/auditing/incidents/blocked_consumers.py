"""Consumers that stop: open transactions that hold the last stable offset, one incident for each cause.

And partitions on brokers whose directories were not given, without the markers of decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.ending import abort_steps, ask_steps, asked_of, owing
from kafkalog.auditing.incidents.incident import (
    EVENTS,
    SHOWN,
    STOPS,
    Event,
    Incident,
    Row,
    Since,
    Step,
    Subject,
    Words,
)
from kafkalog.auditing.incidents.leadership import Leaderless, last_led, leaderless_at, leaderless_now
from kafkalog.auditing.incidents.open_transactions import (
    AUDIT,
    COLLECT_AGAIN,
    COPY_AGAIN,
    OTHER_BROKERS,
    Open,
    open_transaction,
    since,
)
from kafkalog.auditing.incidents.resume import waiting
from kafkalog.certainty import DAMAGE_BETWEEN, is_proved
from kafkalog.few_of_many import few_groups, grouped
from kafkalog.files.names import STATE_TOPIC
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.kafka.transaction_state import NO_TIMEOUT
from kafkalog.quantities import age, iso, listed, many, offset_range, producer_name
from kafkalog.tables.words import NO_LEADER, OF_OPEN

__all__ = [
    "LATE_MS",
    "Blocked",
    "blocked",
    "describe",
    "let_end",
    "not_given",
    "stable_offsets",
    "stopped",
    "waiting_of",
]

_LET_END: Final = (
    "Wait: the coordinator ends the {what} by itself. By its records it still owes {marker}, and sends {it} until a"
    " leader is there, also after a start. Do not abort {it}."
)
_PRODUCERS: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers"
_DESCRIBE: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe"
_ENDED: Final = "Verify: CurrentTransactionStartOffset of {whose} is None after the marker."
_GET: Final = ("{stop}{held}", "They get everything, including {these}.")

# By the code of the findings, and in what a cause differs from the others of its code.
_WORDS: Final = {
    "transaction-hanging": Words(
        "{hanging} {stop_them}: {why}.{save}{behind}",
        *_GET,
        doubtful="{who} may hang: by these files {why}, but {doubt}. {it} {stop_them}.{save}",
    ),
    "transaction-pending": Words(
        "{who}, which the coordinator {decided}, {stop_them}: {where} does not have its marker.",
        *_GET,
    ),
    "no-leader": Words(
        "{who}, which the coordinator {decided}, {stop_them}: {where} has no leader to take the marker.",
        *_GET,
        (Step("Give {where} a leader{broker}."),),
    ),
    "transaction-overdue": Words(
        "{who}, open for longer than the timeout allows at {now}, {stop_them}.",
        *_GET,
        (Step("Wait for the coordinator: the broker that leads this id's partition of __transaction_state aborts it"
              " within ten seconds after the timeout. If the cluster is stopped, it does so after the start."),),
    ),
    "prepared": Words(
        "{who}, of a two-phase commit (transaction.two.phase.commit) and open for {open_for}, {stop_them}: only its"
        " owner may end it.",
        *_GET,
        (Step("Let its owner end it: the application with this transactional id, which knows whether it must commit. No"
              " coordinator does it after any time."),),
    ),
    "transaction-undecided": Words(
        "{who} {stop_them}; the records of the coordinator that would say why are not in these inputs.",
        *_GET,
        (COPY_AGAIN,),
    ),
    "state-partition-missing": Words(
        "{who} {stop_them}; the records of the coordinator that would say why are not in these inputs.",
        *_GET,
        (Step.running(f"Add the directories of the brokers that have the other partitions of {STATE_TOPIC}.",
                      *OTHER_BROKERS),),
    ),
    "copied-before-marker": Words(
        "{who} in {where}, which the coordinator {ended}, {has} no marker in this copy: its files may have been copied"
        " before it came{late}. {it} {stop_them}.",
        *_GET,
    ),
    "copied-while-running": Words(
        "{who} in {where} may be open, or ended after this copy: its files end too early to tell."
        " {it} {stop_them}.",
        *_GET,
    ),
    "cut-in-bundle": Words(
        "{who} in {where} has no end in the bundle, which was cut there with --offset or --until. {it} may have ended"
        " behind the cut.",
        *_GET,
        (COLLECT_AGAIN,),
    ),
}  # fmt: skip

_KINDS: Final = {"copied-while-running": "copy-skewed", "cut-in-bundle": "copy-incomplete"}
_ASKED: Final = (
    "transaction-hanging",
    "transaction-overdue",
    "prepared",
    "copied-while-running",
    "copied-before-marker",
)
_OLD_LEADER: Final = Step.running(
    "Read the old leader's directory together with these before anything is ended: it may still have the marker, and"
    " what came after it. If it has, copy the partition from there.",
    *(AUDIT, "DIR", "OLD_LEADER_DIR"),
)
_WHY: Final = {cause: words.in_title for cause, words in OF_OPEN.items() if words.in_title} | {"no-leader": NO_LEADER}


class Blocked(NamedTuple):
    """Open transactions of one cause; `writes` are their partitions and producers."""

    cause: str
    every: list[Open]
    writes: frozenset[tuple[TopicPartition, int]]

    def holds(self, finding: Row) -> bool:
        """Say whether a finding's offset commits are those of one of these transactions."""
        return (TopicPartition.of(finding), finding["producer_id"]) in self.writes


def blocked(tables: ClusterTables, findings: list[Row]) -> list[Blocked]:
    """Return the transactions that are open, by their cause."""
    every = (open_transaction(tables, row) for row in findings)
    return [
        Blocked(str(key[0]), some, frozenset((one.place, one.row["producer_id"]) for one in some))
        for key, some in few_groups(every, lambda one: _key(tables, one), 3)
    ]


def stopped(tables: ClusterTables, found: Sequence[Blocked], following: list[Row]) -> Iterator[Incident]:
    """Yield the incidents of transactions that are open, with the groups whose offset commits they hold back."""
    held = grouped(following, lambda row: next(at for at, one in enumerate(found) if one.holds(row)))
    for at, one in enumerate(found):
        yield _incident(tables, one, held.get(at, []))


def _key(tables: ClusterTables, one: Open) -> tuple[object, ...]:
    """Return what transactions of one incident share: first the cause, how certain it is, and the code."""
    cause, who = _cause(tables, one)
    return cause, one.finding["certainty"], one.finding["code"], *who


def _cause(tables: ClusterTables, one: Open) -> tuple[str, tuple[object, ...]]:
    code, cause = one.finding["code"], one.row["cause"]
    if cause in ("copied-while-running", "cut-in-bundle", "state-partition-missing"):
        return cause, (one.is_early,)
    if code == "transaction-overdue":
        return "overdue", (one.row["producer_id"],)
    if (without := _leaderless(tables, one)) is not None:
        return "no-leader", (without.leader, without.row["leader_epoch"])
    if code == "transaction-pending":
        return "decided", (one.row["producer_id"],)
    return cause if cause in _WHY else "other", (one.row["producer_id"],)


def _leaderless(tables: ClusterTables, one: Open) -> Leaderless | None:
    """Return the time without a leader that kept a decision's marker away."""
    rows = tables.leadership.get(one.place, ())
    if one.finding["code"] == "transaction-pending":
        return leaderless_now(rows)
    if one.row["cause"] != "marker-missing" or one.decided.prepared is None:
        return None
    return leaderless_at(rows, one.decided.prepared["last_update_timestamp_ms"])


def _incident(tables: ClusterTables, found: Blocked, held: list[Row]) -> Incident:
    """Make the incident of some open transactions of one cause, and of the offset commits that they hold back."""
    every, one = found.every, found.every[0]
    kind = _KINDS.get(found.cause, "consumers-stopped")
    first = min(Subject(*one.place, one.row["first_offset"], one.row["producer_id"]) for one in every)
    incident = tables.incident(kind, found.cause, first, [one.finding for one in every])
    stop = describe(tables, incident, every)
    words = _words(incident, every)
    without = _leaderless(tables, one) if words == "no-leader" else None
    commits = listed((row["message"].rpartition(", written by ")[0] for row in held), EVENTS)
    is_one = incident.transactions == 1
    who = f"a transaction of {one.who}" if is_one else f"{incident.transactions} transactions"
    why = _WHY.get(incident.cause, "the coordinator will never end it")
    elected = one.finding["found"] if incident.cause == "marker-missing" and is_one else None
    if elected is not None:
        why = f"{why}: {elected}, where the marker was, as after an unclean election that lost it"
    incident.say(
        _WORDS[words],
        who=who,
        hanging=who.replace("transaction", "decided transaction" if _are_decided(every) else "hanging transaction", 1),
        it="It" if is_one else "They",
        stop_them=_stop_them(incident, every, is_one=is_one),
        behind=_behind(tables, every),
        why=(why if is_one else _plural(why)) + _leads_now(tables, one, is_one=is_one),
        save=_save(every),
        doubt=_doubt(tables, one).whole,
        decided="decided" if not is_one else f"decided to {'commit' if one.decided.committed else 'abort'}",
        broker="" if without is None or without.leader is None else f": start broker {without.leader}, which led it",
        now=iso(tables.now),
        ended=_ended(every),
        late=_late(tables, every),
        has="has" if is_one else "have",
        open_for=_open_for(tables, one),
        stop=stop,
        held=f" It holds back {commits}." if held else "",
    )
    if words in ("transaction-pending", "no-leader"):
        incident.steps += let_end(every)
    if words in ("transaction-overdue", "prepared"):
        name = next((one.row["transactional_id"] for one in every if one.row["transactional_id"] is not None), "ID")
        incident.steps = [Step.running(step.text, _DESCRIBE, ("--transactional-id", name)) for step in incident.steps]
    if words == "transaction-hanging":
        incident.steps = [*([] if elected is None else [_OLD_LEADER]), *abort_steps(tables, every, alone=True)]
        incident.parts = [owing(tables, one) for one in every]
    if not is_proved(incident.certainty) and words in _ASKED:
        incident.steps = [*(incident.steps if words == "prepared" else ()), *ask_steps(tables, every)]
        asked = asked_of(tables, every)
        incident.parts = [owing(tables, one) if one in asked else one.part for one in every]
    if words == "transaction-hanging" and not is_proved(incident.certainty):
        whys = (_doubt(tables, one).in_short for one in every)
        incident.parts = [part._replace(doubt=why) for part, why in zip(incident.parts, whys, strict=True)]
    if incident.kind == "consumers-stopped":
        incident.steps += waiting(tables, stable_offsets(tables, every))
    since = None if incident.since is None else incident.since.time
    incident.findings += [row["id"] for row in held]
    incident.events += [Event(since, "broker", row["file"], None, f"{row['message']}.") for row in held]
    return incident


def let_end(every: list[Open]) -> Iterator[Step]:
    """Yield how decided transactions end, and how that is seen in each partition."""
    is_one = len({one.row["producer_id"] for one in every}) == 1
    it, what, marker = ("it", "transaction", "its marker") if is_one else ("them", "transactions", "their markers")
    yield Step(_LET_END.format(it=it, what=what, marker=marker))
    for place in sorted({one.place for one in every})[:SHOWN]:
        ids = sorted({one.row["producer_id"] for one in every if one.place == place})
        whose = f"producer{'s' * (len(ids) > 1)} {listed(map(str, ids))}"
        of_place = ("--topic", place.topic), ("--partition", place.partition)
        yield Step.running(_ENDED.format(whose=whose), _PRODUCERS, *of_place)


def stable_offsets(tables: ClusterTables, every: list[Open]) -> dict[TopicPartition, int]:
    """Return the partitions of open transactions with their last stable offsets."""
    at: dict[TopicPartition, int] = {}
    for one in every:
        stable = tables.logs.get(one.finding["log"], {}).get("last_stable_offset")
        at.setdefault(one.place, one.row["first_offset"] if stable is None else stable)
    return at


def describe(tables: ClusterTables, incident: Incident, every: list[Open]) -> str:
    """Fill in who, where, since when, how many records, and what happened; say where read_committed consumers stop."""
    incident.partitions |= {one.place for one in every}
    incident.transactional_ids |= {one.row["transactional_id"] for one in every} - {None}
    incident.producer_ids |= {one.row["producer_id"] for one in every}
    # An epoch of a producer is one transaction, in however many partitions.
    incident.transactions = len({(one.row["producer_id"], one.row.get("producer_epoch")) for one in every})
    incident.reach((one.row["first_offset"] for one in every), (one.row["last_offset"] for one in every))
    incident.records = sum(one.row["records"] or 0 for one in every)
    incident.parts = [one.part for one in every]
    incident.since = Since.earliest(one.since for one in every if one.since is not None)
    if _are_decided(every):  # until then a transaction is only open
        incident.since = Since.of_brokers(map(_undelivered, every))
    for one in every[:EVENTS]:
        incident.events += one.decided.events(tables, one.place)
        incident.events.append(_opened(one, alone=len(every) == 1))
        incident.events += _not_listed(tables, one)
        without = _leaderless(tables, one)
        if without is not None and not any(event[:4] == without.event()[:4] for event in incident.events):
            decision, what = one.decided.prepared, f"The decision for {one.who}"
            incident.events.append(without.event() if decision is None else without.before(decision, what))
    waits = _waits(tables, every)
    incident.offsets_waiting = _behind_first(tables, every)
    return _stop(every, waits, is_named=len(incident.partitions) == 1)


def _undelivered(one: Open) -> int | None:
    """Return when the coordinator made the decision (ms) whose marker is missing, None if no marker is."""
    is_decided = one.is_early or one.finding["code"] == "transaction-pending" or one.row["cause"] == "marker-missing"
    return one.decided.prepared["last_update_timestamp_ms"] if is_decided and one.decided.prepared else None


def _are_decided(every: list[Open]) -> bool:
    return all(_undelivered(one) is not None for one in every)


def _not_listed(tables: ClusterTables, one: Open) -> Iterator[Event]:
    """Say what the coordinator last wrote of the id of a transaction that it does not know of in this partition."""
    steps = tables.steps.get(one.row["transactional_id"] or "", ())
    if one.row["cause"] == "partition-not-registered" and steps:
        step = steps[-1]
        places = f"{listed(step['partitions'])}, not {one.place}" if step["partitions"] else "no partition"
        what = (
            f"The coordinator's newest record of {step['transactional_id']} (producer {step['producer_id']}, epoch"
            f" {step['producer_epoch']}) has the state {step['state']} and lists {places}."
        )
        yield Event(step["last_update_timestamp_ms"], "broker", step["log"], step["offset"], what)


def _opened(one: Open, *, alone: bool) -> Event:
    place = offset_range(one.row["first_offset"], one.row["last_offset"])
    since = one.since
    time, clock = (None, "broker") if since is None or since.latest is not None else (since.time, since.clock)
    begun = (
        "" if alone or since is None or since.latest is None else f" It began {since.words.removeprefix('some time ')}."
    )
    records = one.row["records"] or 0
    what = (
        f"{many(records, 'record')} of {one.who} at {place} of {one.place}: no COMMIT or ABORT marker follows.{begun}"
    )
    return Event(time, clock, one.finding["file"], one.row["first_offset"], what)


def _waits(tables: ClusterTables, every: list[Open]) -> dict[TopicPartition, tuple[int, int]]:
    """Return the offset where read_committed consumers stop in each partition, and how many wait from there on."""
    at: dict[TopicPartition, tuple[int, int]] = {}
    for one in every:
        log = tables.logs.get(one.finding["log"], {})
        end, stable = log.get("log_end_offset"), log.get("last_stable_offset")
        first = min(one.row["first_offset"], one.row["first_offset"] if stable is None else stable)
        waits = 0 if end is None else end - first
        at[one.place] = min(at.get(one.place, (first, waits)), (first, waits))
    return at


def _behind_first(tables: ClusterTables, every: list[Open]) -> int:
    """Return how many offsets wait for these alone: in each partition from the first of theirs on."""
    behind: dict[TopicPartition, int] = {}
    for one in every:
        end = tables.logs.get(one.finding["log"], {}).get("log_end_offset")
        waits = 0 if end is None else end - one.row["first_offset"]
        behind[one.place] = max(behind.get(one.place, 0), waits)
    return sum(behind.values())


def _stop(every: list[Open], at: dict[TopicPartition, tuple[int, int]], *, is_named: bool) -> str:
    """Say where read_committed consumers stop, and how much waits there; the title may have the only partition."""
    by_place = grouped(every, lambda one: one.place)
    lines = [
        f"offset {first}{'' if is_named and len(at) == 1 else f' of {place}'} ({waiting_of(by_place[place], waits)})"
        for place, (first, waits) in at.items()
    ]
    more = f"; and in {len(lines) - EVENTS} more" if len(lines) > EVENTS else ""
    return f"{STOPS} {'; '.join(lines[:EVENTS])}{more}."


def waiting_of(every: Sequence[Open], waits: int) -> str:
    """Say how many offsets wait for transactions, and how many of these are their own records."""
    own, whose = sum(one.row["records"] or 0 for one in every), "its" if len(every) == 1 else "their"
    of_them = f", {'all' if waits <= own else f'{own:,}'} {whose} own" if own else ""
    return f"{many(waits, 'offset')} wait{'s' * (waits == 1)}{of_them}"


def _words(incident: Incident, every: list[Open]) -> str:
    """Return whose words an incident has: those of its cause, if it differs from the others of its code."""
    code = every[0].finding["code"]
    if incident.kind == "copy-skewed" or (code, incident.cause) in _OF_CAUSE:
        is_early = every[0].is_early and incident.cause != "cut-in-bundle"
        return "copied-before-marker" if is_early else incident.cause
    return "prepared" if code == "transaction-overdue" and _is_prepared(every) else str(code)


class _Doubt(NamedTuple):
    """Why it is not certain that a transaction hangs, as a title and as a line about several say it."""

    whole: str
    in_short: str


def _doubt(tables: ClusterTables, one: Open) -> _Doubt:
    """Say why it is not certain that a transaction hangs; with later files of the same moment it would be."""
    if one.row["certainty"] == DAMAGE_BETWEEN:
        return _Doubt(*("its marker may have been in the unreadable bytes",) * 2)
    steps = tables.steps.get(one.row["transactional_id"] or "", ())
    state = TopicPartition.of_log(steps[-1]["log"]) if steps else None
    newest, high = None if state is None else tables.state_newest.get(state.partition), one.row["not_after_ms"]
    if newest is not None and (high is None or newest <= high):
        said = f"{state} ends at {iso(newest)} here, and its later records may say more"
        return _Doubt(said, "the coordinator's records end too early here")
    if steps:
        return _Doubt("its marker may have come after this copy", "its log ends too early here")
    said = f"a record of {STATE_TOPIC} that names it may have come after this copy"
    return _Doubt(said, "the coordinator's records end too early here")


def _late(tables: ClusterTables, every: list[Open]) -> str:
    """Say that the files go on for longer than a marker takes, if they were copied at once."""
    left = max(tables.now - (_undelivered(one) or tables.now) for one in every)
    return ", if the copy took so long" if left >= LATE_MS else ""


def _ended(every: list[Open]) -> str:
    """Say what the coordinator decided of transactions whose markers may not have been copied, and of one when."""
    committed = sum(one.is_committed for one in every)
    if len(every) == 1:
        return f"{'committed' if committed else 'aborted'}{every[0].decided.at()}"
    each = ((committed, "committed"), (len(every) - committed, "aborted"))
    return f"decided ({', '.join(f'{number} {word}' for number, word in each if number)})"


LATE_MS: Final = 10_000  # that no marker takes while brokers talk to each other

_OF_CAUSE: Final = {
    ("transaction-pending", "no-leader"),
    ("transaction-undecided", "state-partition-missing"),
    ("transaction-undecided", "cut-in-bundle"),
}


def _stop_them(incident: Incident, every: list[Open], *, is_one: bool) -> str:
    """Say where consumers stop, how much waits, since when, and since when a decided marker is missing."""
    verb = "may stop" if not is_proved(incident.certainty) else "stops" if is_one else "stop"
    waits = incident.offsets_waiting
    behind = "" if waits is None else f" ({waiting_of([one for one in every if one.place == every[0].place], waits)})"
    at = "" if incident.first_offset is None else f" at offset {incident.first_offset}{behind}"
    opened = Since.earliest(one.since for one in every if one.since is not None)
    began = "" if opened is None else f" since {opened.words}"
    if incident.since is not None and opened is not None and incident.since != opened:
        decided = f"{iso(incident.since.time)}, when {'that' if is_one else 'the first'} was decided"
        began = f" since {decided}"
        if every[0].is_early and len(every) == 1:  # whose title says when it was decided
            began = " since that decision"
    return f"{verb} read_committed consumers of {incident.where()}{at}{began}"


def _leads_now(tables: ClusterTables, one: Open, *, is_one: bool) -> str:
    """Say who led the partition after the time without a leader that kept a marker away."""
    without = _leaderless(tables, one) if one.finding["code"] == "transaction-hanging" else None
    led = last_led(tables.leadership.get(one.place, ()))
    if without is None:
        return ""
    if led is None or led["since_ms"] <= without.since:
        return ", and has had none since"
    it = "it" if is_one else "them"
    done = f"the coordinator has recorded {it} as complete (Kafka 4.3 and 4.4 do so even without a leader)"
    no_more = f"but {done}, and sends none again"
    return f"; broker {led['leader']} has led the partition since {iso(led['since_ms'])}, {no_more}"


def _behind(tables: ClusterTables, every: list[Open]) -> str:
    """Say which open transaction stops consumers next, where these are of one partition and end."""
    if len({one.finding["log"] for one in every}) > 1:
        return ""
    ends, known = max(one.row["last_offset"] for one in every), {one.row["first_offset"] for one in every}
    rows = (
        row
        for row in tables.transactions.get(every[0].finding["log"], ())
        if row["first_offset"] is not None and row["marker_offset"] is None and row["first_offset"] not in known
    )
    after = min((row for row in rows if row["first_offset"] > ends), key=lambda row: row["first_offset"], default=None)
    if after is None:
        return ""
    whose = producer_name(after["transactional_id"], after["producer_id"])
    them = "it" if len(every) == 1 else "them"
    opened, its = since(tables, after), (after["log"], after["producer_id"], after["first_offset"])
    is_told = any((row["log"], row["producer_id"], row["offset"]) == its for row in tables.findings)
    old = "" if opened is None or opened.time > tables.now else f" ({age(tables.now - opened.time)} old{{normal}})"
    normal = ", within its timeout: normal" if after["state"] == "ongoing" and not is_told else ""
    return (
        f" Behind {them} is a transaction of {whose} from offset {after['first_offset']} on{old.format(normal=normal)}."
    )


def _open_for(tables: ClusterTables, one: Open) -> str:
    begun = one.decided.begun
    hours = 0 if begun is None else max(0, tables.now - begun["last_update_timestamp_ms"]) // 3_600_000
    return f"{many(hours, 'hour') if hours else 'less than an hour'} at {iso(tables.now)}"


def _save(every: list[Open]) -> str:
    """Say that there are committed records, which an abort discards."""
    committed = [one for one in every if one.is_committed]
    if not committed:
        return ""
    may = "may have " if all(one.decided.prepared is None for one in committed) else ""
    if len(committed) == len(every):
        number, its = ("it", "its") if len(every) == 1 else ("them", "their")
        them = f"{its} records"
    else:
        number, them = ("one of them", "it") if len(committed) == 1 else (f"{len(committed)} of them", "these")
    return (
        f" The coordinator {may}committed {number}, but no command writes a COMMIT: save {them} before the abort, to be"
        " sent again."
    )


def _plural(why: str) -> str:
    return why.replace("completed it", "completed them").replace("its ", "their ").replace("marker is", "markers are")


def _is_prepared(every: list[Open]) -> bool:
    """Say whether only their owners end them: their records have the timeout that two-phase commit has."""
    return all(one.decided.begun is not None and one.decided.begun["timeout_ms"] == NO_TIMEOUT for one in every)


def not_given(tables: ClusterTables, findings: list[Row], _following: list[Row]) -> Iterator[Incident]:
    """Yield an incident for each set of brokers that were not given, with all that is open there."""
    for needed, rows in grouped(findings, lambda row: str(row["needed"])).items():
        yield _of_brokers(tables, needed, rows)


_NOT_GIVEN: Final = Words(
    "These inputs show {decided}, and lack {needed}: {where}.",
    "Nothing from a transaction on whose marker is missing.",
    "Everything.",
    (
        Step.running("Read {needed} together with these.", *OTHER_BROKERS),
        Step("Do not abort these transactions before all is read together: they are decided."),
    ),
)


def _of_brokers(tables: ClusterTables, needed: str, rows: list[Row]) -> Incident:
    incident = tables.incident("consumers-stopped", "decided", Subject(*min(map(TopicPartition.of, rows))), rows)
    incident.events = [Event(None, "broker", row["file"], None, f"{row['message']}.") for row in rows[:EVENTS]]
    decided = f"{many(len(rows), 'partition')} without the markers of decided transactions"
    incident.say(_NOT_GIVEN, decided=decided, needed=needed)
    return incident
