"""What is wrong with the evidence, as rows: each finding says where, what was needed and what was there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, TypedDict, Unpack

__all__ = ["CATALOGUE", "Code", "Finding", "Severity", "Where"]


class Severity(IntEnum):
    """How bad a finding is: a note is normal and worth knowing, a warning may be legal, an error never is."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """Return the lower-case word that outputs carry."""
        return self.name.lower()


class Where(TypedDict, total=False):
    """The place of a finding and what it holds against what; see Finding."""

    position: int | None
    length: int | None
    offset: int | None
    needed: int | str | None
    found: int | str | None
    certainty: str | None
    log: str | None
    topic: str | None
    partition: int | None
    producer_id: int | None
    last_offset: int | None
    remedy: str | None


class Finding(NamedTuple):
    """One wrong or remarkable thing.

    `position` and `length` are bytes in the file, `offset` a log offset; each is None where it means nothing.
    `needed` and `found` are what the rule asks for and what the bytes hold, as text or numbers. The fields from
    `certainty` on are an audit's: how sure it is, which log it is about, and the command that ends the trouble.
    """

    code: str
    severity: Severity
    file: str
    position: int | None
    length: int | None
    offset: int | None
    needed: int | str | None
    found: int | str | None
    message: str
    certainty: str | None = None
    log: str | None = None
    topic: str | None = None
    partition: int | None = None
    producer_id: int | None = None
    last_offset: int | None = None
    remedy: str | None = None

    @classmethod
    def of(cls, code: str, file: str, message: str, **where: Unpack[Where]) -> Finding:
        """Make a finding with the severity that the catalogue gives its code."""
        severity = CATALOGUE[code].severity
        return cls(code, severity, file, None, None, None, None, None, message)._replace(**where)

    def id_in(self, node: str | None) -> str:
        """Return an id that the same finding has in a copy elsewhere: it is made of no path and no time."""
        import hashlib

        parts = (self.code, node, self.topic, self.partition, self.offset, self.last_offset, self.position,
                 self.length, self.producer_id)  # fmt: skip
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        """Write the finding on one line, as the command line shows it."""
        where = self.file if self.position is None else f"{self.file}@{self.position}"
        return f"{self.severity.word}: {where}: {self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: what it means, how sure it is, what Kafka would do with it, what to do next."""

    severity: Severity
    meaning: str
    certainty: str
    kafka: str
    next: str


_NOTE, _WARNING, _ERROR = Severity

