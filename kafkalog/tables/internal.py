"""The tables of the internal topics: what coordinators and controllers wrote, with every word in their columns."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit import COORDINATOR
from kafkalog.tables.column import Column, Table

__all__ = [
    "COMMITTED",
    "DECIDED_BY",
    "GROUPS",
    "INTERNAL",
    "OFFSETS",
    "SHARE_OFFSETS",
    "STEPS",
    "TRANSITIONS",
    "TRANSITION_STATES",
]

STEPS: Final = (
    "created",  # InitProducerId for an id that was not known
    "initialized",  # InitProducerId for one that was: whoever used it before is fenced
    "begun",
    "partitions-added",
    "commit-decided",
    "abort-decided",
    "committed",  # all markers are written
    "aborted",  # ditto
    "forgotten",  # a tombstone: the id expired
    "never-written",  # a state that no broker writes
)
DECIDED_BY: Final = (
    "producer",
    "timeout",  # the coordinator, as the transaction's timeout had passed
    "takeover",  # the coordinator, for a new producer with the same transactional id, or an administrator who fences
    "producer-or-takeover",  # transaction.version 2 raises the epoch in both cases; nothing tells them apart
)
TRANSITION_STATES: Final = next(column.words for column in COORDINATOR.columns if column.name == "state")

_LOG: Final = Column("log", "string", "the partition's directory, as a user would type it")

INTERNAL: Final = Table(
    "internal",
    "a record of an internal topic, decoded",
    (
        _LOG,
        Column("topic", "string", "the internal topic"),
        Column("partition", "int32", "its partition"),
        Column("offset", "int64", "of the record"),
        Column("timestamp_ms", "int64", "of the record", "ms"),
        Column("type", "int32", "the number of its type; null where the bytes tell none"),
        Column("kind", "string", "the type in Kafka's words; null for a type that is not known"),
        Column("version", "int32", "of the value; null in a tombstone"),
        Column("key", "json", "its fields in Kafka's words; null where there is none or it can't be read"),
        Column("value", "json", "ditto; bytes are in base64"),
        Column("tombstone", "bool", "whether it takes back what the key named"),
        Column("unknown", "bool", "whether its type or version is newer than what is known here"),
        Column("transactional", "bool", "written in a producer's transaction"),
        Column("producer_id", "int64", "-1: none"),
    ),
)
OFFSETS: Final = Table(
    "offsets",
    "an offset commit of a group, or a tombstone that takes one back",
    (
        _LOG,
        Column("record_offset", "int64", "where the record stands in __consumer_offsets"),
        Column("timestamp_ms", "int64", "of the record", "ms"),
        Column("group", "string", "whose commit"),
        Column("topic", "string", "of which topic"),
        Column("partition", "int32", "of which partition"),
        Column("offset", "int64", "the next one to read; null in a tombstone"),
        Column("leader_epoch", "int32", "of the last record read; null where it was not told"),
        Column("metadata", "string", "what the client wrote along; null in a tombstone"),
        Column("commit_timestamp_ms", "int64", "when the client committed; null in a tombstone", "ms"),
        Column("expire_timestamp_ms", "int64", "where one was asked for, by old clients; else null", "ms"),
        Column("topic_id", "string", "null where it was not told"),
        Column("transactional", "bool", "part of a producer's transaction"),
        Column("producer_id", "int64", "whose transaction; null without one"),
        Column(
            "state",
            "string",
            "whether it counts; null where damage hides its transaction",
            words=("pending", "committed", "aborted"),
        ),
        Column("marker_offset", "int64", "of the marker that decided; null without one"),
        Column("tombstone", "bool", "whether it takes back the commit before"),
    ),
)
COMMITTED: Final = Table(
    "committed",
    "what a group has committed for a partition: where it would start again",
    (
        Column("group", "string", "the group"),
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "its partition"),
        Column("offset", "int64", "the next one to read; null: none, auto.offset.reset decides"),
        Column("leader_epoch", "int32", "of the last record read; null where it was not told"),
        Column("metadata", "string", "what the client wrote along"),
        Column("commit_timestamp_ms", "int64", "when the client committed", "ms"),
        Column("transactional", "bool", "whether it was part of a transaction"),
        Column("record_offset", "int64", "where the record in force stands in __consumer_offsets"),
        Column(
            "state",
            "string",
            "why there is an offset, or none",
            words=(
                "committed",
                "deleted",  # a tombstone: expired, or deleted with its group or topic
                "pending",  # nothing yet, but in an open transaction
                "aborted",  # nothing but in aborted transactions
            ),
        ),
        Column("pending_offset", "int64", "the newest in an open transaction: unstable until it ends; else null"),
        Column("pending_producer_id", "int64", "whose transaction that is; else null"),
        Column("aborted", "int64", "how many commits were thrown away with their transactions"),
        _LOG,
    ),
)
GROUPS: Final = Table(
    "groups",
    "a group, as its newest records show it",
    (
        Column("group", "string", "its name"),
        Column(
            "kind",
            "string",
            "its protocol; simple: it only commits offsets",
            words=("classic", "consumer", "share", "streams", "simple"),
        ),
        Column(
            "state",
            "string",
            "what a coordinator makes of it when it loads the records",
            words=("empty", "assigning", "reconciling", "stable", "deleted"),
        ),
        Column("epoch", "int32", "of the group; of a classic one its generation; null where none is told"),
        Column("assignment_epoch", "int32", "for which the members' assignment was made; null in a classic group"),
        Column("protocol_type", "string", "of a classic group, else null"),
        Column("protocol", "string", "the assignor that a classic group has chosen, else null"),
        Column("leader", "string", "the member that a classic group has chosen, else null"),
        Column("members", "json", "each with what the records tell of it, by its id"),
        Column("topics", "json", "to which its members subscribe, sorted"),
        Column("committed", "int64", "partitions with a committed offset"),
        Column("pending", "int64", "partitions with a commit in an open transaction"),
        Column("timestamp_ms", "int64", "of its newest record", "ms"),
        Column("offset", "int64", "of its newest record"),
        _LOG,
    ),
)
SHARE_OFFSETS: Final = Table(
    "share_offsets",
    "how far a share group has come in a partition",
    (
        Column("group", "string", "the group"),
        Column("topic_id", "string", "the topic's id"),
        Column("topic", "string", "its name, where the group's records tell it; else null"),
        Column("partition", "int32", "its partition"),
        Column("start_offset", "int64", "the first one that is not done; -1: not known yet"),
        Column("state_epoch", "int32", "of the share partition; null where no snapshot is left"),
        Column("leader_epoch", "int32", "of the partition's leader that wrote it"),
        Column("in_flight", "json", "batches behind the start, as Kafka writes them, newest record alone"),
        Column("timestamp_ms", "int64", "of its newest record", "ms"),
        Column("offset", "int64", "of its newest record"),
        Column("deleted", "bool", "whether it was taken back"),
        _LOG,
    ),
)
TRANSITIONS: Final = Table(
    "transitions",
    "a step in the life of a transactional id",
    (
        Column("transactional_id", "string", "whose step"),
        Column("timestamp_ms", "int64", "when it was made", "ms"),
        Column("state", "string", "after this step", words=TRANSITION_STATES),
        Column("step", "string", "what happened", words=STEPS),
        Column("duration_ms", "int64", "until the next step, or the moment asked for; null where neither is", "ms"),
        Column("producer_id", "int64", "in use after this step; null in a tombstone"),
        Column("producer_epoch", "int16", "after this step; null in a tombstone"),
        Column("previous_producer_id", "int64", "where this step replaced the producer id, the old one; else null"),
        Column("next_producer_id", "int64", "allocated for after this transaction; null where none is"),
        Column("decided_by", "string", "of a decision: whose it was; null where nothing tells", words=DECIDED_BY),
        Column("fenced_epoch", "int16", "producers up to this epoch are refused from here on; null: none are"),
        Column("transaction_version", "int16", "of the client's protocol in this transaction; null in a tombstone"),
        Column("partitions", "json", "of the transaction, as topic-partition; null in empty"),
        Column("start_timestamp_ms", "int64", "of the transaction; -1: none yet", "ms"),
        Column("timeout_ms", "int64", "the client's; 2147483647: never", "ms"),
        Column("log", "string", "the state partition's directory, as a user would type it"),
        Column("partition", "int32", "of the state topic"),
        Column("offset", "int64", "of the record"),
    ),
)
