"""A metadata log of one node, written record by record: topics with their partitions and settings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import build
from kafkalog import batches
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_writer import encode, encode_uvarint

__all__ = [
    "add_settings",
    "add_values",
    "append_values",
    "metadata_value",
    "write_changes",
    "write_leader",
    "write_policy",
    "write_topics",
]

_ID: Final = "topicidAAAAAAAAAAAAAAA"
_UNASSIGNED: Final = "A" * 22  # of no directory
_TOPIC: Final = 2  # the resource type of a ConfigRecord


def write_policy(root: Path, topic: str, policy: str | None) -> None:
    """Write a metadata log in which a topic of one partition, on no node that is here, has a cleanup.policy or none."""
    records = _topic(topic, [99], 99)
    if policy is not None:
        fields = {"resourceType": _TOPIC, "resourceName": topic, "name": "cleanup.policy", "value": policy}
        records.append(metadata_value("ConfigRecord", fields))
    add_values(root, records)


def write_topics(root: Path, count: int) -> None:
    """Write a metadata log of topics with two partitions and a setting each, all of which are deleted in the end."""
    records: list[bytes] = []
    for number in range(count):
        name, topic_id = f"t{number}", f"{number:020}AA"
        setting = {"resourceType": _TOPIC, "resourceName": name, "name": "cleanup.policy", "value": "compact"}
        partition = {
            "topicId": topic_id, "replicas": [1], "isr": [1], "removingReplicas": [], "addingReplicas": [],
            "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "directories": [_ID],
        }  # fmt: skip
        records += [
            metadata_value("TopicRecord", {"name": name, "topicId": topic_id}),
            metadata_value("ConfigRecord", setting),
        ]
        records += [metadata_value("PartitionRecord", {**partition, "partitionId": one}) for one in range(2)]
    records += [metadata_value("RemoveTopicRecord", {"topicId": f"{number:020}AA"}) for number in range(count)]
    add_values(root, records)


def add_settings(root: Path, kinds: list[int], base: int) -> None:
    """Add a segment with a setting of a resource of each of these types."""
    fields = {"resourceName": "r", "name": "n", "value": "v"}
    add_values(root, [metadata_value("ConfigRecord", {**fields, "resourceType": kind}) for kind in kinds], base)


def add_values(root: Path, values: list[bytes], base: int = 0, time: int = build.TIME) -> None:
    """Write a segment of records with these values, one a batch, all of one time (ms)."""
    times = {"base_timestamp": time, "max_timestamp": time}
    batches = [build.batch(build.record(value), base_offset=at, **times) for at, value in enumerate(values, base)]
    folder = root / "__cluster_metadata-0"
    folder.mkdir(exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(b"".join(batches))


def append_values(root: Path, values: list[bytes]) -> None:
    """Write records with these values behind the last batch of a metadata log, at its time and of its leader epoch."""
    path = max((root / "__cluster_metadata-0").glob("*.log"))
    last = list(batches(path))[-1]
    times = {"base_timestamp": last.max_timestamp, "max_timestamp": last.max_timestamp}
    added = [
        build.batch(build.record(value), base_offset=at, partition_leader_epoch=last.partition_leader_epoch, **times)
        for at, value in enumerate(values, last.last_offset + 1)
    ]
    path.write_bytes(path.read_bytes() + b"".join(added))


def write_leader(root: Path, topic: str, replicas: list[int], leader: int, since: int = build.TIME) -> None:
    """Write a metadata log in which a topic's only partition has these replicas, and this leader since a time (ms)."""
    add_values(root, _topic(topic, replicas, leader), time=since)


def write_changes(root: Path, seed: int, count: int = 400) -> None:
    """Write a metadata log in which some topics come, change and go, partly in metadata transactions."""
    chance = random.Random(seed)  # no secret: test data
    ids = [f"{number:020}AA" for number in range(4)]

    def lists(*names: str) -> dict[str, list[int] | None]:
        """Give some of these fields replicas, or null."""
        chosen = [name for name in names if chance.random() < 0.4]
        return {name: chance.choice((None, [1], [1, 2], [2, 1, 3])) for name in chosen}

    def one() -> bytes:
        topic_id = chance.choice(ids)
        where = {"topicId": topic_id, "partitionId": chance.randrange(2)}
        match chance.choice(("change",) * 12 + ("topic", "partition", "remove", "clear", "begin", "end", "abort")):
            case "topic":
                return metadata_value("TopicRecord", {"name": f"t{topic_id}", "topicId": topic_id})
            case "partition":
                fixed = {"leader": 1, "leaderEpoch": 3, "partitionEpoch": 7, "replicas": [1], "isr": [1]}
                empty = {"removingReplicas": [], "addingReplicas": [], "directories": [_ID]}
                return metadata_value("PartitionRecord", {**where, **fixed, **empty, **lists("eligibleLeaderReplicas")})
            case "remove":
                return metadata_value("RemoveTopicRecord", {"topicId": topic_id})
            case "clear":
                return metadata_value("ClearElrRecord", {"topicName": chance.choice(("", f"t{topic_id}"))})
            case "begin":
                return metadata_value("BeginTransactionRecord", {"name": None})
            case "end":
                return metadata_value("EndTransactionRecord", {})
            case "abort":
                return metadata_value("AbortTransactionRecord", {"reason": None})
        changed = lists("isr", "replicas", "addingReplicas", "removingReplicas", "eligibleLeaderReplicas")
        if chance.random() < 0.5:
            changed["leader"] = chance.choice((-1, 1, 2))
        if chance.random() < 0.2:
            changed["leaderRecoveryState"] = chance.randrange(2)
        return metadata_value("PartitionChangeRecord", {**where, **changed})

    add_values(root, [one() for _ in range(count)])


def _topic(topic: str, replicas: list[int], leader: int) -> list[bytes]:
    partition = {
        "partitionId": 0, "topicId": _ID, "replicas": replicas, "isr": replicas, "removingReplicas": [],
        "addingReplicas": [], "leader": leader, "leaderEpoch": 0, "partitionEpoch": 0,
        "directories": [_UNASSIGNED] * len(replicas),
    }  # fmt: skip
    return [
        metadata_value("TopicRecord", {"name": topic, "topicId": _ID}),
        metadata_value("PartitionRecord", partition),
    ]


def metadata_value(name: str, fields: dict[str, Any]) -> bytes:
    """Return the value of a record of this kind, in its newest version."""
    (kind,) = (kind for kind in record_types(Internal.CLUSTER_METADATA).values() if kind.name == name)
    version = kind.value.newest
    return b"\1" + encode_uvarint(kind.number) + encode_uvarint(version) + encode(kind.value, version, fields)
