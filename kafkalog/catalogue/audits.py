"""Codes about transactions, offsets, replicas and what coordinators and controllers wrote."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.code import ERROR, NOTE, WARNING, Code

__all__ = ["AUDITS"]


AUDITS: Final[dict[str, Code]] = {
    "marker-epoch-wrong": Code(
        ERROR,
        "A transaction's marker has an older epoch than the data that it ends.",
        "Certain: both batches' checksums hold.",
        "A leader refuses such a marker.",
        "Compare with another replica; find what wrote the file.",
    ),
    "coordinator-epoch-decreasing": Code(
        ERROR,
        "A producer's marker was written by an older coordinator than the marker before it.",
        "Certain: both batches' checksums hold.",
        "A leader refuses such a marker.",
        "Compare with another replica; find what wrote the file.",
    ),
    "internal-record-malformed": Code(
        ERROR,
        "A record of an internal topic can't be read: its key or value is not what its type needs.",
        "Certain for the types and versions known here; a newer Kafka may write others.",
        "The coordinator or controller skips it with a warning, or fails to load the partition.",
        "Compare with another replica; the records before and behind it were read.",
    ),
    "internal-record-unknown": Code(
        NOTE,
        "A record of an internal topic is of a type or version that is not known here.",
        "Certain: no release up to 4.4 writes it.",
        "A coordinator skips unknown types with a warning; it reads unknown versions as the newest that it knows.",
        "A newer broker wrote it, or the file is of another topic: choose the decoder by the topic's name.",
    ),
    "internal-record-odd": Code(
        WARNING,
        "A record of an internal topic is read, with something in it that no broker writes.",
        "Certain: brokers write neither bytes behind the last field nor tags that are out of order or of a wrong size.",
        "Kafka lets it pass.",
        "Compare with another replica: the record may have been edited.",
    ),
    "key-undecodable": Code(
        WARNING,
        "A record's key or value is too short for the decoder that was asked for.",
        "Certain for this decoder; the bytes may be right for another.",
        "kafka-dump-log throws and stops.",
        "Choose another decoder class.",
    ),
    "sequence-broken": Code(
        WARNING,
        "A producer's sequence does not continue its batch before, in a part of the log that was not cleaned.",
        "Certain that the sequence does not continue; whether the producer's state had expired the files do not say.",
        "A leader refuses such a batch while it remembers the producer.",
        "Legal where the producer's state had expired; else records are missing or were written twice.",
    ),
    "offset-gap-lost": Code(
        ERROR,
        "Offsets are missing where nothing legal explains it: a segment is lost, or bytes are damaged.",
        "As good as certain: compaction, retention and the log's start are ruled out.",
        "Consumers jump over them without a word.",
        "Copy the partition from another replica.",
    ),
    "offset-gap-unexplained": Code(
        WARNING,
        "Offsets are missing and the files at hand neither explain nor exclude it.",
        "Not sure: both a cause that is legal and a loss are possible.",
        "Consumers jump over them without a word.",
        "Compare with another replica.",
    ),
    "transaction-hanging": Code(
        ERROR,
        "A transaction is open and the coordinator will never end it: the last stable offset is stuck there.",
        "By its column `certainty`: proved, or a marker may have come after the copy or lie in damaged bytes.",
        "read_committed consumers stall for ever, compaction cannot pass it.",
        "End it with kafka-transactions.sh abort, after reading its cause.",
    ),
    "transaction-overdue": Code(
        WARNING,
        "A transaction is open for longer than its timeout allows.",
        "Measured against the newest time in the inputs, or --now; a copy's state topic may lag behind.",
        "The coordinator aborts it ten seconds after its timeout at the latest, if it runs.",
        "Look at the coordinator's broker.",
    ),
    "transaction-pending": Code(
        NOTE,
        "The coordinator has decided; the marker has not arrived in this partition.",
        "The decision is certain; the marker may have arrived after the file was copied.",
        "The coordinator sends it until the partition's leader takes it.",
        "Nothing to do while it is fresh; else look at the partition's leader.",
    ),
    "transaction-undecided": Code(
        WARNING,
        "A transaction is open, and the state partition that would know more is not at hand.",
        "Nothing is claimed beyond that no marker is here.",
        "Nothing can be said.",
        "Add the directory that holds the missing partitions of __transaction_state.",
    ),
    "atomicity-broken": Code(
        ERROR,
        "A transaction ended in one partition otherwise than the coordinator decided, or otherwise than in another"
        " partition, or one lacks its marker.",
        "Certain: only what is beyond doubt one transaction is compared; the rest is counted as not checkable.",
        "Consumers see a part of a transaction.",
        "Find who wrote the foreign marker, or what took the missing one; the data must be repaired by hand.",
    ),
    "late-data-adopted": Code(
        WARNING,
        "Data that was left open by an older epoch was ended by the producer's next transaction.",
        "Certain: data of two epochs of one producer stands in front of one marker.",
        "It got the fate of a transaction that it does not belong to.",
        "Check whether those records should be there.",
    ),
    "offsets-pending": Code(
        NOTE,
        "Offset commits of a group stand in a transaction that is open.",
        "As sure as the state of the transaction that they stand in.",
        "They count once the transaction commits; until then the group's next consumer may be refused stable offsets.",
        "Look at the transaction.",
    ),
    "offsets-aborted": Code(
        NOTE,
        "Offset commits of a group stood in transactions that were aborted: they never counted.",
        "Certain: the ABORT marker stands behind them.",
        "They are discarded at the marker.",
        "Nothing to do.",
    ),
    "replicas-fork": Code(
        WARNING,
        "Two replicas hold batches of different leader epochs at the same offset: their histories part there.",
        "Certain: the batches of both replicas are at hand.",
        "Only one of them goes on; what the other holds behind that offset is lost for consumers.",
        "Typical after an unclean election: compare what only one of them has, before the other is truncated.",
    ),
    "state-replicas-differ": Code(
        WARNING,
        "Two replicas of a state partition hold different records at the same offset.",
        "Certain that they differ; the replica that leads is taken by its leader epochs.",
        "The coordinator goes by its leader's.",
        "The replica whose leader epochs reach furthest was taken.",
    ),
    "state-partitions-guessed": Code(
        NOTE,
        "The number of the state topic's partitions is not known; it was taken to be the highest seen and one.",
        "Not sure: partitions that are not at hand may have higher numbers.",
        "Nothing: a broker knows it.",
        "Add the metadata log, or say the number: without it an unknown producer id may be called hanging.",
    ),
    "state-not-read": Code(
        WARNING,
        "The state topic or the metadata log is bigger than what one process may read before the others begin.",
        "Certain: the sizes are those of the listing.",
        "Nothing: a broker reads all of it.",
        "Raise the limit, or run the bulk audit: without the coordinator's word verdicts are less sure.",
    ),
    "state-record-malformed": Code(
        ERROR,
        "A record of the transaction state topic can't be read.",
        "Certain for the versions known here; a newer Kafka may write others.",
        "The coordinator skips it or fails to load the partition.",
        "Compare with another replica of the state partition.",
    ),
    "state-transition-illegal": Code(
        WARNING,
        "Two neighbouring records of a transactional id are no legal transition.",
        "Certain for the records that are here; where the topic was cleaned nothing is claimed.",
        "A coordinator never writes it.",
        "Records between them are lost, or the partition was edited.",
    ),
    "replicas-differ": Code(
        ERROR,
        "Two replicas hold different batches at the same offset in the same leader epoch.",
        "Certain: the batches of both are at hand, and no cleaner was there.",
        "No follower writes that: one of the two was changed, or came from elsewhere. Consumers get the leader's.",
        "Compare both with a third replica, or with what the producer knows.",
    ),
    "replica-lacks": Code(
        ERROR,
        "A replica lacks batches that another has, between batches that both have.",
        "Certain; neither the log's start nor a cleaner explains it.",
        "Consumers that read from it jump over them without a word.",
        "Copy the partition from the other replica.",
    ),
    "replica-damaged": Code(
        NOTE,
        "A batch whose checksum does not hold is whole in another replica.",
        "Certain: the same batch, by its offsets, epochs and sequences, passes its checksum there.",
        "A broker that finds it fetches the log anew from the leader.",
        "Copy the partition from the other replica. The damage has its own finding.",
    ),
    "metadata-snapshot-incomplete": Code(
        WARNING,
        "A snapshot of the metadata log has no footer, which is written last: it was not used.",
        "Certain that the footer is not there; the records before it may be whole.",
        "A controller or broker that loads it fails; one that was never finished keeps the suffix .part.",
        "Compare with another node's snapshot of the same name.",
    ),
    "partition-absent": Code(
        WARNING,
        "The metadata assigns a partition to this node, and it does not lie in the node's directories at hand.",
        "Certain that it is not here; a note where checkpoints know it as empty, or it may have come after the copy.",
        "A broker that starts makes it anew and empty, and fetches it from the leader if another replica is left.",
        "Look for it in the node's other log directories; else on the other replicas, before the broker starts.",
    ),
    "topic-missing": Code(
        WARNING,
        "No partition of the internal topic that a command reads lies under the inputs.",
        "Certain for the directories that were named; the topic may lie in another of the broker's.",
        "A broker creates the topic when a client first needs it.",
        "Name all log directories of the broker; a topic that nobody used is not there at all.",
    ),
}
