"""The table of replicas that were held against each other."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.column import Column, Table

__all__ = ["REPLICAS", "STATES"]

STATES: Final = (
    "identical",  # the same batches, byte for byte, where both have any, and the same end
    "behind",  # the same as far as one of them goes; the other goes on
    "cleaned",  # they differ only by what a cleaner does, which works on each replica alone
    "lacking",  # the same batches, but one lacks some that the other has, and nothing legal explains it
    "diverged",  # other batches at the same offsets: their histories part
)

REPLICAS: Final = Table(
    "replicas",
    "two replicas of a partition, held against each other",
    (
        Column("topic", "string", "the topic"),
        Column("partition", "int32", "the partition's number"),
        Column("state", "string", "what the comparison came to", words=STATES),
        Column("log", "string", "the one replica's directory"),
        Column("other_log", "string", "the other replica's directory"),
        Column("node_id", "string", "the broker that has the one"),
        Column("other_node_id", "string", "the broker that has the other"),
        Column("log_start_offset", "int64", "the one's first offset"),
        Column("other_log_start_offset", "int64", "the other's first offset"),
        Column("log_end_offset", "int64", "the offset behind the one's last"),
        Column("other_log_end_offset", "int64", "the offset behind the other's last"),
        Column("identical_up_to_offset", "int64", "below this offset they hold the same, legal differences aside"),
        Column("diverged_offset", "int64", "the first offset at which they hold different batches"),
        Column("leader_epoch", "int32", "of the one's batch there"),
        Column("other_leader_epoch", "int32", "of the other's batch there"),
        Column("crc", "int64", "the checksum of the one's batch there"),
        Column("other_crc", "int64", "the checksum of the other's batch there"),
        Column("favoured_log", "string", "the replica whose leader epochs reach further: the one that goes on"),
        Column("only_offsets", "int64", "offsets that only the one holds: behind the divergence, the end or in holes"),
        Column("other_only_offsets", "int64", "offsets that only the other holds"),
        Column("same_batches", "int64", "batches that are the same in both"),
        Column("cleaned_batches", "int64", "batches that differ by cleaning alone, or that a cleaner took from one"),
        Column("damaged_batches", "int64", "batches whose checksum holds in one only"),
    ),
)
