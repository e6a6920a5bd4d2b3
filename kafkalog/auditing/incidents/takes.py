"""What does an incident take? The stories in their order, and which findings each of them takes.

A story is about findings that say what happened. Then it takes those that follow from it: findings about transactions
and groups of the same partitions. What one story took no other takes; of what none took, each finding above a note is
an incident by itself (`runner.others`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from kafkalog.auditing.incidents.blocked_consumers import Blocked, blocked, not_given, stopped
from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.elections import Elected, elected, elections, may_have_lost, newest_commit
from kafkalog.auditing.incidents.incident import Incident, Row
from kafkalog.auditing.incidents.lost_records import Loss, losses, lost, lost_objects
from kafkalog.auditing.incidents.missing_disks import directories_not_given, replicas_put_aside
from kafkalog.auditing.incidents.open_transactions import decided, row_of
from kafkalog.auditing.incidents.outages import Outage, outages, without_leader
from kafkalog.auditing.incidents.surviving_records import surviving
from kafkalog.auditing.incidents.torn_transactions import torn
from kafkalog.catalogue import codes_of_story
from kafkalog.catalogue.code import StoryName
from kafkalog.certainty import DAMAGE_BETWEEN
from kafkalog.few_of_many import grouped
from kafkalog.kafka.topic_partition import TopicPartition

__all__ = ["MIXED", "STORIES", "Left", "Story", "take"]

Left = dict[str, list[Row]]  # the findings of a cluster that no story has taken yet, by code

_Found = TypeVar("_Found")
_Partitions = Mapping[TopicPartition, _Found]


@dataclass(frozen=True, slots=True)
class Story(Generic[_Found]):
    """What a story takes, and what makes its incidents.

    It is about the codes that name it in the catalogue: `about` is the condition that a finding must meet. `find` makes
    of these what happened. `follow` are the codes of what may follow, with the condition that it does. `make` makes the
    incidents, of what happened and of what follows.
    """

    name: StoryName
    about: Callable[[Row], bool]
    find: Callable[[ClusterTables, list[Row]], _Found]
    make: Callable[[ClusterTables, _Found, list[Row]], Iterator[Incident]]
    follow: Mapping[str, Callable[[ClusterTables, _Found, Row], bool]] = field(default_factory=dict)

    def incidents(self, tables: ClusterTables, left: Left) -> Iterator[Incident]:
        """Take what the story takes, and yield its incidents."""
        found = self.find(tables, take(left, dict.fromkeys(codes_of_story(self.name), self.about)))
        following = {code: partial(holds, tables, found) for code, holds in self.follow.items()}
        yield from self.make(tables, found, take(left, following))


def take(left: Left, conditions: Mapping[str, Callable[[Row], bool]]) -> list[Row]:
    """Take the findings of some codes that meet their conditions, of each code in the order reported."""
    taken = []
    for code, holds in conditions.items():
        by_answer = grouped(left.get(code, ()), holds)
        taken += by_answer.get(True, [])
        left[code] = by_answer.get(False, [])
    return taken


# What a story is about.


def each(_row: Row) -> bool:
    """Every finding of the code."""
    return True


def above_a_note(row: Row) -> bool:
    """What harms somebody."""
    return bool(row["severity"] != "note")


def of_a_partition(row: Row) -> bool:
    """What harms a partition. What is wrong with a broker's own file is another incident."""
    return above_a_note(row) and row["topic"] is not None


def to_an_offset(row: Row) -> bool:
    """A fork whose end is known: an audit compared the replicas' histories, not ``verify`` their batches."""
    return row["last_offset"] is not None


# What follows from it.


def in_its_partitions(_tables: ClusterTables, found: _Partitions[object], row: Row) -> bool:
    """Whatever is said of a partition in which it happened."""
    return TopicPartition.of(row) in found


def harms_its_partitions(tables: ClusterTables, found: _Partitions[object], row: Row) -> bool:
    """What harms a partition in which it happened."""
    return above_a_note(row) and in_its_partitions(tables, found, row)


def commit_lost_by_election(tables: ClusterTables, found: _Partitions[Elected], row: Row) -> bool:
    """A committed transaction without a marker in a partition whose election may have lost the marker."""
    there = found.get(TopicPartition.of(row))
    return (
        there is not None and row["found"] == "no marker" and may_have_lost(tables, newest_commit(tables, row), there)
    )


def opened_by_election(tables: ClusterTables, found: _Partitions[Elected], row: Row) -> bool:
    """A transaction that hangs because its marker is missing, which an election may have lost."""
    there = found.get(TopicPartition.of(row))
    if there is None or (its := row_of(tables, row))["cause"] != "marker-missing":
        return False
    return may_have_lost(tables, decided(tables, its).prepared, there)


