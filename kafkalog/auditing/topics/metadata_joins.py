"""What an audit takes from the metadata: who led a partition, and whether it is compacted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.partition_history import Span
from kafkalog.findings import Finding
from kafkalog.kernel.buffers import NONE
from kafkalog.segments.moment import Moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "LeadersAt",
    "Led",
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
