"""Records that an unclean election lost: the metadata's election, the replicas' fork, the coordinator's decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from kafkalog.auditing.incidents.blocked_consumers import describe, waiting_of
from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.ending import abort_steps
from kafkalog.auditing.incidents.incident import (
    EVENTS,
    Event,
    Incident,
    LostCopy,
    Row,
    Since,
    Step,
    Subject,
    TransactionPart,
    Words,
)
from kafkalog.auditing.incidents.leadership import Unclean, leaderless_at, unclean_elections
from kafkalog.auditing.incidents.lost_ranges import Ranges
from kafkalog.auditing.incidents.open_transactions import (
    AUDIT,
    OTHER_BROKERS,
    Open,
    decided,
    open_transaction,
)
from kafkalog.auditing.incidents.resume import after_fork
from kafkalog.certainty import is_proved
from kafkalog.few_of_many import grouped
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import capital, iso, listed, many, offset_range, producer_name

__all__ = ["Elected", "elected", "elections", "may_have_lost", "newest_commit"]

_GONE: Final = "They get the new leader's records, and never those that only the other replica has."
_MAY_HAVE_ENDED: Final = " Transactions that it left open may have ended after this copy."
_UNCLEAN: Final = "Broker {leader} became leader of {where} out of sync at {when}: {lost}"
_FORKED: Final = "The replicas of {where} have different histories: {lost}"
_WORDS: Final = {
    "unclean-election": Words(_UNCLEAN, f"{{waits}}{_GONE}", _GONE, doubtful=_UNCLEAN + _MAY_HAVE_ENDED),
    "replicas-differ": Words(_FORKED, f"{{waits}}{_GONE}", _GONE, doubtful=_FORKED + _MAY_HAVE_ENDED),
}
_TOGETHER_MS: Final = 10_000  # elections of one broker within this time are one incident


@dataclass(slots=True)
class Elected:
    """What happened in one partition: its elections, the forks, and the findings that follow."""

    place: TopicPartition
    elections: list[Unclean]
    forks: list[Row] = field(default_factory=list)
    lost: list[Row] = field(default_factory=list)  # committed transactions without a marker
    unread: list[Row] = field(default_factory=list)  # the directories that may show a loss
    stranded: list[Row] = field(default_factory=list)  # groups beyond what is left
    records: list[Row] = field(default_factory=list)  # the first records that differ after a fork of a state partition
    hanging: list[Open] = field(default_factory=list)

    @property
    def findings(self) -> list[Row]:
        """Return all that is said of it."""
        hanging = (one.finding for one in self.hanging)
        return [*self.forks, *self.records, *self.lost, *self.unread, *self.stranded, *hanging]

    @property
    def since_ms(self) -> int | None:
        """Return when the first election was, None where no metadata log shows one."""
        return self.elections[0].row["since_ms"] if self.elections else None

    def follows(self, tables: ClusterTables, finding: Row) -> None:
        """Take in a finding that follows."""
        if finding["code"] == "transaction-hanging":
            self.hanging.append(open_transaction(tables, finding))
        else:
            of_code = {"atomicity-broken": self.lost, "state-replicas-differ": self.records}
            of_code["offset-beyond-end"] = self.stranded
            of_code.get(finding["code"], self.unread).append(finding)


@dataclass(slots=True)
class _Fork:
    """What only one replica holds after a fork: whose it is, its records by fate, and what to save of whom."""

    row: Row
    copy: LostCopy
    transactions: list[Row]  # those that reach past the fork
    fates: list[tuple[Row, str]]  # with what became of each
    counts: dict[str, int]
    markers: int
    wanted: dict[str, Ranges]

    @property
    def records(self) -> int:
        return sum(self.counts.values())

    def said(self, of: str = "") -> str:
        """Say which offsets only one replica has, of a log where that is not said before, and how many records."""
        apart = ", ".join(f"{count} {fate}" for fate, count in self.counts.items() if count)
        first, last = self.copy.first_offset, self.copy.last_offset
        markers = f", {many(self.markers, 'marker')}" if self.markers else ""
        return (
            f"{offset_range(first, last)}{of} {'exists' if first == last else 'exist'} only on {self.copy.holder}:"
            f" {many(self.records, 'record')}{f' ({apart})' if apart else ''}{markers}."
        )


def elected(tables: ClusterTables, forks: list[Row]) -> dict[TopicPartition, Elected]:
    """Return the partitions with an election of a replica that was not in sync, or with a fork of the replicas."""
    by_place = grouped(forks, TopicPartition.of)
    known = {place: list(unclean_elections(rows)) for place, rows in tables.leadership.items()}
    places = dict.fromkeys([*by_place, *(TopicPartition(*place) for place, found in known.items() if found)])
    return {place: Elected(place, known.get(place, []), by_place.get(place, [])) for place in places}


def elections(
    tables: ClusterTables, found: Mapping[TopicPartition, Elected], following: list[Row]
) -> Iterator[Incident]:
    """Yield an incident for each broker that became leader without being in sync, with all that was lost by it.

    Without a metadata log, a fork of the replicas shows the same, if a transaction lost its marker by it.
    """
    for row in following:
        found[TopicPartition.of(row)].follows(tables, row)
    groups: list[list[Elected]] = []
    newest: dict[int, list[Elected]] = {}  # by the broker
    for one in sorted(found.values(), key=lambda one: (one.since_ms or 0, one.place)):
        if not one.findings:
            continue
        group = newest.get(one.elections[0].leader) if one.elections else None
        if group is None or (group[-1].since_ms or 0) < (one.since_ms or 0) - _TOGETHER_MS:
            group = []
            groups.append(group)
        if one.elections:
            newest[one.elections[0].leader] = group
        group.append(one)
    for together in groups:
        yield _incident(tables, together)


def newest_commit(tables: ClusterTables, finding: Row) -> Row | None:
    """Return the newest commit of a finding's producer that lists its partition."""
    steps = tables.decisions(finding, "prepare_commit")
    return steps[-1] if steps else None


