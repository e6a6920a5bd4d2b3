"""Where groups stand: their committed offsets by partition, read from ``__consumer_offsets`` when asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kafkalog.auditing.topics.groups import ChosenGroups, read_groups
from kafkalog.auditing.topics.topic_logs import topic_logs
from kafkalog.files.names import OFFSETS_TOPIC
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.segments.chunk import Limits
from kafkalog.segments.moment import Moment

__all__ = ["GroupAt", "Standing"]

Place = tuple[str, int]


class GroupAt(NamedTuple):
    """A group's committed offset in a partition, with the leader epoch of the last record read; -1 for none."""

    offset: int
    group: str
    leader_epoch: int


class Standing:
    """The groups of one cluster that have committed offsets for some partitions.

    Few audits need them: the topic is read when the first group is asked for. What is wrong with it is reported with
    its log.
    """

    def __init__(
        self, nodes: Sequence[LogDirectory] = (), places: Collection[Place] = (), limits: Limits | None = None
    ) -> None:
        self._nodes = nodes
        self._places = frozenset(places)
        self._limits = limits or Limits()

    def of(self, place: Place) -> Sequence[GroupAt]:
        """Return the groups in a partition, in the order of their offsets."""
        return self._found.get(place, ()) if place in self._places else ()

    @cached_property
    def _found(self) -> Mapping[Place, list[GroupAt]]:
        cluster = Cluster(None, list(self._nodes))
        chosen = ChosenGroups(Moment(), (), ())
        found: dict[Place, list[GroupAt]] = {}
        for log in topic_logs([cluster], OFFSETS_TOPIC, self._limits, lambda _: None, optional=True):
            groups, _ = read_groups(log, chosen, self._limits)
            commits = groups.in_force()
            names, group_of = groups.names, commits.keys.group
            for topic, partition, rows in commits.by_partition():
                if (topic, partition) in self._places:
                    found.setdefault((topic, partition), []).extend(
                        GroupAt(offset, names[group_of[key]], epoch)
                        for offset, key, epoch in zip(
                            commits.offset[rows].tolist(), commits.key[rows].tolist(),
                            commits.leader_epoch[rows].tolist(), strict=True,
                        )
                    )  # fmt: skip
        for of_place in found.values():
            of_place.sort()
        return found
