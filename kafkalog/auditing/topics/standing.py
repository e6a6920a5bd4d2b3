"""Where groups stand: their committed offsets by partition, read from ``__consumer_offsets`` when asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kafkalog.auditing.topics.groups import ChosenGroups, read_groups
from kafkalog.auditing.topics.topic_logs import topic_logs
from kafkalog.errors import UnreadableError
from kafkalog.files.names import OFFSETS_TOPIC
from kafkalog.kernel import buffers
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.segments.chunk import Limits
from kafkalog.segments.moment import Moment
from kafkalog.segments.segment import possible_chunks

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

    def times_around(self, log: str, first: int, last: int) -> tuple[int | None, int | None]:
        """Return the newest timestamps of the whole batches before and after some offsets of a log, where they are."""
        directories = (one for node in self._nodes for one in node.partitions if one.log == log)
        segments = next((one.segments for one in directories), ())
        at = max(0, bisect_left([segment.base_offset for segment in segments], first) - 1)
        before: int | None = None
        for segment in segments[at:]:
            try:
                for chunk in possible_chunks(segment.path, limits=self._limits, max_bytes=segment.size):
                    cells = chunk.heads.numpy()
                    times = cells[:, (cells[buffers.VALID] != 0) & (cells[buffers.MAX_TIMESTAMP] >= 0)]
                    earlier = times[buffers.MAX_TIMESTAMP][times[buffers.LAST_OFFSET] < first]
                    later = times[buffers.MAX_TIMESTAMP][times[buffers.LAST_OFFSET] > last]
                    before = int(earlier[-1]) if len(earlier) else before
                    if len(later):
                        return before, int(later[0])
            except UnreadableError:
                continue
        return before, None

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
