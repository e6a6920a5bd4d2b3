"""The tables of audits of several times: what changed between two, and how each night ended."""

from __future__ import annotations

from typing import Final

from kafkalog.severity import Severity
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.declared import Column, Table
from kafkalog.tables.incident_tables import INCIDENTS

__all__ = ["CHANGES", "DIFF_TABLES", "NIGHTS", "SEVERITIES"]

SUBJECTS: Final = ("log", "transaction", "incident", "group", "topic", "setting")

WHAT: Final = (
    # of a log
    "appended",
    "rolled",  # segments were begun
    "deleted-by-retention",  # whole segments at its start
    "deleted-records",  # its start is within a segment: DeleteRecords moved it
    "cleaned",  # by compaction
    "truncated",  # after a new leader was elected
    "end-lower",  # it ends earlier, and nothing legal explains it
    "rewritten",  # other bytes at the same offsets, and nothing legal explains it
    "lacking",  # batches between others that it had before
    "damaged",  # batches that were whole before
    "start-lower",
    "led-by-another",
    "moved",  # to another broker, or to another log directory of the same one
    "replaced",  # a topic of the same name with another id
    "created",
    "gone",
    # of a transaction that was open
    "committed",
    "aborted",
    "still-open",
    "not-there",  # its offsets are not in the log any more
    # of an incident
    "new",
    "grown",
    "still-there",
    "over",
    # of a group in a partition
    "went-forward",
    "stalled",  # its offset is the same, and there is more to read
    "went-back",
    # of a topic or a setting; also `created`, and `gone`
    "changed",
)

# How bad a log's change is of which no finding says it; what is not here happens in a healthy cluster.
SEVERITIES: Final = {"truncated": Severity.NOTE, "replaced": Severity.NOTE, "damaged": Severity.ERROR}


def _two(name: str, type_: str, meaning: str) -> tuple[Column, Column]:
    """Declare a column of the older audit and one of the newer."""
    return (
        Column(f"old_{name}", type_, f"{meaning}, in the older one"),
        Column(f"new_{name}", type_, f"{meaning}, in the newer one"),
    )


CHANGES: Final = Table(
    "changes",
    "a change between two audits",
    (
        Column("subject", "string", "what changed", words=SUBJECTS),
        Column("what", "string", "how it changed", words=WHAT),
        Column("severity", "string", "how bad it is; null for what happens in a healthy cluster",
               words=("note", "warning", "error")),
        Column("cluster_id", "string", "from meta.properties; null if that file is missing"),
        Column("node_id", "string", "the broker, from meta.properties; null if that file is missing"),
        Column("topic", "string", "the topic; null if it is about none"),
        Column("partition", "int32", "the partition's number; null if it is about none"),
        Column("topic_id", "string", "the newer topic id; null if no file has it"),
        Column("name", "string", "the transactional id, incident, group, or setting; null for a log"),
        *_two("log", "string", "the partition's directory"),
        *_two("log_start_offset", "int64", "the log's start"),
        *_two("log_end_offset", "int64", "the log's end"),
        *_two("last_stable_offset", "int64", "where read_committed consumers stop"),
        *_two("leader_epoch", "int32", "the newest leader epoch of the log"),
        *_two("leader", "int32", "the broker that leads; null where no metadata log shows it"),
        Column("first_offset", "int64", "the first offset that it is about; null if it is about none"),
        Column("last_offset", "int64", "the last offset that it is about; null if it is about none"),
        Column("count", "int64", "how many it is about: offsets; segments where it `rolled`; records of an incident"),
        *_two("value", "string", "of a setting its value, of a group its offset, of a transaction its state"),
        Column("message", "string", "the change in words"),
    ),
    answers=("message", "what", "topic", "partition", "count", "node_id", "severity"),
)  # fmt: skip

DIFF_TABLES: Final = (INCIDENTS, CHANGES, FINDINGS)

NIGHTS: Final = Table(
    "nights",
    "an audit that was written, one of several of a cluster",
    (
        Column("audit", "string", "the directory that the audit was written to"),
        Column("run_id", "string", "the id of the run that wrote it; null if an older version did"),
        Column("cluster_id", "string", "the cluster; several are joined by commas; null if no file names one"),
        Column("started_ms", "int64", "when the audit began", "ms"),
        Column("ends_ms", "int64", "the newest time in the files that it read; null if it is not known", "ms"),
        Column("word", "string", "the first word of its verdict"),
        Column("headline", "string", "the verdict in a sentence"),
        Column("logs", "int64", "how many logs it read"),
        Column("size_bytes", "int64", "the size of their segments", "bytes"),
        Column("blocked", "int64", "partitions whose read_committed consumers stand still"),
        Column("lost", "int64", "records that consumers have lost"),
        Column("damaged", "int64", "incidents of bytes or batches that cannot be read"),
        Column("open", "int64", "transactions that no marker has ended"),
        Column("lag", "int64", "offsets that read_committed consumers wait for: last stable offset to end"),
        Column("incidents", "int64", "incidents above a note"),
        Column("begun", "int64", "of these, those that the night before did not have"),
    ),
    answers=("started_ms", "word", "blocked", "lost", "damaged", "open", "lag", "headline"),
)  # fmt: skip
