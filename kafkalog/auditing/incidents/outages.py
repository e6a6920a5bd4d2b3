"""Outages: partitions without a leader while brokers are up, one incident for each broker that led them.

What waits for the leader is part of it: decided transactions, and what partitions of internal topics coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.blocked_consumers import describe, let_end, stable_offsets, waiting_of
from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import EVENTS, SHOWN, Event, Incident, Row, Since, Step, Subject, Words
from kafkalog.auditing.incidents.leadership import Leaderless, leaderless_now
from kafkalog.auditing.incidents.open_transactions import OTHER_BROKERS, Open, is_alone, open_transaction
from kafkalog.auditing.incidents.resume import waiting
from kafkalog.certainty import PROVED
from kafkalog.few_of_many import few_groups, grouped
from kafkalog.files.names import OFFSETS_TOPIC, STATE_TOPIC
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import by_number, iso, listed, many, offset_range

__all__ = ["Outage", "outages", "without_broker", "without_leader"]

_WORDS: Final = Words(
    "{what} {where} {have} had no leader since {since}{led}. Nobody can read or write {them}.{offline}{torn}{waits}"
    "{coordinated}{needed}",
    "Nobody can read or write a partition without a leader.{stop}",
    "Nobody can read or write a partition without a leader.",
)
_NAMED: Final = 10  # ids or groups without a coordinator: each is an application that can't work
_COORDINATED: Final = {  # by topic: whom its partitions coordinate, and what these can't do without
    STATE_TOPIC: ("transactional id", "can neither begin nor end a transaction"),
    OFFSETS_TOPIC: ("group", "can neither commit offsets nor rebalance"),
}
_ALONE: Final = {  # by column of ``leadership`` where that is the last leader alone: why no other replica leads
    "replicas": (" and has its only replica", " and has their only replicas"),
    "isr": (" and alone was in sync", " and alone was in sync"),
}


class Outage(NamedTuple):
    """Partitions that have no leader, and since when; one broker led them all, but for very many brokers."""

    findings: list[Row]
    times: list[Leaderless]
    places: frozenset[TopicPartition]


def outages(tables: ClusterTables, findings: list[Row]) -> list[Outage]:
    """Return the partitions without a leader, by who led them before."""
    found = []
    since = {row["id"]: leaderless_now(tables.leadership.get(TopicPartition.of(row), ())) for row in findings}

    def led(row: Row) -> tuple[object, ...]:
        one = since[row["id"]]
        return row["code"], None if one is None else one.leader, row["needed"], row["found"]

    for _, some in few_groups(findings, led, 1):
        times = [one for row in some if (one := since[row["id"]]) is not None]
        found.append(Outage(some, times, frozenset(map(TopicPartition.of, some))))
    return found


def without_leader(tables: ClusterTables, found: list[Outage], following: list[Row]) -> Iterator[Incident]:
    """Yield the incidents of partitions without a leader, with the decisions that wait for one."""
    by_place = grouped(following, TopicPartition.of)
    for one in found:
        yield _incident(tables, one, [row for place in sorted(one.places) for row in by_place.get(place, ())])


def _incident(tables: ClusterTables, found: Outage, waits: list[Row]) -> Incident:
    pending = [open_transaction(tables, row) for row in waits if row["code"] == "transaction-pending"]
    elsewhere = [row for row in waits if row["code"] == "decision-elsewhere"]
    torn = [row for row in waits if row["code"] == "batch-truncated"]
    rows = [*found.findings, *waits]
    incident = tables.incident("consumers-stopped", "leader-lost", Subject(*min(found.places)), rows, PROVED)
    stop = f" {describe(tables, incident, pending)}" if pending else ""
    incident.since = Since.of_brokers(one.since for one in found.times)
    told = {event[:4] for event in incident.events}
    incident.events += [one.event() for one in found.times[:EVENTS] if one.event()[:4] not in told]
    incident.events += [Event(None, "broker", row["file"], None, f"{row['message']}.") for row in elsewhere[:EVENTS]]
    is_one = len(found.places) == 1
    leaders = {one.leader for one in found.times}
    leader = leaders.pop() if len(leaders) == 1 else None
    needed, directory = found.findings[0]["needed"], found.findings[0]["found"]
    they, them = ("it is, has", "it") if is_one else ("they are, has", "them")
    incident.say(
        _WORDS,
        what="Partition" if is_one else "Partitions",
        have="has" if is_one else "have",
        them=them,
        since="the metadata log begins" if incident.since is None else iso(incident.since.time),
        led="" if leader is None else f": broker {leader} had led {them}{_alone(found, leader)}",
        waits=_waits(incident, pending, elsewhere),
        needed="" if needed is None else f" The inputs lack {needed}.",
        stop=stop,
        coordinated="".join(_coordinated(tables, found)),
        offline="" if directory is None else f" Its log directory {directory}, where {they} since been offline.",
        torn="".join(map(_torn, torn[:EVENTS])),
    )
    start = "" if leader is None else f": start broker {leader}, which led {them}"
    if directory is not None:
        start = f": make room on the disk of {directory} or replace it, then restart the broker, which reads it again"
    alone = any(row["code"] == _FORKS and tables.node_of(row["log"]) == str(leader) for row in tables.findings)
    is_away = any(row["code"] == _AWAY for row in tables.findings)  # where the logs may be is a disk that is not here
    nothing = "" if leader is None or directory is not None or is_away else "; that loses nothing"
    if alone:
        nothing = ", only once all is saved that it alone has: its start truncates that"
    incident.steps = [Step(f"Give {them} a leader{start}{nothing}.")]
    if needed is not None:
        incident.steps.insert(0, Step.running(f"Read {needed} together with these.", *OTHER_BROKERS))
    if pending:
        incident.steps += let_end(pending)
        incident.steps += waiting(tables, stable_offsets(tables, pending))
    if leader is not None and directory is None:
        incident.steps += without_broker(tables, sorted(found.places), leader)
    if elsewhere:
        incident.steps.append(Step("Do not abort these transactions before all is read together: they are decided."))
    return incident


_FORKS: Final = "replicas-fork"  # of the log that has what the others have not
_AWAY: Final = "directory-absent"


def without_broker(tables: ClusterTables, places: Sequence[TopicPartition], leader: int) -> Iterator[Step]:
    """Yield how to go on without the broker that led partitions, and what that gives up by the replicas given."""
    alone = [place for place in places if is_alone(tables, place)]
    here = [row for place in alone for row in tables.replicas.get(place, ()) if row["node_id"] == str(leader)]
    if alone and len(here) == len(alone):
        them, lost = ("it", "it is") if len(here) == 1 else ("them", "they are")
        ends = ((TopicPartition.of(row), int(row["log_end_offset"])) for row in here)
        reach = listed(f"offset {end - 1} of {place}" if end else f"nothing of {place}" for place, end in ends)
        yield Step(
            f"If broker {leader} is lost for good: a new one with node.id {leader}, started from these files or a newer"
            f" copy of all its log directories, leads {them} again, here up to {reach}. Without a copy {lost} lost."
        )
    elif alone:
        lost = listed(map(str, alone))
        yield Step(f"If broker {leader} is lost for good, so are all records of {lost}: it has the only replicas.")
    for place in places[:SHOWN]:
        others = {row["node_id"]: row["log_end_offset"] for row in tables.replicas.get(place, ())}
        end = others.pop(str(leader), None)
        if end is None or not others:
            continue
        node, other = max(others.items(), key=lambda one: int(one[1]))
        lost = offset_range(other, end - 1) if other < end else "nothing"
        yield Step(f"Only if broker {leader} is lost for good: kafka-leader-election.sh --election-type unclean makes"
                   f" broker {node} the leader of {place}, and gives up {lost}, by the logs given.")  # fmt: skip


def _torn(row: Row) -> str:
    """Say what becomes of a batch that the broker could not write to its end, and told no producer of."""
    return (
        f" The last batch of {TopicPartition.of(row)} is torn and was never acknowledged: the next start cuts"
        f" {int(row['found']):,} bytes, and nothing is lost."
    )


def _alone(found: Outage, leader: int) -> str:
    """Say why no other broker leads: by the metadata none has a replica, or none had one in sync."""
    for column, said in _ALONE.items():
        if all(one.row[column] == [leader] for one in found.times):
            return said[len(found.places) > 1]
    return ""


def _waits(incident: Incident, pending: list[Open], elsewhere: list[Row]) -> str:
    """Say how many decided transactions wait for a leader, and how many offsets wait for them."""
    said = ""
    if number := incident.transactions or 0:
        at = listed(map(str, sorted({one.place for one in pending})))
        waits = waiting_of(pending, incident.offsets_waiting or 0)
        said = f" {many(number, 'decided transaction')} wait{'s' * (number == 1)} for the marker in {at} ({waits})."
    places = listed(str(TopicPartition.of(row)) for row in elsewhere)
    return said + f" Markers of decided transactions are missing in {places}, not among the inputs." * bool(elsewhere)


def _coordinated(tables: ClusterTables, found: Outage) -> Iterator[str]:
    """Say who has no coordinator now: the first few by name."""
    for topic, (who, can_not) in _COORDINATED.items():
        places = sorted(place for place in found.places if place.topic == topic)
        names = sorted({name for place in places for name in tables.coordinated(place)}, key=by_number)
        if names:
            have = "has" if len(names) == 1 else "have"
            yield f" {many(len(names), who)} {have} no coordinator, and {can_not}: {listed(names, _NAMED)}."
        elif places:
            at = listed(map(str, places))
            yield f" The {who}s of {at} have no coordinator, and {can_not}; these inputs do not name them."
