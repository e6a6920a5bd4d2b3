"""Codes about transactions, offsets, replicas and the records that coordinators and controllers wrote."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.code import ERROR, NOTE, WARNING, Code, Reason, Trait

__all__ = ["AUDITS"]


def _undecodable(what: str) -> Code:
    """Make the code for a key or a value that is something else than what was asked for."""
    return Code(
        WARNING,
        f"A record's {what} is not what the decoder or the format that was chosen reads.",
        "Certain for this one; the bytes may be right for another one, or for another schema.",
        "kafka-dump-log throws and stops.",
        "Choose another decoder class or format, or add the schema that the message names.",
        kind="records-unreadable",
        cause="malformed-batches",
    )


AUDITS: Final[dict[str, Code]] = {
    "marker-epoch-wrong": Code(
        ERROR,
        "A transaction's marker has an older producer epoch than the data that it ends.",
        "Certain: the CRCs of both batches match.",
        "A leader refuses such a marker.",
        "Compare with another replica; find out what wrote the file.",
        kind="wrong-fate",
        cause="foreign-marker",
    ),
    "coordinator-epoch-decreasing": Code(
        ERROR,
        "A producer's marker has a lower coordinator epoch than the marker before it: an older coordinator wrote it.",
        "Certain: the CRCs of both batches match.",
        "A leader refuses such a marker.",
        "Compare with another replica; find out what wrote the file.",
        kind="wrong-fate",
        cause="foreign-marker",
    ),
    "internal-record-malformed": Code(
        ERROR,
        "A record of an internal topic can't be read: its key or value does not have what its type needs.",
        "Certain for the types and versions that kafkalog knows; a newer Kafka may write others.",
        "The coordinator or controller skips it with a warning, or fails to load the partition.",
        "Compare with another replica; the records before and after it were read.",
        kind="records-unreadable",
        cause="malformed-batches",
    ),
    "internal-record-unknown": Code(
        NOTE,
        "A record of an internal topic has a type or version that kafkalog does not know.",
        "Certain: no Kafka release up to 4.4 writes it.",
        "A coordinator skips unknown types with a warning; it reads an unknown version as the newest version that it"
        " knows.",
        "A newer broker wrote it, or the file belongs to another topic: choose the decoder by the topic's name.",
    ),
    "internal-record-odd": Code(
        WARNING,
        "A record of an internal topic was read, but it contains something that no broker writes.",
        "Certain: brokers write no bytes after the last field, no tags out of order and no tags of a wrong size.",
        "Kafka accepts it.",
        "Compare with another replica: the record may have been edited.",
        kind="records-unreadable",
        cause="malformed-batches",
    ),
    "key-undecodable": _undecodable("key"),
    "value-undecodable": _undecodable("value"),
    "decoding-over-budget": Code(
        WARNING,
        "What one run may spend on schemas and on what they expand to is spent, so this key or value stayed bytes.",
        "Certain; nothing is said of whether it could be decoded.",
        "No effect: a broker decodes no values.",
        "Decode fewer records in one run, for example with --offset, or look for the schema that expands so far.",
        kind="copy-incomplete",
        cause="not-read",
        traits=Trait.NOT_READ,
    ),
    "sequence-broken": Code(
        WARNING,
        "A producer's sequence does not continue from its previous batch, in a part of the log that was not cleaned.",
        "Certain that the sequence does not continue; the files do not show whether the producer's state had expired.",
        "A leader refuses such a batch while it remembers the producer.",
        "Compare with another replica: records are missing or written twice, unless the producer's state had expired.",
        kind="records-lost",
        cause="missing-offsets",
        story="losses",
        traits=Trait.OF_PRODUCER | Trait.OF_LOG | Trait.MAY_BE_HEALTHY | Trait.TOLD_AS_NOTE,
        follows=("base-offset-wrong", "segment-foreign"),
        lowered_by=(Reason.NO_CONSUMER_READS, Reason.COPY_EXPLAINS, Reason.FOLLOWS),
    ),
    "sequence-begins-late": Code(
        WARNING,
        "An idempotent producer's first batch in a log that begins at offset 0 has a sequence above 0: what it sent"
        " before, one record for each sequence from 0 on, is not there.",
        "Certain that the log has no such records, and that nothing was deleted or cleaned. If the topic was made again"
        " under its name while the producer went on, or another replica became leader without these records, they had"
        " been written: the metadata log says when the topic was created.",
        "A leader that knows nothing of a producer accepts any sequence, so batches that were refused before, as by a"
        " leader that was not known yet, leave a hole that nobody notices.",
        "Compare the producer's own log, from its start on, with the first offsets: write again what is missing. Look"
        " for NOT_LEADER_OR_FOLLOWER and expired batches there, and for a second creation of the topic in the metadata"
        " log.",
        kind="records-lost",
        cause="never-arrived",
        story="losses",
        traits=Trait.OF_PRODUCER | Trait.OF_LOG | Trait.MAY_BE_HEALTHY,
        follows=("base-offset-wrong", "segment-foreign"),
        lowered_by=(Reason.NO_CONSUMER_READS,),
    ),
    "timestamps-too-old": Code(
        WARNING,
        "A segment's largest timestamp is in seconds, or 0: a broker, for which it is milliseconds, reads a time of"
        " 1970.",
        "Almost certain of seconds: as seconds the number is a time between 2010 and 2040. 0 is what clients send that"
        " set no time.",
        "retention.ms counts from a segment's largest timestamp: where cleanup.policy has delete, the segments go at"
        " its next run (log.retention.check.interval.ms), the active one too. Time indexes have the times of 1970.",
        "Set retention.ms=-1 on the topic at once, correct the client, and set message.timestamp.before.max.ms, by"
        " which brokers refuse such records, or message.timestamp.type=LogAppendTime. Copy what must be kept.",
        kind="clocks-wrong",
        cause="past-timestamp",
        traits=Trait.OF_LOG,
    ),
    "timestamps-too-new": Code(
        WARNING,
        "A segment's largest timestamp is in microseconds or nanoseconds: a broker, for which it is milliseconds, reads"
        " a time thousands of years ahead.",
        "Almost certain: in the other unit the number is a time between 2010 and 2040.",
        "retention.ms counts from a segment's largest timestamp, and stops at the first segment that it does not"
        " delete: these and all after them stay. retention.bytes deletes them all the same. Time indexes take no later"
        " time.",
        "Correct the client, and set message.timestamp.after.max.ms, by which brokers refuse such records. Set"
        " retention.bytes for a while, or delete up to the last such offset with kafka-delete-records.",
        kind="clocks-wrong",
        cause="future-timestamp",
        traits=Trait.OF_LOG,
    ),
    "offset-gap-lost": Code(
        ERROR,
        "Offsets are missing and nothing legal explains it: a segment is lost, or bytes are damaged.",
        "Almost certain: compaction, retention and the log's start are ruled out.",
        "Consumers skip the missing offsets silently.",
        "Copy the partition from another replica.",
        kind="records-lost",
        cause="missing-offsets",
        story="losses",
        traits=Trait.GAP,
        follows=("base-offset-wrong", "segment-foreign", "log-cut-short"),
        lowered_by=(Reason.COPY_EXPLAINS, Reason.IN_CHECKPOINT),
    ),
    "offset-gap-unexplained": Code(
        WARNING,
        "Offsets are missing; the available files show no legal cause, and do not rule one out.",
        "Not sure: a legal cause and a loss are both possible.",
        "Consumers skip the missing offsets silently.",
        "Compare with another replica.",
        kind="records-lost",
        cause="missing-offsets",
        story="losses",
        traits=Trait.MAY_BE_HEALTHY | Trait.GAP,
        follows=("base-offset-wrong", "segment-foreign", "log-cut-short"),
        lowered_by=(Reason.COPY_EXPLAINS, Reason.IN_CHECKPOINT),
    ),
    "log-partly-remote": Code(
        NOTE,
        "A log begins before its first segment: with tiered storage the part before is in remote storage only.",
        "Almost certain: the log's start and the leader epochs are those of the whole log, and no file of the part"
        " before is left. After deleteRecords, a log whose first segments were lost with all their files looks the"
        " same.",
        "The broker serves that part from remote storage.",
        "Give the remote store with --remote, so that this part is read, too; its transactions were not looked at.",
    ),
    "remote-store-read": Code(
        NOTE,
        "Objects of a remote store were read as the earlier part of logs.",
        "Certain; the layout is the one that was given, or the one that the names there have.",
        "Brokers read the same objects through their RemoteStorageManager.",
        "Nothing to do.",
        line="remote",
    ),
    "remote-log-alone": Code(
        NOTE,
        "The remote store has a partition that no log directory among the inputs has.",
        "Certain by the inputs. Only closed segments below the last stable offset are copied: the log's end is on its"
        " leader's disk, and with it markers of its last transactions.",
        "Brokers that have the partition serve it; where all of them are lost, the store has all that is left.",
        "Give the log directory of the partition's leader, too, if there is one.",
        line="remote",
    ),
    "remote-offsets-lost": Code(
        ERROR,
        "Offsets between the log's start and its first local segment are in no object of the remote store, and this"
        " broker does not have them.",
        "Certain for the store that was given: its listing was compared with __remote_log_metadata, twice where a"
        " broker ran.",
        "Consumers make no progress at the first such offset, and get no error.",
        "Take the objects from a version or a backup of the store, under the same names; an object without a finished"
        " copy may have the offsets. Only if there is none, move the consumers to the next offset that is there."
        " Don't delete records up to it with kafka-delete-records.sh before that: it deletes all earlier ones, too,"
        " also those that the store still has.",
        kind="records-lost",
        cause="objects-missing",
        story="lost objects",
    ),
    "remote-object-missing": Code(
        ERROR,
        "The metadata says that a segment was copied to the remote store, but an object of it is not there.",
        "Certain for the store that was given. A warning where consumers do not need the object: the offsets are local,"
        " or before the log's start, or it is a side object.",
        "Fetches of its offsets fail in the broker again and again. Without its indexes it is not found, without its"
        " transaction index read_committed consumers get aborted records.",
        "Take the object from a version or a backup of the store. A segment's log can't be made again; from it its side"
        " objects can.",
        kind="remote-store-behind",
        cause="objects-missing",
        lowered_by=(Reason.NEITHER_TIER, Reason.HAD_ELSEWHERE),
        line="not read",
    ),
    "remote-object-size": Code(
        ERROR,
        "A segment's log in the remote store has another size than the metadata says.",
        "Certain: both are known. It was cut, or written over.",
        "Fetches fail at the end of what is there.",
        "Take the object from a version or a backup of the store.",
        kind="remote-store-behind",
        cause="objects-missing",
        traits=Trait.NOT_READ,
    ),
    "remote-object-orphan": Code(
        WARNING,
        "Objects are in the remote store that the metadata does not have, or says are deleted.",
        "Certain where the partition of __remote_log_metadata is among the inputs.",
        "Brokers never read nor delete them: they only cost space.",
        "Delete them once no offsets are lost that they may have.",
        kind="remote-store-behind",
        cause="given-up",
    ),
    "remote-copy-unfinished": Code(
        WARNING,
        "A segment's copy to the remote store began and did not end.",
        "A note where it is the newest record about the partition: the copy may be under way.",
        "The broker copies the segment again under a new id; the objects of the first attempt stay.",
        "Nothing to do for consumers. Delete the objects of the attempt once the segment was copied again.",
        kind="remote-store-behind",
        cause="given-up",
        lowered_by=(Reason.AT_WORK,),
        line="to copy",
    ),
    "remote-delete-unfinished": Code(
        WARNING,
        "A segment's deletion from the remote store began and did not end.",
        "A note where it is the newest record about the partition: the deletion may be under way.",
        "The broker tries again; consumers do not get the segment any more.",
        "Search the broker's own log for RemoteLogManager; delete the objects by hand if it gave up.",
        kind="remote-store-behind",
        cause="given-up",
        lowered_by=(Reason.AT_WORK,),
        line="to delete",
    ),
    "remote-segments-overlap": Code(
        NOTE,
        "Two segments in the remote store share offsets: leaders cut their segments at other places.",
        "Certain by the metadata.",
        "The broker reads the one that fits the leader epochs.",
        "Nothing to do: each offset was read once.",
    ),
    "remote-copy-pending": Code(
        NOTE,
        "Closed local segments are not in the remote store yet.",
        "Certain by the metadata.",
        "Only segments below the last stable offset are copied, and none with remote.log.copy.disable; until then local"
        " retention keeps them.",
        "Nothing to do if it is short. Otherwise look for an open transaction, or remote.log.copy.disable.",
        line="to copy",
    ),
    "remote-copy-failing": Code(
        WARNING,
        "Copies of closed local segments to the remote store fail.",
        "Certain: the metadata has the failed attempts.",
        "Each failed copy ends with DELETE_SEGMENT_FINISHED and is tried again under a new id; local segments stay, and"
        " the disk fills.",
        "Search the broker's own log for RLMCopyTask: the store refuses, is full, or can't be reached.",
        kind="remote-store-behind",
        cause="copies-fail",
    ),
    "remote-directory-odd": Code(
        ERROR,
        "A file is where the remote store should have a partition's directory.",
        "Certain.",
        "Every copy to it fails, and every fetch from it.",
        "Move the file away, and put the directory with its objects back.",
        kind="remote-store-behind",
        cause="objects-missing",
    ),
    "remote-metadata-missing": Code(
        NOTE,
        "The records of __remote_log_metadata about a partition are not among the inputs.",
        "Certain by the partition that has them. Without them nothing says which copies are whole.",
        "The broker that leads that partition of the topic has them.",
        "Give the log directory of a broker with __remote_log_metadata, too.",
        line="remote",
    ),
    "transaction-hanging": Code(
        ERROR,
        "A transaction is open and the coordinator will never end it: the last stable offset cannot pass its first"
        " offset.",
        "See the column `certainty`: proved, or the marker may have come after the copy or may be in damaged bytes."
        " A note if it may have come after the copy and is recent, a warning if it is not proved otherwise.",
        "read_committed consumers wait forever, and compaction cannot pass the transaction.",
        "Read its cause. Where it is proved, end it with kafka-transactions.sh abort; else copy again first.",
        kind="consumers-stopped",
        cause="other",
        story="open transactions",
        traits=Trait.OF_PRODUCER | Trait.OF_OPEN | Trait.TOLD_AS_NOTE,
        lowered_by=(Reason.MAY_HAVE_ENDED, Reason.NOT_PROVED, Reason.NO_CONSUMER_READS, Reason.COPY_EXPLAINS),
    ),
    "transaction-overdue": Code(
        WARNING,
        "A transaction has been open for longer than its timeout allows.",
        "Measured against the newest broker time in the inputs, or --now; in a copy of a running broker against its"
        " state partition's newest time, or --copy-minutes before that.",
        "If the coordinator runs, it aborts the transaction at most ten seconds after the timeout.",
        "Find out why the coordinator's broker does not end it.",
        kind="consumers-stopped",
        cause="other",
        story="open transactions",
        traits=Trait.OF_PRODUCER | Trait.OF_OPEN,
        lowered_by=(Reason.NO_CONSUMER_READS,),
    ),
    "transaction-pending": Code(
        WARNING,
        "The coordinator has decided the transaction, but the marker has not arrived in this partition (a note while"
        " it is recent).",
        "The decision is certain; the marker may have arrived after the file was copied.",
        "The coordinator sends the marker again until the partition's leader accepts it.",
        "Nothing to do while it is recent; otherwise look at the partition's leader.",
        kind="consumers-stopped",
        cause="other",
        story="open transactions",
        traits=Trait.OF_PRODUCER | Trait.OF_OPEN | Trait.TOLD_AS_NOTE,
        lowered_by=(Reason.NOT_OVERDUE, Reason.NO_CONSUMER_READS),
    ),
    "transaction-undecided": Code(
        WARNING,
        "A transaction is open, and the available records of __transaction_state do not explain it: the partition that"
        " would is missing, was copied at another moment (a note), or is on a broker that was not given (a note while"
        " it is recent).",
        "Certain only that this log has no marker for it.",
        "Unknown without the coordinator's records.",
        "Add the directory that holds the missing partitions of __transaction_state, or copy again.",
        kind="consumers-stopped",
        cause="other",
        story="open transactions",
        traits=Trait.OF_PRODUCER | Trait.OF_OPEN | Trait.TOLD_AS_NOTE,
        lowered_by=(Reason.MAY_HAVE_ENDED, Reason.NO_CONSUMER_READS),
    ),
    "not-all-judged": Code(
        WARNING,
        "A log has more than 10,000 open transactions or findings of one code, or more than 1,000 clocks that differ,"
        " or a run has more than 100,000 open transactions: the first by topic, partition and offset were judged, the"
        " others are counted.",
        "The number is certain; what was not judged may be fine or not.",
        "As that of the ones that were judged, and more.",
        "End what was judged and audit again; --producer-id and --transactional-id show some of the others' rows.",
        kind="too-many-to-judge",
        cause="not-judged",
        traits=Trait.OF_PRODUCER | Trait.OF_OPEN,
        lowered_by=(Reason.NO_CONSUMER_READS,),
    ),
    "atomicity-broken": Code(
        ERROR,
        "A transaction ended in one partition differently than the coordinator decided or than it ended in another"
        " partition, or one partition has lost a transaction that was committed.",
        "Certain: only data that beyond doubt belongs to one transaction is compared; the rest is counted as not"
        " checkable.",
        "Consumers see only a part of the transaction.",
        "Find out who wrote the wrong marker (kafka-transactions.sh abort writes ABORT), or how the missing one was"
        " lost; the data must be written again by hand. If another replica still has the marker, it is named: save that"
        " copy.",
        kind="transaction-torn",
        cause="administrator",
        story="torn transactions",
        traits=Trait.OF_PRODUCER,
        lowered_by=(Reason.NO_CONSUMER_READS, Reason.COPY_MAY_EXPLAIN, Reason.MAY_BE_THERE),
    ),
    "late-data-adopted": Code(
        WARNING,
        "Data of an older epoch was left open, and the marker of the producer's next transaction ended it.",
        "Certain: data of two epochs of one producer comes before one marker.",
        "That data was committed or aborted with a transaction that it does not belong to.",
        "Check whether those records should be there.",
        kind="wrong-fate",
        cause="late-data",
        story="torn transactions",
        traits=Trait.OF_PRODUCER,
        lowered_by=(Reason.NO_CONSUMER_READS, Reason.COPY_EXPLAINS),
    ),
    "offset-beyond-end": Code(
        WARNING,
        "Groups have committed offsets that the partition's log does not have: it ends before them, or what they had"
        " read was truncated and other records are there since.",
        "Certain for logs and offsets of one moment; in a copy of a running broker the log may be the older one, and it"
        " is a note.",
        "Beyond the end a consumer is moved to where auto.offset.reset says, often past records. In another history it"
        " goes on in the middle of records that it never got, unless it checks the leader epoch.",
        "Set each group back to where its history ends before its consumers start again: auto.offset.reset would move"
        " them to an end of the log. Its incident has the line for each.",
        kind="records-lost",
        cause="log-cut-short",
        lowered_by=(Reason.MAY_BE_THERE,),
    ),
    "offset-went-back": Code(
        NOTE,
        "A group committed a lower offset than the one before for the same partition.",
        "Certain for the records that are here; compaction may have removed steps between.",
        "The group's consumers go on at the lower offset, and get the records from there on again.",
        "Normal after kafka-consumer-groups --reset-offsets. Otherwise look for a member that committed late, after a"
        " rebalance gave its partition to another one.",
    ),
    "offset-deleted": Code(
        NOTE,
        "What a group had committed for a partition was deleted: a tombstone follows the commit.",
        "Certain; the records do not show whether it expired, or who deleted it.",
        "The group starts there where auto.offset.reset says: at the end, past all that is there, or at the start.",
        "Compare its time with offsets.retention.minutes after the group became empty; set the group back to the offset"
        " that is named if it should go on there.",
    ),
    "offset-before-start": Code(
        NOTE,
        "Groups have committed offsets that are before the start of the partition's log: retention or DeleteRecords"
        " took the records.",
        "Certain for logs and offsets of one moment.",
        "A consumer is moved to where auto.offset.reset says.",
        "Usually nothing: the group is no longer in use. Else its consumers were slower than retention.",
        lowered_by=(Reason.MAY_BE_THERE,),
    ),
    "offsets-pending": Code(
        NOTE,
        "Offset commits of a group are part of a transaction that is still open.",
        "As certain as the state of that transaction.",
        "They count once the transaction commits; until then the group's next consumer may get no stable offsets.",
        "Look at the transaction.",
        kind="consumers-stopped",
        cause="other",
        traits=Trait.OF_PRODUCER | Trait.TOLD_AS_NOTE,
        lowered_by=(Reason.NO_CONSUMER_READS,),
    ),
    "offsets-aborted": Code(
        NOTE,
        "Offset commits of a group were part of transactions that were aborted: they never counted.",
        "Certain: the ABORT marker comes after them.",
        "The group coordinator discards them at the marker.",
        "Nothing to do.",
        traits=Trait.OF_PRODUCER,
        lowered_by=(Reason.NO_CONSUMER_READS,),
    ),
    "replicas-fork": Code(
        WARNING,
        "A replica holds batches of another leader epoch at the same offset than the leader's replica: their histories"
        " diverge there.",
        "Certain: the batches of both replicas were read. Without the metadata log, the replica whose leader epochs"
        " reach furthest is taken for the leader's.",
        "Only one history continues; what the other replica holds from that offset on is lost for consumers.",
        "Look at what only one replica holds before the other is truncated: this is typical after an unclean election.",
        kind="replicas-diverged",
        cause="replicas-differ",
        story="elections",
    ),
    "key-deleted-on-one": Code(
        ERROR,
        "A key is deleted on one replica and alive on another one: the replica with the value never got the tombstone,"
        " which the other one's cleaner has removed.",
        "Certain: the records of both were read, and neither start, end, damage nor a newer record explains it.",
        "Brokers do not notice it: both replicas are in sync. Consumers get what the leader has.",
        "Write the tombstone of the key again, or rebuild the replica that has the value from the other one.",
        kind="replicas-disagree",
        cause="deleted-key-alive",
        story="surviving records",
    ),
    "key-older-on-one": Code(
        ERROR,
        "Replicas give different values of a key: the cleaner of one went past the newest record, and it is not there.",
        "Certain that they differ; which one is right is undecided.",
        "Brokers do not notice it: both replicas are in sync. Consumers get what the leader has.",
        "Find out which value is right, and write it again.",
        kind="replicas-disagree",
        cause="older-value",
        story="surviving records",
    ),
    "records-absent": Code(
        ERROR,
        "A replica of a compacted log has no record in whole segments in which another one has the newest records of"
        " keys: they were lost, or each of the keys was deleted and its tombstone cleaned.",
        "Certain that they differ; which one is right is undecided.",
        "Brokers do not notice it: both replicas are in sync. Consumers get what the leader has.",
        "Ask whether the keys were deleted. If not, rebuild the replica that lacks them from the other one.",
        kind="replicas-disagree",
        cause="segments-absent",
        story="surviving records",
    ),
    "record-committed-on-one-aborted-on-another": Code(
        ERROR,
        "A record was aborted and counts as committed on one replica, or the other way round: the replica never got the"
        " marker, which the other one's cleaner has removed, and the producer's next marker ended the record.",
        "Certain: the coordinator's decisions, another replica's marker, or the record's age show it.",
        "Brokers do not notice it: both replicas are in sync. read_committed consumers go by the leader's markers.",
        "Rebuild the replica that never got the marker from the other one.",
        kind="replicas-disagree",
        cause="ended-otherwise",
        story="surviving records",
    ),
    "transaction-open-on-one": Code(
        ERROR,
        "A transaction is open on one replica for ever and has ended on another one: the replica never got the marker,"
        " which the other one's cleaner has removed.",
        "Certain: the other replica has its marker, or its cleaner removed the records, which it does only after that.",
        "Where the replica leads, read_committed consumers and the cleaner stop there.",
        "Rebuild the replica that never got the marker from the other one.",
        kind="replicas-disagree",
        cause="open-on-one",
        story="surviving records",
    ),
    "keys-not-compared": Code(
        NOTE,
        "The newest records of a compacted log's replicas were not compared: it has more keys than fit into memory.",
        "Nothing is known of what the replicas give.",
        "Replicas of a compacted log may give consumers different records.",
        "Dump the records of each replica and compare the newest of each key.",
    ),
    "state-replicas-differ": Code(
        WARNING,
        "Two replicas of a partition of __transaction_state hold different records at the same offset.",
        "Certain that they differ; which replica is the leader's is inferred from the leader epochs.",
        "The coordinator uses the records of its partition's leader.",
        "Compare the replica that was used, whose leader epochs reach furthest, with the other one.",
        kind="replicas-diverged",
        cause="replicas-differ",
    ),
    "snapshot-contradicted": Code(
        WARNING,
        "The option --snapshot says that the inputs show one moment, and two of their files contradict it: a"
        " transaction marker whose decision is in no record of the coordinator, a completed decision whose marker is"
        " not in the log, which ends before it, or a checkpoint after its log's end.",
        "Certain that one of the two lacks its end: it was copied earlier, or the system had not written it yet."
        " Compaction, expiry of the transactional id, an administrator's abort and a partition without a leader are"
        " ruled out.",
        "Nothing by itself. The audit goes on as without --snapshot: what that proves is proved, all else is not.",
        "Make a new copy, best of a stopped broker or from a snapshot of the file system, then run kafkalog txn-audit"
        " NEW_COPY.",
        kind="copy-skewed",
        cause="copied-while-running",
    ),
    "log-end-lower": Code(
        ERROR,
        "A log ends earlier than in the older audit, and no new leader epoch begins there.",
        "Certain for two copies of one log in their order. A warning where the topic may have been compacted.",
        "A log's end goes back only when a replica truncates to the history of a new leader, whose epoch shows.",
        "Save the older copy first. Find out whether the broker lost power, or its directory was restored from a"
        " backup; copy the partition from a replica that has the offsets.",
        kind="records-lost",
        cause="log-cut-short",
        lowered_by=(Reason.MAY_BE_COMPACTED,),
        told_by=("records-lost",),
    ),
    "committed-offsets-truncated": Code(
        ERROR,
        "A new leader's history begins below the high watermark that the older audit had: records were truncated that"
        " consumers may have read.",
        "Certain: the checkpoint of the high watermark never runs ahead of it.",
        "Only an unclean election does this, or a leader that lost what it had not flushed.",
        "Save the older copy first: it has the records that were truncated. kafkalog extract writes them.",
        kind="records-lost",
        cause="log-cut-short",
        lowered_by=(Reason.MAY_BE_COMMITTED,),
        told_by=("records-lost",),
    ),
    "log-rewritten": Code(
        ERROR,
        "A log has other bytes than in the older audit at offsets of the same leader epoch, where no cleaner worked.",
        "Certain where the bytes of both were read. From sizes and checksums alone it is a warning where the topic may"
        " have been compacted.",
        "A broker never writes into what it has written; only the cleaner replaces segments.",
        "Compare both copies with a replica: kafkalog verify --replicas. Find out who wrote to the files.",
        kind="records-lost",
        cause="history-changed",
        lowered_by=(Reason.MAY_BE_COMPACTED,),
        told_by=("records-lost", "records-unreadable"),
    ),
    "log-lacks-offsets": Code(
        ERROR,
        "A log lacks batches that it had in the older audit, between others that it still has.",
        "Certain where the bytes of both were read: compaction and retention are ruled out.",
        "A broker deletes whole segments at the log's start alone.",
        "Save the older copy first; it has the batches. Copy the partition from another replica.",
        kind="records-lost",
        cause="history-changed",
        told_by=("records-lost", "records-unreadable"),
    ),
    "log-start-lower": Code(
        WARNING,
        "A log starts at an earlier offset than in the older audit.",
        "Certain for two copies of one log in their order. A replica that was copied anew from its leader may start"
        " somewhat earlier.",
        "A log's start only rises.",
        "Make sure that the two were given in their order, and that nobody restored the directory from a backup.",
        kind="copy-skewed",
        cause="evidence-changed",
    ),
    "state-partitions-guessed": Code(
        NOTE,
        "The number of partitions of __transaction_state is not known; the highest number seen plus one was used.",
        "Not sure: partitions that are not available may have higher numbers.",
        "No effect: a broker knows the number.",
        "Add the metadata log, or give the number: otherwise a transaction of an unknown producer may be called"
        " hanging.",
    ),
    "state-not-read": Code(
        WARNING,
        "__transaction_state or the metadata log is larger than one process may read before the other tasks start.",
        "Certain: the sizes are those of the listing.",
        "No effect: a broker reads all of it.",
        "Raise the limit, or run the bulk audit: without the coordinator's records verdicts are less certain.",
        kind="copy-incomplete",
        cause="not-read",
        traits=Trait.NOT_READ,
    ),
    "state-record-malformed": Code(
        ERROR,
        "A record of __transaction_state can't be read.",
        "Certain for the versions that kafkalog knows; a newer Kafka may write others.",
        "The coordinator skips it or fails to load the partition.",
        "Compare with another replica of this partition.",
        kind="records-unreadable",
        cause="malformed-batches",
    ),
    "state-transition-illegal": Code(
        WARNING,
        "Two neighbouring records of a transactional id have states that cannot follow each other.",
        "Certain for the records that are here; where the topic was cleaned nothing is claimed.",
        "A coordinator never writes such a pair.",
        "Compare with another replica: records between them are lost, or the partition was edited.",
        kind="records-lost",
        cause="missing-offsets",
        traits=Trait.MAY_BE_HEALTHY,
    ),
    "replicas-differ": Code(
        ERROR,
        "Two replicas hold different batches at the same offset in the same leader epoch.",
        "Certain: the batches of both were read, and no cleaner was there.",
        "A follower never writes that: one replica was changed, or came from elsewhere. Consumers get the leader's"
        " batches.",
        "Compare both with a third replica, or with what the producer knows.",
        kind="replicas-diverged",
        cause="replicas-differ",
    ),
    "replica-lacks": Code(
        ERROR,
        "A replica lacks batches that another replica has, between batches that both have.",
        "Certain: neither the log's start nor a cleaner explains it.",
        "Consumers that read from this replica skip the offsets silently.",
        "Copy the partition from the other replica.",
        kind="replicas-diverged",
        cause="replicas-differ",
    ),
    "replica-damaged": Code(
        NOTE,
        "A batch's CRC does not match, but the same batch is whole in another replica.",
        "Certain: there, the batch with the same offsets, epochs and sequences has a CRC that matches.",
        "A broker that finds the damage fetches the log again from the leader.",
        "Copy the partition from the other replica. The damage has its own finding.",
    ),
    "mirror-lacks": Code(
        ERROR,
        "A mirror of a partition lacks committed records of its source, between or before records that it has.",
        "Certain for the files that were read: it has records of before or after, and no cleaner explains it.",
        "Consumers of the mirror never get these records.",
        "Extract the records from the source by their offsets, and produce them again to the mirror.",
        kind="mirror-differs",
        cause="records-differ",
    ),
    "mirror-adds": Code(
        ERROR,
        "A mirror of a partition has records that its source does not have, or has them more often.",
        "Certain for the files that were read. Where the source begins later than its mirror, older records are not"
        " counted.",
        "Consumers of the mirror get records that nobody wrote to the source, or get a record twice.",
        "See whether other programs write to the mirror's topic, or whether the copying ran twice.",
        kind="mirror-differs",
        cause="records-differ",
    ),
    "mirror-changed": Code(
        ERROR,
        "A record of a partition has another value or other headers in its mirror.",
        "Certain that the contents differ; that both are one record is concluded from key and place.",
        "Consumers of the mirror get another record.",
        "Compare both with `kafkalog dump --print-data-log`, and see which transforms the copying has.",
        kind="mirror-differs",
        cause="records-differ",
    ),
    "mirror-reordered": Code(
        ERROR,
        "A mirror of a partition has the records of its source in another order.",
        "Certain: the same contents stand at places of another order.",
        "Consumers of the mirror may take an older record of a key for the newest.",
        "Make the mirror again; the copying must write a partition's records one after the other.",
        kind="mirror-differs",
        cause="records-differ",
    ),
    "mirror-partial": Code(
        NOTE,
        "A mirror of a partition begins later than its source, or ends earlier.",
        "Certain for the files that were read; between the two it is judged by other findings.",
        "Normal: retention deletes older records of the mirror, and copying runs behind.",
        "Wait for the copying, or compare copies of the same moment.",
    ),
    "mirror-absent": Code(
        WARNING,
        "A partition of the source has no mirror among the inputs.",
        "Certain for the inputs.",
        "Nothing is known of the mirror.",
        "Give the directories of all brokers of the mirror, or name the topics with `--topics SOURCE=MIRROR`.",
        kind="copy-incomplete",
        cause="partitions-absent",
    ),
    "mirror-sync-wrong": Code(
        WARNING,
        "An offset sync of MirrorMaker names another record of the mirror than the one that was copied.",
        "Certain: the same record was found at another offset of the mirror.",
        "Groups that are moved to the mirror by it start at another record.",
        "Move groups by the offsets of the same record: `kafkalog find --key` in both.",
        kind="mirror-differs",
        cause="offset-syncs",
    ),
    "metadata-snapshot-incomplete": Code(
        WARNING,
        "A snapshot of the metadata log has no footer, which is written last: the snapshot was not used.",
        "Certain that the footer is missing; the records before it may be whole.",
        "A controller or broker that loads it fails; a snapshot that was never finished keeps the suffix .part.",
        "Compare with another node's snapshot of the same name.",
        kind="side-files-wrong",
        cause="checkpoints",
    ),
    "partition-absent": Code(
        WARNING,
        "The metadata assigns a partition to this node, but the node's directories that were given do not contain it.",
        "Certain that it is missing here; a note if checkpoints say that it is empty, or if it may be newer than the"
        " copy.",
        "A starting broker creates it again, empty, and fetches it from the leader if another replica is left.",
        "Before the broker starts, look for it in the node's other log directories, then on the other replicas. If only"
        " a part of the broker was copied on purpose, nothing is to do.",
        kind="copy-incomplete",
        cause="partitions-absent",
        lowered_by=(Reason.EMPTY_OR_NEWER,),
    ),
    "replica-only-aside": Code(
        ERROR,
        "A partition of a broker is only in directories with the suffix -delete, -future or -stray, although the"
        " metadata assigns it to the broker: a move was interrupted, or somebody renamed them.",
        "Certain for a broker that was stopped; in a copy of one that ran, it may have been renaming or deleting them."
        " A note for a -future replica in the log directory that the metadata assigns: the start gives it its name.",
        "At its next start the broker makes an empty directory, cuts a -future replica to it, and deletes those with"
        " -delete a minute later.",
        "Before the broker starts, copy them, and rename the whole one to the partition's name.",
        kind="start-empties",
        cause="move-interrupted",
        story="replicas put aside",
        lowered_by=(Reason.COPY_MAY_EXPLAIN, Reason.MAY_BE_THERE, Reason.NO_CONSUMER_SEES),
    ),
    "directory-not-given": Code(
        WARNING,
        "The metadata places a partition of a broker that was given in a log directory of it that was not given.",
        "Certain by directory.id in meta.properties and the newest record of the partition.",
        "The broker serves the partition from that directory; without it the partition has no replica there.",
        "Add the broker's other log directories, and audit all together.",
        kind="copy-incomplete",
        cause="directory-absent",
        story="directories not given",
        traits=Trait.NOT_READ,
    ),
    "decision-elsewhere": Code(
        WARNING,
        "The coordinator decided transactions whose marker a partition lacks that is not among the inputs.",
        "Certain if the partition has no leader, if the record is the newest of a broker that was stopped, or if it is"
        " a minute older than its state partition; else a note: it may have been completed after the copy.",
        "Until the marker is written, read_committed consumers of that partition get nothing from the transaction on.",
        "Add the directories that it names, and audit all together; do not abort a transaction that was decided.",
        kind="consumers-stopped",
        cause="decided",
        story="brokers not given",
        lowered_by=(Reason.MAY_BE_THERE,),
    ),
    "partition-leaderless": Code(
        ERROR,
        "A partition lost its leader and has had none since, although other brokers were up.",
        "Certain for the end of the metadata log that was read; not said of what lost its leader in an orderly stop of"
        " all brokers.",
        "Nobody can read or write the partition, and no marker can end its transactions. Transactional ids and groups"
        " that a partition of an internal topic coordinates get no answer.",
        "Start the broker that led it. If it names directories, add them, and audit all together.",
        kind="consumers-stopped",
        cause="leader-lost",
        story="outages",
    ),
    "election-elsewhere": Code(
        WARNING,
        "A replica became leader without being in sync, and the inputs lack the replicas that show what was lost.",
        "Certain that it was elected so, and that no replica that was in sync has come back; there may be no loss.",
        "They get the new leader's records, and never those that only the other replica has.",
        "Copy the directories that it names before their brokers start, and audit all together.",
        kind="records-lost",
        cause="unclean-election",
    ),
    "topic-missing": Code(
        WARNING,
        "The inputs contain no partition of the internal topic that this command reads.",
        "Certain for the directories that were given; the topic may be in another log directory of the broker.",
        "A broker creates the topic when a client first needs it.",
        "Give all log directories of the broker; a topic that nobody used does not exist.",
        kind="copy-incomplete",
        cause="partitions-absent",
    ),
    "space-held": Code(
        NOTE,
        "Bytes of a partition could be freed, but something holds them: the table space of `kafkalog space` has"
        " the cause.",
        "What the files show is certain; that the cleaner's thread ended is in no file, and is inferred from several"
        " partitions that wait.",
        "The broker does what its settings say, or can't; its log seldom says which.",
        "See the column next_step.",
    ),
}
