"""The tables of ``kafkalog txn-audit``, with every word that their columns may hold."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = [
    "AUDIT_TABLES",
    "CAUSES",
    "CERTAINTIES",
    "COORDINATOR",
    "FINDINGS",
    "GAPS",
    "GAP_CAUSES",
    "GAP_KINDS",
    "PARTITIONS",
    "PRODUCERS",
    "SEGMENTS",
    "STATES",
    "TRANSACTIONS",
    "VISIBLE",
]

STATES: Final = ("committed", "aborted", "ongoing", "commit-pending", "abort-pending", "hanging", "undecided")
CAUSES: Final = (
    "marker-without-data",  # the partition was registered and nothing written, or its data is cleaned or trimmed away
    "late-data-adopted",  # data of an older epoch, ended by the next transaction's marker
    "administrator-abort",  # an ABORT that the coordinator did not decide
    "begins-before-log",  # open at the log's start by the snapshot there
    "data-after-marker",  # written after the marker of the transaction that listed the partition
    "partition-not-registered",  # the coordinator was never told of this partition
    "marker-missing",  # the coordinator completed the transaction, its marker is not here
    "superseded-epoch",  # the coordinator's transaction has a newer epoch
    "id-expired",  # the transactional id is forgotten
    "producer-replaced",  # the transactional id goes on under another producer id
    "producer-unknown",  # no state partition names the producer id, and all are at hand
    "replica-behind",  # another replica has the marker, this one stops before it
    "state-partition-missing",  # no state partition at hand names the producer id
)
CERTAINTIES: Final = ("proved", "unless-copied-while-running", "damage-between")
GAP_KINDS: Final = ("legal", "damage", "unexplained")
GAP_CAUSES: Final = (
    "below-log-start",
    "compaction",
    "cleaned-aborted-data",
    "removed-marker",
    "unreadable-bytes",
    "lost-segment",
    "missing-batches",
)

_LOG: Final = Column("log", "string", "the partition's directory, as a user would type it")
_TOPIC: Final = Column("topic", "string", "the topic")
_PARTITION: Final = Column("partition", "int32", "the partition's number")
_WHERE: Final = (_LOG, _TOPIC, _PARTITION)
_PRODUCER: Final = Column("producer_id", "int64", "the producer")
_ID: Final = Column("transactional_id", "string", "by the state topic; null where it names none")

TRANSACTIONS: Final = Table(
    "transactions",
    "a transaction in one log",
    (
        *_WHERE,
        _PRODUCER,
        Column("producer_epoch", "int16", "of its last data batch; null without data"),
        _ID,
        Column("state", "string", "what became of it here", words=STATES),
        Column("first_offset", "int64", "of its data; null for a marker without data"),
        Column("last_offset", "int64", "of its data; null for a marker without data"),
        Column("marker_offset", "int64", "of the marker that ended it; null while open"),
        Column("marker_epoch", "int16", "producer epoch of the marker; null while open"),
        Column("coordinator_epoch", "int32", "of the marker; null while open"),
        Column("batches", "int64", "of data"),
        Column("records", "int64", "of data"),
        Column("size_bytes", "int64", "of its data batches", "bytes"),
        Column("first_timestamp_ms", "int64", "the earliest of its data; null without data", "ms"),
        Column("last_timestamp_ms", "int64", "the latest of its data; null without data", "ms"),
        Column("marker_timestamp_ms", "int64", "when the marker was written; null while open", "ms"),
        Column("certainty", "string", "how sure `state` is", words=CERTAINTIES),
        Column("cause", "string", "what is special about it, or why it hangs; else null", words=CAUSES),
    ),
)
PARTITIONS: Final = Table(
    "partitions",
    "a log",
    (
        *_WHERE,
        Column("cluster_id", "string", "by meta.properties; null where that is missing"),
        Column("node_id", "string", "by meta.properties; null where that is missing"),
        Column("topic_id", "string", "by partition.metadata; null where that is missing"),
        Column("log_start_offset", "int64", "by the checkpoint or the first segment"),
        Column("log_end_offset", "int64", "the next offset to be written"),
        Column("high_watermark", "int64", "by its checkpoint, which lags by seconds; null where there is none"),
        Column("last_stable_offset", "int64", "what a broker answers once all replicas have caught up"),
        Column("segments", "int64", "files"),
        Column("size_bytes", "int64", "of all segments", "bytes"),
        Column("batches", "int64", "of data"),
        Column("records", "int64", "of data"),
        Column("control_records", "int64", "markers and the like"),
        Column("committed", "int64", "transactions with data"),
        Column("aborted", "int64", "transactions with data"),
        Column("open", "int64", "transactions that no marker ended, hanging ones too"),
        Column("hanging", "int64", "transactions"),
        Column("gaps", "int64", "ranges of missing offsets, legal ones too"),
        Column("findings", "int64", "above note"),
    ),
)
GAPS: Final = Table(
    "gaps",
    "a range of offsets missing between two batches",
    (
        *_WHERE,
        Column("first_offset", "int64", "the first one missing"),
        Column("last_offset", "int64", "the last one missing"),
        Column("count", "int64", "how many"),
        Column("kind", "string", "whether that may be", words=GAP_KINDS),
        Column("cause", "string", "why", words=GAP_CAUSES),
        Column("file", "string", "the segment behind the gap"),
        Column("position", "int64", "where the batch behind the gap begins", "bytes"),
    ),
)
PRODUCERS: Final = Table(
    "producers",
    "a producer in one log",
    (
        *_WHERE,
        _PRODUCER,
        _ID,
        Column("first_epoch", "int16", "of its first batch"),
        Column("last_epoch", "int16", "of its last batch"),
        Column("last_sequence", "int32", "of its last batch; -1: none"),
        Column("batches", "int64", "of data"),
        Column("records", "int64", "of data"),
        Column("transactions", "int64", "with data"),
        Column("committed", "int64", "transactions with data"),
        Column("aborted", "int64", "transactions with data"),
        Column("first_offset", "int64", "of its data"),
        Column("last_offset", "int64", "of its data"),
        Column("first_timestamp_ms", "int64", "the earliest of its batches' newest", "ms"),
        Column("last_timestamp_ms", "int64", "the latest of its batches' newest", "ms"),
    ),
)
SEGMENTS: Final = Table(
    "segments",
    "a segment, from its own bytes alone",
    (
        *_WHERE,
        Column("file", "string", "the segment"),
        Column("base_offset", "int64", "the offset in its name"),
        Column("size_bytes", "int64", "when it was listed", "bytes"),
        Column("first_offset", "int64", "of its first batch; null without one"),
        Column("last_offset", "int64", "of its last batch; null without one"),
        Column("batches", "int64", "of data"),
        Column("records", "int64", "of data"),
        Column("control_records", "int64", "markers and the like"),
        Column("transactions", "int64", "with a part in it"),
        Column("first_timestamp_ms", "int64", "the earliest of its producers' and markers'; -1: none", "ms"),
        Column("last_timestamp_ms", "int64", "the newest of its batches'; -1: none", "ms"),
        Column("damaged_bytes", "int64", "that no whole batch covers", "bytes"),
        Column("findings", "int64", "above note"),
    ),
)
COORDINATOR: Final = Table(
    "coordinator",
    "a record of the transaction state topic",
    (
        Column("transactional_id", "string", "whose state"),
        Column("producer_id", "int64", "in use after this transition; null in a tombstone"),
        Column("producer_epoch", "int16", "after this transition; null in a tombstone"),
        Column(
            "state",
            "string",
            "after this transition",
            words=(
                "empty",
                "ongoing",
                "prepare_commit",
                "prepare_abort",
                "complete_commit",
                "complete_abort",
                "dead",
                "prepare_epoch_fence",
                "tombstone",
            ),
        ),
        Column("timeout_ms", "int64", "the client's; 2147483647: never", "ms"),
        Column("start_timestamp_ms", "int64", "of the transaction; -1: none yet", "ms"),
        Column("last_update_timestamp_ms", "int64", "of this transition", "ms"),
        Column("partitions", "json", "of the transaction, as topic-partition; null in empty"),
        Column("offset", "int64", "of the record"),
        _LOG,
    ),
)
VISIBLE: Final = Table(
    "visible",
    "a range of offsets that a read_committed consumer is given",
    (
        *_WHERE,
        Column("first_offset", "int64", "the first one"),
        Column("last_offset", "int64", "the last one"),
    ),
)
FINDINGS: Final = Table(
    "findings",
    "something wrong or remarkable",
    (
        Column("id", "string", "the same for the same finding in another copy"),
        Column("code", "string", "what kind of thing: kafkalog explain CODE"),
        Column("severity", "string", "how bad", words=("note", "warning", "error")),
        Column("certainty", "string", "how sure, where that is a question, else null", words=CERTAINTIES),
        Column("log", "string", "the partition's directory, else null"),
        Column("topic", "string", "the topic, else null"),
        Column("partition", "int32", "the partition's number, else null"),
        Column("producer_id", "int64", "whom it is about, else null"),
        Column("file", "string", "the file, as it was named"),
        Column("position", "int64", "where in the file, else null", "bytes"),
        Column("length", "int64", "how many bytes it is about, else null", "bytes"),
        Column("offset", "int64", "the log offset, else null"),
        Column("last_offset", "int64", "where it ends, else null"),
        Column("needed", "string", "what the rule asks for, else null"),
        Column("found", "string", "what is there, else null"),
        Column("message", "string", "all of it in words"),
        Column("remedy", "string", "a command that ends the trouble, else null"),
        Column("leader", "int32", "who led the partition at `offset`, where the metadata log tells; else null"),
    ),
)
AUDIT_TABLES: Final = (PARTITIONS, TRANSACTIONS, GAPS, PRODUCERS, COORDINATOR, VISIBLE, FINDINGS)