def may_have_lost(tables: ClusterTables, prepared: Row | None, there: Elected) -> bool:
    """Say whether an election may have lost a decision's marker: there was a leader before it, who took the marker.

    Without metadata, whatever made the fork may have.
    """
    if not there.elections:
        return bool(there.forks)
    decided = -1 if prepared is None else prepared["last_update_timestamp_ms"]
    leaderless = leaderless_at(tables.leadership.get(there.place, ()), decided)
    return prepared is not None and leaderless is None and decided <= there.elections[-1].row["since_ms"]


def _incident(tables: ClusterTables, together: Sequence[Elected]) -> Incident:
    electing = [one for one in together if one.elections]
    kind = "records-lost" if electing or any(one.lost or one.hanging for one in together) else "replicas-diverged"
    cause = "unclean-election" if electing else "replicas-differ"
    findings = [row for one in together for row in one.findings]
    incident = tables.incident(kind, cause, Subject(*min(one.place for one in together)), findings)
    hanging = [one for there in together for one in there.hanging]
    waits = f"{describe(tables, incident, hanging)} " if hanging else ""
    incident.partitions |= {one.place for one in together}
    forks = [[_fork(tables, row) for row in one.forks] for one in together]
    for there, of_place in zip(together, forks, strict=True):
        _tell(tables, incident, there, of_place)
    every = list(chain.from_iterable(forks))
    if electing:
        incident.since = Since.of_brokers([electing[0].since_ms])
    if len(incident.partitions) > 1:
        incident.first_offset = incident.last_offset = None
    elif every:  # else those of the hanging transactions
        incident.first_offset = min(fork.copy.first_offset for fork in every)
        incident.last_offset = max(fork.copy.last_offset for fork in every)
        incident.records = incident.lost_records
    first = electing[0].elections[0] if electing else None
    incident.say(
        _WORDS[cause],
        leader=first and first.leader,
        when=first and iso(first.row["since_ms"]),
        lost=_lost(incident, together, every) + _held_back(incident, hanging, every),
        waits=waits,
    )
    incident.steps = [*_save(tables, incident, every), *_steps(tables, incident, together, hanging)]
    if any(fork.wanted for fork in every):
        incident.steps = list(_written_again(incident.steps, hanging, incident.kept_in))
    return incident


