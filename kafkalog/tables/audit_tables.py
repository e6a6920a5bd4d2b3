"""The tables of ``kafkalog txn-audit``, with all words of their columns."""

from __future__ import annotations

from typing import Final

from kafkalog.tables import words
from kafkalog.tables.declared import Column, Table
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.metadata_tables import CHANGES

__all__ = [
    "AUDIT_TABLES",
    "CAUSES",
    "CERTAINTIES",
    "COORDINATOR",
    "FINDINGS",
    "GAPS",
    "GAP_CAUSES",
    "GAP_KINDS",
    "LEADERS",
    "NOTABLE",
    "PARTITIONS",
    "PRODUCERS",
    "REMOTE_SEGMENTS",
    "SEGMENTS",
    "STATES",
    "SUMMARY",
    "TRANSACTIONS",
    "VISIBLE",
]


STATES: Final = tuple(words.STATES)

CAUSES: Final = tuple(words.CAUSES)

CERTAINTIES: Final = tuple(words.CERTAINTIES)[:4]

GAP_KINDS: Final = tuple(words.GAP_KINDS)

GAP_CAUSES: Final = tuple(words.GAP_CAUSES)

_LOG: Final = Column("log", "string", "the partition's directory, as a user would type it")

_TOPIC: Final = Column("topic", "string", "the topic")

_PARTITION: Final = Column("partition", "int32", "the partition's number")

_WHERE: Final = (_LOG, _TOPIC, _PARTITION)

_IN_LOG: Final = tuple(column.name for column in _WHERE)

_PRODUCER: Final = Column("producer_id", "int64", "the producer id")

_ID: Final = Column("transactional_id", "string", "the transactional id, from the state topic; null if it names none")

TRANSACTIONS: Final = Table(
    "transactions",
    "a transaction in one log",
    (
        *_WHERE,
        _PRODUCER,
        Column("producer_epoch", "int16", "the epoch of its last data batch; null without data"),
        _ID,
        Column("state", "string", "how it ended here, or why it is open", words=STATES),
        Column("first_offset", "int64", "the first offset of its data; null for a marker without data"),
        Column("last_offset", "int64", "the last offset of its data; null for a marker without data"),
        Column("marker_offset", "int64", "the offset of the marker that ended it; null while open"),
        Column("marker_epoch", "int16", "the marker's producer epoch; null while open"),
        Column("coordinator_epoch", "int32", "the marker's coordinator epoch; null while open"),
        Column("batches", "int64", "the number of data batches"),
        Column("records", "int64", "the number of data records"),
        Column("size_bytes", "int64", "the size of its data batches", "bytes"),
        Column("first_timestamp_ms", "int64", "the earliest timestamp of its data; null without data", "ms"),
        Column("last_timestamp_ms", "int64", "the latest timestamp of its data; null without data", "ms"),
        Column("marker_timestamp_ms", "int64", "when the marker was written; null while open", "ms"),
        Column("certainty", "string", "how certain `state` is", words=CERTAINTIES),
        Column("cause", "string", "what is special about it, or why it hangs; otherwise null", words=CAUSES),
    ),
    answers=(
        "topic",
        "partition",
        "state",
        "first_offset",
        "records",
        "cause",
        "log",
        "last_offset",
        "transactional_id",
        "producer_id",
    ),
    filled=(*_IN_LOG, "producer_id", "state", "batches", "records", "size_bytes", "certainty"),
    together=(
        ("first_offset", "last_offset"),
        ("marker_offset", "marker_epoch", "coordinator_epoch", "marker_timestamp_ms"),
    ),
)

PARTITIONS: Final = Table(
    "partitions",
    "a log",
    (
        *_WHERE,
        Column("cluster_id", "string", "from meta.properties; null if that file is missing"),
        Column("node_id", "string", "from meta.properties; null if that file is missing"),
        Column("topic_id", "string", "from partition.metadata; null if that file is missing"),
        Column("log_start_offset", "int64", "the first offset, from the checkpoint or the first segment"),
        Column("local_log_start_offset", "int64", "the first offset that is on the broker's disk"),
        Column(
            "highest_remote_offset",
            "int64",
            "the last offset of whole copies in the remote store; -1: none; null if no remote store was given",
            least=-1,
        ),
        Column("log_end_offset", "int64", "the next offset to be written"),
        Column("high_watermark", "int64", "from its checkpoint, which lags by seconds; null if there is none"),
        Column("last_stable_offset", "int64", "what a broker answers once all replicas have caught up"),
        Column("segments", "int64", "the number of segments"),
        Column("size_bytes", "int64", "the size of all segments", "bytes"),
        Column("batches", "int64", "the number of data batches"),
        Column("records", "int64", "the number of data records"),
        Column("control_records", "int64", "the number of control records, such as transaction markers"),
        Column("committed", "int64", "committed transactions with data"),
        Column("aborted", "int64", "aborted transactions with data"),
        Column("open", "int64", "transactions that no marker has ended, hanging ones included"),
        Column("hanging", "int64", "hanging transactions"),
        Column("gaps", "int64", "ranges of missing offsets, legal ones included"),
        Column("findings", "int64", "findings above note"),
    ),
    answers=("topic", "partition", "node_id", "last_stable_offset", "hanging", "log_end_offset", "open", "findings"),
    filled=(
        *_IN_LOG,
        "log_start_offset",
        "local_log_start_offset",
        "log_end_offset",
        "last_stable_offset",
        "segments",
        "size_bytes",
        "batches",
        "records",
        "control_records",
        "committed",
        "aborted",
        "open",
        "hanging",
        "gaps",
        "findings",
    ),
)

