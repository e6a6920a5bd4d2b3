"""Replicas that give different records although they are in sync: a key, a transaction, or how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import EVENTS, Event, Incident, Row, Step, Subject, Words
from kafkalog.catalogue.incident_kinds import kind_of
from kafkalog.few_of_many import grouped
from kafkalog.kafka.topic_partition import TopicPartition

__all__ = ["surviving"]

_KEEP: Final = Step("Keep {wrong} from leading {where} until it is mended; {right} {has} what is right.")
_REBUILD: Final = Step(
    "Rebuild {log}: stop {wrong}, move that directory away, and start {wrong} while {leader} leads {where}. It fetches"
    " the partition again."
)
_WORDS: Final = {
    "key-deleted-on-one": Words(
        "{message}",
        "With {wrong} as leader they get {number} that {right} {has} deleted.",
        steps=(
            _KEEP,
            Step("Write a tombstone of each key again, a record with the key and no value: all replicas get it."),
            _REBUILD._replace(text=f"Or rebuild{_REBUILD.text.removeprefix('Rebuild')}", kind="instead"),
        ),
    ),
    "key-older-on-one": Words(
        "{message}",
        "They get another value of the key after a change of leaders.",
        steps=(Step("Find out which value is right, and write it again: all replicas get it."),),
    ),
    "records-absent": Words(
        "{message}",
        "With {wrong} as leader they get nothing of {number}, with {right} the newest record of each.",
        steps=(
            Step("Find out whether the keys were deleted. Until then keep {wrong} from leading {where}."),
            Step("If they were not: r" + _REBUILD.text[1:]),
            Step("If they were: write a tombstone of each again, a record with the key and no value."),
        ),
    ),
    "record-committed-on-one-aborted-on-another": Words(
        "{message}", "They get other records with {wrong} as leader than with {right}.", steps=(_KEEP, _REBUILD)
    ),
    "transaction-open-on-one": Words(
        "{message}",
        "With {wrong} as leader they stop at offset {offset} for ever; with {right} nothing waits.",
        "They get everything.",
        steps=(_KEEP, _REBUILD),
    ),
}


def surviving(tables: ClusterTables, findings: list[Row], following: list[Row]) -> Iterator[Incident]:
    """Yield an incident for each code, partition and replica; what follows is about the same transactions."""

    def key(row: Row) -> tuple[object, ...]:
        return row["code"], TopicPartition.of(row), row["log"], row["needed"]

    for some in grouped(findings, key).values():
        row = some[0]
        its = {(one["log"], one["producer_id"], one["offset"]) for one in some}
        follow = [one for one in following if (one["log"], one["producer_id"], one["offset"]) in its]
        subject = Subject(*TopicPartition.of(row), row["offset"], row["producer_id"])
        incident = tables.incident(*kind_of(row["code"]), subject, some)
        incident.findings += [one["id"] for one in follow]
        incident.reach((one["offset"] for one in some), (one["offset"] for one in some))
        incident.events = [Event.of(one) for one in some[:EVENTS]]
        node = tables.node_of(row["log"])
        more = f" And {len(some) - 1} more like it." if len(some) > 1 else ""
        number = sum(int(one["found"] or 0) for one in some)
        incident.say(
            _WORDS[row["code"]],
            message=f"In {incident.where()}: {row['message']}{more}",
            wrong=row["log"] if node is None else f"broker {node}",
            right=row["needed"] or "the other replica",
            leader=str(row["needed"] or "the other replica").replace(", ", " or ").replace(" and ", " or "),
            has="have" if " and " in str(row["needed"]) else "has",
            number="1 key" if number == 1 else f"{number} keys",
            log=row["log"],
            offset=row["offset"],
        )
        yield incident
