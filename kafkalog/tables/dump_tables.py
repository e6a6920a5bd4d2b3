"""The tables of ``kafkalog dump``: a file's content, entry by entry."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit_tables import CAUSES, STATES
from kafkalog.tables.declared import Column, Table

__all__ = [
    "ABORTED_TRANSACTIONS",
    "BATCHES",
    "CHECKPOINTS",
    "CONTROL",
    "FIELDS",
    "GRADES",
    "LEADER_EPOCHS",
    "OFFSET_INDEX",
    "OF_LOG",
    "OPEN",
    "OUTCOMES",
    "OUTCOME_CAUSES",
    "PRODUCER_STATES",
    "PROPERTIES",
    "REASONS",
    "RECORDS",
    "STRETCHES",
    "TIME_INDEX",
]


OUTCOMES: Final = (*STATES, "not-transactional", "unknown")

# What the word ``open`` stands for in a question: no marker has ended the transaction.
OPEN: Final = tuple(state for state in STATES if state not in ("committed", "aborted"))

OUTCOME_CAUSES: Final = (
    *CAUSES,
    "damaged-batch",  # its CRC does not match: nothing that its header says counts
    "log-not-given",  # the file alone does not tell
    "not-in-the-log",  # the log was read, and no transaction of the producer is there
)

OF_LOG: Final = (
    "topic", "partition", "log", "transactional_id", "outcome", "outcome_cause", "visible", "replicas",
)  # fmt: skip

_FILE: Final = Column("file", "string", "the file, as it was named")

_POSITION: Final = Column("position", "int64", "where it begins in the file", "bytes")

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")

_TIMESTAMP_TYPES: Final = ("none", "create_time", "log_append_time")

_OF_LOG: Final = (
    Column("topic", "string", "the topic; null for a file in no partition's directory", only_asked=True),
    Column("partition", "int32", "the partition; null for a file in no partition's directory", only_asked=True),
    Column("log", "string", "the partition's directory; null for a file in none", only_asked=True),
    Column("transactional_id", "string", "who wrote it, where the coordinator's records are among the inputs; or null",
           only_asked=True),
    Column("outcome", "string", "what became of its transaction; null for a control record that ends none",
           words=OUTCOMES, only_asked=True),
    Column("outcome_cause", "string", "what is special about the outcome, or why it is not known; otherwise null",
           words=OUTCOME_CAUSES, only_asked=True),
    Column("visible", "bool", "whether a read_committed consumer is given it; null where the log does not tell",
           only_asked=True),
    Column("replicas", "string", "the nodes whose replicas have it, as 1, 2; or their directories; null if not asked",
           only_asked=True),
)  # fmt: skip

BATCHES: Final = Table(
    "batches",
    "a record batch; for magic 0 and 1, a message",
    (
        _FILE,
        _POSITION,
        Column("size_bytes", "int64", "the whole batch with its header; as declared if the batch is damaged", "bytes"),
        Column("base_offset", "int64", "the first offset as written; null for a wrapper of magic 0 or 1"),
        Column("last_offset", "int64", "the last offset, which compaction keeps"),
        Column("last_offset_delta", "int64", "last_offset minus base_offset"),
        Column("count", "int64", "the number of records; null for a wrapper of magic 0 or 1"),
        Column("magic", "int16", "the version of the format: 0, 1 or 2; up to 255 if the batch is damaged"),
        Column("crc", "int64", "the CRC as stored, unsigned"),
        Column("crc_holds", "bool", "whether the stored CRC matches the bytes"),
        Column("attributes", "int16", "all attribute bits as stored"),
        Column("codec", "string", "the compression of the records; for an unknown codec, its number", words=_CODECS),
        Column("timestamp_type", "string", "who set the timestamps", words=_TIMESTAMP_TYPES),
        Column("is_transactional", "bool", "whether it is part of a transaction; markers are too"),
        Column("is_control", "bool", "whether it contains control records"),
        Column("has_delete_horizon", "bool", "bit 6: base_timestamp is a delete horizon"),
        Column("unused_attribute_bits", "int32", "bits 7 to 15, which have no meaning"),
        Column("base_timestamp_ms", "int64", "what record timestamps are relative to; null for magic 0 and 1", "ms"),
        Column("delete_horizon_ms", "int64", "when the cleaner may remove tombstones and markers, or null", "ms"),
        Column("max_timestamp_ms", "int64", "the newest record's timestamp, or the append time; -1: none", "ms"),
        Column("producer_id", "int64", "-1: none"),
        Column("producer_epoch", "int16", "-1: none"),
        Column("base_sequence", "int32", "the first record's sequence; -1: none"),
        Column("last_sequence", "int32", "the last record's sequence as written; -1: none"),
        Column("partition_leader_epoch", "int32", "the epoch of the leader that appended it; -1: unknown"),
        *_OF_LOG,
    ),
)

_KEY: Final = (
    Column("key", "string", "the key; null if there is none or if it is not UTF-8"),
    Column("key_base64", "string", "the key if it is not UTF-8, otherwise null"),
)

_VALUE: Final = (
    Column("value", "string", "the value; null if there is none or if it is not UTF-8"),
    Column("value_base64", "string", "the value if it is not UTF-8, otherwise null"),
)

RECORDS: Final = Table(
    "records",
    "a record, control records included",
    (
        _FILE,
        Column("offset", "int64", "the record's offset"),
        Column("timestamp_ms", "int64", "-1: none", "ms"),
        Column("timestamp_type", "string", "who set the timestamp", words=_TIMESTAMP_TYPES),
        Column("sequence", "int32", "the producer's sequence; -1: none"),
        Column("producer_id", "int64", "-1: none"),
        Column("producer_epoch", "int16", "-1: none"),
        Column("is_transactional", "bool", "whether it is part of a transaction"),
        Column("is_control", "bool", "whether it is a control record"),
        Column("size_bytes", "int64", "the size of the encoded record, decompressed", "bytes"),
        Column("key_size", "int64", "-1: null", "bytes"),
        Column("value_size", "int64", "-1: null", "bytes"),
        Column("headers_count", "int64", "the number of headers"),
        *_KEY,
        *_VALUE,
        Column("headers", "headers", "in order: objects of key, key_base64, value, value_base64, as above"),
        Column("magic", "int16", "the magic of its batch"),
        Column("message_crc", "int64", "the CRC of a message of magic 0 or 1, otherwise null"),
        Column("message_crc_holds", "bool", "whether the CRC of a message of magic 0 or 1 matches, otherwise null"),
        Column("batch_position", "int64", "where its batch begins in the file", "bytes"),
        Column("batch_crc_holds", "bool", "whether the batch's CRC matches"),
        *_OF_LOG,
    ),
)

CONTROL: Final = Table(
    "control",
    "a control record",
    (
        _FILE,
        Column("offset", "int64", "the record's offset"),
        Column("timestamp_ms", "int64", "when it was written", "ms"),
        Column(
            "type",
            "string",
            "the type of the control record",
            words=(
                "abort",
                "commit",
                "leader_change",
                "snapshot_header",
                "snapshot_footer",
                "kraft_version",
                "kraft_voters",
                "unknown",
            ),
        ),
        Column("type_number", "int16", "the type as stored"),
        Column("version", "int16", "the version in the key"),
        Column("coordinator_epoch", "int32", "the coordinator epoch of an abort or commit, otherwise null"),
        Column("data", "json", "the fields of a KRaft message in Kafka's spelling, otherwise null"),
        Column("producer_id", "int64", "-1: none"),
        Column("producer_epoch", "int16", "-1: none"),
        Column("partition_leader_epoch", "int32", "the epoch of the leader that appended it"),
        Column("batch_position", "int64", "where its batch begins in the file", "bytes"),
    ),
)

OFFSET_INDEX: Final = Table(
    "offset_index",
    "an entry of a .index file",
    (
        _FILE,
        Column("entry", "int64", "the entry's number, from 0"),
        Column("offset", "int64", "the last offset of the batch (up to Kafka 1.1 the first)"),
        Column("position", "int64", "where the batch begins in the segment", "bytes"),
    ),
)

TIME_INDEX: Final = Table(
    "time_index",
    "an entry of a .timeindex file",
    (
        _FILE,
        Column("entry", "int64", "the entry's number, from 0"),
        Column("timestamp_ms", "int64", "the largest timestamp so far", "ms"),
        Column("offset", "int64", "the last offset of the batch that has this timestamp"),
    ),
)

ABORTED_TRANSACTIONS: Final = Table(
    "aborted_transactions",
    "an entry of a .txnindex file",
    (
        _FILE,
        Column("entry", "int64", "the entry's number, from 0"),
        Column("version", "int16", "the version of the entry"),
        Column("producer_id", "int64", "the producer whose transaction was aborted"),
        Column("first_offset", "int64", "the first offset of the transaction in this partition"),
        Column("last_offset", "int64", "the offset of the ABORT marker"),
        Column("last_stable_offset", "int64", "the last stable offset right after this abort"),
    ),
)

PRODUCER_STATES: Final = Table(
    "producer_states",
    "an entry of a .snapshot file",
    (
        _FILE,
        Column("producer_id", "int64", "the producer whose state this is"),
        Column("producer_epoch", "int16", "the newest epoch"),
        Column("first_sequence", "int32", "the first sequence of its last batch"),
        Column("last_sequence", "int32", "the last sequence of its last batch; -1: none"),
        Column("last_offset", "int64", "the last offset of its last batch; -1: none", least=-1),
        Column("offset_delta", "int32", "the number of offsets of its last batch, minus one"),
        Column("timestamp_ms", "int64", "the time of its last batch or marker; -1: none", "ms"),
        Column("coordinator_epoch", "int32", "the coordinator epoch of its last marker; -1: none"),
        Column("current_txn_first_offset", "int64", "where its open transaction begins; -1: none", least=-1),
    ),
)

CHECKPOINTS: Final = Table(
    "checkpoints",
    "a line of a checkpoint file of a log directory",
    (
        _FILE,
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column(
            "offset", "int64", "recovery point, high watermark, log start or first dirty offset, depending on the file"
        ),
    ),
)

LEADER_EPOCHS: Final = Table(
    "leader_epochs",
    "a line of leader-epoch-checkpoint",
    (
        _FILE,
        Column("epoch", "int32", "a leader epoch"),
        Column("start_offset", "int64", "the first offset of the epoch in this replica"),
    ),
)

PROPERTIES: Final = Table(
    "properties",
    "a key of partition.metadata, meta.properties or quorum-state",
    (_FILE, Column("key", "string", "the key"), Column("value", "string", "the value")),
)


# The table of ``kafkalog show``: bytes, field by field.


FIELDS: Final = Table(
    "fields",
    "a field of the structures at a position",
    (
        Column("file", "string", "the file, as it was named"),
        Column("structure", "string", "the structure that the field is a part of"),
        Column("field", "string", "Kafka's name of the field"),
        Column("position", "int64", "where it begins in the file; null if it is compressed", "bytes"),
        Column("size_bytes", "int64", "the size of the field", "bytes"),
        Column("bytes", "string", "its bytes in hex; only the first ones of a long field"),
        Column("value", "string", "the number or text that the bytes encode; null for none"),
        Column("computed", "string", "the checksum computed from the bytes that it covers, otherwise null"),
        Column("meaning", "string", "what the value means"),
        Column("is_here", "bool", "whether the position that was asked for is in this field"),
    ),
)


# The table of ``kafkalog salvage``: a segment, part by part.


GRADES: Final = (
    "anchored",  # other bytes or files show that a batch begins there
    "chained",  # several consecutive batches whose offsets continue
    "isolated",  # its CRC matches, and nothing else supports it
)

REASONS: Final = (
    "file-start",  # or after a whole batch
    "believed-end",  # the damage before it provably ends there
    "index-entry",
    "expected-offset",  # it has the offset that the damaged batch's header leads to
    "neighbours-met",  # its offsets fit those before and after it
    "offsets-go-on",
    "no-witness",
    "crc-mismatch",
    "batch-length-wrong",
    "bytes-unreadable",
    "bytes-zero",
    "batch-truncated",
    "tail-preallocated",
    "magic-wrong",
    "batch-over-limit",
    "offset-not-increasing",
    "offset-outside-segment",
    "file-changed",
)

STRETCHES: Final = Table(
    "stretches",
    "a part of a segment: consecutive whole batches, or bytes that are no whole batch",
    (
        Column("file", "string", "the segment, as it was named"),
        Column("position", "int64", "where it begins in the file", "bytes"),
        Column("size_bytes", "int64", "its size; the sizes of all stretches add up to the file's size", "bytes"),
        Column("batches", "int64", "the number of whole batches, or 0"),
        Column("records", "int64", "the number of records; null for compressed messages of magic 0 or 1"),
        Column("first_offset", "int64", "null if nothing is whole, or if the first batch does not state it"),
        Column("last_offset", "int64", "null if nothing is whole"),
        Column("grade", "string", "how certain it is that the batches belong to the log; null if ruled out", "",
               GRADES),
        Column("taken", "bool", "whether the output contains it"),
        Column("reason", "string", "what supports it, or the finding that speaks against it", "", REASONS),
    ),
)  # fmt: skip
