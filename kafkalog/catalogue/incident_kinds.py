"""Kinds of incidents: what happened, how sure that is, what consumers see, what to do."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Final, NamedTuple

from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.record_codes import ACCEPTED, RECORDS
from kafkalog.severity import Severity

__all__ = ["INCIDENT_KINDS", "INFORMATIVE", "KIND_OF", "IncidentKind", "kind_of"]


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
        " than its timeout.",
        "See the column `certainty`. A copy of a running broker can miss the marker: then the title says `may`.",
        "read_committed consumers get nothing from its first offset on; read_uncommitted ones get everything.",
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


# What kind of incident a finding belongs to when no story across sources explains it: one for each code.


class KindWords(NamedTuple):
    """A kind of incident with its cause."""

    kind: str
    cause: str


_STOPPED: Final = KindWords("consumers-stopped", "other")
_LOST: Final = KindWords("records-lost", "missing-offsets")
_DAMAGE: Final = KindWords("records-unreadable", "damaged-bytes")
_MALFORMED: Final = KindWords("records-unreadable", "malformed-batches")
_ODD: Final = KindWords("records-unreadable", "odd-batches")
_FOREIGN: Final = KindWords("records-unreadable", "foreign-segment")
_INDEXES: Final = KindWords("side-files-wrong", "indexes")
_CHECKPOINTS: Final = KindWords("side-files-wrong", "checkpoints")
_DIVERGED: Final = KindWords("replicas-diverged", "replicas-differ")
_MIRROR: Final = KindWords("mirror-differs", "records-differ")
_NOT_READ: Final = KindWords("copy-incomplete", "not-read")
_ABSENT: Final = KindWords("copy-incomplete", "partitions-absent")
_SKEWED: Final = KindWords("copy-skewed", "copied-while-running")
_CHANGED: Final = KindWords("copy-skewed", "evidence-changed")
_WRONG_FATE: Final = KindWords("wrong-fate", "foreign-marker")
_TOPIC_IDS: Final = KindWords("clusters-mixed", "topic-ids")

_BY_KIND: Final[dict[KindWords, tuple[str, ...]]] = {
    _STOPPED: ("transaction-hanging", "transaction-overdue", "transaction-pending", "transaction-undecided",
               "offsets-pending"),
    KindWords("too-many-to-judge", "not-judged"): ("not-all-judged",),
    KindWords("consumers-stopped", "decided"): ("decision-elsewhere",),
    KindWords("consumers-stopped", "no-leader"): ("leaderless-elsewhere",),
    KindWords("records-lost", "unclean-election"): ("election-elsewhere",),
    _LOST: ("offset-gap-lost", "offset-gap-unexplained", "offset-gap", "segment-missing", "sequence-broken",
            "state-transition-illegal", "records-missing"),
    KindWords("records-lost", "log-cut-short"): ("log-cut-short", "checkpoint-ahead", "offset-beyond-end",
                                                 "log-end-lower", "committed-offsets-truncated"),
    KindWords("records-lost", "history-changed"): ("log-rewritten", "log-lacks-offsets"),
    KindWords("records-lost", "log-missing"): ("log-missing",),
    _DAMAGE: ("crc-mismatch", "batch-length-wrong", "magic-wrong", "batch-truncated", "bytes-unreadable", "bytes-zero",
              "message-crc-mismatch", "stretch-isolated", "search-over-budget", "decompression-failed",
              "codec-unknown"),
    _ODD: ("empty-batch-odd",),
    _MALFORMED: ("control-record-malformed", "control-batch-odd", "offset-not-increasing", "offset-outside-segment",
                 "base-offset-wrong", "leader-epoch-wrong", "leader-epoch-decreasing", "internal-record-malformed",
                 "internal-record-odd", "key-undecodable", "state-record-malformed"),
    _FOREIGN: ("segment-foreign", "segments-alike"),
    KindWords("transaction-torn", "administrator"): ("atomicity-broken",),
    KindWords("wrong-fate", "late-data"): ("late-data-adopted",),
    _WRONG_FATE: ("marker-epoch-wrong", "coordinator-epoch-decreasing"),
    _INDEXES: ("index-truncated", "index-mismatch", "time-index-mismatch", "index-entry-not-last-offset",
               "time-index-entry-unlike-batch", "index-insane", "sibling-missing", "version-unknown",
               "snapshot-corrupt", "txn-index-mismatch", "snapshot-mismatch"),
    _CHECKPOINTS: ("checkpoint-malformed", "checkpoint-wrong", "leader-epochs-mismatch", "meta-properties-wrong",
                   "partition-metadata-wrong", "quorum-state-wrong", "kraft-snapshot-wrong",
                   "metadata-snapshot-incomplete", "file-unknown"),
    _DIVERGED: ("replicas-fork", "state-replicas-differ", "replicas-differ", "replica-lacks"),
    _MIRROR: ("mirror-lacks", "mirror-adds", "mirror-changed", "mirror-reordered"),
    KindWords("mirror-differs", "offset-syncs"): ("mirror-sync-wrong",),
    KindWords("replicas-diverged", "partition-twice"): ("partition-twice",),
    _NOT_READ: ("file-unreadable", "link-leaves", "state-not-read", "batch-over-limit", "decompression-over-limit",
                "expansion-over-budget"),
    _ABSENT: ("partition-absent", "topic-missing", "mirror-absent"),
    _SKEWED: ("copy-skewed", "snapshot-contradicted", "index-preallocated"),
    _CHANGED: ("directory-twice", "file-added", "file-gone", "file-size-changed", "file-content-changed",
               "log-start-lower", "broker-went-on"),
    KindWords("records-lost", "objects-missing"): ("remote-offsets-lost",),
    KindWords("remote-store-behind", "objects-missing"): (
        "remote-object-missing", "remote-object-size", "remote-directory-odd"),
    KindWords("remote-store-behind", "copies-fail"): ("remote-copy-failing",),
    KindWords("remote-store-behind", "given-up"): (
        "remote-copy-unfinished", "remote-delete-unfinished", "remote-object-orphan"),
    _TOPIC_IDS: ("topic-id-differs", "clusters-mixed"),
    KindWords("output-damaged", "not-as-written"): ("output-changed",),
}  # fmt: skip

# Facts of the coordinator's own records, which happen in a healthy cluster all day.
INFORMATIVE: Final = frozenset({"writer-fenced", "transactions-aborted"})

KIND_OF: Final[dict[str, KindWords]] = {
    **{
        code: _ODD if code in ACCEPTED else _MALFORMED
        for code, about in RECORDS.items()
        if about.severity > Severity.NOTE
    },
    **{code: kind for kind, codes in _BY_KIND.items() for code in codes},
}


def kind_of(code: str) -> KindWords:
    """Return the kind of incident that a code belongs to by itself; a code that is only a note has none of its own."""
    return KIND_OF.get(code, _SKEWED if CATALOGUE[code].severity is Severity.NOTE else _STOPPED)
