"""A metadata log of one node, written record by record: topics with their partitions and settings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import build
from kafkalog.format.internal import record_types
from kafkalog.format.internal_topics import Internal
from kafkalog.format.message_writer import encode, encode_uvarint

__all__ = ["add_settings", "write_changes", "write_leader", "write_policy", "write_topics"]

_ID: Final = "topicidAAAAAAAAAAAAAAA"
_TOPIC: Final = 2  # the resource type of a ConfigRecord


def write_policy(root: Path, topic: str, policy: str | None) -> None:
    """Write a metadata log in which a topic of one partition, on no node that is here, has a cleanup.policy or none."""
    records = _topic(topic, [99], 99)
    if policy is not None:
        fields = {"resourceType": _TOPIC, "resourceName": topic, "name": "cleanup.policy", "value": policy}
        records.append(_value("ConfigRecord", fields))
    _write(root, records)


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
        records += [_value("TopicRecord", {"name": name, "topicId": topic_id}), _value("ConfigRecord", setting)]
        records += [_value("PartitionRecord", {**partition, "partitionId": one}) for one in range(2)]
    records += [_value("RemoveTopicRecord", {"topicId": f"{number:020}AA"}) for number in range(count)]
    _write(root, records)


def add_settings(root: Path, kinds: list[int], base: int) -> None:
    """Add a segment with a setting of a resource of each of these types."""
    records = [
        _value("ConfigRecord", {"resourceType": kind, "resourceName": "r", "name": "n", "value": "v"}) for kind in kinds
    ]
    batches = [build.batch(build.record(value), base_offset=at) for at, value in enumerate(records, base)]
    (root / "__cluster_metadata-0" / f"{base:020}.log").write_bytes(b"".join(batches))


def write_leader(root: Path, topic: str, replicas: list[int], leader: int) -> None:
    """Write a metadata log in which a topic's only partition has these replicas and this leader."""
    _write(root, _topic(topic, replicas, leader))


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
                return _value("TopicRecord", {"name": f"t{topic_id}", "topicId": topic_id})
            case "partition":
                fixed = {"leader": 1, "leaderEpoch": 3, "partitionEpoch": 7, "replicas": [1], "isr": [1]}
                empty = {"removingReplicas": [], "addingReplicas": [], "directories": [_ID]}
                return _value("PartitionRecord", {**where, **fixed, **empty, **lists("eligibleLeaderReplicas")})
            case "remove":
                return _value("RemoveTopicRecord", {"topicId": topic_id})
            case "clear":
                return _value("ClearElrRecord", {"topicName": chance.choice(("", f"t{topic_id}"))})
            case "begin":
                return _value("BeginTransactionRecord", {"name": None})
            case "end":
                return _value("EndTransactionRecord", {})
            case "abort":
                return _value("AbortTransactionRecord", {"reason": None})
        changed = lists("isr", "replicas", "addingReplicas", "removingReplicas", "eligibleLeaderReplicas")
        if chance.random() < 0.5:
            changed["leader"] = chance.choice((-1, 1, 2))
        if chance.random() < 0.2:
            changed["leaderRecoveryState"] = chance.randrange(2)
        return _value("PartitionChangeRecord", {**where, **changed})

    _write(root, [one() for _ in range(count)])


def _topic(topic: str, replicas: list[int], leader: int) -> list[bytes]:
    partition = {
        "partitionId": 0, "topicId": _ID, "replicas": replicas, "isr": replicas, "removingReplicas": [],
        "addingReplicas": [], "leader": leader, "leaderEpoch": 0, "partitionEpoch": 0,
        "directories": [_ID] * len(replicas),
    }  # fmt: skip
    return [_value("TopicRecord", {"name": topic, "topicId": _ID}), _value("PartitionRecord", partition)]


def _write(root: Path, records: list[bytes]) -> None:
    folder = root / "__cluster_metadata-0"
    folder.mkdir()
    batches = [build.batch(build.record(value), base_offset=at) for at, value in enumerate(records)]
    (folder / f"{0:020}.log").write_bytes(b"".join(batches))


def _value(name: str, fields: dict[str, Any]) -> bytes:
    (kind,) = (kind for kind in record_types(Internal.CLUSTER_METADATA).values() if kind.name == name)
    version = kind.value.newest
    return b"\1" + encode_uvarint(kind.number) + encode_uvarint(version) + encode(kind.value, version, fields)