def _held_back(incident: Incident, hanging: Sequence[Open], forks: Sequence[_Fork]) -> str:
    """Say which transactions hold consumers back, and how many more committed records are lost by ending them.

    Of one, its marker is named where another replica has it: consumers had got past it before the election.
    """
    if not all(one.is_proved for one in hanging):
        return ""
    committed = [one.row for one in hanging if one.is_committed and one.row["records"]]
    number = sum(row["records"] for row in committed)
    every = number + incident.lost_by_outcome.get("committed", 0)
    more = many(number, "committed record")
    if every > number:
        more = f"these {number}: {every} committed in all"
    if len(hanging) != 1:
        return f" Ending the transactions, whose commit had been decided, loses {more}." if committed else ""
    one = hanging[0]
    at = one.row["first_offset"]
    lost = ", whose commit was decided, blocks" if committed else " blocks"
    its = one.place, one.row["producer_id"], at
    for kept in chain.from_iterable(fork.transactions for fork in forks):
        marker = _MARKERS.get(kept["state"])
        if marker is not None and (TopicPartition.of(kept), kept["producer_id"], kept["first_offset"]) == its:
            lost = f" lost its {marker} marker, at {kept['marker_offset']}, and blocks"
    price = f": ending it loses {more}" if committed else ""
    where = "" if incident.partitions == {one.place} else f" of {one.place}"
    return (
        f" The transaction of {one.row['transactional_id'] or one.who} at offset {at}{where}{lost} read_committed"
        f" consumers ({waiting_of(hanging, incident.offsets_waiting or 0)}){price}."
    )


_MARKERS: Final = {"committed": "COMMIT", "aborted": "ABORT"}


def _tell(tables: ClusterTables, incident: Incident, there: Elected, forks: Sequence[_Fork]) -> None:
    """Say who became leader, what only other replicas hold, and what was decided of what lost its marker."""
    for election in there.elections:
        incident.events += _elected(there.place, election)
    incident.events += map(Event.of, there.records)
    for fork in forks:
        _tell_fork(incident, there, fork)
    if records := max((fork.records for fork in forks), default=0):  # several replicas may hold the same records
        incident.lost_records = (incident.lost_records or 0) + records
        counts = max(forks, key=lambda fork: fork.records).counts
        incident.lost_by_outcome = dict(Counter(incident.lost_by_outcome) + Counter(counts))
    open_ones = {(one.row["producer_id"], one.row["producer_epoch"]) for one in there.hanging}
    begun = {
        (row["producer_id"], row["producer_epoch"])
        for fork in forks
        for row in fork.transactions
        if row["first_offset"] is not None
    }
    incident.transactions = (incident.transactions or 0) + len(open_ones | begun) - len(there.hanging)
    for row in there.lost:
        event, decision = Event.of(row), newest_commit(tables, row)
        if decision is not None:
            incident.transactional_ids.add(decision["transactional_id"])
            event = event._replace(
                time=decision["last_update_timestamp_ms"], file=decision["log"], offset=decision["offset"]
            )
        incident.events.append(event)


def _elected(place: TopicPartition, election: Unclean) -> Iterator[Event]:
    row, before = election.row, election.last_in_sync
    was = ""
    if before is not None:
        replicas = ", ".join(map(str, before["isr"]))
        was = f" Broker {before['leader']} had led it, with the in-sync replicas {replicas}."
    what = (
        f"Broker {election.leader} became leader of {place} (leader epoch {row['leader_epoch']}) without being in"
        f" sync.{was}"
    )
    lost = next((one for one in election.before if one["change"] == "leader-lost"), None)
    if lost is not None:
        yield Event(lost["since_ms"], "broker", lost["log"], lost["offset"], f"{place} lost its leader.")
    yield Event(row["since_ms"], "broker", row["log"], row["offset"], what)


