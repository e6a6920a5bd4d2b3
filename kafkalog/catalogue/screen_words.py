"""What a screen's first words and labels mean, for ``kafkalog explain``."""

from __future__ import annotations

from typing import Final

__all__ = ["LABELS", "VERDICTS"]

# By the first word of a report.
VERDICTS: Final = {
    "LOST": "Records that consumers were to get are gone, or left on a replica that nobody reads.",
    "MISSING": "A copy of a running broker lacks records that other files know: its disk may have them.",
    "DAMAGED": "Bytes cannot be read, replicas differ, or no consumer can fetch records that are there.",
    "TORN": "A transaction ended differently in its partitions: committed in some, aborted in others. All bytes are"
    " whole.",
    "BLOCKED": "Partitions have no leader although a broker was up, or transactions that nothing ends hold back"
    " read_committed consumers.",
    "SUSPICIOUS": "Something is not as a broker leaves it, and nobody has lost anything by it; or transactions may"
    " hang, which only the running broker can say.",
    "INCOMPLETE": "Not all could be read, or parts are missing among the inputs: the answer is about the rest.",
    "EMPTY": "The log directories have no logs.",
    "OK": "Nothing above a note. The sentence says what there is all the same.",
    "OK, but ask": "Nothing above a note, but the files end too early: whether a marker came, or a transaction hangs,"
    " only the running broker can say. The exit status is that of OK.",
    "YES": "What was asked holds.",
    "YES, BUT": "What was asked holds, with what the sentence says.",
    "NO": "What was asked does not hold; the sentence says why.",
    "ERROR": "An incident that harms somebody, or will: records, consumers or a broker's start.",
    "WARNING": "An incident that may harm somebody, or that these inputs do not prove.",
    "NOTE": "An incident that harms nobody as far as these inputs show.",
}  # fmt: skip

# By the label of a line: those of an incident, then those under Also.
LABELS: Final = {
    "since": "When an incident began, and until when it held: a broker's clock, if the line does not say otherwise.",
    "end not in this copy": "A transaction that may be open, or may have ended after this copy.",
    "groups not known": "These files have no committed offsets: kafka-consumer-groups.sh --describe lists them.",
    "unknown fate": "No file says whether a transaction committed these records, aborted them, or never had them.",
    "find-hanging": "kafka-transactions.sh find-hanging asks the leaders of partitions which transactions are open"
    " there while no coordinator knows of them. It omits what was written in the last minute.",
    "StartOffset": "The first offset of an open transaction in a partition, as find-hanging prints it.",
    "no marker in this copy": "A transaction of which this copy has no marker: its files may have been copied before it"
    " came. Behind it stands what the coordinator decided.",
    "where": "The partitions of an incident, its offsets, and how many records it is about.",
    "who": "The transactional ids and producers of an incident.",
    "LSO": "The last stable offset of a lane of timeline: read_committed consumers are given what is before it.",
    "lost": "How many records consumers have lost, how their transactions had ended, and where copies of them are.",
    "groups": "The consumer groups in an incident's partitions, with their lag: the offsets up to the end of the log.",
    "consumers": "What consumers get of an incident's partitions, by their isolation level.",
    "transactional id unknown": "No file has the transactional id of this producer id: kafka-transactions.sh list may.",
    "blocked": "Where consumers stand still, by their isolation level.",
    "proof": "What the files say, in the order in which it happened, each with its file and offset.",
    "do": "What to do, in an order that loses nothing: save, check, act, verify. Each line can be pasted.",
    "records": "The line that shows the records of an incident where they are.",
    "incident": "The id of an incident, which the same incident has in another copy, its kind and its cause.",
    "fenced": "Another producer took over a transactional id, and the open transaction of the older one was aborted.",
    "timed out": "Transactions that the coordinator aborted, as they were open for longer than their timeout.",
    "by hand": "Transactions that a foreign marker aborted, for example kafka-transactions.sh abort: no coordinator"
    " decided it, and none had decided to commit.",
    "to do": "What the lines above ask for: of what was fenced or timed out nothing in the cluster.",
    "open": "Transactions that are under way where the files end; they are normal within their timeout.",
    "waiting": "Consumer groups whose offset commits are in an open transaction.",
    "log start": "Partitions whose oldest records are deleted.",
    "not read": "Parts of logs that are in remote storage alone, which was not given.",
    "bundle": "Of what the bundle is a part, and what cannot be known from it.",
    "remote": "What was read of a remote store.",
    "to copy": "Segments that wait to be copied to remote storage.",
    "to delete": "Segments that wait to be deleted from remote storage.",
    "cleaning": "Compacted logs in which a cleaning did not finish, with the cleaner's checkpoint.",
    "new id": "Transactional ids that got a new producer id, as the epochs of the old one were used up.",
    "upgrade": "When a feature's level changed.",
    "next": "How the first step of an incident begins; of a plan what its steps do.",
    "alike": "Incidents of one kind and cause that have a line together; --full tells each.",
    # Of a comparison of two audits.
    "appended": "Offsets that logs got between the two audits.",
    "rolled": "Segments that logs began between the two audits.",
    "cleaned": "Logs in which the cleaner removed records between the two audits.",
    "retention": "The oldest segments that retention deleted between the two audits.",
    "deleted": "Records that DeleteRecords deleted between the two audits.",
    "leaders": "Logs that another broker leads now.",
    "new logs": "Logs that are only in the newer audit.",
    "gone": "Logs that are only in the older audit.",
    "moved": "Logs that are in another directory now.",
    "replaced": "Logs whose topic was deleted and made again.",
    "was open": "How transactions ended that were open in the older audit.",
    "topic": "A topic that was made, deleted or changed.",
    "setting": "A setting of a topic or a broker that is another one now.",
    "log": "What else became of a log.",
    "still there": "Incidents that were in the older audit, too, and have not grown.",
    "over": "Incidents of the older audit that are gone.",
    "stalled": "Groups that committed nothing although their logs grew.",
    "went back": "Groups whose committed offset is lower than before.",
    # Of a start on these directories.
    "cluster": "What becomes of a cluster when its brokers start on these directories.",
    "broker": "Whether a broker starts on these directories.",
    "partition": "Which offsets of a partition are left after the start.",
    "transaction": "How a transaction ends after the start.",
    "group": "What becomes of a group's offsets after the start.",
}  # fmt: skip
