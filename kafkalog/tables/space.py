"""The tables of ``kafkalog space``: where the bytes are, and what holds them."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = ["SPACE", "SPACE_CAUSES", "SPACE_CERTAINTIES", "SPACE_TABLES"]

SPACE_CAUSES: Final = (
    "open-transaction",  # the cleaner does not pass the last stable offset
    "cleaner-stopped",  # what could be cleaned in several partitions of the broker was not
    "partition-uncleanable",  # a batch that the cleaner can't read
    "cleaning-disabled",  # log.cleaner.enable=false, or a policy that leaves out what its limits ask for
    "compaction-lag",  # min.compaction.lag.ms
    "dirty-ratio",  # min.cleanable.dirty.ratio is not reached
    "active-segment",  # never cleaned
    "future-timestamp",  # retention.ms counts from a segment's largest timestamp
    "retention-unlimited",
    "delete-horizon",  # tombstones and markers inside delete.retention.ms
    "leftovers",  # files and directories put aside
    "tiered-copy-pending",  # local segments that are not in the remote store yet
    "none",
)
SPACE_CERTAINTIES: Final = ("proved", "likely")

SPACE: Final = Table(
    "space",
    "a partition's directory: its bytes, and what holds those that could go",
    (
        Column("log", "string", "the partition's directory, as a user would type it"),
        Column("folder", "string", "the name of the directory"),
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column("node_id", "string", "from meta.properties; null if that file is missing"),
        Column("cause", "string", "what holds bytes that could go; none: nothing would go", words=SPACE_CAUSES),
        Column("certainty", "string", "how certain the cause is", words=SPACE_CERTAINTIES),
        Column("since_ms", "int64", "since when, as far as the files show it; otherwise null", "ms"),
        Column("since_offset", "int64", "the first offset that is held, or the one that holds; null if none is", ""),
        Column("log_bytes", "int64", "the size of its segments", "bytes"),
        Column("all_bytes", "int64", "the size of all its files", "bytes"),
        Column(
            "reclaimable_bytes", "int64", "what would go without the cause; null: not computed, see --keys", "bytes"
        ),
        Column("evidence", "string", "what shows the cause"),
        Column("next_step", "string", "what ends it; null if nothing is to be done"),
        Column("settings_from", "string", "where the topic's settings are from"),
        Column("now_ms", "int64", "the time that all is measured at", "ms"),
    ),
)
SPACE_TABLES: Final = (SPACE,)
