"""The tables of the metadata log: brokers, topics, partitions and settings over time."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.declared import Column, Table

__all__ = ["BROKERS", "CHANGES", "CONFIGS", "FEATURES", "LEADERSHIP", "METADATA", "RESOURCES", "TOPICS"]

CHANGES: Final = (
    "created",
    "snapshot",  # earlier records are in no file
    "elected",  # a leader, perhaps the same one: the leader epoch rises
    "unclean-election",  # a replica that was not in sync leads: records may be lost
    "leader-lost",
    "isr-shrunk",
    "isr-grown",
    "reassigned",  # other replicas, or replicas being added or removed
    "recovered",  # after an unclean election
    "other",
)
RESOURCES: Final = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}

_LOG: Final = Column("log", "string", "the metadata log's directory, as a user would type it")
_SINCE: Final = Column("since_ms", "int64", "when it began to hold", "ms")
_UNTIL: Final = Column("until_ms", "int64", "when it stopped holding; null if it still holds", "ms")
_OFFSET: Final = Column(
    "offset", "int64", "the offset of the record that set it; for a snapshot, of the last record in it"
)
_SPAN: Final = (_SINCE, _UNTIL, _OFFSET, _LOG)
_TOPIC: Final = (
    Column("topic", "string", "the topic; null if no file has its record"),
    Column("topic_id", "string", "the topic's id"),
)

METADATA: Final = Table(
    "metadata",
    "a record of the metadata log, or of a snapshot of it",
    (
        _LOG,
        Column("file", "string", "the segment or the snapshot"),
        Column("offset", "int64", "the offset of the record; in a snapshot, the snapshot's own numbering"),
        Column("timestamp_ms", "int64", "the timestamp of the record", "ms"),
        Column("controller_epoch", "int32", "the epoch of the controller that wrote it"),
        Column("type", "int32", "the number of the record's type"),
        Column("kind", "string", "the type in Kafka's words; null for an unknown type"),
        Column("version", "int32", "the version of the type; null for an unknown type"),
        Column("topic", "string", "the topic's name, if the record has it; otherwise null"),
        Column("topic_id", "string", "the topic's id, if the record has it; otherwise null"),
        Column("partition", "int32", "the partition's number, if the record is about one; otherwise null"),
        Column("broker_id", "int32", "the broker's id, if the record is about one; otherwise null"),
        Column("leader", "int32", "the new leader, -1 for none; null if the record does not change it"),
        Column("isr", "json", "the new in-sync replicas; null if the record does not change them"),
        Column("name", "string", "the name of a setting or a feature; otherwise null"),
        Column("value", "string", "the value of a setting or the level of a feature; otherwise null"),
        Column("fields", "json", "all fields in Kafka's words, bytes in base64"),
        Column("unknown", "bool", "whether its type or version is newer than kafkalog knows"),
    ),
)
BROKERS: Final = Table(
    "brokers",
    "a broker or a controller from one of its records on",
    (
        Column("broker_id", "int32", "the node's id"),
        Column("role", "string", "what it registered as", words=("broker", "controller")),
        Column(
            "state",
            "string",
            "its state as the controller sees it",
            words=("registered", "fenced", "active", "stopping", "unregistered"),
        ),
        Column("epoch", "int64", "the epoch of its registration; -1: none"),
        Column("rack", "string", "its rack; null if it has none"),
        Column("endpoints", "json", "its listeners, as name://host:port"),
        Column("log_directories", "json", "the ids of its log directories"),
        *_SPAN,
    ),
)
TOPICS: Final = Table(
    "topics",
    "a topic from its creation to its deletion",
    (
        Column("topic", "string", "the topic"),
        Column("topic_id", "string", "the topic's id; a deleted topic of the same name has another"),
        Column("partitions", "int64", "the number of partitions, now, at --at or before the topic was deleted"),
        Column(
            "replicas", "int64", "the number of replicas of partition 0, now, at --at or before the topic was deleted"
        ),
        Column("configs", "json", "the topic's own settings, now, at --at or before the topic was deleted"),
        *_SPAN,
    ),
)
LEADERSHIP: Final = Table(
    "leadership",
    "a partition from one of its records on: its leader and its in-sync replicas",
    (
        *_TOPIC,
        Column("partition", "int32", "the partition's number"),
        Column("leader", "int32", "the broker that leads; null for none"),
        Column("leader_epoch", "int32", "the leader epoch that its batches have"),
        Column("partition_epoch", "int32", "the partition epoch, which rises with every change"),
        Column("isr", "json", "the in-sync replicas"),
        Column("replicas", "json", "all replicas, the preferred leader first"),
        Column("adding", "json", "replicas that are being added"),
        Column("removing", "json", "replicas that are being removed"),
        Column("eligible", "json", "replicas that are out of sync and still safe to elect (ELR)"),
        Column("recovering", "bool", "whether the partition has not yet recovered from an unclean election"),
        Column("change", "string", "what the record did", words=CHANGES),
        *_SPAN,
    ),
)
CONFIGS: Final = Table(
    "configs",
    "a setting that was made in the cluster; settings in brokers' own files are not in the metadata",
    (
        Column(
            "resource_type",
            "string",
            "what the setting is for; for an unknown type, its number",
            words=tuple(RESOURCES.values()),
            open=True,
        ),
        Column("resource", "string", "the resource's name; empty: the default for all"),
        Column("name", "string", "the setting's name"),
        Column("value", "string", "the value as it was written"),
        *_SPAN,
    ),
    answers=("resource_type", "resource", "name", "value"),
)
FEATURES: Final = Table(
    "features",
    "a feature's level",
    (
        Column("name", "string", "the feature's name"),
        Column("level", "int32", "the level that the cluster runs at"),
        *_SPAN,
    ),
)
