"""The table of replicas that were compared."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = ["REPLICAS", "STATES"]

STATES: Final = (
    "identical",  # the same batches, byte for byte, where both have any, and the same end
    "behind",  # the same up to the end of one of them; the other has more
    "cleaned",  # they differ only by what the cleaner did, which runs on each replica alone
    "lacking",  # the same batches, but one lacks some of the other's and nothing legal explains it
    "diverged",  # different batches at the same offsets, or batches after the end of a leader that wrote none yet
)

REPLICAS: Final = Table(
    "replicas",
    "two replicas of a partition, compared",
    (
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column("state", "string", "the result of the comparison", words=STATES),
        Column("log", "string", "the directory of the first replica"),
        Column("other_log", "string", "the directory of the other replica"),
        Column("node_id", "string", "the broker that has the first replica"),
        Column("other_node_id", "string", "the broker that has the other replica"),
        Column("log_start_offset", "int64", "the first replica's first offset"),
        Column("other_log_start_offset", "int64", "the other replica's first offset"),
        Column("log_end_offset", "int64", "the first replica's log end offset"),
        Column("other_log_end_offset", "int64", "the other replica's log end offset"),
        Column("identical_up_to_offset", "int64", "below this offset both hold the same, apart from legal differences"),
        Column("diverged_offset", "int64", "the first offset at which they hold different batches"),
        Column("leader_epoch", "int32", "the leader epoch of the first replica's batch there"),
        Column("other_leader_epoch", "int32", "the leader epoch of the other replica's batch there"),
        Column("crc", "int64", "the CRC of the first replica's batch there"),
        Column("other_crc", "int64", "the CRC of the other replica's batch there"),
        Column("favoured_log", "string", "the replica whose leader epochs reach further: the one that goes on"),
        Column(
            "only_offsets",
            "int64",
            "offsets that only the first replica has: from the divergence on, after the other's end or in its holes",
        ),
        Column("other_only_offsets", "int64", "offsets that only the other replica has"),
        Column("same_batches", "int64", "batches that are the same in both"),
        Column(
            "cleaned_batches",
            "int64",
            "batches that differ only by cleaning, or that the cleaner removed from one replica",
        ),
        Column("damaged_batches", "int64", "batches whose CRC matches in only one replica"),
    ),
    answers=("topic", "partition", "state", "identical_up_to_offset", "diverged_offset", "node_id", "other_node_id"),
)
