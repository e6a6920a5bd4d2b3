"""Where groups stand in what stops consumers or takes their records: in it, before it or past it, and how far behind.

What these groups had committed there before, and lost or gave up, is part of the incident's story.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import Event, GroupStand, Incident, Row
from kafkalog.auditing.incidents.lost_ranges import Ranges
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import listed

__all__ = ["HAVE_GROUPS", "groups_said", "take_groups"]

HAVE_GROUPS: Final = frozenset(  # kinds of incidents
    {
        "consumers-stopped",
        "copy-skewed",
        "records-lost",
        "records-unreadable",
        "start-empties",
        "transaction-torn",
        "wrong-fate",
    }
)
_WITHOUT_PLACE: Final = frozenset({"never-arrived"})  # no offset is missing: no group stands there
_STEPS: Final = 5  # of groups, that a story tells
_WORDS: Final = {"in": "stand there", "before": "come there", "past": "have read past it"}


def take_groups(tables: ClusterTables, incidents: Iterable[Incident]) -> None:
    """Let each incident that stops consumers or takes records name its groups, in its row and for consumers."""
    rows: dict[str, Row] = {}
    for incident in incidents:
        if incident.kind not in HAVE_GROUPS or incident.cause in _WITHOUT_PLACE:
            continue
        rows = rows or {row["id"]: row for row in tables.findings}
        about = [rows[number] for number in incident.findings if number in rows]
        for place in sorted(incident.partitions):
            incident.groups += _stands(tables, place, _ranges(tables, incident, place, about))
        steps = [one for place in incident.partitions for one in tables.groups.steps(place)]
        for log, step in sorted(steps, key=lambda one: one[1].time)[-_STEPS:]:
            incident.events.append(Event(step.time, "broker", log, step.record_offset, f"Group {step.words}."))


def _stands(tables: ClusterTables, place: TopicPartition, ranges: Ranges | None) -> Iterator[GroupStand]:
    """Yield the groups in a partition; without ranges all of it is meant."""
    groups = tables.groups.of(place)
    log = _log(tables, place) if groups else None
    for group in groups:
        stands, lag = "in", None
        if ranges is not None and not ranges.holds(group.offset):
            stands = "past" if group.offset > ranges.last else "before"
        if log is not None:
            start, end = int(log["log_start_offset"]), int(log["log_end_offset"])
            lag = end - max(start, group.offset) if group.offset <= end else None
        yield GroupStand(group.group, place, group.offset, lag, stands)


def _log(tables: ClusterTables, place: TopicPartition) -> Row | None:
    """Return the row of the replica that counts: the leader's if it is here, else the longest."""
    replicas = tables.replicas.get(place, [])
    led = tables.leadership.get(place, ()) if len(replicas) > 1 else ()
    leader = str(led[-1]["leader"]) if led else None
    return max(replicas, key=lambda row: (row["node_id"] == leader, row["log_end_offset"]), default=None)


def _ranges(tables: ClusterTables, incident: Incident, place: TopicPartition, findings: Iterable[Row]) -> Ranges | None:
    """Return which offsets of a partition an incident is about, None for the partition as a whole.

    Consumers stop before an open transaction, not in it.
    """
    here = [row for row in findings if row["offset"] is not None and TopicPartition.of(row) == place]
    if not here:
        return None
    if incident.cause == "log-cut-short" and incident.first_offset is not None and incident.last_offset is not None:
        return Ranges.of([(incident.first_offset, incident.last_offset)])
    if incident.kind in ("consumers-stopped", "copy-skewed"):
        starts: Mapping[str, Row] = tables.logs
        firsts = [max(row["offset"], starts.get(row["log"], {}).get("log_start_offset") or 0) for row in here]
        return Ranges.of((first, first) for first in firsts)
    if all(row["code"] == "offset-beyond-end" for row in here):  # its offsets are the groups' own
        ends = [int(row["log_end_offset"]) for row in tables.replicas.get(place, ())]
        return Ranges.of([(min(int(row["needed"]) for row in here), max(ends, default=0) - 1)])
    gaps = tables.gaps.get(place)
    ends = [row["offset"] if row["last_offset"] is None else row["last_offset"] for row in here]
    lost = Ranges.of(zip((row["offset"] for row in here), ends, strict=True))
    if gaps is None:
        return lost
    for log in dict.fromkeys(row["log"] for row in here):
        lost = lost.with_ranges(gaps.of_log(log))
    return lost


def groups_said(groups: Sequence[Row], *, is_one: bool, most: int = 20) -> str:
    """Name the groups of an incident's row by where they stand, with their offsets and lags.

    Partitions are named unless there `is_one`; past `most` groups of a kind they are counted.
    """
    said = []
    for stands, words in _WORDS.items():
        some = [_named(one, is_one=is_one) for one in groups if one["stands"] == stands]
        if some:
            said.append(f"{words}: {listed(some, most=most)}")
    return "; ".join(said)


def _named(group: Row, *, is_one: bool) -> str:
    where = "" if is_one else f" of {group['topic']}-{group['partition']}"
    behind = "" if group["lag"] is None else f", lag {group['lag']}"
    return f"{group['group']} (at {group['offset']}{where}{behind})"
