"""The tables of the metadata log: brokers, topics, partitions and settings over time."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = ["BROKERS", "CHANGES", "CONFIGS", "FEATURES", "LEADERSHIP", "METADATA", "RESOURCES", "TOPICS"]

CHANGES: Final = (
    "created",
    "snapshot",  # what was before is in no file
    "elected",  # a leader, maybe the same again: the leader epoch rises
    "unclean-election",  # of a replica that was not in sync: records may be lost
    "leader-lost",
    "isr-shrunk",
    "isr-grown",
    "reassigned",  # other replicas, or some on their way
    "recovered",  # behind an unclean election
    "other",
)
RESOURCES: Final = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}

_LOG: Final = Column("log", "string", "the metadata log's directory, as a user would type it")
_SINCE: Final = Column("since_ms", "int64", "from when on", "ms")
_UNTIL: Final = Column("until_ms", "int64", "up to when; null while it holds", "ms")
_OFFSET: Final = Column("offset", "int64", "of the record that brought it; of a snapshot the last one in it")
_SPAN: Final = (_SINCE, _UNTIL, _OFFSET, _LOG)
_TOPIC: Final = (
    Column("topic", "string", "the topic; null where its record is in no file"),
    Column("topic_id", "string", "the topic's id"),
)

METADATA: Final = Table(
    "metadata",
    "a record of the metadata log, or of a snapshot of it",
    (
        _LOG,
        Column("file", "string", "the segment or the snapshot"),
        Column("offset", "int64", "of the record; in a snapshot its own numbering"),
        Column("timestamp_ms", "int64", "of the record", "ms"),
        Column("controller_epoch", "int32", "in which the controller wrote it"),
        Column("type", "int32", "the number of its type"),
        Column("kind", "string", "the type in Kafka's words; null for one that is not known"),
        Column("version", "int32", "of the type; null for one that is not known"),
        Column("topic", "string", "its name, where the record has one; else null"),
        Column("topic_id", "string", "where the record has one; else null"),
        Column("partition", "int32", "where it is about one; else null"),
        Column("broker_id", "int32", "where it is about one; else null"),
        Column("leader", "int32", "the new one, -1 for none; null where it is left or not about one"),
        Column("isr", "json", "the new one; null where it is left or not about one"),
        Column("name", "string", "of a setting or a feature; else null"),
        Column("value", "string", "of a setting, or the level of a feature; else null"),
        Column("fields", "json", "all of them, in Kafka's words; bytes are in base64"),
        Column("unknown", "bool", "whether its type or version is newer than what is known here"),
    ),
)
BROKERS: Final = Table(
    "brokers",
    "a broker or a controller from one of its records on",
    (
        Column("broker_id", "int32", "its number"),
        Column("role", "string", "what it registered as", words=("broker", "controller")),
        Column(
            "state",
            "string",
            "in the controller's eyes",
            words=("registered", "fenced", "active", "stopping", "unregistered"),
        ),
        Column("epoch", "int64", "of its registration; -1: none"),
        Column("rack", "string", "null where it has none"),
        Column("endpoints", "json", "as name://host:port"),
        Column("log_directories", "json", "ids of its log directories"),
        *_SPAN,
    ),
)
TOPICS: Final = Table(
    "topics",
    "a topic from its creation to its deletion",
    (
        Column("topic", "string", "the topic"),
        Column("topic_id", "string", "the topic's id; one of the same name that was deleted has another"),
        Column("partitions", "int64", "at the moment, or before it was deleted"),
        Column("replicas", "int64", "of partition 0, ditto"),
        Column("configs", "json", "its own settings, ditto"),
        *_SPAN,
    ),
)
LEADERSHIP: Final = Table(
    "leadership",
    "a partition from one of its records on: who leads, who is in sync",
    (
        *_TOPIC,
        Column("partition", "int32", "its number"),
        Column("leader", "int32", "the broker that leads; null for none"),
        Column("leader_epoch", "int32", "that its batches carry"),
        Column("partition_epoch", "int32", "rises with every change"),
        Column("isr", "json", "the replicas in sync"),
        Column("replicas", "json", "all of them, the preferred leader first"),
        Column("adding", "json", "replicas on their way in"),
        Column("removing", "json", "replicas on their way out"),
        Column("eligible", "json", "out of sync and still safe to elect (ELR)"),
        Column("recovering", "bool", "whether an unclean election is not yet recovered from"),
        Column("change", "string", "what the record did", words=CHANGES),
        *_SPAN,
    ),
)
CONFIGS: Final = Table(
    "configs",
    "a setting that was made in the cluster; those of brokers' files are not in the metadata",
    (
        Column(
            "resource_type", "string", "whose; the number of a type that is not known", words=tuple(RESOURCES.values())
        ),
        Column("resource", "string", "its name; empty: the default of all"),
        Column("name", "string", "of the setting"),
        Column("value", "string", "as it was written"),
        *_SPAN,
    ),
)
FEATURES: Final = Table(
    "features",
    "a feature's level",
    (
        Column("name", "string", "of the feature"),
        Column("level", "int32", "that the cluster runs at"),
        *_SPAN,
    ),
)