GAPS: Final = Table(
    "gaps",
    "a range of offsets missing between two batches",
    (
        *_WHERE,
        Column("first_offset", "int64", "the first missing offset"),
        Column("last_offset", "int64", "the last missing offset"),
        Column("count", "int64", "how many offsets are missing"),
        Column("kind", "string", "whether the gap is legal", words=GAP_KINDS),
        Column("cause", "string", "why the offsets are missing", words=GAP_CAUSES),
        Column("file", "string", "the segment after the gap"),
        Column("position", "int64", "where the batch after the gap begins", "bytes"),
    ),
    answers=("topic", "partition", "first_offset", "last_offset", "kind", "cause"),
    filled=(*_IN_LOG, "first_offset", "last_offset", "count", "kind", "cause"),
)

PRODUCERS: Final = Table(
    "producers",
    "a producer in one log",
    (
        *_WHERE,
        _PRODUCER,
        _ID,
        Column("first_epoch", "int16", "the epoch of its first batch"),
        Column("last_epoch", "int16", "the epoch of its last batch"),
        Column("last_sequence", "int32", "the last sequence of its last batch; -1: none"),
        Column("batches", "int64", "the number of data batches"),
        Column("records", "int64", "the number of data records"),
        Column("transactions", "int64", "transactions with data"),
        Column("committed", "int64", "committed transactions with data"),
        Column("aborted", "int64", "aborted transactions with data"),
        Column("first_offset", "int64", "the first offset of its data"),
        Column("last_offset", "int64", "the last offset of its data"),
        Column("first_timestamp_ms", "int64", "the earliest of its batches' newest timestamps", "ms"),
        Column("last_timestamp_ms", "int64", "the latest of its batches' newest timestamps", "ms"),
    ),
    answers=("topic", "partition", "producer_id", "transactional_id", "transactions", "committed", "aborted"),
    filled=(*_IN_LOG, "producer_id", "batches", "records", "transactions", "first_offset", "last_offset"),
)

SEGMENTS: Final = Table(
    "segments",
    "a segment, from its own bytes alone",
    (
        *_WHERE,
        Column("file", "string", "the segment"),
        Column("base_offset", "int64", "the offset in its name"),
        Column("size_bytes", "int64", "its size when it was listed", "bytes"),
        Column("first_offset", "int64", "the first offset of its first batch; null without batches"),
        Column("last_offset", "int64", "the last offset of its last batch; null without batches"),
        Column("batches", "int64", "the number of data batches"),
        Column("records", "int64", "the number of data records"),
        Column("control_records", "int64", "the number of control records, such as transaction markers"),
        Column("transactions", "int64", "transactions with a part in this segment"),
        Column(
            "first_timestamp_ms",
            "int64",
            "the earliest timestamp of its producers' batches and markers; -1: none",
            "ms",
        ),
        Column("last_timestamp_ms", "int64", "the newest timestamp of its batches; -1: none", "ms"),
        Column("damaged_bytes", "int64", "bytes that no whole batch covers", "bytes"),
        Column("findings", "int64", "findings above note"),
    ),
)

REMOTE_SEGMENTS: Final = Table(
    "remote_segments",
    "a segment that a log has, or had, in the remote store of tiered storage",
    (
        *_WHERE,
        Column("segment_id", "string", "its RemoteLogSegmentId; null where neither names nor metadata have one"),
        Column("start_offset", "int64", "its first offset; null if nothing says it"),
        Column("end_offset", "int64", "its last offset, from the metadata; null if nothing says it"),
        Column("size_bytes", "int64", "the size of its log by the metadata; null without metadata", "bytes"),
        Column("state", "string", "its newest state, in Kafka's words; null without metadata"),
        Column(
            "states",
            "json",
            "its states with their times in ms, oldest first",
            shape='[{"state": "string", "time_ms": "int64"}]',
        ),
        Column("holds", "string", "what it is for the log now", words=tuple(words.REMOTE_HOLDS)),
        Column("objects", "json", "the types of its objects in the store", shape='["string"]'),
        Column("object_bytes", "int64", "the size of its objects in the store", "bytes"),
        Column("file", "string", "its log object; null where the store has none"),
    ),
    answers=("topic", "partition", "start_offset", "end_offset", "holds", "state", "size_bytes", "segment_id"),
    filled=(*_IN_LOG, "states", "holds", "objects"),
)