def _fork(tables: ClusterTables, row: Row) -> _Fork:
    """Tell the records apart that only one replica holds: control records are none of anybody's."""
    first, last = row["offset"], row["last_offset"]
    copy = LostCopy(row["log"], tables.node_of(row["log"]), row["topic"], row["partition"], first, last)
    rows = [one for one in tables.transactions.get(row["log"], ()) if _reaches(one, first)]
    markers = {one["marker_offset"] for one in rows if (one["marker_offset"] or -1) >= first}
    counts = dict.fromkeys(("committed", "aborted", "undecided"), 0)
    for one in rows:
        counts[_fate(tables, one)] += one["forked_records"] or 0
    plain = max(0, last - first + 1 - len(markers) - sum(counts.values()))
    fates = [(one, _fate(tables, one)) for one in rows]
    data = [
        (
            one["transactional_id"] or producer_name(None, one["producer_id"]),
            (max(first, one["first_offset"]), one["last_offset"]),
            fate,
        )
        for one, fate in fates
        if one["first_offset"] is not None and one["last_offset"] >= first
    ]
    known = Ranges.of([*(span for _, span, _ in data), *((marker, marker) for marker in markers)])
    others = known.outside(first, last)
    of_whom = grouped((one for one in data if one[2] == "committed"), lambda one: one[0])
    wanted = {who: Ranges.of(span for _, span, _ in some).joined() for who, some in of_whom.items()}
    if plain > others.offsets:  # some are between the records of a transaction
        wanted = {"": Ranges.of([(first, last)])}
    elif others:
        wanted["no transaction"] = others
    return _Fork(row, copy, rows, fates, {**counts, "of no transaction": plain}, len(markers), wanted)


def _fate(tables: ClusterTables, row: Row) -> str:
    """Return what became of a transaction in the history that was lost, or what the coordinator had decided."""
    if row["state"] in ("committed", "commit-pending"):
        return "committed"
    if row["state"] in ("aborted", "abort-pending"):
        return "aborted"
    found = decided(tables, row) if row["cause"] == "marker-missing" else None
    if found is None or found.prepared is None:
        return "undecided"
    return "committed" if found.committed else "aborted"


def _tell_fork(incident: Incident, there: Elected, fork: _Fork) -> None:
    """Say what only one replica holds, and whose it is."""
    first = fork.copy.first_offset
    incident.kept_in.append(fork.copy)
    whose = [_whose(one, first) for one in fork.transactions if one["first_offset"] is not None]
    of_them = f" Of them {listed(whose, EVENTS)}." if whose else ""
    what = fork.said(f" of {there.place} (leader epoch {fork.row['found']})")
    incident.events.append(Event(there.since_ms, "broker", fork.row["log"], first, capital(what) + of_them))
    for part in (_part(one, first, fate) for one, fate in fork.fates):
        begun = next((one for one in incident.parts if one[0] == part[0] and one[3:5] == part[3:5]
                      and one.fate == part.fate and one.last_offset + 1 == part.first_offset), None)  # fmt: skip
        if begun is not None and begun.records is not None and part.records is not None:  # whose rest is elsewhere, too
            incident.parts.remove(begun)
            incident.parts.append(begun._replace(last_offset=part.last_offset, records=begun.records + part.records))
        else:
            incident.parts.append(part)
    incident.transactional_ids |= {one["transactional_id"] for one in fork.transactions} - {None}
    incident.producer_ids |= {one["producer_id"] for one in fork.transactions}


def _part(row: Row, first: int, fate: str) -> TransactionPart:
    """Return what is lost of a transaction, at least its marker, and what became of it in the history that was lost."""
    begin, last = max(first, row["first_offset"] or 0), row["last_offset"]
    if row["first_offset"] is None or last < first:
        begin = last = row["marker_offset"]
    whose = row["transactional_id"], row["producer_id"], row["forked_records"] or 0
    return TransactionPart(TopicPartition.of(row), begin, last, *whose, "none" if fate == "undecided" else fate)


def _reaches(row: Row, first: int) -> bool:
    return max(row["last_offset"] or -1, row["marker_offset"] or -1) >= first


