"""The tables of ``kafkalog verify``: every file with its bytes accounted for, and every log."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit import FINDINGS
from kafkalog.tables.column import Column, Table
from kafkalog.tables.incidents import INCIDENTS
from kafkalog.tables.replicas import REPLICAS

__all__ = ["EXTENTS", "FILES", "FILE_KINDS", "FILE_STATES", "LOGS", "VERIFY_TABLES"]

FILE_KINDS: Final = (
    "log",
    "offset_index",
    "time_index",
    "txn_index",
    "producer_snapshot",
    "kraft_snapshot",
    "offset_checkpoint",
    "leader_epoch_checkpoint",
    "partition_metadata",
    "meta_properties",
    "quorum_state",
    "unknown",
)
FILE_STATES: Final = (
    "whole",  # as it was when it was opened
    "grew",
    "shrank",
    "written",  # of the same size, but written to
    "vanished",
    "replaced",  # another file has its name
    "unreadable",  # it could not be opened, or not read to its end
    "link",  # a symbolic link that leads out of the directory: not followed
)

_LOG: Final = Column("log", "string", "the partition's directory; null for a file of no partition")
_TOPIC: Final = Column("topic", "string", "the topic; null for a file of no partition")
_PARTITION: Final = Column("partition", "int32", "the partition's number; null for a file of no partition")

FILES: Final = Table(
    "files",
    "a file; good, damaged, preallocated and trailing bytes add up to its size",
    (
        Column("file", "string", "the file, as a user would type it"),
        Column("input", "string", "the argument that it was found under"),
        Column("name", "string", "its path below that argument"),
        _LOG,
        _TOPIC,
        _PARTITION,
        Column("kind", "string", "what it is, by its name", words=FILE_KINDS),
        Column(
            "removed",
            "string",
            "the suffix of a file that the broker put aside: .deleted, .cleaned, .swap, .tmp; otherwise null",
        ),
        Column("size_bytes", "int64", "its size when it was opened", "bytes"),
        Column("good_bytes", "int64", "bytes of whole batches, entries or lines; 0 for an unknown file", "bytes"),
        Column("damaged_bytes", "int64", "bytes that are not whole, or that could not be read: see `state`", "bytes"),
        Column("preallocated_bytes", "int64", "zeros at the end that a broker preallocated", "bytes"),
        Column(
            "trailing_bytes",
            "int64",
            "bytes after the last whole batch or entry; all bytes of an unknown file",
            "bytes",
        ),
        Column("state", "string", "what happened to it while it was read", words=FILE_STATES),
        Column(
            "sha256", "string", "the SHA-256 of all its bytes; null if it was not asked for or could not be computed"
        ),
        Column("batches", "int64", "the number of whole batches; null for a kind of file without batches"),
        Column(
            "records", "int64", "the number of records, from the batches' headers; for other files, of entries or lines"
        ),
        Column("first_offset", "int64", "the first offset of its first batch; null if there is none"),
        Column("last_offset", "int64", "the last offset of its last batch; null if there is none"),
    ),
    answers=("name", "state", "damaged_bytes", "kind"),
)
LOGS: Final = Table(
    "logs",
    "a log: all its segments together",
    (
        Column("log", "string", "the partition's directory, as a user would type it"),
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column("cluster_id", "string", "from meta.properties; null if that file is missing"),
        Column("node_id", "string", "from meta.properties; null if that file is missing"),
        Column("topic_id", "string", "from partition.metadata; null if that file is missing"),
        Column("log_start_offset", "int64", "the first offset, from the checkpoint or the first segment"),
        Column("log_end_offset", "int64", "the next offset to be written"),
        Column("segments", "int64", "the number of segments"),
        Column("size_bytes", "int64", "the size of all segments", "bytes"),
        Column("batches", "int64", "the number of whole batches, markers included"),
        Column("records", "int64", "the number of records in them, markers included"),
        Column("damaged_bytes", "int64", "damaged bytes of all segments", "bytes"),
        Column("findings", "int64", "findings above note"),
    ),
    answers=("topic", "partition", "damaged_bytes", "findings", "log_end_offset"),
)
EXTENTS: Final = Table(
    "extents",
    "a damaged place of a file in which one finding counts more than 1,000 places of its code",
    (
        Column("file", "string", "the file, as a user would type it"),
        _LOG,
        _TOPIC,
        _PARTITION,
        Column("code", "string", "the finding's code"),
        Column("position", "int64", "the first damaged byte in the file", "bytes"),
        Column("length", "int64", "the number of damaged bytes", "bytes"),
    ),
    answers=("code", "topic", "partition", "position", "length"),
)
VERIFY_TABLES: Final = (LOGS, FILES, EXTENTS, REPLICAS, FINDINGS, INCIDENTS)
