"""Codes about files: indexes, snapshots, checkpoints, directories, and what happened to a file while it was read."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.code import ERROR, NOTE, WARNING, Bytes, Code

__all__ = ["FILES"]


FILES: Final[dict[str, Code]] = {
    "index-truncated": Code(
        WARNING,
        "An index file's size is not a whole number of entries.",
        "Certain.",
        "The broker rebuilds the index; kafka-dump-log 4.3 cuts the file itself.",
        "Nothing to do: the broker rebuilds indexes from the log.",
    ),
    "index-preallocated": Code(
        WARNING,
        "An index file ends in zeros: space that the broker preallocated. A note where it may still write to the file.",
        "Almost certain: no broker writes an entry of zeros after another entry.",
        "The broker trims it when it rolls the segment or stops cleanly; kafka-dump-log reports it or throws on it.",
        "Nothing to do.",
    ),
    "index-mismatch": Code(
        WARNING,
        "Entries of an offset index do not fit the segment: no broker would have written them for these batches.",
        "Certain that they differ; the first offsets that brokers up to 1.1 wrote, and one entry for several batches,"
        " are accepted.",
        "It looks offsets up by the index: a fetch may begin after the record that it asks for.",
        "Delete the index: the broker rebuilds it from the log. Find out whether it is another segment's.",
    ),
    "time-index-mismatch": Code(
        WARNING,
        "Entries of a time index do not fit the segment: no broker would have written them for these batches.",
        "Certain that they differ, in a part of the log that is whole; batches without a time prove nothing.",
        "Lookups by time may answer a wrong offset.",
        "Delete the index: the broker rebuilds it from the log. Find out whether it is another segment's.",
    ),
    "index-entry-not-last-offset": Code(
        WARNING,
        "An entry of the offset index is not the last offset of the batch at its position: kafka-dump-log's rule.",
        "Certain that they differ; brokers also write entries that break this rule.",
        "kafka-dump-log reports a mismatch. A lookup fails only where the entry's offset is below the batch's first, or"
        " no batch begins at its position.",
        "Run kafkalog verify, which says whether it misleads readers (index-mismatch): brokers up to 1.1 and appends of"
        " several batches leave such entries.",
    ),
    "time-index-entry-unlike-batch": Code(
        WARNING,
        "An entry of the time index is not the last offset and newest time of a batch, or is no later than the entry"
        " before it: kafka-dump-log's rule.",
        "Certain that they differ; brokers also write entries that break this rule.",
        "kafka-dump-log reports a mismatch, an order or an offset that is not found.",
        "Run kafkalog verify, which says whether it misleads readers (time-index-mismatch): an entry may have an offset"
        " inside its batch.",
    ),
    "index-insane": Code(
        WARNING,
        "An index fails the check that a broker makes when it opens it.",
        "Certain: it is the broker's own check.",
        "The broker deletes and rebuilds it.",
        "Nothing to do: the broker rebuilds indexes from the log.",
    ),
    "sibling-missing": Code(
        WARNING,
        "The segment or the index that this file belongs to is not in the same directory, so nothing could be"
        " compared.",
        "Certain that it is not here; it may be where the file was copied from.",
        "kafka-dump-log throws, or creates an empty index.",
        "Copy the segment and its indexes together.",
    ),
    "version-unknown": Code(
        WARNING,
        "A file or an entry has a version that no known Kafka writes.",
        "Certain that kafkalog does not know the number; a newer Kafka may know it.",
        "The broker refuses the file.",
        "Read with care: a newer version may have a different layout.",
    ),
    "snapshot-corrupt": Code(
        ERROR,
        "A producer snapshot's CRC, size or version is wrong.",
        "Certain.",
        "The broker deletes it and uses an older one or scans the log.",
        "Leave it: the broker deletes it at its start. If the only one is gone, a broker that was stopped cleanly"
        " begins"
        " without states.",
    ),
    "checkpoint-malformed": Code(
        WARNING,
        "A text checkpoint breaks its format: version line, count line, entries.",
        "Certain.",
        "The broker fails to start, or uses 0 instead.",
        "Look at the file; the entries that can be read were read.",
    ),
    "read-while-running": Code(
        NOTE,
        "The broker was running, or had been killed, when this log directory was read or copied.",
        "Certain that it was not stopped cleanly: the lock is here, and the file that a clean stop leaves is not.",
        "A running broker writes on; a killed broker checks what it had not flushed at its next start, and cuts a torn"
        " batch.",
        "If `certainty` leaves a doubt, copy it from a stopped broker or a file system snapshot (--snapshot).",
    ),
    "file-changed": Code(
        NOTE,
        "A file grew, shrank, was replaced or vanished while it was read.",
        "Certain; what was read may mix the content before and after the change.",
        "Brokers write to their newest segments all the time.",
        "What was read is the file as it was when it was opened.",
    ),
    "partition-moving": Code(
        NOTE,
        "A broker deleted, replaced or truncated files of a partition while it was read, or deleted the partition.",
        "Certain; what is reported about the partition besides this is in all readings.",
        "Retention, the cleaner, truncation and topic deletion do this all the time.",
        "Nothing to do, or read again: each partition is read up to three times, and the newest state is shown.",
    ),
    "file-unreadable": Code(
        ERROR,
        "A file could not be opened or read.",
        "Certain for now; another user or another attempt may be able to read it.",
        "A broker would take the whole log directory offline.",
        "Mend what the message names, and run the same command again; the other files were read.",
        bytes=Bytes.LOST,
    ),
    "file-name-odd": Code(
        NOTE,
        "A file has the suffix of a segment, an index or a snapshot, but its name holds no offset that Kafka's 64 bits"
        " can hold; or a directory's name ends in a partition that 32 bits cannot hold.",
        "Certain: no broker writes such a name.",
        "The broker fails to load the partition or the log directory, or ignores the file.",
        "Find out what wrote it. All other files were read.",
    ),
    "file-unknown": Code(
        WARNING,
        "By its name or content, a file is no Kafka file that kafkalog knows.",
        "Judged by its name and its first bytes only.",
        "kafka-dump-log ignores it.",
        "Check that the right file was given.",
    ),
    "segments-alike": Code(
        WARNING,
        "Segments of two partitions hold the same batches, byte for byte, and no other file shows where they belong.",
        "Certain that they are the same; producers' timestamps and CRCs make a coincidence almost impossible.",
        "A broker reads both: consumers get the records twice, and miss what was there before.",
        "Compare both partitions with another replica: one of the two is a copy. A note if both have side files of"
        " their own and their partitions have one number: a Streams application writes the same to several topics.",
    ),
    "file-added": Code(
        WARNING,
        "A file is here that was not here at the earlier verification.",
        "Certain by its name below the argument, provided that both runs looked at the same evidence.",
        "No effect by itself.",
        "Find out who wrote it: evidence should not change.",
    ),
    "broker-went-on": Code(
        WARNING,
        "A broker went on writing since the earlier verification: its newest segments grew, or it began others.",
        "Certain where a log's newest segment is longer, or a newer one is there.",
        "It is what a running broker does.",
        "Compare copies instead: kafkalog diff OLD NEW says what each log did, and what no healthy broker does.",
    ),
    "file-gone": Code(
        WARNING,
        "A file is missing that was here at the earlier verification.",
        "Certain by its name below the argument, provided that both runs looked at the same evidence.",
        "No effect by itself.",
        "Find out who removed it: evidence should not change.",
    ),
    "file-size-changed": Code(
        WARNING,
        "A file has another size than at the earlier verification.",
        "Certain.",
        "No effect by itself.",
        "Find out who wrote to it: evidence should not change.",
    ),
    "file-content-changed": Code(
        ERROR,
        "A file has the same size as at the earlier verification, but other bytes.",
        "Certain: the SHA-256 of its bytes is different.",
        "No effect by itself.",
        "Find out who wrote to it: evidence should not change. The other findings may show what changed.",
    ),
    "output-changed": Code(
        ERROR,
        "A file of kafkalog's own output is missing, or is not what was written.",
        "Certain: its size or its SHA-256 is not the one in manifest.json, or not the one that the file carries.",
        "No effect: it is no file of Kafka's.",
        "Take the file from a copy of the output, or run the command again; rows that are read from it may be wrong.",
    ),
    "output-unlisted": Code(
        NOTE,
        "A file in kafkalog's own output is not in its manifest.json.",
        "Certain.",
        "No effect: it is no file of Kafka's.",
        "kafkalog report does not read it; what reads all files of a table's directory does. Find out who wrote it.",
    ),
    "link-leaves": Code(
        WARNING,
        "A symbolic link in the log directory leads out of it, or to nothing, and was not followed.",
        "Certain.",
        "The broker follows it.",
        "Give its target as an argument of its own if it belongs to the evidence.",
    ),
    "link-inside": Code(
        NOTE,
        "A symbolic link in the log directory leads to a directory that is read under another name.",
        "Certain.",
        "The broker follows it, and takes it for a partition of its own.",
        "Nothing: all bytes were read, once.",
    ),
    "clusters-mixed": Code(
        WARNING,
        "Directories with one cluster id are of several clusters: their topics have other ids under the same names. A"
        " note if the cluster ids differ.",
        "Certain that the ids differ; clusters that were made from one example file share its cluster id.",
        "A broker refuses a directory of another cluster id; it can't see that a cluster id was copied.",
        "Each cluster was read alone. Give the directories of one cluster if you meant only one.",
    ),
    "log-directories-below": Code(
        NOTE,
        "A path that is no log directory stands for the log directories below it, which the message names.",
        "By what is in them: meta.properties, a checkpoint file, or directories of partitions.",
        "Brokers know their log.dirs by name only.",
        "Name one of them to read it alone.",
    ),
    "partition-of-file": Code(
        NOTE,
        "A partition's file was given where a directory is needed: the whole partition was read.",
        "By the file's name, and by what is in its directory.",
        "A broker reads all of a partition's files together.",
        "Use kafkalog dump or kafkalog verify to read the file alone.",
    ),
    "log-directory-inside": Code(
        NOTE,
        "A log directory inside another log directory, which was not read with it.",
        "By what is in it: meta.properties, a checkpoint file, or directories of partitions.",
        "The broker does not read it as a part of the outer one.",
        "Name it as an argument of its own if it belongs to the evidence.",
    ),
    "directory-put-aside": Code(
        NOTE,
        "A partition directory with the suffix -delete, -future or -stray: it is not the partition's log.",
        "By its name, which is what the broker uses.",
        "By the suffix, brokers delete it, finish moving it, or leave it.",
        "Nothing to do; its segments can be dumped.",
    ),
    "files-deleted": Code(
        NOTE,
        "Files with the suffix .deleted: retention, a truncation or the cleaner gave up their segments.",
        "By their names, which are what the broker uses.",
        "The broker deletes them a minute later, or at its next start.",
        "Nothing to do; they can be dumped.",
    ),
    "files-cleaned": Code(
        NOTE,
        "Files with the suffix .cleaned: the cleaner was interrupted, or is still running.",
        "By their names, which are what the broker uses.",
        "A starting broker deletes them; the segments that they were made from are in place.",
        "If the broker neither stopped nor crashed, look in log-cleaner.log for the partition: a cleaner that failed"
        " leaves them forever, and cleans no more. Otherwise nothing is to do; they can be dumped.",
    ),
    "files-swap": Code(
        NOTE,
        "Files with the suffix .swap: the cleaner had finished, and putting its result in place was interrupted.",
        "By their names, which are what the broker uses.",
        "A starting broker puts them in place of the files with the same offsets, or deletes them, as the message"
        " says.",
        "Only the files in place were read; dump the .swap files too.",
    ),
    "files-unfinished": Code(
        NOTE,
        "Files with the suffix .tmp: writing a new checkpoint was interrupted.",
        "By their names.",
        "The broker uses the file without the suffix and overwrites the .tmp file.",
        "Nothing to do.",
    ),
    "side-file-missing": Code(
        NOTE,
        "An index of a segment is missing.",
        "Certain that it is not here.",
        "The broker rebuilds it from the log at its next start.",
        "Nothing to do: the broker rebuilds indexes from the log.",
    ),
    "segment-foreign": Code(
        ERROR,
        "A segment's batches are not those that its side files were made from: the segment came from elsewhere.",
        "Almost certain: files that were written independently of each other contradict the segment.",
        "The broker serves it as it is; it checks only what is above its recovery point.",
        "Copy the partition from another replica; look for the segment that these side files belong to.",
    ),
    "log-cut-short": Code(
        ERROR,
        "Other files know offsets after the end of a log: the end of the log was cut off.",
        "Certain that they contradict each other; the last batch is whole, so no write was interrupted. One of the"
        " other files may be another log's.",
        "The broker starts with the shorter log and treats the rest as never written.",
        "Copy the partition from another replica. Normal, and a note, if a broker ran while it was copied.",
    ),
    "log-missing": Code(
        ERROR,
        "A partition's directory has no segment, although other files know offsets of its log.",
        "Certain that they contradict each other: a running broker always keeps a segment, also when it has deleted all"
        " records. A warning for a metadata log whose newest .checkpoint has the state of all offsets that are known.",
        "The broker starts with an empty log; a controller or broker loads the newest .checkpoint of the metadata log.",
        "Copy the partition from another replica before a broker starts on this directory.",
    ),
    "segment-missing": Code(
        WARNING,
        "Index files are here, but their segment is not.",
        "Certain that the segment is not here; brokers remove a segment's files together.",
        "A starting broker deletes the indexes silently.",
        "Copy the partition from another replica. A note in a gap or after the log's end, which has its own finding,"
        " and in a copy of a broker that ran (copy-skewed).",
    ),
    "txn-index-mismatch": Code(
        ERROR,
        "A .txnindex does not list the aborted transactions that the log's markers show.",
        "Certain that they differ; what the log can't show, because it was cleaned or cut at its start, is not"
        " compared, and replicas may write different last stable offsets. A note if no consumer sees the difference, or"
        " if the segment's .index is missing, too: a starting broker makes both anew.",
        "read_committed consumers use it: they get aborted records, or miss committed ones; the finding says which"
        " offsets.",
        "Delete the .txnindex and the .index: the broker rebuilds both from the log.",
    ),
    "snapshot-mismatch": Code(
        WARNING,
        "A producer snapshot's CRC matches, but its producer states are not those of the log up to its offset.",
        "Certain that they differ, in a part of the log that is whole.",
        "A broker that starts from it trusts these states: it may refuse batches, or accept them twice.",
        "If the partition has an older snapshot, delete this one: the broker rebuilds the states from the older one."
        " If it"
        " is the only one, delete the directory's .kafka_cleanshutdown, too: after a clean stop a broker without"
        " snapshots"
        " begins without states.",
    ),
    "leader-epochs-mismatch": Code(
        WARNING,
        "leader-epoch-checkpoint does not fit the leader epochs of the batches.",
        "Certain that they differ. The CRCs do not cover the batches' epochs, so either may be wrong.",
        "Followers truncate by it.",
        "Compare with another replica's leader-epoch-checkpoint.",
    ),
    "copy-skewed": Code(
        WARNING,
        "Files of a partition are of different moments: they were copied one after the other while the broker ran.",
        "Certain that they contradict each other. A note where the files show that the broker deleted or replaced some"
        " of them meanwhile; a warning where files may have been lost instead.",
        "No effect on the broker that ran; one that starts from such a copy repairs it or misses the same files.",
        "Copy the partition again, from a stopped broker or a file system snapshot. The findings that follow from it"
        " are notes.",
    ),
    "checkpoint-ahead": Code(
        WARNING,
        "A checkpoint of the log directory has an offset after a log's end.",
        "Certain that they contradict each other: the log was cut, or the checkpoint belongs to another directory.",
        "A broker uses the log's end as the high watermark; a log start above the log's end empties the log.",
        "Compare with another replica. Normal, and a note, if a broker ran while it was copied.",
    ),
    "checkpoint-wrong": Code(
        WARNING,
        "A checkpoint's entry can't be what a broker wrote for this log: it is negative, is there twice (a note) or,"
        " after a clean stop, is not what such a stop writes.",
        "Certain for the rule that the message names.",
        "A recovery point that is too low costs time at the next start; a wrong high watermark is soon corrected.",
        "Compare with the log's own end and start.",
    ),
    "checkpoint-names-absent": Code(
        NOTE,
        "A checkpoint names partitions whose directories are not here.",
        "Certain; they were deleted, or left out of the copy.",
        "The broker drops such entries when it next writes the file.",
        "Nothing to do if the copy is only a part of the directory.",
    ),
    "meta-properties-wrong": Code(
        WARNING,
        "meta.properties is missing or empty, or a version, a number or a directory id in it is not a valid one.",
        "Certain by what brokers check; a cluster id may be any text, and unknown keys are ignored.",
        "A broker refuses to start on it; a missing file is written anew by brokers with ZooKeeper.",
        "Compare with the other directories of the node.",
    ),
    "partition-metadata-wrong": Code(
        WARNING,
        "partition.metadata breaks its format, holds an id that no topic has, or is missing beside batches.",
        "Certain.",
        "A broker takes the log directory offline; without the file it puts the partition's directory aside as -stray.",
        "Compare with the topic's other partitions.",
    ),
    "topic-id-differs": Code(
        ERROR,
        "A partition's topic id differs from its topic's id.",
        "Certain that they differ: the topic was deleted and created again, or the directory is another cluster's.",
        "A broker treats the partition as another topic's, and puts it aside or fails.",
        "Find out which topic the data belongs to before it is used.",
    ),
    "partition-twice": Code(
        ERROR,
        "One node has the same partition in two log directories.",
        "Certain by their names.",
        "The broker refuses to start.",
        "Keep the replica that ends later, and move the other one away: it is left of a move that a failed disk ended.",
    ),
    "directory-twice": Code(
        WARNING,
        "Two log directories are copies of one broker's: the same cluster, node and directory.id, or the same logs.",
        "Certain.",
        "A broker refuses to start with both.",
        "Read each copy alone; `kafkalog verify` reads both.",
    ),
    "quorum-state-wrong": Code(
        WARNING,
        "quorum-state does not fit the metadata log in its directory, or breaks its format.",
        "Certain: its epoch only grows, and no batch has a later one.",
        "A controller that starts from it may vote twice in one epoch.",
        "Compare with the other controllers.",
    ),
    "kraft-snapshot-wrong": Code(
        ERROR,
        "A KRaft snapshot is not whole from header to footer, or does not have the epoch and offset in its name.",
        "Certain.",
        "A controller or broker that loads it stops.",
        "Use the snapshot before it, or another controller's.",
    ),
}
