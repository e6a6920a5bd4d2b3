"""A metadata log of one node, written record by record: topics with their partitions and settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import build
from kafkalog.format.internal import record_types
from kafkalog.format.internal_topics import Internal
from kafkalog.format.message_writer import encode, encode_uvarint

__all__ = ["write_leader", "write_policy", "write_topics"]

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


def write_leader(root: Path, topic: str, replicas: list[int], leader: int) -> None:
    """Write a metadata log in which a topic's only partition has these replicas and this leader."""
    _write(root, _topic(topic, replicas, leader))


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
