"""What an audit takes from the metadata: who led a partition, whether it is compacted, which partitions a node has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.partition_history import Partition
from kafkalog.auditing.topics.spans import Span
from kafkalog.log.moment import Moment

__all__ = [
    "Assigned",
    "absent_partitions",
    "epoch_leaders",
    "leader_at",
    "leader_now",
    "leader_spans",
    "leaderless",
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
    ids = metadata.ids.get(topic)
    spans = metadata.partitions.get((ids[-1], partition), ()) if ids else ()
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


def leader_at(metadata: Metadata, topic: str, partition: int, timestamp: int) -> tuple[int, int] | None:
    """Return who led a partition at a time (ms), and in which leader epoch; -1 for nobody, None where unknown."""
    for span in _spans(metadata, topic, partition):
        if span.held_at(Moment(timestamp=timestamp)):
            return span.value.leader, span.value.leader_epoch
    return None


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
    ids = metadata.ids.get(topic)
    before: tuple[int, int] | None = None
    for span in metadata.partitions.get((ids[-1], partition), ()) if ids else ():
        led = (span.value.leader, span.value.leader_epoch)
        if led != before:
            yield span
        before = led


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
