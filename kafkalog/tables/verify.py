"""The tables of ``kafkalog verify``: every file with its bytes accounted for, and every log."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit import FINDINGS
from kafkalog.tables.column import Column, Table
from kafkalog.tables.replicas import REPLICAS

__all__ = ["FILES", "FILE_KINDS", "FILE_STATES", "LOGS", "VERIFY_TABLES"]

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
    "unreadable",  # it could not be opened, or not be read to its end
    "link",  # a symbolic link that leads out of the directory: not followed
)

_LOG: Final = Column("log", "string", "the partition's directory; null for a file that is in none")
_TOPIC: Final = Column("topic", "string", "the topic; null for a file of no partition")
_PARTITION: Final = Column("partition", "int32", "the partition's number; null for a file of no partition")

FILES: Final = Table(
    "files",
    "a file: good, damaged, preallocated and trailing bytes are together its size",
    (
        Column("file", "string", "the file, as a user would type it"),
        Column("input", "string", "the argument that it was found under"),
        Column("name", "string", "its path below that argument"),
        _LOG,
        _TOPIC,
        _PARTITION,
        Column("kind", "string", "what it is, by its name", words=FILE_KINDS),
        Column(
            "removed", "string", "the suffix of a file that is put aside: .deleted, .cleaned, .swap, .tmp; else null"
        ),
        Column("size_bytes", "int64", "when it was opened", "bytes"),
        Column("good_bytes", "int64", "of whole batches, entries or lines; none of an unknown file", "bytes"),
        Column("damaged_bytes", "int64", "of what is not whole; of what could not be read, by state", "bytes"),
        Column("preallocated_bytes", "int64", "zeros at the end that a broker allocates in advance", "bytes"),
        Column("trailing_bytes", "int64", "behind the last whole batch or entry; all of an unknown file", "bytes"),
        Column("state", "string", "what became of it while it was read", words=FILE_STATES),
        Column("sha256", "string", "of all its bytes; null where it was not asked for or could not be had"),
        Column("batches", "int64", "whole ones; null where it holds none by its kind"),
        Column("records", "int64", "in them, by their headers; entries or lines of another file"),
        Column("first_offset", "int64", "of its first batch; null where there is none"),
        Column("last_offset", "int64", "of its last batch; null where there is none"),
    ),
)
LOGS: Final = Table(
    "logs",
    "a log: what its segments hold together",
    (
        Column("log", "string", "the partition's directory, as a user would type it"),
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column("cluster_id", "string", "by meta.properties; null where that is missing"),
        Column("node_id", "string", "by meta.properties; null where that is missing"),
        Column("topic_id", "string", "by partition.metadata; null where that is missing"),
        Column("log_start_offset", "int64", "by the checkpoint or the first segment"),
        Column("log_end_offset", "int64", "the next offset to be written"),
        Column("segments", "int64", "files"),
        Column("size_bytes", "int64", "of all segments", "bytes"),
        Column("batches", "int64", "whole ones, markers too"),
        Column("records", "int64", "in them, markers too"),
        Column("damaged_bytes", "int64", "of all segments", "bytes"),
        Column("findings", "int64", "above note"),
    ),
)
VERIFY_TABLES: Final = (LOGS, FILES, REPLICAS, FINDINGS)
