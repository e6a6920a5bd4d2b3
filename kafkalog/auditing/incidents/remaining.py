"""Incidents that findings alone make: one for each kind, cause and partition, or broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkalog.auditing.incidents.incident import Consumers, Event, Incident, Step, Subject, few, many
from kafkalog.auditing.incidents.known import Known, Pool, Row, severity_of
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS, kind_of
from kafkalog.certainty import is_proved, of_finding

__all__ = ["others"]

_EVENTS: Final = 20
_OFFSETS: Final = ("offset", "last_offset")
_OF_CLUSTER: Final = frozenset({"copy-incomplete", "copy-skewed", "clusters-mixed", "output-damaged"})
_OF_PRODUCER: Final = frozenset({"transaction-torn", "wrong-fate"})


def others(known: Known, pool: Pool) -> Iterator[Incident]:
    """Yield the incidents of all findings above a note that are left."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in pool.rest():
        if row["severity"] != "note":
            groups.setdefault(_key(known, row), []).append(row)
    yield from (_incident(known, key, rows) for key, rows in few(groups, 3))


def _key(known: Known, row: Row) -> tuple[object, ...]:
    kind, cause = kind_of(row["code"])
    certainty = of_finding(row)
    if kind in _OF_CLUSTER:
        return kind, cause, certainty
    if row["topic"] is None:
        return kind, cause, certainty, _node(known, row), row["code"]
    who = row["producer_id"] if kind in _OF_PRODUCER else None
    return kind, cause, certainty, row["topic"], row["partition"], who


def _node(known: Known, row: Row) -> object:
    return known.logs.get(row["log"] or "", {}).get("node_id")


def _incident(known: Known, key: tuple[object, ...], rows: list[Row]) -> Incident:
    kind, cause, certainty = (str(part) for part in key[:3])
    incident = Incident(kind, cause, _subject(known, kind, rows), severity_of(rows), known.cluster_id, certainty)
    incident.take(rows)
    if any(row["offset"] is not None for row in rows):
        incident.reach((row["offset"] for row in rows), (row[name] for row in rows for name in _OFFSETS))
    for row in rows[:_EVENTS]:
        incident.events.append(Event(None, "broker", row["file"], row["offset"], _message(known, row)))
    worst = max(rows, key=lambda row: ("note", "warning", "error").index(row["severity"]))
    where = incident.where() or worst["file"]
    said = _OF_CAUSE.get(cause) or (_SAID if is_proved(certainty) else _MAY)[kind]
    incident.title = f"{said} {where}: {_message(known, worst)}"
    if len({row["code"] for row in rows}) > 1:
        incident.title = f"{incident.title.removesuffix('.')}; and {many(len(rows) - 1, 'more finding')}."
    elif len(rows) > 1:
        incident.title = f"{said} {where}. {CATALOGUE[worst['code']].meaning}"
    consumers = _OF_TWICE if cause == "partition-twice" else INCIDENT_KINDS[kind].consumers
    if cause == "odd-batches":
        consumers = " ".join(dict.fromkeys(CATALOGUE[row["code"]].kafka for row in rows))
    incident.consumers = Consumers(consumers, consumers)
    incident.steps = [Step(text) for text in dict.fromkeys(CATALOGUE[row["code"]].next for row in rows)]
    return incident


def _message(known: Known, row: Row) -> str:
    """Return what a finding says, with the replica's name: an incident is about several."""
    node = _node(known, row)
    name = str(row["log"]) if node is None else f"Broker {node}'s replica"
    return str(row["message"]).replace("This replica", name, 1)


def _subject(known: Known, kind: str, rows: list[Row]) -> Subject:
    """Return whom the findings of an incident are about: the first partition, or the broker."""
    places = [(row["topic"], row["partition"]) for row in rows if row["topic"] is not None]
    code = min(row["code"] for row in rows)
    if not places:
        return Subject(name=f"{_node(known, rows[0])} {code}")
    who = rows[0]["producer_id"] if kind in _OF_PRODUCER else None
    return Subject(*min(places), producer_id=who, name=code if kind in _OF_CLUSTER else None)


_OF_CAUSE: Final = {
    "partition-twice": "One broker has two directories of",
    "history-changed": "The log is not what it was in",
    "odd-batches": "Batches are not as Kafka writes them in",
}
_OF_TWICE: Final = "Nothing from this broker, which refuses to start; other replicas serve them."
_SAID: Final = {
    "consumers-stopped": "An open transaction stops read_committed consumers of",
    "records-lost": "Records are missing in",
    "records-unreadable": "Records can't be read in",
    "retention-blocked": "Old records are kept in",
    "transaction-torn": "A transaction ended differently in its partitions, in",
    "wrong-fate": "The marker of another transaction ended records in",
    "writer-fenced": "A producer was fenced in",
    "transactions-aborted": "Transactions were aborted in",
    "cleaner-stopped": "The cleaner stopped in",
    "remote-store-behind": "The remote store is not as it should be for",
    "side-files-wrong": "Side files are not those of the log in",
    "replicas-diverged": "Replicas differ in",
    "mirror-differs": "A mirror does not have the records of",
    "copy-incomplete": "The inputs do not have all of",
    "copy-skewed": "The files are of different moments in",
    "clusters-mixed": "The inputs are of several clusters:",
    "too-many-to-judge": "There is more than an audit judges in",
    "output-damaged": "An output of kafkalog is not what was written:",
}
_MAY: Final = {
    **_SAID,
    "consumers-stopped": "An open transaction may stop read_committed consumers of",
    "records-lost": "Records may be missing in",
    "records-unreadable": "Records may be unreadable in",
    "transaction-torn": "A transaction may have ended differently in its partitions, in",
    "wrong-fate": "The marker of another transaction may have ended records in",
    "side-files-wrong": "Side files may not be those of the log in",
    "replicas-diverged": "Replicas may differ in",
    "copy-incomplete": "The inputs may not have all of",
    "copy-skewed": "The files may be of different moments in",
}
