"""What an audit takes from the metadata: who led a partition, whether it is compacted, which partitions a node has."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.partition_history import Partition, Span
from kafkalog.findings import Finding
from kafkalog.kernel.buffers import NONE
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.quantities import iso
from kafkalog.segments.moment import Moment
from kafkalog.settle import Reason, lowered

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "COPY_MS",
    "LeadersAt",
    "Led",
    "absent_findings",
    "absent_partitions",
    "epoch_leaders",
    "leader_now",
    "leader_spans",
    "leaderless",
    "leaders_of",
    "policies",
    "policy_at",
]


_TOPIC: Final = 2

_BROKER: Final = 4

_EVERY_BROKER: Final = ""

_POLICY: Final = "cleanup.policy"

_BROKERS_POLICY: Final = "log.cleanup.policy"

# Ids that mean no directory: not yet moved to directory ids, unassigned, lost.
_NO_DIRECTORY: Final = frozenset({"AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"})


class Assigned(NamedTuple):
    """A partition that a node should have, its directory if that is known, and since when."""

    topic: str
    partition: int
    topic_id: str
    directory: str | None
    since: int


def policy_at(metadata: Metadata, topic: str, timestamp: int) -> str | None:
    """Return a topic's cleanup.policy at a time (ms): its own, else the cluster's default; None where neither is set.

    Brokers' own files may set another default, which the metadata does not know.
    """
    moment = Moment(timestamp=timestamp)
    for key in ((_TOPIC, topic, _POLICY), (_BROKER, _EVERY_BROKER, _BROKERS_POLICY)):
        for span in metadata.configs.get(key, ()):
            if span.held_at(moment):
                return str(span.value)
    return None


def leaderless(metadata: Metadata, topic: str, partition: int, since: int, until: int) -> bool:
    """Say whether a partition had no leader at any time (ms) from `since` up to `until`."""
    spans = metadata.spans_of(topic, partition)
    held = [span for span in spans if span.since <= until and (span.until is None or span.until >= since)]
    return bool(held) and held[0].since <= since and all(span.value.leader < 0 for span in held)


def policies(metadata: Metadata | None, topic: str) -> set[str | None]:
    """Return every cleanup.policy that a topic had in its life; None among them for a time without one.

    The life of a topic begins with its newest creation; where that is not among the records, None is there, too.
    Without metadata or such a topic the set is empty.
    """
    ids = None if metadata is None else metadata.ids.get(topic)
    if metadata is None or not ids:
        return set()
    begin = metadata.topics[ids[-1]][0].since
    times = {begin}
    for key in ((_TOPIC, topic, _POLICY), (_BROKER, _EVERY_BROKER, _BROKERS_POLICY)):
        for span in metadata.configs.get(key, ()):
            times.update(time for time in (span.since, span.until) if time is not None and time >= begin)
    found = {policy_at(metadata, topic, time) for time in times}
    first = metadata.partitions.get((ids[-1], 0))
    return found if first and first[0].value.change == "created" else {*found, None}


def leader_now(metadata: Metadata, topic: str, partition: int) -> int | None:
    """Return who leads a partition at the end of the metadata; None for nobody, and where it is not known."""
    span = next(_spans(metadata, topic, partition), None)
    return None if span is None or span.until is not None or span.value.leader < 0 else int(span.value.leader)


def epoch_leaders(metadata: Metadata, topic: str, partition: int) -> dict[int, int]:
    """Return who led a partition by leader epoch, which its batches carry; those that are not known are left out."""
    found: dict[int, int] = {}
    for span in _spans(metadata, topic, partition):
        if span.value.leader >= 0:
            found.setdefault(span.value.leader_epoch, int(span.value.leader))
    return found


def leader_spans(metadata: Metadata, topic: str, partition: int) -> Iterator[Span]:
    """Yield the spans of the newest topic of a name with which another leader or leader epoch began, oldest first."""
    before: tuple[int, int] | None = None
    for span in metadata.spans_of(topic, partition):
        led = (span.value.leader, span.value.leader_epoch)
        if led != before:
            yield span
        before = led


def led_since(metadata: Metadata, topic: str, partition: int) -> int:
    """Return when a partition's newest leader epoch began (ms), -1 where that is not known."""
    return max((span.since for span in leader_spans(metadata, topic, partition)), default=-1)


def _spans(metadata: Metadata, topic: str, partition: int) -> Iterator[Span]:
    """Yield the spans of a partition of all topics of a name, newest first."""
    for topic_id in reversed(metadata.ids.get(topic, ())):
        yield from reversed(metadata.partitions.get((topic_id, partition), []))


def absent_partitions(
    metadata: Metadata, node: int, present: Collection[tuple[str, int]], directories: Collection[str] = ()
) -> Iterator[Assigned]:
    """Yield the partitions that the metadata assigns to a node at its end, and that are not `present`.

    `directories` are the ids of the node's log directories that were given: a partition in others is not missing.
    """
    for topic_id, number in sorted(metadata.partitions):
        spans = metadata.partitions[topic_id, number]
        span = spans[-1]
        topic = metadata.topic_of(topic_id)
        now: Partition = span.value
        if span.until is not None or topic is None or node not in now.replicas:
            continue
        at = now.replicas.index(node)
        directory = now.directories[at] if at < len(now.directories) else None
        directory = None if directory in _NO_DIRECTORY else directory
        elsewhere = directory is not None and bool(directories) and directory not in directories
        if not elsewhere and (topic.name, number) not in present:
            yield Assigned(topic.name, number, topic_id, directory, _assigned_since(spans, node))


