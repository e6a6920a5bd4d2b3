"""Outages: partitions that lost their leader and got none, although a broker was up, by the metadata log.

After an orderly stop of all brokers nothing has a leader, and nothing is wrong. So it counts how brokers left: one that
is stopped says so before its partitions lose their leader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from kafkalog.auditing.topics import Metadata, Span
from kafkalog.certainty import NEVER
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.log_dirs.nodes import node_number
from kafkalog.quantities import iso

__all__ = ["LEADERLESS", "leaderless_findings", "name_brokers", "name_directories", "stop_began"]

LEADERLESS: Final = "partition-leaderless"


def name_brokers(brokers: Collection[int]) -> str:
    """Name some brokers."""
    *most, last = sorted(brokers)
    return f"brokers {', '.join(map(str, most))} and {last}" if most else f"broker {last}"


def name_directories(brokers: Collection[int]) -> str:
    """Name the directories of some brokers."""
    return f"the {'directory' if len(brokers) == 1 else 'directories'} of {name_brokers(brokers)}"


def leaderless_findings(nodes: Sequence[LogDirectory], metadata: Metadata, given: set[int]) -> Iterator[Finding]:
    """Yield each partition without a leader that an orderly stop of the brokers does not explain.

    No leader is -1 in its records, as in LeaderConstants; where its broker took the log directory offline, `found` is
    that directory. `given` are the brokers whose log directories are among the
    inputs: what the others have is needed, too.
    """
    stopped = stop_began(metadata, are_clean=all(node.clean_shutdown for node in nodes))
    logs = (one.log for node in nodes for one in node.partitions if one.topic == METADATA_TOPIC)
    log = next(logs, nodes[0].path)
    offline = {(node_number(one.node_id), one.directory_id): one.path for one in nodes if one.offline}
    for topic_id, number in sorted(metadata.partitions.leaderless):
        spans = metadata.partitions[topic_id, number]
        topic = metadata.topic_of(topic_id)
        first = _leaderless_from(spans)
        if topic is not None and spans[first].since < stopped:
            finding = _finding(log, TopicPartition(topic.name, number), spans, first, given)
            now = spans[-1].value
            taken = [
                path
                for place in zip(now.replicas, now.directories, strict=False)
                if (path := offline.get(place)) is not None
            ]
            yield finding._replace(found=taken[0]) if taken else finding


def stop_began(metadata: Metadata, *, are_clean: bool) -> int:
    """Return the time (ms) from which on leaders are lost in order, `NEVER` while some broker is up.

    It is the first time that a broker was asked to stop after the last one had started: the ReplicationControlManager
    writes that (KIP-841) before its partitions lose their leader. The last broker's own stop may be in no record: its
    directory shows it, so that the inputs have to be `are_clean`, all of them. Where no broker is up and none was asked
    to stop, as before Kafka 3.3, nothing shows what was an outage.
    """
    brokers = [
        spans
        for (role, _), spans in metadata.brokers.items()
        if role == "broker" and spans[-1].value.state != "unregistered"
    ]
    is_up = any(spans[-1].value.state == "active" for spans in brokers)
    if is_up and not are_clean:
        return NEVER
    started = max((span.since for spans in brokers for span in spans if span.value.state == "active"), default=-1)
    asked = (span.since for spans in brokers for span in spans if span.value.state == "stopping")
    return min((time for time in asked if time >= started), default=NEVER if is_up else -1)


def _leaderless_from(spans: Sequence[Span]) -> int:
    """Return the place of the first span of those without a leader that a partition's spans end with."""
    at = len(spans) - 1
    while at and spans[at - 1].value.leader < 0:
        at -= 1
    return at


def _finding(log: str, place: TopicPartition, spans: Sequence[Span], first: int, given: set[int]) -> Finding:
    led = f"; broker {spans[first - 1].value.leader} had led it" if first else ""
    message = f"{place} has had no leader since {iso(spans[first].since)}{led}"
    missing = set(spans[-1].value.replicas) - given
    needed = name_directories(missing) if missing else None
    message += "" if needed is None else f". The inputs lack {needed}"
    return Finding.of(LEADERLESS, log, message, needed=needed)._replace(topic=place.topic, partition=place.partition)