def _whose(row: Row, first: int) -> str:
    """Say whose data is at the lost offsets, and what the coordinator decided of it."""
    begin = max(first, row["first_offset"])
    name = row["transactional_id"] or f"producer {row['producer_id']}"
    if begin > row["last_offset"]:
        return f"the marker at offset {row['marker_offset']} ended a transaction of {name}"
    fate = (
        "left open"
        if row["marker_offset"] is None
        else f"{row['state']} by the marker at offset {row['marker_offset']}"
    )
    if row["marker_timestamp_ms"] is not None:
        fate += f" ({iso(row['marker_timestamp_ms'])})"
    return f"{offset_range(begin, row['last_offset'])} belong to a transaction of {name}, {fate}"


def _lost(incident: Incident, together: Sequence[Elected], forks: Sequence[_Fork]) -> str:
    """Say what was lost: of one partition which offsets, of several how many records, or that it can't be seen."""
    if incident.cause == "replicas-differ" or (forks and len(together) == 1):
        return "".join(fork.said() for fork in forks[:1])
    if incident.lost_records is not None:
        return f"{many(incident.lost_records, 'record')} exist only on other replicas."
    if all(there.findings == [*there.unread, *there.stranded] for there in together):
        return "what the old leader had not replicated may be lost. These inputs do not show it."
    return "what the old leader had not replicated is lost."


def _is_given(tables: ClusterTables, together: Sequence[Elected], broker: int) -> bool:
    """Say whether a broker's copies of the partitions are among the inputs."""
    return all(any(log["node_id"] == str(broker) for log in tables.replicas.get(there.place, ())) for there in together)


def _save(tables: ClusterTables, incident: Incident, forks: Sequence[_Fork]) -> list[Step]:
    """Return the steps that save what one replica holds: its files, then what consumers got or would have got of it.

    A broker that ran while its files were copied may have written more since.
    """
    steps = []
    for fork in forks[:EVENTS]:
        copy = fork.copy
        text = (
            f"Leave {copy.holder} down until the last step, and so what only it has: its start truncates"
            f" {offset_range(copy.first_offset, copy.last_offset)}."
        )
        if not tables.groups.is_of_stopped_broker(copy.log):
            text += " If it is up again, only this copy has them; else its disk may have more."
        steps.append(Step.copying(text, copy))
    if (more := len(forks) - EVENTS) > 0:
        steps.append(
            Step(f"Copy {many(more, 'more directory', 'more directories')} in the same way: findings name them.")
        )
    wanted = [(TopicPartition.of(fork.row), _whose_spans(fork.wanted)) for fork in forks if fork.wanted]
    if wanted:
        plain = any(fork.counts["of no transaction"] for fork in forks)
        mixed = any("" in fork.wanted for fork in forks)  # then nothing says which
        what = "the records" if plain else "the committed records"
        at = f"at {wanted[0][1]}"
        if len(incident.partitions) > 1 or len(wanted) > 1:
            at = f"of {listed(f'{place} {spans}' for place, spans in wanted)}"
        text = f"Save {what} {at}{', those that are committed or of no transaction' * mixed}."
        outcomes = ("committed", "not-transactional") if plain else ("committed",)
        steps.append(Step.saving(text, *(("--outcome", word) for word in outcomes)))
    return steps


def _written_again(steps: Sequence[Step], hanging: Sequence[Open], kept_in: Sequence[LostCopy]) -> Iterator[Step]:
    """Yield the steps of a plan with one that writes again what was saved of the lost offsets, and so committed.

    Groups go back before: the log must not grow to where they stand.
    """
    yield from (step for step in steps if step.kind not in ("again", "instead"))
    are_committed = all(one.is_committed for one in hanging)
    ended = [offset_range(one.row["first_offset"], one.row["last_offset"]) for one in hanging if one.row["records"]]
    what, read = " of the lost offsets", "had read it before"
    if are_committed:  # one that the check says to leave alone may be committed after all
        what = f": {listed(ended, EVENTS)} if ended here, then the rest" if ended else ""
        read = "had read it, or reads uncommitted," if ended else read
    yield Step(f"Let the owners send again what was saved{what}. Who {read} gets it twice.").to("again")
    yield from (step for step in steps if step.kind == "again" and not are_committed)
    yield from (step for step in steps if step.kind == "instead")
    holders = listed(dict.fromkeys(copy.holder for copy in kept_in))
    yield Step(f"Start {holders}, once no incident needs it: what was lost is truncated there, too.")


