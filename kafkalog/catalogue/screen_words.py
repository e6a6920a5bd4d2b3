"""What a screen's first words and labels mean, for ``kafkalog explain``."""

from __future__ import annotations

from typing import Final

__all__ = ["LABELS", "VERDICTS"]

# By the first word of a report.
VERDICTS: Final = {
    "LOST": "Records that consumers were to get are gone, or left on a replica that nobody reads.",
    "DAMAGED": "Bytes cannot be read, or replicas differ.",
    "TORN": "A transaction ended differently in its partitions: committed in some, aborted in others. All bytes are"
    " whole.",
    "BLOCKED": "Partitions have no leader although a broker was up, or transactions that nothing ends hold back"
    " read_committed consumers.",
    "SUSPICIOUS": "Something is not as a broker leaves it, and nobody has lost anything by it.",
    "INCOMPLETE": "Not all could be read, or parts are missing among the inputs: the answer is about the rest.",
    "EMPTY": "The log directories have no logs.",
    "OK": "Nothing above a note. The sentence says what there is all the same.",
    "YES": "What was asked holds.",
    "YES, BUT": "What was asked holds, with what the sentence says.",
    "NO": "What was asked does not hold; the sentence says why.",
}  # fmt: skip

# By the label of a line: those of an incident, then those under Also.
LABELS: Final = {
    "since": "When an incident began, and until when it held: a broker's clock, if the line does not say otherwise.",
    "where": "The partitions of an incident, its offsets, and how many records it is about.",
    "who": "The transactional ids and producers of an incident.",
    "lost": "How many records consumers have lost, how their transactions had ended, and where copies of them are.",
    "groups": "The consumer groups in an incident's partitions, with their lag: the offsets up to the end of the log.",
    "consumers": "What consumers get of an incident's partitions, by their isolation level.",
    "blocked": "Where consumers stand still, by their isolation level.",
    "proof": "What the files say, in the order in which it happened, each with its file and offset.",
    "do": "What to do, in an order that loses nothing: save, check, act, verify. Each line can be pasted.",
    "records": "The line that shows the records of an incident where they are.",
    "incident": "The id of an incident, which the same incident has in another copy, its kind and its cause.",
    "fenced": "Another producer took over a transactional id, and the open transaction of the older one was aborted.",
    "timed out": "Transactions that the coordinator aborted, as they were open for longer than their timeout.",
    "by hand": "Transactions that an administrator aborted: no coordinator decided it.",
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
}  # fmt: skip