COORDINATOR: Final = Table(
    "coordinator",
    "a record of __transaction_state",
    (
        Column("transactional_id", "string", "the transactional id that the record is about"),
        Column("producer_id", "int64", "the producer id after this record; null in a tombstone"),
        Column("producer_epoch", "int16", "the producer epoch after this record; null in a tombstone"),
        Column(
            "state",
            "string",
            "the state after this record",
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
        Column("timeout_ms", "int64", "the client's transaction timeout; 2147483647: never", "ms"),
        Column("start_timestamp_ms", "int64", "when the transaction began; -1: not yet", "ms"),
        Column("last_update_timestamp_ms", "int64", "when the coordinator made this transition", "ms"),
        Column(
            "partitions",
            "json",
            "the transaction's partitions, as topic-partition; null in empty",
            shape='["string"]',
        ),
        Column("offset", "int64", "the offset of the record"),
        _LOG,
    ),
    answers=("transactional_id", "state", "last_update_timestamp_ms", "producer_id", "producer_epoch", "offset"),
    filled=("transactional_id", "state", "offset", "log"),
)

LEADERS: Final = Table(
    "leaders",
    "a leader epoch of a log's batches, or one that the metadata log names",
    (
        *_WHERE,
        Column("leader_epoch", "int32", "the leader epoch"),
        Column("leader", "int32", "the broker that led; null for none, and where no metadata log shows it"),
        Column("since_ms", "int64", "when the controller decided it; null where no metadata log shows it", "ms"),
        Column("change", "string", "what the metadata log's record did; null where there is none", words=CHANGES),
        Column("first_offset", "int64", "the log's first offset in it; without a batch in it, the next one's"),
    ),
    filled=(*_IN_LOG, "leader_epoch", "first_offset"),
)

VISIBLE: Final = Table(
    "visible",
    "a range of offsets that a read_committed consumer gets",
    (
        *_WHERE,
        Column("first_offset", "int64", "the first offset of the range"),
        Column("last_offset", "int64", "the last offset of the range"),
    ),
    filled=(*_IN_LOG, "first_offset", "last_offset"),
)

FINDINGS: Final = Table(
    "findings",
    "something wrong or remarkable",
    (
        Column("id", "string", "the same for the same finding in another copy"),
        Column("code", "string", "the kind of finding; see kafkalog explain CODE"),
        Column("severity", "string", "how bad it is", words=("note", "warning", "error")),
        Column("certainty", "string", "how certain it is; null if there is no doubt to state", words=CERTAINTIES),
        Column("log", "string", "the partition's directory, or null"),
        Column("topic", "string", "the topic, or null"),
        Column("partition", "int32", "the partition's number, or null"),
        Column("producer_id", "int64", "the producer that it is about, or null"),
        Column("file", "string", "the file, as it was named"),
        Column("position", "int64", "where in the file, or null", "bytes"),
        Column("length", "int64", "how many bytes it is about, or null", "bytes"),
        Column("offset", "int64", "the log offset, or null", least=None),
        Column("last_offset", "int64", "the last log offset that it is about, or null", least=None),
        Column("needed", "string", "what the rule requires, or null"),
        Column("found", "string", "what is there, or null"),
        Column("message", "string", "the whole finding in words"),
        Column(
            "remedy", "string", "a command that ends the problem, or saves first what ending it would discard; or null"
        ),
        Column(
            "leader", "int32", "the broker that led the partition at `offset`, if the metadata log shows it, or null"
        ),
    ),
    answers=("message", "offset", "topic", "partition", "code", "severity", "file"),
    filled=("id", "code", "severity", "message"),
)

SUMMARY: Final = Table(
    "summary",
    "the whole audit or verification: the first row of ndjson, and the head of json, where no --table chooses",
    (
        Column("verdict", "string", "the verdict in a line, as the first screen has it"),
        Column("word", "string", "its first word, of what is worst"),
        Column("also", "string", "the word of what is wrong beside that, ASK if the broker is to be asked, or null"),
        Column("worst", "string", "the highest severity of all incidents; null without any, and without findings",
               words=("note", "warning", "error")),
        Column("complete", "bool", "false where a word is INCOMPLETE: something was not read, or is missing"),
        Column("totals", "string", "how many logs, batches, records, gaps and transactions there are"),
    ),
)  # fmt: skip

AUDIT_TABLES: Final = (
    INCIDENTS,
    PARTITIONS,
    TRANSACTIONS,
    GAPS,
    PRODUCERS,
    LEADERS,
    REMOTE_SEGMENTS,
    COORDINATOR,
    VISIBLE,
    FINDINGS,
)


# What incidents are made of besides the other tables: no command has it.


NOTABLE: Final = Table(
    "notable",
    "a transaction that an incident may tell of",
    (
        *TRANSACTIONS.columns,
        Column(
            "not_before_ms", "int64", "of an open one, the time of the marker before its data: a broker's clock", "ms"
        ),
        Column(
            "not_after_ms",
            "int64",
            "of an open one, the time of the marker after its first batch: a broker's clock",
            "ms",
        ),
        Column("after_commit", "bool", "whether the COMMIT of the coordinator's newest decision is before its data"),
        Column("forked_records", "int64", "its records from the log's fork on; null in a log without one"),
        Column("older_records", "int64", "its records of older epochs than the last; null where all are of one epoch"),
    ),
)
