"""The tables of ``kafkalog space``: where the bytes are, and what holds them."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.declared import Column, Table
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.words import SPACE_CAUSES

__all__ = [
    "BLOCKERS",
    "CLOCKS",
    "NEXT_START",
    "PRODUCER_GROUPS",
    "SPACE",
    "SPACE_SEGMENTS",
    "SPACE_TABLES",
    "TOPIC_CLOCKS",
    "TRANSACTION_COSTS",
]

SPACE_CERTAINTIES: Final = ("proved", "possible")

SPACE: Final = Table(
    "space",
    "a partition's directory: its bytes, and what holds those that can be freed",
    (
        Column("log", "string", "the partition's directory, as a user would type it"),
        Column("folder", "string", "the name of the directory"),
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column("node_id", "string", "from meta.properties; null if that file is missing"),
        Column(
            "cause",
            "string",
            "what holds bytes that could be freed; none: nothing can be freed",
            words=tuple(SPACE_CAUSES),
        ),
        Column("certainty", "string", "how certain the cause is", words=SPACE_CERTAINTIES),
        Column("since_ms", "int64", "since when, as far as the files show it; otherwise null", "ms"),
        Column("since_offset", "int64", "the first offset that is held, or the one that holds; null if none is"),
        Column("log_bytes", "int64", "the size of its segments", "bytes"),
        Column("all_bytes", "int64", "the size of all its files", "bytes"),
        Column(
            "reclaimable_bytes",
            "int64",
            "what would be freed without the cause; null: not computed, see --keys",
            "bytes",
        ),
        Column("evidence", "string", "what shows the cause"),
        Column("next_step", "string", "what ends it; null if nothing is to be done"),
        Column(
            "incident",
            "string",
            "the id of its incident, for an open transaction that of txn-audit; null: no incident",
        ),
        Column("settings_from", "string", "where the topic's settings are from"),
        Column("now_ms", "int64", "the time that all is measured at", "ms"),
    ),
)
COPY_WAITS: Final = ("nothing", "open-transaction", "copy-disabled", "copy-lag", "failing", "copy-task")
_WHERE: Final = (
    Column("log", "string", "the partition's directory, as a user would type it"),
    Column("topic", "string", "the topic"),
    Column("partition", "int32", "the partition's number"),
)
SPACE_SEGMENTS: Final = Table(
    "space_segments",
    "a segment: its bytes, its times, and what the cleaner and retention go by",
    (
        *_WHERE,
        Column("file", "string", "the segment"),
        Column("base_offset", "int64", "the offset in its name"),
        Column("state", "string", "where it is for the cleaner", words=("clean", "dirty", "active", "not-compacted")),
        Column("log_bytes", "int64", "its size", "bytes"),
        Column("side_bytes", "int64", "the size of its indexes and of the snapshot at its start", "bytes"),
        Column("batches", "int64", "the number of whole batches"),
        Column("control_batches", "int64", "those with control records, such as transaction markers"),
        Column("control_bytes", "int64", "the size of these", "bytes"),
        Column("first_timestamp_ms", "int64", "the largest timestamp of its first batch; null without batches", "ms"),
        Column(
            "largest_timestamp_ms", "int64", "its largest timestamp, which retention.ms counts from; null: none", "ms"
        ),
        Column("modified_ms", "int64", "the time of its file; null if that is not known", "ms"),
        Column("first_horizon_ms", "int64", "the earliest delete horizon in its batches; null without one", "ms"),
        Column("last_horizon_ms", "int64", "the latest delete horizon in its batches; null without one", "ms"),
        Column("unreadable_batches", "int64", "batches that the cleaner can't read, up to 100"),
    ),
)
BLOCKERS: Final = Table(
    "blockers",
    "something that holds bytes of a partition's directory; the first of them is the cause in the table space",
    (
        *_WHERE,
        Column("rank", "int32", "1 holds the most bytes of this directory"),
        Column("cause", "string", "what holds them", words=tuple(SPACE_CAUSES)),
        Column("certainty", "string", "how certain that is", words=SPACE_CERTAINTIES),
        Column("held_bytes", "int64", "what would be freed without it alone; null: not computed, see --keys", "bytes"),
        Column("since_ms", "int64", "since when, as far as the files show it; otherwise null", "ms"),
        Column("since_offset", "int64", "the first offset that is held, or the one that holds; null if none is"),
        Column("evidence", "string", "what shows it"),
        Column("next_step", "string", "what ends it; null if nothing is to be done"),
    ),
)
SPACE_TIERS: Final = Table(
    "space_tiers",
    "a partition's bytes in two tiers, with --remote",
    (
        *_WHERE,
        Column("log_start_offset", "int64", "the first offset of the log"),
        Column("local_log_start_offset", "int64", "the first offset on the broker's disk"),
        Column("highest_remote_offset", "int64", "the last offset of whole copies in the remote store; -1: none",
               least=-1),
        Column("log_end_offset", "int64", "the next offset to be written"),
        Column("local_bytes", "int64", "the size of the local segments", "bytes"),
        Column("remote_bytes", "int64", "objects of segments that are not local", "bytes"),
        Column("both_bytes", "int64", "objects of segments that are local, too", "bytes"),
        Column("to_copy_segments", "int64", "closed local segments that are not in the remote store"),
        Column("to_copy_bytes", "int64", "their size", "bytes"),
        Column("copy_waits_for", "string", "what their copy waits for", words=COPY_WAITS),
        Column("to_delete_segments", "int64", "local segments that are copied and over local retention"),
        Column("to_delete_bytes", "int64", "their size", "bytes"),
        Column("left_bytes", "int64", "objects that no consumer is given: left, given up, before the log's start",
               "bytes"),
        Column("lost_offsets", "int64", "offsets that are in neither tier"),
        Column("evidence", "string", "what shows what the copy waits for"),
    ),
)  # fmt: skip
NEXT_START: Final = Table(
    "next_start",
    "what a broker does with a directory when it starts the next time",
    (
        *_WHERE,
        Column("node_id", "string", "from meta.properties; null if that file is missing"),
        Column("is_clean", "bool", "whether the file of a clean stop is there: then no segment is recovered"),
        Column("recovered_segments", "int64", "segments that are read whole"),
        Column("recovered_bytes", "int64", "their size", "bytes"),
        Column("first_recovered_offset", "int64", "the first one's base offset; null without one"),
        Column("rebuilt_indexes", "int64", "index files that are made anew, because they are missing"),
        Column(
            "rebuilt_bytes",
            "int64",
            "the size of the segments that are read for these, before others are recovered",
            "bytes",
        ),
        Column("snapshot_bytes", "int64", "what is read again for the producers' states", "bytes"),
        Column(
            "truncated_bytes", "int64", "what is cut off: from a torn or damaged batch on, in all segments", "bytes"
        ),
        Column("truncated_records", "int64", "records in whole batches among them, without control records"),
        Column("log_end_offset", "int64", "where the log then ends"),
        Column("deleted_bytes", "int64", "what is deleted: files put aside, directories with -delete", "bytes"),
        Column("read_bytes", "int64", "all bytes that are read before the broker is up", "bytes"),
        Column("does", "string", "the same in words"),
    ),
)
TRANSACTION_COSTS: Final = Table(
    "transaction_costs",
    "what the transactions of a partition, a topic or a transactional id cost",
    (
        Column("scope", "string", "what the row is about", words=("partition", "topic", "transactional_id")),
        Column("topic", "string", "the topic; null for a transactional id"),
        Column("partition", "int32", "the partition's number; null for the others"),
        Column("transactional_id", "string", "the transactional id; null for the others"),
        Column("transactions", "int64", "ended transactions, in each partition counted anew"),
        Column("empty", "int64", "those without data in the log"),
        Column("per_hour", "int64", "those with data, by the time from the first to the last marker; null for one"),
        Column("records", "int64", "records in them"),
        Column("data_bytes", "int64", "the size of their batches", "bytes"),
        Column("marker_bytes", "int64", "the size of their markers", "bytes"),
        Column("marker_share_percent", "int64", "offsets of markers, of a hundred of all these offsets"),
        Column("state_records", "int64", "records of the state topic about a transactional id; else null"),
        Column("state_bytes", "int64", "the size of the batches with these; else null", "bytes"),
        Column("partitions_each", "int64", "the mean number of partitions that a transaction of the id has; else null"),
        Column(
            "duration_p50_ms", "int64", "from first record to marker: half of them took no longer; null: none", "ms"
        ),
        Column("duration_p99_ms", "int64", "99 of 100 took no longer", "ms"),
        Column("duration_max_ms", "int64", "the longest", "ms"),
        Column(
            "marker_p50_ms", "int64", "from decision to marker; null where no state partition has the decision", "ms"
        ),
        Column("marker_p99_ms", "int64", "99 of 100 took no longer", "ms"),
        Column("marker_max_ms", "int64", "the longest", "ms"),
        Column("all_bytes", "int64", "data, markers, indexes and state records", "bytes"),
        Column("amplification_percent", "int64", "all bytes for a hundred of the records' batches; null without data"),
    ),
)
PRODUCER_GROUPS: Final = Table(
    "producer_groups",
    "producers whose transactional ids begin alike",
    (
        Column("prefix", "string", "the transactional ids without their last number; null: no id is known"),
        Column("transactional_ids", "int64", "how many ids"),
        Column("producer_ids", "int64", "how many producer ids"),
        Column("new_per_hour", "int64", "producer ids that were first seen in the busiest hour"),
        Column("busiest_hour_ms", "int64", "when that hour began", "ms"),
        Column("records", "int64", "their records"),
        Column("partitions", "int64", "the partitions that they wrote to"),
        Column(
            "state_entries", "int64", "entries of producers that brokers hold in memory for them, in all partitions"
        ),
        Column("most_state_entries", "int64", "the most that a single partition holds"),
        Column("highest_epoch", "int64", "the highest epoch of one of them; after 32766 it gets another producer id"),
        Column("first_ms", "int64", "the earliest timestamp of their data", "ms"),
        Column("last_ms", "int64", "the latest", "ms"),
    ),
)
TOPIC_CLOCKS: Final = Table(
    "topic_clocks",
    "a topic's segments whose times are wrong in one way, or right: what producers wrote against brokers' clocks",
    (
        Column("topic", "string", "the topic; internal ones are left out, whose times brokers write"),
        Column(
            "clock", "string", "what the largest times of segments are",
            words=(
                "in-time",  # nothing shows that they are wrong
                "append-time",  # brokers wrote all of them (LogAppendTime)
                "ahead",  # more than a second after a marker or an append that was later, or after the file's time
                "behind",  # all more than a minute before the markers of transactions, or appends before: ten at least
                "seconds",
                "microseconds",
                "nanoseconds",
                "zero",
            ),
        ),
        Column(
            "compared_with", "string", "what shows it",
            words=(
                "unit",  # the number itself, which is a time from 2010 to 2040 in another unit
                "append-times",  # of batches in the same segment to which a broker gave its own time
                "markers",  # which a broker wrote after the records
                "file-times",  # when files were modified: a copy has the same times or later ones
            ),
        ),
        Column(
            "ahead_ms", "int64", "how far they are ahead at most, of that or of what was meant; below 0 behind; null"
            " for times that are right, or 0", "ms", least=None,
        ),
        Column("partitions", "int64", "the partitions that have such segments"),
        Column("segments", "int64", "how many segments"),
        Column("newest_ms", "int64", "the largest of their times, as brokers read it", "ms"),
        Column("retention", "string", "what retention.ms makes of them"),
        Column("time_index", "string", "what the time index, and consumers that seek by time, make of them"),
        Column("searches", "string", "what --since and --until make of them; --at goes by brokers' times"),
    ),
    answers=("topic", "clock", "ahead_ms", "retention", "time_index", "searches", "compared_with"),
)  # fmt: skip
CLOCKS: Final = Table(
    "clocks",
    "a clock compared with the brokers': of a producer in a partition, or of a partition's files",
    (
        *_WHERE,
        Column("kind", "string", "whose clock", words=("producer", "leader-change", "segment", "file")),
        Column("producer_id", "int64", "the producer; else null"),
        Column("offset", "int64", "where it shows"),
        Column("clock_ms", "int64", "the time that it says", "ms"),
        Column("broker_ms", "int64", "the time that a broker wrote beside it", "ms"),
        Column("ahead_ms", "int64", "how much it is ahead; below 0 behind", "ms"),
        Column("evidence", "string", "what shows it"),
    ),
)
SPACE_TABLES: Final = (
    SPACE,
    SPACE_SEGMENTS,
    BLOCKERS,
    SPACE_TIERS,
    NEXT_START,
    TRANSACTION_COSTS,
    PRODUCER_GROUPS,
    TOPIC_CLOCKS,
    CLOCKS,
    INCIDENTS,
)
