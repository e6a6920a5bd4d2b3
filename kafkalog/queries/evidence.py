"""Which partitions a question needs: those it names, and the internal ones that say what became of these.

A transactional id and a group have one partition of their internal topic, by Kafka's hash of the name.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.incidents import Incident, incidents_of_audit
from kafkalog.auditing.topics import Metadata
from kafkalog.auditing.transactions import Audit, ClusterAudit, narrowed
from kafkalog.errors import NothingMatchesError, UnsupportedError
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.kafka.internal_topics import coordinator_partition
from kafkalog.narrowing import Narrowing, matches, nothing_matches
from kafkalog.quantities import listed
from kafkalog.queries.at_stake import incidents_named

__all__ = ["Asked", "Needed", "needed_for"]

_UNDECIDED: Final = ("administrator", "foreign-marker")  # causes: no coordinator's record has such an abort
_ALWAYS: Final = "it has the topics, leaders and settings: every answer needs it"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a bundle is for: topics, partitions, transactional ids, groups, incidents by ids and by their numbers.

    `offsets` are the first and the last one of the log that is meant, None for where it begins and ends.
    """

    narrowing: Narrowing
    groups: tuple[str, ...] = ()
    incident: str | None = None
    offsets: tuple[int | None, int | None] = (None, None)

    def __bool__(self) -> bool:
        return bool(self.narrowing or self.groups or self.incident)

    def refuse_several(self, places: Collection[tuple[str, int]]) -> None:
        """Raise UnsupportedError where offsets were asked for and not just one log is meant."""
        if self.offsets != (None, None) and sum(self.narrowing.log(*place) for place in set(places)) > 1:
            raise UnsupportedError("offsets are of one partition, and several are meant: give --topic and --partition")


class Needed(NamedTuple):
    """The partitions that are needed, each with the reason; and those that the hash names and no input has."""

    why: dict[tuple[str, int], str]
    missing: list[str]


def needed_for(audit: Audit, asked: Asked, paths: Sequence[str | os.PathLike[str]]) -> Needed:
    """Say which partitions of an audit's inputs a question needs. Raises NothingMatchesError where it names nothing."""
    found = _Finding(audit, paths)
    if asked.narrowing:
        found.add_narrowed(asked.narrowing)
    if asked.groups:
        found.add_groups(asked.groups)
    for one in () if asked.incident is None else incidents_named(audit, asked.incident):
        found.add_incident(one)
    return found.needed()


