"""Kinds of incidents: what happened, how sure that is, what consumers see, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["INCIDENT_KINDS", "IncidentKind"]


@dataclass(frozen=True, slots=True)
class IncidentKind:
    """A kind of incident."""

    meaning: str
    certainty: str
    consumers: str
    next: str


INCIDENT_KINDS: Final[dict[str, IncidentKind]] = {
    "consumers-stopped": IncidentKind(
        "An open transaction holds the last stable offset of a partition: it hangs, waits for its marker, or is older"
        " than its timeout.",
        "See the column `certainty`. A copy of a running broker can miss the marker: then the title says `may`.",
        "read_committed consumers get nothing from its first offset on; read_uncommitted ones get everything.",
        "Follow the steps in their order. Only a proved hanging transaction has an abort command, after what it"
        " discards.",
    ),
    "records-lost": IncidentKind(
        "Records that were written are not in the log that consumers read: an unclean election, a truncation, a lost"
        " segment, or a log that was cut short.",
        "Certain where the title does not say `may`: legal causes such as retention and compaction are ruled out.",
        "They skip the lost offsets silently, or get other records at the same offsets.",
        "Save every copy that the column `kept_in` names before its broker starts; write the records again from it.",
    ),
    "records-unreadable": IncidentKind(
        "A log has bytes that are no whole batch, or batches that no broker writes.",
        "Certain: the bytes were read, and their checksums computed.",
        "They fail at the first such offset every time, until they are moved past the last one.",
        "Copy the partition from a whole replica; else salvage the segment and move consumers to the next readable"
        " offset.",
    ),
    "retention-blocked": IncidentKind(
        "A log keeps records that its settings would delete: something holds the cleaner or retention back.",
        "Certain where a broker's files show what holds it back.",
        "They get the records as before; the disk fills.",
        "End what holds it back, for example a hanging transaction, or change the setting that is named.",
    ),
    "transaction-torn": IncidentKind(
        "One transaction ended differently in its partitions, or otherwise than the coordinator decided.",
        "Certain: only data that beyond doubt belongs to one transaction is compared.",
        "They see a part of the transaction.",
        "Find out who wrote the wrong marker, and repair by hand what it aborted or committed.",
    ),
    "wrong-fate": IncidentKind(
        "The marker of another transaction ended records: late data of an older epoch, or a marker that no coordinator"
        " writes.",
        "Certain: data of two epochs comes before one marker; not certain where bytes between them are damaged.",
        "They get the records, or skip them, with a transaction that they do not belong to.",
        "Read the records and decide by hand whether they should be there.",
    ),
    "writer-fenced": IncidentKind(
        "Another producer took over a transactional id while a transaction was open: the coordinator aborted it.",
        "Under transaction.version 2 a takeover looks like an abort by the client: it is known by the new epoch that"
        " follows at once, and is `possible`.",
        "They skip the aborted records.",
        "Normal after a restart. Else look whether two instances use one transactional id.",
    ),
    "transactions-aborted": IncidentKind(
        "Transactions were aborted: after their timeout, by the producer, or by an administrator.",
        "Certain for timeouts and for administrators, where all records of the coordinator are here.",
        "They skip the aborted records.",
        "Nothing to do if the application means it; look at slow or dead producers after timeouts.",
    ),
    "cleaner-stopped": IncidentKind(
        "The log cleaner has not cleaned a broker's compacted topics for long: it failed at a batch, or its thread"
        " ended.",
        "By checkpoints that stand still while logs grow.",
        "They get old values that compaction would have removed; the disk fills.",
        "Look for LogCleaner in the broker's own log; mend what it failed at, then restart the broker.",
    ),
    "side-files-wrong": IncidentKind(
        "Indexes, producer snapshots, checkpoints or other side files do not fit the log beside them.",
        "Certain that they differ; the log's own batches are the truth.",
        "They may get too much or too little while the broker uses the file; a restart rebuilds most of them.",
        "Delete what the steps name while the broker is stopped: it is rebuilt from the log.",
    ),
    "replicas-diverged": IncidentKind(
        "Replicas of a partition hold different batches at the same offsets.",
        "Certain: both were read.",
        "They get the leader's batches; after a change of leaders they may get the others.",
        "Save both copies and find out which one producers got acknowledged.",
    ),
    "copy-incomplete": IncidentKind(
        "The inputs do not have all that they should: partitions, directories or files are missing or can't be read.",
        "Certain for the directories that were given.",
        "Nothing is known of what is missing.",
        "Add the missing directories, or copy again; the other results hold for what was read.",
    ),
    "copy-skewed": IncidentKind(
        "Files are of different moments: they were copied one after the other while the broker ran, or changed since.",
        "Certain that they contradict each other; nothing else follows from it.",
        "Nothing: the broker itself may be healthy.",
        "Copy again, from a stopped broker or a snapshot of the file system, before anything is done to the cluster.",
    ),
    "clusters-mixed": IncidentKind(
        "The inputs are of several clusters: other cluster ids, or other topic ids for the same topics.",
        "Certain by the ids in meta.properties and partition.metadata.",
        "Nothing: each cluster has consumers of its own.",
        "Give the directories of one cluster; each was audited alone.",
    ),
    "output-damaged": IncidentKind(
        "An output of kafkalog is not what was written: files of it are missing, or have other bytes.",
        "Certain by the checksums in its manifest.json and in the files.",
        "Nothing: these are no files of Kafka's.",
        "Take the files from a copy of the output, or run the command again.",
    ),
}
