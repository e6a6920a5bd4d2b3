"""Kinds of incidents: what happened, how sure that is, what consumers see, what to do."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Final

from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import KindWords

__all__ = ["INCIDENT_KINDS", "INFORMATIVE", "IncidentKind", "kind_of"]


@dataclass(frozen=True, slots=True)
class IncidentKind:
    """A kind of incident.

    `title` is how the title of one begins that findings alone make, before the partitions; `doubtful` if it is not
    proved, where that differs.
    """

    meaning: str
    certainty: str
    consumers: str
    next: str
    clients: str = ""
    _: KW_ONLY
    title: str
    doubtful: str = ""


# A request with an epoch that is too low leaves nothing in the files.
_REFUSED: Final = (
    "A request with the old epoch is refused, and each one after it. Java clients before 2.7 throw"
    " ProducerFencedException (1.1 and older wrap it in KafkaException when they commit or abort). From 2.7 on they"
    " throw InvalidProducerEpochException where the partition's leader refused a produce request, and"
    " ProducerFencedException where the coordinator refused AddPartitionsToTxn, TxnOffsetCommit, EndTxn or"
    " InitProducerId. librdkafka reports _FENCED. The files do not show which request came first."
)

INCIDENT_KINDS: Final[dict[str, IncidentKind]] = {
    "consumers-stopped": IncidentKind(
        "An open transaction holds the last stable offset of a partition: it hangs, waits for its marker, or is older"
        " than its timeout. Or partitions have no leader, so that nobody can read them.",
        "See the column `certainty`. A copy of a running broker can miss the marker: then the title says `may`.",
        "read_committed consumers get nothing from its first offset on; read_uncommitted ones get everything. Without a"
        " leader nobody gets anything.",
        "Follow the steps in their order. Only a proved hanging transaction has an abort command, after what it"
        " discards.",
        title="An open transaction stops read_committed consumers of",
        doubtful="An open transaction may stop read_committed consumers of",
    ),
    "records-lost": IncidentKind(
        "Records that were written are not in the log that consumers read: an unclean election, a truncation, a lost"
        " segment or remote object, or a log that was cut short.",
        "Certain where the title does not say `may`: legal causes such as retention and compaction are ruled out.",
        "They skip the lost offsets silently, or get other records at the same offsets; at a missing remote object they"
        " stop without an error.",
        "Save every copy that the column `kept_in` names before its broker starts; write the records again from it.",
        title="Records are missing in",
        doubtful="Records may be missing in",
    ),
    "start-empties": IncidentKind(
        "Records are whole now, and the next start of a broker loses them: it begins an empty log in their place.",
        "Certain for a broker that was stopped; else it may have been at work on them when they were copied.",
        "They get the records of other replicas; without one they get none after the start.",
        "Do not start the broker before the step that is named.",
        title="The next start loses records of",
        doubtful="The next start may lose records of",
    ),
    "records-unreadable": IncidentKind(
        "A log has bytes that are no whole batch, or batches that no broker writes.",
        "Certain: the bytes were read, and their checksums computed.",
        "They fail at the first such offset every time, until they are moved past the last one.",
        "Copy the partition from a whole replica; else salvage the segment and move consumers to the next readable"
        " offset.",
        title="Records can't be read in",
        doubtful="Records may be unreadable in",
    ),
    "retention-blocked": IncidentKind(
        "A log keeps records that its settings would delete: something holds the cleaner or retention back.",
        "Certain where a broker's files show what holds it back.",
        "They get the records as before; the disk fills.",
        "End what holds it back, for example a hanging transaction, or change the setting that is named.",
        title="Old records are kept in",
    ),
    "transaction-torn": IncidentKind(
        "One transaction ended differently in its partitions, or not as the coordinator decided.",
        "Certain: only data that beyond doubt belongs to one transaction is compared.",
        "They see a part of the transaction.",
        "Find out who wrote the wrong marker, and repair by hand what it aborted or committed.",
        title="A transaction ended differently in its partitions, in",
        doubtful="A transaction may have ended differently in its partitions, in",
    ),
    "wrong-fate": IncidentKind(
        "The marker of another transaction ended records: late data of an older epoch, or a marker that no coordinator"
        " writes.",
        "Certain: data of two epochs comes before one marker; not certain where bytes between them are damaged.",
        "They get the records, or skip them, with a transaction that they do not belong to.",
        "Read the records and decide by hand whether they should be there.",
        title="The marker of another transaction ended records in",
        doubtful="The marker of another transaction may have ended records in",
    ),
    "writer-fenced": IncidentKind(
        "Another producer took over a transactional id while a transaction was open: the coordinator aborted it.",
        "Under transaction.version 2 a takeover looks like an abort by the client: it is known by the new epoch that"
        " follows at once, and is `possible`.",
        "They skip the aborted records.",
        "Normal after a restart. Otherwise find out whether two instances use one transactional id.",
        _REFUSED,
        title="A producer was fenced in",
    ),
    "transactions-aborted": IncidentKind(
        "Transactions were aborted: after their timeout, by the producer, or by an administrator.",
        "Certain for timeouts and for administrators, where all records of the coordinator are here.",
        "They skip the aborted records.",
        "Nothing to do if the application means it; after timeouts look for slow or dead producers.",
        f"Whoever aborted it himself sees nothing. After a timeout: {_REFUSED[0].lower()}{_REFUSED[1:]}",
        title="Transactions were aborted in",
    ),
    "cleaner-stopped": IncidentKind(
        "The log cleaner has not cleaned a broker's compacted topics for long: it failed at a batch, or its thread"
        " ended.",
        "By checkpoints that stand still while logs grow.",
        "They get old values that compaction would have removed; the disk fills.",
        "Search the broker's own log for LogCleaner; mend what it failed at, then restart the broker.",
        title="The cleaner stopped in",
    ),
    "clocks-wrong": IncidentKind(
        "Timestamps of records are no milliseconds: seconds, microseconds, nanoseconds or 0. Brokers read other times.",
        "Almost certain: the same number in the other unit is a time between 2010 and 2040.",
        "They get the records until retention deletes them; searches by time find the wrong ones.",
        "Correct the client that stamps the records, and see to retention before it runs.",
        title="Brokers read other times than were meant in",
    ),
    "remote-store-behind": IncidentKind(
        "The remote store does not have what it should, or has what nothing needs: copies that fail, attempts that were"
        " given up, objects that no metadata has.",
        "Certain where __remote_log_metadata is among the inputs.",
        "They get the records as before; disks or the store fill.",
        "Search the broker's own log for RemoteLogManager and RLMCopyTask.",
        title="The remote store is not as it should be for",
    ),
    "side-files-wrong": IncidentKind(
        "Indexes, producer snapshots, checkpoints or other side files do not fit the log beside them.",
        "Certain that they differ; the log's own batches are the truth.",
        "They may get too much or too little while the broker uses the file; a restart rebuilds most of them.",
        "Delete what the steps name while the broker is stopped: it is rebuilt from the log.",
        title="Side files are not those of the log in",
        doubtful="Side files may not be those of the log in",
    ),
    "start-goes-wrong": IncidentKind(
        "A file, or a missing one, at which a broker stops when it starts, takes a log directory offline, or puts aside"
        " or drops a log that is here.",
        "Certain by what Kafka's loader does with such files.",
        "Nothing changes until the broker starts.",
        "Mend what the steps name before the broker starts.",
        title="The broker's next start goes wrong at",
        doubtful="The broker's next start may go wrong at",
    ),
    "mirror-differs": IncidentKind(
        "A mirror does not have the committed records of its source: some are missing, extra, changed or in another"
        " order.",
        "Certain for the files that were read.",
        "Consumers of the mirror get other records than those of the source.",
        "See the table `mirrors` for numbers and the first difference of each partition.",
        title="A mirror does not have the records of",
    ),
    "replicas-diverged": IncidentKind(
        "Replicas of a partition hold different batches at the same offsets.",
        "Certain: both were read.",
        "They get the leader's batches; after a change of leaders they may get the others.",
        "Save both copies and find out which one producers got acknowledged.",
        title="Replicas differ in",
        doubtful="Replicas may differ in",
    ),
    "replicas-disagree": IncidentKind(
        "Replicas of a compacted log are in sync and give consumers different records: one of them never got a"
        " tombstone or a marker that another one's cleaner has removed.",
        "Certain: the records of both were read, and nothing legal explains the difference.",
        "They get what the leader has; after a change of leaders deleted keys come back, aborted records are given, or"
        " they stop for ever.",
        "Keep the replica that is wrong from leading, and rebuild it from the one that is right.",
        title="Replicas give consumers different records of",
    ),
    "copy-incomplete": IncidentKind(
        "The inputs do not have all that they should: partitions, directories or files are missing or can't be read.",
        "Certain for the directories that were given.",
        "Nothing is known of what is missing.",
        "Add the missing directories, or copy again; the other results hold for what was read.",
        title="The inputs do not have all of",
        doubtful="The inputs may not have all of",
    ),
    "copy-skewed": IncidentKind(
        "Files are of different moments: they were copied one after the other while the broker ran, or changed since.",
        "Certain that they contradict each other; nothing else follows from it.",
        "Nothing: the broker itself may be healthy.",
        "Copy again, from a stopped broker or a snapshot of the file system, before anything is done to the cluster.",
        title="The files are of different moments in",
        doubtful="The files may be of different moments in",
    ),
    "disks-mixed": IncidentKind(
        "Log directories of one broker do not fit together: by a line in meta.properties one of them is of another"
        " cluster or node, or has the id of another directory.",
        "Certain that they contradict each other.",
        "Nothing from this broker, which refuses to start; other replicas serve its partitions.",
        "Correct the line that is named, once it is sure whose disk it is; the logs themselves were read together.",
        title="A broker does not start, as one line of a meta.properties is wrong:",
    ),
    "clusters-mixed": IncidentKind(
        "The inputs are of several clusters: other cluster ids, or other topic ids for the same topics.",
        "Certain by the ids in meta.properties and partition.metadata.",
        "Nothing: each cluster has consumers of its own.",
        "Give the directories of one cluster; each was audited alone.",
        title="The inputs are of several clusters:",
    ),
    "too-many-to-judge": IncidentKind(
        "There are more open transactions, or findings of one code, than an audit judges: the first were judged, the"
        " others are counted.",
        "The number is certain; what was not judged may be fine or not.",
        "As of those that were judged, and more.",
        "End what was judged and audit again.",
        title="There is more than an audit judges in",
    ),
    "output-damaged": IncidentKind(
        "An output of kafkalog is not what was written: files of it are missing, or have other bytes.",
        "Certain by the checksums in its manifest.json and in the files.",
        "Nothing: these are no files of Kafka's.",
        "Take the files from a copy of the output, or run the command again.",
        title="An output of kafkalog is not what was written:",
    ),
}


# Facts of the coordinator's own records, which happen in a healthy cluster all day.
INFORMATIVE: Final = frozenset({"writer-fenced", "transactions-aborted"})

# What a running broker leaves in a copy: what a code that is only a note would be an incident of.
_OF_NOTES: Final = KindWords("copy-skewed", "copied-while-running")


def kind_of(code: str) -> KindWords:
    """Return the kind and the cause of the incident that a finding makes which no story takes."""
    about = CATALOGUE[code]
    return _OF_NOTES if about.kind is None or about.cause is None else KindWords(about.kind, about.cause)
