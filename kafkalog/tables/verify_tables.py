"""The tables of ``kafkalog verify``: every file with its bytes accounted for, and every log."""

from __future__ import annotations

from typing import Final

from kafkalog.tables import words
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.declared import Column, Table
from kafkalog.tables.incident_tables import INCIDENTS

__all__ = ["EXTENTS", "FILES", "LOGS", "MIRRORS", "REPLICAS", "RESTORABLE", "STATES", "VERIFY_TABLES"]


# The table of replicas that were compared.


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


MIRRORS: Final = Table(
    "mirrors",
    "a partition and its mirror, compared: what read_committed consumers are given of both",
    (
        Column("topic", "string", "the source's topic"),
        Column("partition", "int32", "the partition's number, the same in both"),
        Column("mirror_topic", "string", "the mirror's topic"),
        Column(
            "state",
            "string",
            "the result of the comparison",
            words=(
                "same",  # the same records in the same order
                "partial",  # the same where both have records; the mirror begins later, or is behind
                "cleaned",  # what differs, the cleaner of one of them removed
                "differs",  # records are missing, extra, changed or in another order
                "absent",  # no directory of the mirror was given
            ),
        ),
        Column("log", "string", "the directory of the source's partition"),
        Column("mirror_log", "string", "the directory of the mirror's partition"),
        Column("log_start_offset", "int64", "the source's first offset"),
        Column("mirror_log_start_offset", "int64", "the mirror's first offset"),
        Column("last_stable_offset", "int64", "where read_committed consumers of the source stop"),
        Column("mirror_last_stable_offset", "int64", "where read_committed consumers of the mirror stop"),
        Column("records", "int64", "committed records of the source"),
        Column("mirror_records", "int64", "committed records of the mirror"),
        Column("same_records", "int64", "records with the same key, value and headers in both, in the same order"),
        Column("missing_records", "int64", "records of the source that the mirror lacks"),
        Column("extra_records", "int64", "records of the mirror that the source lacks, or has less often"),
        Column("changed_records", "int64", "records with the same key at the same place and other value or headers"),
        Column("reordered_records", "int64", "records that are in both at places of another order"),
        Column("cleaned_records", "int64", "records that one of them lacks because a cleaner may remove them"),
        Column("before_records", "int64", "records of the source before those that the mirror begins with"),
        Column("after_records", "int64", "records of the source after those that the mirror ends with"),
        Column("other_times", "int64", "same records that have another timestamp in the mirror"),
        Column("first_difference_offset", "int64", "the source's first missing, changed or reordered record"),
        Column("mirror_first_difference_offset", "int64", "the mirror's first extra, changed or reordered record"),
        Column("offset_syncs", "int64", "MirrorMaker's offset syncs about same records"),
        Column("wrong_offset_syncs", "int64", "those of them that name another record"),
    ),
    answers=("topic", "partition", "mirror_topic", "state", "records", "mirror_records", "missing_records",
             "extra_records", "changed_records", "reordered_records", "first_difference_offset"),
)  # fmt: skip


RESTORABLE: Final = Table(
    "restorable",
    "what becomes of a broker, a partition, a transaction or a group when brokers start on the directories",
    (
        Column("subject", "string", "what it is about",
               words=("cluster", "broker", "partition", "transaction", "group")),
        Column("what", "string", "what becomes of it", words=tuple(words.BECOMES)),
        Column("severity", "string", "an error makes the answer no, a transaction that hangs `YES, BUT`; null for what"
               " is as it should be",
               words=("note", "warning", "error")),
        Column("cluster_id", "string", "from meta.properties; null if that file is missing"),
        Column("node_id", "string", "from meta.properties; null if it is about no broker"),
        Column("topic", "string", "the topic; null if it is about none"),
        Column("partition", "int32", "the partition's number; null if it is about none"),
        Column("name", "string", "the transactional id, or the group; otherwise null"),
        Column("log", "string", "the partition's directory; null if there is none"),
        Column("newest_ms", "int64", "the newest time that a broker wrote there: its moment is this or later", "ms"),
        Column("log_start_offset", "int64", "where the log starts"),
        Column("log_end_offset", "int64", "where the log ends in the files"),
        Column("next_log_end_offset", "int64", "where it ends once a broker has loaded it"),
        Column("offset", "int64", "of a transaction its first offset, of a group its committed one; otherwise null"),
        Column("lost_records", "int64", "records that consumers lose by it, as far as they can be counted"),
        Column("truncated_bytes", "int64", "what the start cuts off", "bytes"),
        Column("deleted_bytes", "int64", "what it deletes of files that were put aside", "bytes"),
        Column("rebuilt_indexes", "int64", "index files that it makes anew"),
        Column("recovered_segments", "int64", "segments that it reads whole"),
        Column("message", "string", "the same in words"),
    ),
    answers=("message", "what", "severity", "topic", "partition", "node_id", "newest_ms"),
)  # fmt: skip


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

VERIFY_TABLES: Final = (LOGS, FILES, EXTENTS, REPLICAS, MIRRORS, RESTORABLE, FINDINGS, INCIDENTS)