# Every code, in the order in which a reader meets them.
CATALOGUE: Final[dict[str, Code]] = {
    "crc-mismatch": Code(
        _ERROR,
        "The checksum in a batch's header is not that of its bytes; what follows the batch is in place.",
        "Certain: the bytes are not those that the checksum was taken of. What changed them the file does not say.",
        "A consumer or a follower that reads it fails; recovery after an unclean stop truncates the log here.",
        "Copy the partition from another replica; the batches before and after are whole.",
    ),
    "batch-length-wrong": Code(
        _ERROR,
        "A batch's length does not lead to the next batch: a whole batch was found inside or elsewhere.",
        "Certain where the checksum holds up to the next whole batch; else inferred from the whole batches around it.",
        "The file's reader stops or goes astray here; everything after is invisible to kafka-dump-log.",
        "Compare with another replica; the batches found after it are whole.",
    ),
    "magic-wrong": Code(
        _ERROR,
        "A batch's magic byte is not 2, yet its checksum holds as that of a magic 2 batch; the byte is outside it.",
        "Certain: the checksum of magic 2 holds by chance once in four billion times.",
        "Kafka reads any magic above 2 as 2 from files; 0 and 1 are read as old messages and fail.",
        "The batch was read as magic 2; compare the byte with another replica.",
    ),
    "batch-truncated": Code(
        _WARNING,
        "The file ends inside its last batch: a write was torn, or the copy was taken while the broker wrote.",
        "Certain that the rest is not in the file; it does not say whether it was ever written.",
        "Recovery truncates the partial batch; nothing that was acknowledged by all replicas is lost.",
        "Expected in the active segment of a killed or running broker; elsewhere compare with another replica.",
    ),
    "bytes-unreadable": Code(
        _ERROR,
        "Bytes that belong to no batch: no header whose checksum holds begins here.",
        "Certain: no header in them passes its checksum. How many batches were there is not known.",
        "The file's reader stops here, so that all that follows is invisible; recovery truncates the log here.",
        "Copy the partition from another replica before a broker starts on this directory.",
    ),
    "bytes-zero": Code(
        _ERROR,
        "A run of zero bytes between batches.",
        "Certain: batches follow, or another segment does, so that no space was allocated there in advance.",
        "The file's reader raises a corruption error here; recovery truncates the log here.",
        "Typical after a power loss; copy the partition from another replica before a broker starts on it.",
    ),
    "tail-preallocated": Code(
        _NOTE,
        "The file ends in zeros from a batch's end on: space that the broker allocated in advance.",
        "As good as certain in a segment that is its partition's last; zeros left by a power loss look the same.",
        "Trimmed when the segment is rolled or the broker stops cleanly; kafka-dump-log throws on it.",
        "Nothing to do.",
    ),
    "batch-over-limit": Code(
        _ERROR,
        "A batch is bigger than the limit for one batch, so that its records were not read.",
        "Certain; whether the batch is whole was not looked at.",
        "A broker reads it if its own limits allow.",
        "Run again with a higher --max-batch-bytes.",
    ),
    "decompression-over-limit": Code(
        _ERROR,
        "A batch's records decompress to more than the limit, so that they were not read.",
        "Certain; what lies beyond the limit was not looked at.",
        "Kafka decompresses without a limit.",
        "Run again with a higher --max-decompressed-bytes if the data can be trusted.",
    ),
    "codec-unknown": Code(
        _ERROR,
        "A batch names a compression codec that does not exist.",
        "Certain: the checksum covers the codec's number.",
        "Kafka throws on it.",
        "Compare with another replica.",
    ),
    "decompression-failed": Code(
        _ERROR,
        "A batch's records do not decompress although its checksum holds: they were written that way.",
        "Certain: the checksum holds, so that the bytes are as they were written.",
        "A consumer fails at this batch for ever; the broker did not look inside it.",
        "Find the producer; consumers have to skip the batch.",
    ),
    "record-malformed": Code(
        _ERROR,
        "A record breaks the encoding although the batch's checksum holds; the records before it were read.",
        "Certain: the checksum holds, so that the bytes are as they were written.",
        "A consumer fails at this batch for ever.",
        "Find the producer; consumers have to skip the batch.",
    ),
    "control-record-malformed": Code(
        _ERROR,
        "A control record's key or value does not hold what its type needs.",
        "Certain: the checksum holds, so that the bytes are as they were written.",
        "Brokers and consumers throw on it.",
        "Compare with another replica.",
    ),
    "offset-gap": Code(
        _WARNING,
        "Offsets are missing between two batches of the segment.",
        "Certain that the offsets are missing; one segment alone can't say whether they may.",
        "Legal where a log is compacted; elsewhere consumers silently jump over it.",
        "Audit the whole partition: only its other files can tell whether the gap is legal.",
    ),
    "offset-not-increasing": Code(
        _ERROR,
        "A batch's first offset is not above the last offset of the batch before it.",
        "Certain that the order is broken; which of the two offsets is wrong can't be told from them alone.",
        "No broker since 1.1 writes that: the segment mixes files, or the field changed, being outside the checksum.",
        "Compare with another replica and with the segment's .index.",
    ),
    "offset-outside-segment": Code(
        _ERROR,
        "A batch's offset lies before the segment's base offset, or further behind it than a segment can reach.",
        "Certain; whether the file's name or the batch's field is wrong is not.",
        "Reads by offset miss it.",
        "The file belongs elsewhere, or the field, which is outside the checksum, changed.",
    ),
    "leader-epoch-decreasing": Code(
        _ERROR,
        "A batch's partition leader epoch is below that of the batch before it.",
        "Certain that the order is broken; which of the two epochs is wrong can't be told from them alone.",
        "Epochs only grow with offsets; followers truncate by them.",
        "Compare with leader-epoch-checkpoint: the field is outside the checksum.",
    ),
    "index-truncated": Code(
        _WARNING,
        "An index file's size is not a whole number of entries.",
        "Certain.",
        "The broker rebuilds the index; kafka-dump-log of 4.3 cuts the file itself.",
        "Nothing is lost: indexes are rebuilt from the log.",
    ),
    "index-preallocated": Code(
        _NOTE,
        "An index file ends in zeros: space that the broker allocated in advance.",
        "As good as certain: no broker writes an entry of zeros behind another entry.",
        "Trimmed when the segment is rolled or the broker stops cleanly; kafka-dump-log reports or throws on it.",
        "Nothing to do.",
    ),
    "index-mismatch": Code(
        _WARNING,
        "An entry of the offset index does not name the last offset of the batch at its position.",
        "Certain that they differ; that is damage only for brokers of 2.0 and newer.",
        "Lookups still work where the entry's offset is at or before the batch's last.",
        "Normal for brokers up to 1.1 and for entries written once an append; else the index is of another file.",
    ),
    "time-index-mismatch": Code(
        _WARNING,
        "An entry of the time index does not agree with the log or with the entry before it.",
        "Certain that they differ; the log is what counts.",
        "Lookups by time may answer a wrong offset.",
        "The broker rebuilds the index when the file is deleted.",
    ),
    "index-insane": Code(
        _WARNING,
        "An index fails the check that a broker makes when it opens it.",
        "Certain: it is the broker's own check.",
        "The broker deletes and rebuilds it.",
        "Nothing is lost: indexes are rebuilt from the log.",
    ),
    "sibling-missing": Code(
        _WARNING,
        "The segment or the index that this file belongs to is not beside it, so nothing could be compared.",
        "Certain that it is not here; it may be where the file was copied from.",
        "kafka-dump-log throws, or creates an empty index.",
        "Copy the file's siblings along.",
    ),
    "version-unknown": Code(
        _WARNING,
        "A file or an entry carries a version that no known Kafka writes.",
        "Certain that the number is not known here; a newer Kafka may know it.",
        "The broker refuses the file.",
        "Read with care: the layout of a newer version may differ.",
    ),
    "snapshot-corrupt": Code(
        _ERROR,
        "A producer snapshot's checksum, size or version is wrong.",
        "Certain.",
        "The broker deletes it and falls back to an older one or scans the log.",
        "Nothing is lost while the log is whole.",
    ),
    "checkpoint-malformed": Code(
        _WARNING,
        "A text checkpoint breaks its format: version line, count line, entries.",
        "Certain.",
        "The broker fails to start or takes 0 instead.",
        "The entries that could be read were read.",
    ),
    "key-undecodable": Code(
        _WARNING,
        "A record's key or value is too short for the decoder that was asked for.",
        "Certain for this decoder; the bytes may be right for another.",
        "kafka-dump-log throws and stops.",
        "Choose another decoder class.",
    ),
    "read-while-running": Code(
        _NOTE,
        "The broker that wrote this log directory ran, or had been killed, when it was read or copied.",
        "Certain that it was not stopped cleanly: its lock is there, and no mark of a clean stop.",
        "It writes on; a killed broker's next start checks what it had not flushed, and cuts off a torn batch.",
        "Copy it from a stopped broker or a file system's snapshot (--snapshot) where `certainty` leaves a doubt.",
    ),
    "file-changed": Code(
        _NOTE,
        "A file grew, shrank, was replaced or vanished while it was read.",
        "Certain; what was read may mix the time before with the time after.",
        "Brokers write to their newest segments all the time.",
        "What was read is the file as it was at opening.",
    ),
    "file-unreadable": Code(
        _ERROR,
        "A file could not be opened or read.",
        "Certain now; another user or another try may read it.",
        "A broker would take the whole log directory offline.",
        "See the message; the other files were read.",
    ),
    "file-unknown": Code(
        _WARNING,
        "A file's name or content is that of no Kafka file that is known here.",
        "By its name and its first bytes only.",
        "kafka-dump-log ignores it.",
        "Check that the right file was named.",
    ),
    "link-leaves": Code(
        _WARNING,
        "A symbolic link in the log directory leads out of it and was not followed.",
        "Certain.",
        "The broker follows it.",
        "Name its target as an argument of its own if it belongs to the evidence.",
    ),
    "directory-put-aside": Code(
        _NOTE,
        "A partition directory with the suffix -delete, -future or -stray: it is not the partition's log.",
        "By its name, which is what the broker goes by.",
        "Brokers delete it, finish moving it, or leave it, by the suffix.",
        "Nothing to do; its segments can be dumped.",
    ),
    "files-left-over": Code(
        _NOTE,
        "Files with the suffix .deleted, .cleaned or .swap: a deletion or a cleaning was under way.",
        "By their names, which are what the broker goes by.",
        "The loader deletes them, or finishes the swap, at the next start.",
        "Nothing to do; they can be dumped.",
    ),
    "sequence-broken": Code(
        _WARNING,
        "A producer's sequence does not continue its batch before, in a part of the log that was not cleaned.",
        "Certain that the sequence does not continue; whether the producer's state had expired the files do not say.",
        "A leader refuses such a batch while it remembers the producer.",
        "Legal where the producer's state had expired; else records are missing or were written twice.",
    ),
    "offset-gap-lost": Code(
        _ERROR,
        "Offsets are missing where nothing legal explains it: a segment is lost, or bytes are damaged.",
        "As good as certain: compaction, retention and the log's start are ruled out.",
        "Consumers jump over them without a word.",
        "Copy the partition from another replica.",
    ),
    "offset-gap-unexplained": Code(
        _WARNING,
        "Offsets are missing and the files at hand neither explain nor exclude it.",
        "Not sure: both a cause that is legal and a loss are possible.",
        "Consumers jump over them without a word.",
        "Compare with another replica.",
    ),
    "transaction-hanging": Code(
        _ERROR,
        "A transaction is open and the coordinator will never end it: the last stable offset is stuck there.",
        "By its column `certainty`: proved, or a marker may have come after the copy or lie in damaged bytes.",
        "read_committed consumers stall for ever, compaction cannot pass it.",
        "End it with kafka-transactions.sh abort, after reading its cause.",
    ),
    "transaction-overdue": Code(
        _WARNING,
        "A transaction is open for longer than its timeout allows.",
        "Measured against the newest time in the inputs, or --now; a copy's state topic may lag behind.",
        "The coordinator aborts it ten seconds after its timeout at the latest, if it runs.",
        "Look at the coordinator's broker.",
    ),
    "transaction-pending": Code(
        _NOTE,
        "The coordinator has decided; the marker has not arrived in this partition.",
        "The decision is certain; the marker may have arrived after the file was copied.",
        "The coordinator sends it until the partition's leader takes it.",
        "Nothing to do while it is fresh; else look at the partition's leader.",
    ),
    "transaction-undecided": Code(
        _WARNING,
        "A transaction is open, and the state partition that would know more is not at hand.",
        "Nothing is claimed beyond that no marker is here.",
        "Nothing can be said.",
        "Add the directory that holds the missing partitions of __transaction_state.",
    ),
    "atomicity-broken": Code(
        _ERROR,
        "A transaction ended in one partition otherwise than the coordinator decided, or otherwise than in another"
        " partition, or one lacks its marker.",
        "Certain: only what is beyond doubt one transaction is compared; the rest is counted as not checkable.",
        "Consumers see a part of a transaction.",
        "Find who wrote the foreign marker, or what took the missing one; the data must be repaired by hand.",
    ),
    "late-data-adopted": Code(
        _WARNING,
        "Data that was left open by an older epoch was ended by the producer's next transaction.",
        "Certain: data of two epochs of one producer stands in front of one marker.",
        "It got the fate of a transaction that it does not belong to.",
        "Check whether those records should be there.",
    ),
    "offsets-pending": Code(
        _NOTE,
        "Offset commits of a group stand in a transaction that is open.",
        "As sure as the state of the transaction that they stand in.",
        "They count once the transaction commits; until then the group's next consumer may be refused stable offsets.",
        "Look at the transaction.",
    ),
    "offsets-aborted": Code(
        _NOTE,
        "Offset commits of a group stood in transactions that were aborted: they never counted.",
        "Certain: the ABORT marker stands behind them.",
        "They are discarded at the marker.",
        "Nothing to do.",
    ),
    "replicas-fork": Code(
        _WARNING,
        "Two replicas hold batches of different leader epochs at the same offset: their histories part there.",
        "Certain: the batches of both replicas are at hand.",
        "Only one of them goes on; what the other holds behind that offset is lost for consumers.",
        "Typical after an unclean election: compare what only one of them has, before the other is truncated.",
    ),
    "state-replicas-differ": Code(
        _WARNING,
        "Two replicas of a state partition hold different records at the same offset.",
        "Certain that they differ; the replica that leads is taken by its leader epochs.",
        "The coordinator goes by its leader's.",
        "The replica whose leader epochs reach furthest was taken.",
    ),
    "state-partitions-guessed": Code(
        _NOTE,
        "The number of the state topic's partitions is not known; it was taken to be the highest seen and one.",
        "Not sure: partitions that are not at hand may have higher numbers.",
        "Nothing: a broker knows it.",
        "Add the metadata log, or say the number: without it an unknown producer id may be called hanging.",
    ),
    "state-record-malformed": Code(
        _ERROR,
        "A record of the transaction state topic can't be read.",
        "Certain for the versions known here; a newer Kafka may write others.",
        "The coordinator skips it or fails to load the partition.",
        "Compare with another replica of the state partition.",
    ),
    "state-transition-illegal": Code(
        _WARNING,
        "Two neighbouring records of a transactional id are no legal transition.",
        "Certain for the records that are here; where the topic was cleaned nothing is claimed.",
        "A coordinator never writes it.",
        "Records between them are lost, or the partition was edited.",
    ),
    "stretch-regained": Code(
        _NOTE,
        "Whole batches were found again behind damage, and more than their checksums speaks for them.",
        "As good as certain: an index entry, the offset that the damaged header leads to, offsets that meet those"
        " around them, or several batches whose offsets go on.",
        "It never reads so far: recovery truncates the log at the damage before them.",
        "kafkalog salvage copies them; the damaged bytes before them need another replica.",
    ),
    "stretch-isolated": Code(
        _WARNING,
        "A single whole batch was found behind damage, and nothing but its checksum speaks for it.",
        "Not sure: it may be the log's, or bytes that a producer wrote inside a record that is damaged.",
        "It never reads so far: recovery truncates the log at the damage before it.",
        "Look at it with kafkalog show, and add --include isolated if it belongs to the log.",
    ),
    "search-over-budget": Code(
        _WARNING,
        "Damaged bytes hold so many headers of big batches that not all of their checksums were looked at.",
        "Certain; a whole batch of more than 4 KiB may be among those that were passed over.",
        "It never reads so far: recovery truncates the log at the first damage.",
        "Nobody writes such bytes by chance: look at them with kafkalog show, and at who could write them.",
    ),
}