def _whose_spans(wanted: Mapping[str, Ranges]) -> str:
    """Name some ranges, and whose they are: ``offsets 6-7 of pay-1, 13 of no transaction``."""
    said = []
    for who, spans in sorted(wanted.items(), key=lambda one: one[1].first):
        words = listed(offset_range(*span).partition(" ")[2] for span in spans.shown())
        said.append(f"{words}{f' of {who}' if who else ''}")
    return f"offset{'s' * (sum(spans.offsets for spans in wanted.values()) > 1)} {listed(said)}"


def _steps(tables: ClusterTables, incident: Incident, together: Sequence[Elected], hanging: list[Open]) -> list[Step]:
    steps: list[Step] = []
    needed = dict.fromkeys(row["needed"] for there in together for row in there.unread)
    text = "Copy {} before a broker starts there, and read the copy together with these: what was lost may be there."
    steps += [Step.running(text.format(one), *OTHER_BROKERS) for one in needed]
    if not incident.kept_in and not needed:
        before = next((one.last_in_sync for there in together for one in there.elections if one.last_in_sync), None)
        if before is not None and _is_given(tables, together, before["leader"]):
            steps.append(
                Step(f"Look for a copy or a backup of broker {before['leader']}'s directory from before it followed the"
                     " new leader: it led before, and what is given of it has been truncated since. Produce again"
                     " what is still wanted: no Kafka command restores it.")
            )  # fmt: skip
        elif before is not None:
            steps.append(
                Step.running(
                    f"Read the directory of broker {before['leader']}, which led before, together with these: it may"
                    " hold what was lost. Copy it before that broker starts.", AUDIT, "DIR", "OLD_LEADER_DIR",
                )
            )  # fmt: skip
    forked = [there for there in together if there.forks]
    # Once what blocks is ended, read_committed groups go on: those to set back are so before.
    ends = abort_steps(tables, hanging) if hanging and is_proved(incident.certainty) else []
    steps += (step for step in ends if step.kind == "save")
    for there in forked[:EVENTS]:
        steps += _go_on(tables, there)
    if (more := len(forked) - EVENTS) > 0:
        steps.append(Step(f"The same for {many(more, 'more partition')}: each finding has its offset."))
    steps += (step for step in ends if step.kind != "save")
    for copy in incident.kept_in[:1] if len(together) == 1 else ():
        steps += _lead_again(tables, together[0], copy)
    return steps


def _lead_again(tables: ClusterTables, there: Elected, copy: LostCopy) -> Iterator[Step]:
    """Yield how the one other replica leads again, and what that gives up: where the new leader is up it follows it."""
    if not there.elections or copy.node_id is None:
        return
    election = there.elections[-1]
    leader, replicas = str(election.leader), set(map(str, election.row["replicas"] or ()))
    ends = [row["log_end_offset"] for row in tables.replicas.get(there.place, ()) if row["node_id"] == leader]
    if not ends or replicas != {leader, copy.node_id}:
        return
    gives_up = f"gives up {offset_range(copy.first_offset, ends[0] - 1)} of broker {leader}"
    price = gives_up if ends[0] > copy.first_offset else "loses nothing that these files have"
    yield Step(
        f"Or let {copy.holder} lead again instead of all this, which {price}: stop broker"
        f" {leader} before {copy.holder} starts, then run kafka-leader-election.sh --election-type unclean. The"
        f" transactions of {copy.holder} have their markers then."
    ).to("instead")


def _go_on(tables: ClusterTables, there: Elected) -> Iterator[Step]:
    """Yield how groups go on that had read what is lost, from the first offset that is."""
    row = min(there.forks, key=lambda row: int(row["offset"]))
    ends = [one["log_end_offset"] for one in tables.replicas.get(there.place, ()) if one["log"] != row["log"]]
    epoch = int(row["found"]) if (row["found"] or "").isdecimal() else None
    return after_fork(tables, there.place, row["offset"], epoch, max(ends, default=None))