def _assigned_since(spans: list[Span], node: int) -> int:
    """Return from when on the node was among the replicas without a break."""
    since = spans[-1].since
    for span in reversed(spans):
        if node not in span.value.replicas:
            break
        since = span.since
    return since


# Partitions that the metadata assigns to a node and that are not in its directories.


COPY_MS: Final = 600_000  # how long a copy takes if no option says it


def absent_findings(nodes: Sequence[LogDirectory], metadata: Metadata, late: int) -> Iterator[Finding]:
    """Yield a finding for each partition that is missing on a node whose log directories were given.

    It is a note where nothing can be lost: the checkpoints say that the partition is empty, or it was assigned after
    the time `late` (ms; -1 where the inputs are of one moment), so that a copy of a running broker may have missed it.
    Nothing can be missed where only directories of single partitions were given.
    """
    of_node: dict[int, list[LogDirectory]] = {}
    for node in nodes:
        if node.node_id is not None and node.node_id.isdecimal():
            of_node.setdefault(int(node.node_id), []).append(node)
    for number, named in sorted(of_node.items()):
        present = {(one.topic, one.partition) for node in named for one in node.partitions if one.suffix != "-stray"}
        homes = [node for node in named if not node.alone]
        if not homes:
            continue
        directories = {home.directory_id for home in homes if home.directory_id is not None}
        running = not all(home.clean_shutdown for home in homes)
        for found in absent_partitions(metadata, number, present, directories):
            offset = _offset(homes, (found.topic, found.partition))
            finding = _finding(homes[0].path, number, found, offset)
            is_note = offset == 0 or (running and 0 <= late < found.since)
            yield lowered(finding, Reason.EMPTY_OR_NEWER) if is_note else finding


def _offset(homes: Sequence[LogDirectory], partition: tuple[str, int]) -> int | None:
    """Return the highest offset that a checkpoint has for a partition; None where none names it."""
    offsets = [rows[partition] for home in homes for rows in home.all_checkpoints.values() if partition in rows]
    return max(offsets, default=None)


def _finding(place: str, node: int, absent: Assigned, offset: int | None) -> Finding:
    reached = "No checkpoint names it." if offset is None else f"Its checkpoint last recorded offset {offset}."
    return Finding.of(
        "partition-absent",
        os.path.join(place, f"{absent.topic}-{absent.partition}"),
        f"{absent.topic}-{absent.partition} (topic id {absent.topic_id}) has been assigned to node {node} since"
        f" {iso(absent.since)}, and is missing here. {reached}",
        topic=absent.topic,
        partition=absent.partition,
    )


# Who led a partition: over all of its leader epochs, and at the offset of a finding.


class Led(NamedTuple):
    """A leader epoch: who led from when (ms) on, by which change, and the first offset of a log in it or after it.

    `leader` is None for nobody; it, `since` and `change` are None where the metadata does not show them.
    """

    leader_epoch: int
    leader: int | None
    since: int | None
    change: str | None
    first_offset: int


def leaders_of(partition: PartitionAudit, metadata: Metadata | None) -> list[Led]:
    """Return the leader epochs of a log's batches and those of the metadata, oldest first."""
    directory, epochs = partition.directory, sorted(partition.epochs)
    end = partition.log_end_offset
    found: list[Led] = []
    for span in () if metadata is None else leader_spans(metadata, directory.topic, directory.partition):
        epoch = span.value.leader_epoch
        at = bisect_left(epochs, (epoch, -1))
        first = epochs[at][1] if at < len(epochs) else end
        leader = None if span.value.leader < 0 else span.value.leader
        found.append(Led(epoch, leader, span.since, span.value.change, first))
    known = {led.leader_epoch for led in found}
    found += [Led(epoch, None, None, None, first) for epoch, first in epochs if epoch >= 0 and epoch not in known]
    return sorted(found, key=lambda led: (led.leader_epoch, led.since or 0))


class LeadersAt:
    """Who led a log's partition when its offsets were written, by the leader epochs of the batches there."""

    def __init__(self, partition: PartitionAudit, metadata: Metadata | None) -> None:
        self._partition = partition
        self._metadata = metadata

    @cached_property
    def _of_runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the log's leader epochs begin, and who led in each; last NONE, for what is before the first."""
        directory, epochs = self._partition.directory, self._partition.epochs
        known = {} if self._metadata is None else epoch_leaders(self._metadata, directory.topic, directory.partition)
        led = [known.get(epoch, NONE) for epoch, _ in epochs]
        return np.array([first for _, first in epochs], np.int64), np.array([*led, NONE], np.int64)

    def at(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the broker that led at each offset, NONE where the metadata does not reach back to its epoch."""
        firsts, led = self._of_runs
        found: NDArray[np.int64] = led[np.searchsorted(firsts, offsets, "right") - 1]
        return found

    def on(self, finding: Finding) -> Finding:
        """Return a finding with the broker that led at its offset; without an offset or metadata it stays as it is."""
        if finding.offset is None or self._metadata is None:
            return finding
        (leader,) = self.at(np.array([finding.offset])).tolist()
        return finding if leader == NONE else finding._replace(leader=leader)
