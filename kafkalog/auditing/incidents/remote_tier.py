"""Records that are neither on a broker's disk nor in the remote store: one incident for each partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkalog.auditing.incidents.incident import (
    SHOWN,
    STOPS,
    Consumers,
    Event,
    Incident,
    Step,
    Subject,
    few,
    listed_of,
    many,
    offsets,
)
from kafkalog.auditing.incidents.known import Known, Place, Pool, Row, severity_of
from kafkalog.auditing.incidents.lost_ranges import Ranges
from kafkalog.auditing.incidents.resume import after_damage
from kafkalog.catalogue import CATALOGUE

__all__ = ["OBJECTS", "lost_objects"]

OBJECTS: Final = frozenset(
    {"remote-offsets-lost", "remote-object-missing", "remote-object-size", "remote-directory-odd"}
)
_EVENTS: Final = 20


def lost_objects(known: Known, pool: Pool) -> Iterator[Incident]:
    """Yield an incident for each partition with lost offsets, with all that is said of its objects."""
    rows = list(pool.take(*sorted(OBJECTS), when=lambda row: row["severity"] != "note"))
    by_place: dict[Place, list[Row]] = {}
    for row in rows:
        by_place.setdefault((row["topic"], row["partition"]), []).append(row)
    groups: dict[tuple[object, ...], list[list[Row]]] = {}
    for place, some in by_place.items():
        if any(row["code"] == "remote-offsets-lost" for row in some):
            groups.setdefault(("objects-missing", *place), []).append(some)
        else:
            for row in some:
                pool.give_back(row)
    yield from (_incident(known, together) for _, together in few(groups, 1))


def _incident(known: Known, together: list[list[Row]]) -> Incident:
    every = [row for some in together for row in some]
    lost = [row for row in every if row["code"] == "remote-offsets-lost"]
    place = (every[0]["topic"], every[0]["partition"])
    ranges = Ranges.of((row["offset"], row["last_offset"]) for row in lost)
    subject = Subject(*place, ranges.first)
    incident = Incident("records-lost", "objects-missing", subject, severity_of(every), known.cluster_id)
    incident.take(every)
    incident.records = incident.lost_records = ranges.offsets
    incident.reach([ranges.first], [ranges.last])
    incident.events = [Event(None, "broker", row["file"], row["offset"], row["message"]) for row in every[:_EVENTS]]
    one = len(together) == 1
    shown = listed_of(len(ranges), (offsets(*some) for some in ranges.shown(SHOWN)))
    what = (
        f"{shown.capitalize()} of {incident.where()}"
        if one
        else f"{many(ranges.offsets, 'offset')} of {incident.where()}"
    )
    verb = "is" if ranges.offsets == 1 else "are"
    incident.title = f"{what} {verb} neither local nor in the remote store."
    stop = f"{STOPS} offset {ranges.first}: no progress, and no error." if one else f"{STOPS} the first such offset."
    incident.consumers = Consumers(stop, stop)
    incident.steps = [Step(text) for text in dict.fromkeys(CATALOGUE[row["code"]].next for row in every)]
    if one:
        incident.steps += after_damage(known, place, ranges, [every[0]["log"]])
    return incident