def adopted_over_damage(_tables: ClusterTables, found: _Partitions[Sequence[Loss]], row: Row) -> bool:
    """Late data with the next transaction's marker, in a partition whose damage may hide the marker between."""
    return TopicPartition.of(row) in found and bool(row["certainty"] == DAMAGE_BETWEEN)


def commit_lost_with_records(_tables: ClusterTables, found: _Partitions[Sequence[Loss]], row: Row) -> bool:
    """A committed transaction without a marker in a partition that lost records."""
    return TopicPartition.of(row) in found and bool(row["found"] == "no marker")


def opened_by_loss(tables: ClusterTables, found: _Partitions[Sequence[Loss]], row: Row) -> bool:
    """A transaction that hangs because its marker is missing or may be in damaged bytes, if more than offsets is."""
    if all(loss.cause == "missing-offsets" for loss in found.get(TopicPartition.of(row), ())):
        return False
    return bool(row["certainty"] == DAMAGE_BETWEEN or row_of(tables, row)["cause"] == "marker-missing")


def waits_for_leader(_tables: ClusterTables, found: Sequence[Outage], row: Row) -> bool:
    """What the coordinator decided of a partition that has no leader to take the marker."""
    return any(TopicPartition.of(row) in one.places for one in found)


def torn_when_offline(_tables: ClusterTables, found: Sequence[Outage], row: Row) -> bool:
    """The batch that a broker was writing when its disk failed."""
    places = [one.places for one in found if one.findings[0]["found"] is not None]
    return row["severity"] == "note" and any(TopicPartition.of(row) in some for some in places)


def explains_outage(_tables: ClusterTables, found: Sequence[Outage], row: Row) -> bool:
    """The log directory that the broker took offline, whose partitions lost their leader."""
    return any(one.findings[0]["found"] == row["file"] for one in found)


def open_on_one(_tables: ClusterTables, found: Sequence[Row], row: Row) -> bool:
    """A transaction that is open on the one replica that never got its marker."""
    return any(
        (one["log"], one["producer_id"], one["offset"]) == (row["log"], row["producer_id"], row["offset"])
        for one in found
    )


def held_back(_tables: ClusterTables, found: Sequence[Blocked], row: Row) -> bool:
    """The offset commits of a transaction that is open."""
    return any(one.holds(row) for one in found)


def _as_found(_tables: ClusterTables, findings: list[Row]) -> list[Row]:
    return findings


def _by_partition(_tables: ClusterTables, findings: list[Row]) -> dict[TopicPartition, list[Row]]:
    return grouped(findings, TopicPartition.of)


MIXED: Final = dict.fromkeys(codes_of_story("several clusters"), each)  # of all clusters together, before their stories

STORIES: Final = (
    Story(
        name="elections",
        about=to_an_offset,  # and elections of brokers that were not in sync, by the metadata log
        find=elected,
        follow={
            "atomicity-broken": commit_lost_by_election,
            "transaction-hanging": opened_by_election,
            "state-replicas-differ": in_its_partitions,
            "election-elsewhere": in_its_partitions,
            "offset-beyond-end": in_its_partitions,
        },
        make=elections,
    ),
    Story(
        name="losses",
        about=of_a_partition,
        find=lost,
        follow={
            "late-data-adopted": adopted_over_damage,
            "atomicity-broken": commit_lost_with_records,
            "transaction-hanging": opened_by_loss,
            "offset-beyond-end": in_its_partitions,
            "sequence-broken": in_its_partitions,
        },
        make=losses,
    ),
    Story(
        name="lost objects",
        about=above_a_note,
        find=_by_partition,
        follow=dict.fromkeys(
            ("remote-directory-odd", "remote-object-missing", "remote-object-size"), harms_its_partitions
        ),
        make=lost_objects,
    ),
    Story(
        name="surviving records",
        about=each,
        find=_as_found,
        follow=dict.fromkeys(sorted(codes_of_story("open transactions")), open_on_one),
        make=surviving,
    ),
    Story(name="torn transactions", about=each, find=_as_found, make=torn),
    Story(
        name="outages",
        about=each,
        find=outages,
        follow={
            **dict.fromkeys(("transaction-pending", "decision-elsewhere"), waits_for_leader),
            "batch-truncated": torn_when_offline,
            "directory-offline": explains_outage,
        },
        make=without_leader,
    ),
    Story(
        name="open transactions",
        about=each,
        find=blocked,
        follow={"offsets-pending": held_back},
        make=stopped,
    ),
    Story(
        name="brokers not given",
        about=above_a_note,
        find=_as_found,
        make=not_given,
    ),
    Story(
        name="directories not given",
        about=each,
        find=_as_found,
        make=directories_not_given,
    ),
    Story(
        name="replicas put aside",
        about=above_a_note,
        find=_as_found,
        make=replicas_put_aside,
    ),
)  # fmt: skip