class _Finding:
    """Gathers partitions, of all clusters of an audit."""

    def __init__(self, audit: Audit, paths: Sequence[str | os.PathLike[str]]) -> None:
        self._audit = audit
        self._paths = paths
        self._why: dict[tuple[str, int], str] = {}
        self._missing: dict[str, None] = {}

    def _add(self, place: tuple[str, int], why: str) -> None:
        self._why.setdefault(place, why)

    def add_narrowed(self, narrowing: Narrowing) -> None:
        """Add the logs of topics and of transactional ids, the coordinator's records about them, groups in them."""
        found = narrowed(self._audit, narrowing)
        places = {_place(log) for cluster in found.clusters for log in cluster.logs}
        said = narrowing.words()
        for place in sorted(places):
            self._add(place, f"asked for: {said}")
        for cluster in found.clusters:
            self._add_ids(cluster, _ids(cluster))
        if not narrowing.of_producers:
            self._add_writers(places)
        if not narrowing.of_producers:
            self._add_groups_of({place for place in places if not place[0].startswith("__")})

    def add_groups(self, wanted: Sequence[str]) -> None:
        """Add the partition of each group, those that it committed, and the coordinators of transactional commits."""
        rows = self._committed()
        names = {row["group"] for row in rows} | self._known_groups()
        meant = sorted(name for name in names if name is not None and matches(name, wanted))
        if not meant:
            raise nothing_matches("group", wanted, [name for name in names if name is not None])
        for row in rows:
            if row["group"] in meant and row["topic"] is not None and row["partition"] is not None:
                self._add((row["topic"], row["partition"]), f"group {row['group']} committed offsets of it")
        self._add_group_partitions(meant)
        logs = {name for name in self._why if name[0] == OFFSETS_TOPIC or not name[0].startswith("__")}
        self._add_writers(logs)

    def add_incident(self, incident: Incident) -> None:
        """Add what an incident is about: its partitions, transactional ids and groups."""
        said = f"incident {incident.id}: {incident.title}"
        for one in sorted(incident.partitions):
            self._add((one.topic, one.partition), said)
        parts = said if incident.kind == "transaction-torn" else None  # its other parts tell how it should have ended
        for cluster in self._audit.clusters:
            self._add_ids(cluster, incident.transactional_ids, parts)
        groups = {stand.group for stand in incident.groups}
        self._add_group_partitions(sorted(groups))
        if incident.partitions:
            places = {(one.topic, one.partition) for one in incident.partitions}
            self._add_writers(places)
            self._add_groups_of({place for place in places if not place[0].startswith("__")})

    def needed(self) -> Needed:
        """Return what was gathered, with what every question needs."""
        undecided = {
            (place.topic, place.partition)
            for one in incidents_of_audit(self._audit)
            if one.cause in _UNDECIDED
            for place in one.partitions
        }
        for cluster in self._audit.clusters:
            if not undecided.isdisjoint(self._why):
                self._add_every_state(cluster, "that the coordinator did not decide it shows only in all partitions")
            for log in cluster.logs:
                if log.partition.directory.topic == METADATA_TOPIC:
                    self._add(_place(log), _ALWAYS)
        return Needed(self._why, list(self._missing))

    def _add_writers(self, places: set[tuple[str, int]]) -> None:
        """Add the coordinators of the ids that wrote to logs; all where no record names one of the producers."""
        for cluster in self._audit.clusters:
            wrote = [np.unique(log.verdicts.rows["producer_id"]) for log in cluster.logs if _place(log) in places]
            coordinator = cluster.coordinator
            names = coordinator.names_of(np.unique(np.concatenate(wrote))) if wrote else np.empty(0, np.int64)
            self._add_ids(cluster, [coordinator.states.ids[number] for number in np.unique(names[names >= 0]).tolist()])
            if (names < 0).any():
                self._add_every_state(cluster, "that no record names a producer shows only in all partitions")

    def _add_every_state(self, cluster: ClusterAudit, why: str) -> None:
        for number in sorted(cluster.coordinator.known):
            self._add((STATE_TOPIC, number), why)

    def _add_ids(self, cluster: ClusterAudit, ids: Iterable[str], parts: str | None = None) -> None:
        """Add the state partition of each id, and the partitions of groups that its transactions committed in.

        With `parts`, which says why, all partitions that its transactions listed.
        """
        coordinator = cluster.coordinator
        here = set(ids)
        by_partition: dict[int, list[str]] = {}
        if coordinator.total:
            for name in here:
                by_partition.setdefault(coordinator_partition(name, coordinator.total), []).append(name)
        states = coordinator.states
        numbers = [number for number, name in enumerate(states.ids) if name in here]
        rows = np.flatnonzero(np.isin(states["transactional_id"], numbers))
        for at in np.unique(np.asarray(coordinator.of_log)[rows]).tolist() if len(rows) else ():
            by_partition.setdefault(coordinator.partitions[at], [])  # where its records are, whatever the hash says
        for number, names in sorted(by_partition.items()):
            whose = f"of {listed(sorted(names))}" if names else "of these transactional ids"
            self._add((STATE_TOPIC, number), f"it has the coordinator's records {whose}")
            if number not in coordinator.known:
                self._missing[f"{STATE_TOPIC}-{number}, which has the records {whose}"] = None
        if len(rows):
            _, listed_rows = states.listed_by(rows)
            topics, partitions = states.listed["topic"][listed_rows], states.listed["partition"][listed_rows]
            for topic, partition in sorted(
                {(states.topics[t], p) for t, p in zip(topics.tolist(), partitions.tolist(), strict=True)}
            ):
                if topic == OFFSETS_TOPIC:
                    self._add((topic, partition), "transactions of these ids committed offsets in it")
                elif parts is not None:
                    self._add((topic, partition), parts)

    def _committed(self) -> list[Any]:
        import kafkalog

        try:
            return list(kafkalog.open(list(self._paths)).groups(lag=False).committed)
        except NothingMatchesError:
            return []

    def _known_groups(self) -> set[str]:
        found: set[str] = set()
        for cluster in self._audit.clusters:
            for number in {log.partition.directory.partition for log in cluster.logs
                           if log.partition.directory.topic == OFFSETS_TOPIC}:  # fmt: skip
                found.update(cluster.groups.coordinated(number))
        return found

    def _add_groups_of(self, places: set[tuple[str, int]]) -> None:
        """Add the partitions of the groups that committed offsets of some logs."""
        groups = {row["group"] for row in self._committed() if (row["topic"], row["partition"]) in places}
        self._add_group_partitions(sorted(name for name in groups if name is not None))

    def _add_group_partitions(self, groups: Sequence[str]) -> None:
        for cluster in self._audit.clusters:
            here = {log.partition.directory.partition for log in cluster.logs
                    if log.partition.directory.topic == OFFSETS_TOPIC}  # fmt: skip
            total = _partitions_of(cluster.metadata, OFFSETS_TOPIC)
            for number in sorted(here):
                its = sorted(set(groups) & set(cluster.groups.coordinated(number)))
                if its:
                    self._add((OFFSETS_TOPIC, number), f"it has the commits of {listed(its)}")
            for name in groups if total else ():
                number = coordinator_partition(name, total or 1)
                self._add((OFFSETS_TOPIC, number), f"it has the commits of {name}")
                if number not in here:
                    self._missing[f"{OFFSETS_TOPIC}-{number}, which has the commits of {name}"] = None
            if groups:
                for log in cluster.logs:
                    if log.partition.directory.topic == SHARE_TOPIC:
                        self._add(_place(log), "it has the positions of share groups")


def _place(log: Any) -> tuple[str, int]:
    return log.partition.directory.topic, log.partition.directory.partition


def _ids(cluster: ClusterAudit) -> Iterator[str]:
    states = cluster.coordinator.states
    for number in np.unique(states["transactional_id"]).tolist():
        yield states.ids[number]


def _partitions_of(metadata: Metadata | None, topic: str) -> int | None:
    ids = () if metadata is None else metadata.ids.get(topic, ())
    return max((number + 1 for one in ids for number in metadata.partitions.numbers(one)), default=None)  # type: ignore[union-attr]  # without it there are no ids
