"""The tables of the internal topics: what coordinators and controllers wrote, with all words of the columns."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit_tables import COORDINATOR
from kafkalog.tables.declared import Column, Table

__all__ = [
    "COMMITTED",
    "COMMIT_EVENTS",
    "COMMIT_LINES",
    "DECIDED_BY",
    "GROUPS",
    "INTERNAL",
    "OFFSETS",
    "OUT_OF_RANGE",
    "SHARE_OFFSETS",
    "STEPS",
    "TRANSITIONS",
    "TRANSITION_STATES",
]

STEPS: Final = (
    "created",  # InitProducerId for an unknown id
    "initialized",  # InitProducerId for a known id: its previous users are fenced
    "begun",
    "partitions-added",
    "commit-decided",
    "abort-decided",
    "committed",  # all markers are written
    "aborted",  # all markers are written
    "forgotten",  # a tombstone: the id expired
    "never-written",  # a state that no broker writes
)
DECIDED_BY: Final = (
    "producer",
    "timeout",  # the coordinator: the transaction's timeout had passed
    "takeover",  # the coordinator: a new producer has the same transactional id, or an administrator fenced it
    "producer-or-takeover",  # transaction.version 2 raises the epoch in both cases: the records are the same
)
OUT_OF_RANGE: Final = (
    "before-start",  # retention or DeleteRecords took the records: auto.offset.reset decides
    "beyond-end",  # the log ends before it: auto.offset.reset decides
    "other-history",  # records up to it were truncated, and the log has others there since
)
TRANSITION_STATES: Final = next(column.words for column in COORDINATOR.columns if column.name == "state")

_LOG: Final = Column("log", "string", "the partition's directory, as a user would type it")

INTERNAL: Final = Table(
    "internal",
    "a record of an internal topic, decoded",
    (
        _LOG,
        Column("topic", "string", "the internal topic"),
        Column("partition", "int32", "the partition's number"),
        Column("offset", "int64", "the offset of the record"),
        Column("timestamp_ms", "int64", "the timestamp of the record", "ms"),
        Column("type", "int32", "the number of the record's type; null if the bytes contain none"),
        Column("kind", "string", "the type in Kafka's words; null for an unknown type"),
        Column("version", "int32", "the version of the value; null in a tombstone"),
        Column("key", "json", "the key's fields in Kafka's words; null if there is no key or it can't be read"),
        Column(
            "value",
            "json",
            "the value's fields in Kafka's words, bytes in base64; null if there is no value or it can't be read",
        ),
        Column("tombstone", "bool", "whether it deletes what the key names"),
        Column("unknown", "bool", "whether its type or version is newer than kafkalog knows"),
        Column("transactional", "bool", "whether it was written in a producer's transaction"),
        Column("producer_id", "int64", "-1: none"),
    ),
)
OFFSETS: Final = Table(
    "offsets",
    "an offset commit of a group, or a tombstone that deletes one",
    (
        _LOG,
        Column("record_offset", "int64", "the offset of the record in __consumer_offsets"),
        Column("timestamp_ms", "int64", "the timestamp of the record", "ms"),
        Column("group", "string", "the group that committed"),
        Column("topic", "string", "the topic that the commit is for"),
        Column("partition", "int32", "the partition that the commit is for"),
        Column("offset", "int64", "the next offset to read; null in a tombstone"),
        Column("leader_epoch", "int32", "the leader epoch of the last record read; null if the record has none"),
        Column("metadata", "string", "what the client stored with the commit; null in a tombstone"),
        Column("commit_timestamp_ms", "int64", "when the client committed; null in a tombstone", "ms"),
        Column(
            "expire_timestamp_ms",
            "int64",
            "when the commit expires, if an old client asked for that; otherwise null",
            "ms",
        ),
        Column("topic_id", "string", "the topic's id; null if the record has none"),
        Column("transactional", "bool", "whether it was part of a producer's transaction"),
        Column("producer_id", "int64", "the producer of the transaction; null without one"),
        Column(
            "state",
            "string",
            "whether the commit counts; null if damage hides its transaction",
            words=("pending", "committed", "aborted"),
        ),
        Column("marker_offset", "int64", "the offset of the marker that decided; null without one"),
        Column("tombstone", "bool", "whether it deletes the commit before it"),
    ),
)
COMMITTED: Final = Table(
    "committed",
    "what a group has committed for a partition: where it would start again",
    (
        Column("group", "string", "the group"),
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column("offset", "int64", "the next offset to read; null: nothing is committed, auto.offset.reset decides"),
        Column("lag", "int64", "how many offsets are between it and the log's end; null: see `partition_log`"),
        Column(
            "visible_lag",
            "int64",
            "how many records a read_committed consumer is given from there: data below the last stable offset that is"
            " not aborted; null: see `partition_log`",
        ),
        Column(
            "stuck_by",
            "json",
            "the open transaction that such a consumer waits for, if it is given nothing before: transactional_id,"
            " producer_id, producer_epoch, first_offset; otherwise null",
        ),
        Column(
            "out_of_range",
            "string",
            "why a consumer can't go on there; null if it can, or see `partition_log`",
            words=OUT_OF_RANGE,
        ),
        Column(
            "out_of_range_since_ms",
            "int64",
            "when the leader was elected whose log does not have it; null if no file shows it",
            "ms",
        ),
        Column(
            "history_end_offset",
            "int64",
            "where the log ends for its leader epoch, if what it had read was truncated: it should go on there;"
            " otherwise null",
        ),
        Column("log_start_offset", "int64", "where the log starts; null: see `partition_log`"),
        Column("log_end_offset", "int64", "the offset of the log's next record; null: see `partition_log`"),
        Column("last_stable_offset", "int64", "where read_committed consumers stop; null: see `partition_log`"),
        Column("leader_epoch", "int32", "the leader epoch of the last record read; null if the record has none"),
        Column("metadata", "string", "what the client stored with the commit"),
        Column("commit_timestamp_ms", "int64", "when the client committed", "ms"),
        Column("transactional", "bool", "whether it was part of a transaction"),
        Column("record_offset", "int64", "the offset in __consumer_offsets of the record that counts"),
        Column(
            "state",
            "string",
            "why there is an offset, or none",
            words=(
                "committed",
                "deleted",  # a tombstone: expired, or deleted with its group or topic
                "pending",  # nothing but a commit in an open transaction
                "aborted",  # nothing but commits in aborted transactions
            ),
        ),
        Column(
            "pending_offset",
            "int64",
            "the newest offset in an open transaction: unstable until it ends; otherwise null",
        ),
        Column("pending_producer_id", "int64", "the producer of that transaction; otherwise null"),
        Column("aborted", "int64", "how many commits were discarded with their transactions"),
        Column(
            "went_back_by",
            "int64",
            "by how many offsets the last commit went back that was below the one before: these are read twice; null:"
            " none was",
        ),
        Column("went_back_ms", "int64", "when that was, by the coordinator's record", "ms"),
        Column("deleted_offset", "int64", "what was committed before the last deletion; null: none of these is here"),
        Column("deleted_ms", "int64", "when that was deleted, by the tombstone", "ms"),
        Column(
            "partition_log",
            "string",
            "the directory of the partition's log that this is compared with; null: it is not among the inputs, or the"
            " state is that of another moment",
        ),
        _LOG,
    ),
    answers=("group", "topic", "partition", "offset", "lag", "visible_lag", "stuck_by", "out_of_range", "state",
             "pending_offset"),
)  # fmt: skip
_COMMITTED_FOR: Final = (
    Column("group", "string", "the group"),
    Column("topic", "string", "the topic"),
    Column("partition", "int32", "the partition's number"),
)
COMMIT_LINES: Final = Table(
    "commit_lines",
    "a group's commits for a partition, as far as compaction left them",
    (
        *_COMMITTED_FOR,
        Column("commits", "int64", "how many commits count, those of aborted and open transactions left out"),
        Column("first_ms", "int64", "when the first one was written that is left", "ms"),
        Column("first_offset", "int64", "its offset; null if only a deletion is left"),
        Column("last_ms", "int64", "when the last one, or the last deletion, was written", "ms"),
        Column("last_offset", "int64", "its offset; null if it is deleted"),
        Column("lowest_offset", "int64", "the lowest offset of all; null if only a deletion is left"),
        Column("highest_offset", "int64", "the highest offset of all; null if only a deletion is left"),
        Column(
            "line", "string", "the newest offset over time, 40 marks for the time that all commits of the log take:"
            " from lowest to highest, x for a deletion, a dot for no commit",
        ),
        Column("events", "int64", "how many rows of `commit_events` are about it"),
        _LOG,
    ),
    answers=("group", "topic", "partition", "line", "commits", "first_offset", "last_offset", "events"),
)  # fmt: skip
COMMIT_EVENTS: Final = Table(
    "commit_events",
    "where a group's commits for a partition did not go on as before",
    (
        *_COMMITTED_FOR,
        Column(
            "event", "string", "what happened",
            words=(
                "went-back",  # a lower offset than the one before: the records between are read twice
                "silent",  # at least a minute without a commit, and ten times as long as usual
                "deleted",  # a tombstone, sooner than offsets expire by default
                "expired",  # a tombstone at least seven days after the commit
                "truncated",  # the log lost what was read: it should go on at `offset`
            ),
        ),
        Column("time_ms", "int64", "when it happened, by a broker's clock; null if no file shows it", "ms"),
        Column("offset_before", "int64", "what was committed before"),
        Column("before_ms", "int64", "when that was committed", "ms"),
        Column("offset", "int64", "what was committed then, or where a truncated log goes on; null of a deletion"),
        Column("record_offset", "int64", "the offset in __consumer_offsets of the record that shows it"),
        _LOG,
    ),
    answers=("group", "topic", "partition", "event", "time_ms", "offset_before", "offset", "before_ms"),
)  # fmt: skip
GROUPS: Final = Table(
    "groups",
    "a group, as its newest records show it",
    (
        Column("group", "string", "the group's name"),
        Column(
            "kind",
            "string",
            "the group's protocol; simple: it only commits offsets",
            words=("classic", "consumer", "share", "streams", "simple"),
        ),
        Column(
            "state",
            "string",
            "the state that a coordinator gives it when it loads the records",
            words=(
                "empty",
                "not-ready",  # a streams group whose topics are missing, or have other partitions than it needs
                "assigning",
                "reconciling",
                "stable",
                "deleted",
            ),
        ),
        Column(
            "epoch", "int32", "the group's epoch; for a classic group its generation; null if the records have none"
        ),
        Column(
            "assignment_epoch", "int32", "the epoch that the members' assignment was made for; null in a classic group"
        ),
        Column("protocol_type", "string", "of a classic group, otherwise null"),
        Column("protocol", "string", "the assignor that a classic group has chosen, otherwise null"),
        Column("leader", "string", "the member that leads a classic group, otherwise null"),
        Column("members", "json", "the members by their ids, each with what the records say about it"),
        Column("topics", "json", "the topics that its members subscribe to, sorted"),
        Column("committed", "int64", "the number of partitions with a committed offset"),
        Column("pending", "int64", "the number of partitions with a commit in an open transaction"),
        Column("timestamp_ms", "int64", "the timestamp of its newest record", "ms"),
        Column("offset", "int64", "the offset of its newest record"),
        _LOG,
    ),
)
SHARE_OFFSETS: Final = Table(
    "share_offsets",
    "how far a share group has come in a partition",
    (
        Column("group", "string", "the group"),
        Column("topic_id", "string", "the topic's id"),
        Column("topic", "string", "the topic's name, if the group's records have it; otherwise null"),
        Column("partition", "int32", "the partition's number"),
        Column("start_offset", "int64", "the first offset that is not done; -1: not known yet"),
        Column("state_epoch", "int32", "the state epoch of the share partition; null if no snapshot is left"),
        Column("leader_epoch", "int32", "the epoch of the partition leader that wrote it"),
        Column(
            "in_flight",
            "json",
            "the batches from the start offset on, by Kafka's names, of the newest snapshot and the updates after it;"
            " deliveryState is available, acknowledged, or archived, which is given up",
        ),
        Column("acknowledged", "int64", "how many records of these batches consumers have acknowledged"),
        Column("given_up", "int64", "how many of them are given up: rejected, or delivered too often"),
        Column(
            "lag",
            "int64",
            "how many offsets up to the log's end are neither; null where the log is not among the"
            " inputs, at another moment, where it was deleted, and for a group whose start is not known yet",
        ),
        Column("timestamp_ms", "int64", "the timestamp of its newest record", "ms"),
        Column("offset", "int64", "the offset of its newest record"),
        Column("deleted", "bool", "whether it was deleted"),
        _LOG,
    ),
    answers=("group", "topic", "partition", "start_offset", "lag"),
)
TRANSITIONS: Final = Table(
    "transitions",
    "a step in the life of a transactional id",
    (
        Column("transactional_id", "string", "the transactional id"),
        Column("timestamp_ms", "int64", "when the step was made", "ms"),
        Column("state", "string", "the state after this step", words=TRANSITION_STATES),
        Column("step", "string", "what happened", words=STEPS),
        Column(
            "duration_ms",
            "int64",
            "the time until the next step, or until --at; null if there is neither, or a time outside of 2010 to 2040",
            "ms",
        ),
        Column("producer_id", "int64", "the producer id after this step; null in a tombstone"),
        Column("producer_epoch", "int16", "the producer epoch after this step; null in a tombstone"),
        Column("previous_producer_id", "int64", "the old producer id, if this step replaced it; otherwise null"),
        Column(
            "next_producer_id",
            "int64",
            "the producer id allocated for use after this transaction; null if there is none",
        ),
        Column("decided_by", "string", "who made the decision; null if nothing shows it", words=DECIDED_BY),
        Column("fenced_epoch", "int16", "producers up to this epoch are refused from here on; null: none are"),
        Column(
            "transaction_version", "int16", "the client's protocol version in this transaction; null in a tombstone"
        ),
        Column("partitions", "json", "the transaction's partitions, as topic-partition; null in empty"),
        Column("start_timestamp_ms", "int64", "when the transaction began; -1: not yet", "ms"),
        Column("timeout_ms", "int64", "the client's transaction timeout; 2147483647: never", "ms"),
        Column("log", "string", "the state partition's directory, as a user would type it"),
        Column("partition", "int32", "the partition of __transaction_state"),
        Column("offset", "int64", "the offset of the record"),
    ),
    answers=("transactional_id", "timestamp_ms", "step"),
)
