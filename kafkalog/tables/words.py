"""The words of columns: states, causes and certainties, each with its meaning; tables take their words from here."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.tables.record_kinds import CONTROL_KINDS, RECORD_KINDS

__all__ = [
    "BECOMES",
    "CAUSES",
    "CERTAINTIES",
    "GAP_CAUSES",
    "GAP_KINDS",
    "INCIDENT_CAUSES",
    "NO_LEADER",
    "OF_OPEN",
    "OPEN_CAUSES",
    "SPACE_CAUSES",
    "STATES",
    "WORDS",
    "OpenCause",
]  # fmt: skip

STATES: Final = {
    "committed": "A COMMIT marker ended the transaction in this log.",
    "aborted": "An ABORT marker ended the transaction in this log.",
    "ongoing": "The transaction is open; the coordinator's record says Ongoing and lists the partition.",
    "commit-pending": "The coordinator has decided to commit the transaction, but the marker is not in this log.",
    "abort-pending": "The coordinator has decided to abort the transaction, but the marker is not in this log.",
    "hanging": "The transaction is open, and the coordinator will never end it: kafka-transactions.sh find-hanging"
    " lists it. Brokers before 3.0 do not answer that; with all coordinators there it is what describe-producers shows"
    " with the same CurrentTransactionStartOffset and LastTimestamp a minute after its timeout.",
    "undecided": "The transaction is open, and the files do not show why: see its cause.",
}
_ENDED_CAUSES: Final = {
    "marker-without-data": "Only a marker: nothing was written here, or its data was cleaned or trimmed.",
    "late-data-adopted": "Data of an older epoch was left open, and the marker of the producer's next transaction ended"
    " it.",
    "administrator-abort": "An ABORT marker that the coordinator did not decide: a tool wrote it.",
    "marker-cleaned": "This replica never got a marker that another one's cleaner has removed: records of an earlier"
    " transaction count as this one's.",
    "begins-before-log": "The data is before the log's start; the producer snapshot there names it.",
}


class OpenCause(NamedTuple):
    """A cause of open transactions in words: what it means, and why one hangs, in a finding and in a title."""

    meaning: str
    in_finding: str | None = None
    in_title: str | None = None


OF_OPEN: Final = {
    "data-after-marker": OpenCause(
        "Hangs: the data arrived after the marker of the transaction that listed the partition.",
        None,  # it names the marker
        "its data arrived after the marker of the transaction before it",
    ),
    "partition-not-registered": OpenCause(
        "Hangs: the partition was never added to the transaction at the coordinator.",
        "the partition was never added to the transaction at the coordinator",
        "the partition was never added to the transaction at the coordinator",
    ),
    "marker-missing": OpenCause(
        "Hangs: the coordinator completed the transaction, but the marker is not in this log.",
        "the coordinator completed the transaction, but its marker is not in this log",
        "the coordinator completed it, but its marker is not in the log",
    ),
    "superseded-epoch": OpenCause(
        "Hangs: the coordinator's transaction of this producer has a newer epoch.",
        "the coordinator's transaction of this producer has a newer epoch",
        "the coordinator's transaction of this producer has a newer epoch",
    ),
    "id-expired": OpenCause(
        "Hangs: the coordinator has forgotten the transactional id.",
        "the coordinator has forgotten the transactional id",
        "the coordinator has forgotten its transactional id",
    ),
    "producer-replaced": OpenCause(
        "Hangs: the transactional id now has another producer id.",
        "the transactional id now has another producer id",
        "its transactional id has another producer id now",
    ),
    "producer-unknown": OpenCause(
        "Hangs: all partitions of __transaction_state are available, and none names the producer id.",
        "all partitions of __transaction_state are available, and none names this producer",
        "no partition of __transaction_state names its producer",
    ),
    "replica-behind": OpenCause("Another replica has the marker; this one ends before it."),
    "state-partition-missing": OpenCause(
        "Undecided: a missing partition of __transaction_state may know the producer id."
    ),
    "copied-while-running": OpenCause(
        "The state partition was copied before the transaction began, or this log before its marker came."
    ),
    "cut-in-bundle": OpenCause(
        "Undecided: kafkalog collect cut the log with --offset or --until, and its marker may be behind the cut."
    ),
    "not-judged": OpenCause(
        "The log has more than 10,000 open transactions, or the run more than 100,000, and this is not one of the"
        " first: it is counted."
    ),
}
OPEN_CAUSES: Final = {cause: words.meaning for cause, words in OF_OPEN.items()}
NO_LEADER: Final = "the partition had no leader to write its marker"  # in a title; of other causes what `OF_OPEN` has
CAUSES: Final = {**_ENDED_CAUSES, **OPEN_CAUSES}
INCIDENT_CAUSES: Final = {
    "leader-lost": "Partitions lost their leader and have had none since, although other brokers were up.",
    "no-leader": "The partition had no leader to write the marker; if it has none now, all brokers are stopped.",
    "decided": "The coordinator decided the transaction; its marker is not here, and the partition has a leader.",
    "overdue": "The transaction is older than its timeout, and the coordinator has not aborted it.",
    "other": "None of the causes that have a word; the findings say more.",
    "unclean-election": "A broker became leader without being in sync: what it did not have is lost.",
    "log-cut-short": "The end of the log is gone: other files know a later end.",
    "log-missing": "The directory has no segment at all, but other files know offsets of the log.",
    "missing-offsets": "Offsets are missing inside the log.",
    "never-arrived": "A producer's first sequences are not in a log that is whole from offset 0 on.",
    "records-differ": "A mirror does not have the records of its source in their order.",
    "offset-syncs": "An offset sync of MirrorMaker names another record than the one that was copied.",
    "history-changed": "The log has other batches than in an older copy, or lacks some of them.",
    "marker-lost": "The log has lost a committed transaction with its marker, and no file shows why.",
    "damaged-bytes": "The bytes are no whole batch, or their CRC does not match.",
    "malformed-batches": "Batches with a matching CRC break a rule of Kafka's format.",
    "odd-batches": "Batches with a matching CRC are not as Kafka writes them, and are read all the same.",
    "loaded-all-the-same": "The CRC of a batch does not match, and the coordinator that loads it checks none.",
    "epochs-missing": "A broker has no leader epochs for offsets in the remote store, and finds no segment there.",
    "foreign-segment": "A segment of another partition is in the place of the partition's own.",
    "replicas-differ": "Replicas hold different batches at the same offsets.",
    "deleted-key-alive": "A key that was deleted is alive on a replica that never got its tombstone.",
    "older-value": "Replicas give different values of a key.",
    "segments-absent": "A replica has nothing where another one has whole segments.",
    "ended-otherwise": "Records are committed on one replica and were aborted on another one, or the other way round.",
    "open-on-one": "A transaction is open on a replica that never got its marker, and has ended on another one.",
    "partition-twice": "One broker has a partition in two of its log directories; their batches may be the same.",
    "administrator": "A tool wrote the marker, for example kafka-transactions.sh abort.",
    "late-data": "Data of an older epoch came after its own marker.",
    "foreign-marker": "A marker that no coordinator decided.",
    "takeover": "Another producer asked for an epoch of the same transactional id; kafkalog explain writer-fenced says"
    " what the older one may have seen.",
    "timeout": "The transaction was open for longer than its timeout.",
    "client": "The producer itself aborted.",
    "cleaner-stopped": "What could be cleaned in several partitions of a broker was not: its cleaner's thread ended.",
    "partition-uncleanable": "The cleaner can't read a batch of the partition.",
    "future-timestamp": "Records have timestamps in the future, and retention.ms counts from these.",
    "past-timestamp": "Records are newer than their timestamps, and retention.ms counts from these.",
    "open-transaction": "The cleaner does not pass an open transaction.",
    "objects-missing": "The remote store lacks objects that the metadata says are there.",
    "copies-fail": "Copies of local segments to the remote store fail.",
    "given-up": "Copies or deletions in the remote store that did not end, and objects that nothing needs.",
    "tiered-copy-pending": "Local segments are not in the remote store yet.",
    "indexes": "Indexes or producer snapshots of segments.",
    "checkpoints": "Files of a log directory: checkpoints, meta.properties, quorum-state.",
    "broker-stops": "Files at which a broker stops when it starts.",
    "directory-offline": "A broker went on without one of its log directories.",
    "broker-start": "Files because of which a broker takes a directory offline at its start, or drops what is here.",
    "partitions-absent": "Partitions that the metadata assigns to a broker are not in its directories.",
    "directory-absent": "A log directory that the metadata names for a broker was not given, with its partitions.",
    "not-read": "Files or directories that could not be read.",
    "evidence-changed": "Files are not those of the earlier verification.",
    "move-interrupted": "Only directories with -delete, -future or -stray are left of a partition.",
    "wrong-line": "One line of a meta.properties is that of another cluster, node or directory.",
    "cluster-ids": "Directories with different cluster ids.",
    "topic-ids": "Directories with one cluster id, but other topic ids for the same topics.",
    "not-as-written": "Files of an output are missing, or have other bytes than kafkalog wrote.",
}
CERTAINTIES: Final = {
    "proved": "The files show it beyond doubt.",
    "unless-copied-while-running": "The copy may have missed what came later: copy again and see whether it is still"
    " so.",
    "damage-between": "There are unreadable bytes between the transaction's first batch and its end: its marker may"
    " have been there.",
    "contradicted": "Another replica, or the coordinator's record, contradicts it.",
    "possible": "A legal cause is possible, too.",
}
GAP_KINDS: Final = {
    "legal": "Retention, compaction or the log's start explains why the offsets are missing.",
    "damage": "The offsets were lost.",
    "unexplained": "No file shows a legal cause, and none rules it out.",
}
GAP_CAUSES: Final = {
    "below-log-start": "Retention or deleteRecords moved the log start offset past the gap.",
    "compaction": "The cleaner was there: below its checkpoint, up to the end of that segment.",
    "cleaned-aborted-data": "The cleaner was there, and a .txnindex lists an aborted transaction at these offsets.",
    "removed-marker": "The cleaner was there, and one offset is missing: that of a marker whose data was gone.",
    "unreadable-bytes": "The bytes at that place are no batch; a finding names them.",
    "lost-segment": "A whole segment is missing between two files.",
    "missing-batches": "Batches are missing, and no file shows a legal cause.",
}

REMOTE_HOLDS: Final = {
    "remote": "The log has its offsets here alone: they were read as the earlier part of the log.",
    "both": "A whole copy, whose offsets are all on the broker's disk, too.",
    "twice": "A whole copy, whose offsets another remote segment has, too.",
    "expired": "A whole copy from before the log's start: its deletion is to come.",
    "missing": "A whole copy by the metadata, but its log object is not in the store.",
    "unfinished": "Its copy or its deletion began and did not end.",
    "deleted": "It was deleted, or a copy that failed was cleaned away.",
    "orphan": "Objects in the store that the metadata does not have, or says are deleted.",
}

SPACE_CAUSES: Final = {
    "open-transaction": "The cleaner does not pass the last stable offset. Retention does.",
    "cleaner-stopped": "Several partitions of the broker could be cleaned, and were not. The files can't show that the"
    " cleaner's thread ended, so certainty is possible; the broker's log says kafka-log-cleaner-thread … Stopped.",
    "partition-uncleanable": "A batch that the cleaner can't read: its records can't be decompressed or decoded. A"
    " wrong CRC alone does not stop it.",
    "cleaning-disabled": "log.cleaner.enable=false, which also ends the retention of compact,delete topics; an empty"
    " cleanup.policy; or a topic that sets retention.ms or retention.bytes and whose policy is compact alone.",
    "compaction-lag": "Segments have records younger than min.compaction.lag.ms.",
    "dirty-ratio": "Less is dirty than min.cleanable.dirty.ratio asks for.",
    "active-segment": "The active segment is never cleaned, and retention.bytes never takes it.",
    "future-timestamp": "A record's timestamp is after now: retention.ms counts from a segment's largest timestamp,"
    " and stops there.",
    "past-timestamp": "Timestamps are seconds or 0, which is 1970 to a broker: retention.ms deletes the segments at its"
    " next run, however new they are.",
    "retention-unlimited": "retention.ms=-1 and retention.bytes=-1.",
    "delete-horizon": "Tombstones and markers stay for delete.retention.ms after they were cleaned first.",
    "leftovers": "Files with .deleted, .cleaned, .swap; directories with -delete, -stray, -future. No broker ever"
    " removes a -stray directory: its reclaimable_bytes is 0.",
    "tiered-copy-pending": "Local retention waits for the copy to the remote store.",
    "none": "Nothing can be freed.",
}

BECOMES: Final = {
    # of a cluster
    "one-moment": "All directories were stopped cleanly.",
    "running": "Copied while a broker ran, or after a kill; no file contradicts another.",
    "skewed": "The files are of different moments: one knows what another one has not yet.",
    "no-quorum": "Half of the controllers or more are not here: none can become active.",
    "no-metadata": "No metadata log is here: nothing says which topics there are.",
    # of a broker; `absent` is also one of a partition
    "starts": "Nothing in its directories keeps the broker from starting.",
    "refuses": "The broker does not start on its directories.",
    "absent": "The metadata has it, and it is in none of the directories.",
    # of a partition's directory, or of a partition
    "loads": "The log is loaded as it is.",
    "recovers": "The log's last segments are read again, and nothing is lost.",
    "truncated": "All is cut off from the first torn or damaged batch on.",
    "emptied": "The log's start is after its end: all segments are deleted.",
    "torn-inside": "A torn batch stays after a clean stop, and what is written next can't be read.",
    "damaged": "Records are missing or can't be read, whatever the start does.",
    "stray": "The directory is renamed to -stray, because the metadata does not have it.",
    "deleted": "The directory of a deleted topic is deleted.",
    "put-aside": "The directory stays, and is not used.",
    "offline": "No replica in sync is here, or the broker does not use the log directory.",
    # of a transaction that is open
    "committed": "The coordinator had decided to commit, and writes the missing marker.",
    "aborted": "The coordinator had decided to abort, and writes the missing marker.",
    "times-out": "The coordinator aborts the transaction when its timeout has passed.",
    "waits-for-owner": "Only the owner of the two-phase commit ends the transaction: no timeout aborts it.",
    "hangs": "No coordinator ends the transaction.",
    "forgotten": "No producer snapshot has the transaction: read_committed consumers are given its records.",
    # of a group
    "goes-on": "The group goes on where it was.",
    "waits": "The group has a commit in an open transaction.",
    "out-of-range": "The log does not have the group's offset: auto.offset.reset decides where it goes on.",
}

# By word: what it is a word of, and what it means. A word may have several.
WORDS: Final[dict[str, list[tuple[str, str]]]] = {}
for _of, _meanings in (
    ("state of a transaction", STATES),
    ("cause of a transaction's state", CAUSES),
    ("cause of an incident", INCIDENT_CAUSES),
    ("certainty", CERTAINTIES),
    ("kind of a gap", GAP_KINDS),
    ("cause of a gap", GAP_CAUSES),
    ("what a remote segment is for a log", REMOTE_HOLDS),
    ("what holds bytes that could be freed", SPACE_CAUSES),
    ("what becomes of it when brokers start", BECOMES),
    ("record of an internal topic", RECORD_KINDS),
    ("control record", CONTROL_KINDS),
):
    for _word, _meaning in _meanings.items():
        WORDS.setdefault(_word, []).append((_of, _meaning))
