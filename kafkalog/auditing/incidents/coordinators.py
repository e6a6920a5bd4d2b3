"""Damage in internal topics: no application reads these, but a coordinator, a controller, or a broker does.

What is said of it is what they do when they load it: they take the batch all the same, skip it, or stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import LOOK_FIRST, Incident, Row, Step, Words
from kafkalog.auditing.incidents.open_transactions import other_replicas
from kafkalog.auditing.topics import is_loaded
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import capital, listed

__all__ = ["LOADED", "are_loaded", "is_of_coordinator", "say_of_coordinator"]

LOADED: Final = "loaded-all-the-same"

_WHO: Final = {
    OFFSETS_TOPIC: ("group coordinator", "groups"),
    STATE_TOPIC: ("transaction coordinator", "transactional ids"),
    SHARE_TOPIC: ("share coordinator", "share groups"),
}
_LOADED: Final = Words(
    "The CRC of a batch of {where} does not match{at}: the {who}, which checks no CRC, can read its records and loads"
    " them all the same.",
    "No consumer of applications reads there. {names} keep what they had; the changed byte may be in their records.",
)
_STOPS: Final = {
    OFFSETS_TOPIC: "Loading the partition fails there: {whose} have no coordinator until the log is mended",
    SHARE_TOPIC: "Loading the partition fails there: {whose} have no coordinator until the log is mended",
    STATE_TOPIC: "The coordinator stops loading there: of {whose} it knows nothing that was written after it",
}
_LACKS: Final = {
    OFFSETS_TOPIC: "The coordinator loads what is left: {whose} go on from older offsets, or as auto.offset.reset says",
    SHARE_TOPIC: "The coordinator loads what is left: {whose} get records again",
    STATE_TOPIC: "The coordinator loads what is left: it may take decided transactions of {whose} for open ones",
}
_OF_METADATA: Final = (
    "Brokers and controllers read it: a node cuts its metadata log at the damage when it starts, and fetches the rest"
    " from the active controller; what no other controller has is lost."
)


def is_of_coordinator(place: TopicPartition) -> bool:
    """Say whether a partition is read by a coordinator or a controller, and not by applications."""
    return place.topic in _WHO or place.topic == METADATA_TOPIC


def are_loaded(place: TopicPartition, findings: Iterable[Row]) -> bool:
    """Say whether all that is damaged are batches whose records the partition's coordinator can read."""
    if place.topic not in _WHO:
        return False
    damaged = [row for row in findings if row["severity"] != "note" and row["code"] != "late-data-adopted"]
    return bool(damaged) and all(
        row["code"] == "crc-mismatch"
        and row["position"] is not None
        and is_loaded(place.topic, row["file"], row["position"], row["length"] or 0)
        for row in damaged
    )


def say_of_coordinator(tables: ClusterTables, incident: Incident, places: Sequence[TopicPartition]) -> None:
    """Say what a coordinator or controller does, in the place of what applications would get."""
    place = places[0]
    if place.topic == METADATA_TOPIC:
        incident.consumers = incident.consumers._replace(read_committed=_OF_METADATA, read_uncommitted=_OF_METADATA)
    else:
        who, what = _WHO[place.topic]
        names = list(tables.coordinated(place)) if len(places) == 1 else []
        whose = f"its {what}{f' ({listed(names)})' if names else ''}"
        if incident.cause == LOADED:
            at = "" if incident.first_offset is None else f" at offset {incident.first_offset}"
            incident.records = incident.lost_records = None
            incident.say(_LOADED, who=who, names=capital(whose), at=at)
        else:
            does = (_STOPS if incident.kind == "records-unreadable" else _LACKS)[place.topic].format(whose=whose)
            said = f"No consumer of applications reads there. {does}."
            incident.consumers = incident.consumers._replace(read_committed=said, read_uncommitted=said)
    where = incident.where()
    look = [step for step in incident.steps if step.kind == LOOK_FIRST]
    incident.steps = [*look, other_replicas(tables, places, where)]
    if incident.cause != LOADED and place.topic == OFFSETS_TOPIC:
        text = "Compare the groups' offsets with where their consumers were, before they start."
        incident.steps.append(Step.running(text, "kafkalog groups", "DIR"))
