"""What is wrong with the evidence, as rows: each finding says where, what was needed and what was there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple, TypedDict, Unpack

__all__ = ["CATALOGUE", "Code", "Finding", "Severity", "Where", "numbered_id"]


_DIGITS: Final = 20  # of an offset in a file's name


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
        """Return an id that the same finding has in a copy elsewhere: it is made of no path and no time.

        Where it is about no offset, the one in the file's name stands for it.
        """
        import hashlib

        offset = self.offset
        if offset is None:
            stem = self.file.rpartition("/")[2].partition(".")[0]
            offset = int(stem) if stem.isdecimal() and len(stem) <= _DIGITS else None
        parts = (self.code, node, self.topic, self.partition, offset, self.last_offset, self.position, self.length,
                 self.producer_id)  # fmt: skip
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        """Write the finding on one line, as the command line shows it."""
        where = self.file if self.position is None else f"{self.file}@{self.position}"
        return f"{self.severity.word}: {where}: {self.code}: {self.message}"


def numbered_id(plain: str, number: int) -> str:
    """Return the id of one more finding that has the id `plain` by itself."""
    import hashlib

    return hashlib.sha256(f"{plain}#{number}".encode()).hexdigest()[:12]


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
    "last-offset-delta-wrong": Code(
        _ERROR,
        "A batch's last offset is below its first although its checksum holds.",
        "Certain: the checksum covers the field, so that it was written that way.",
        "Reads by offset go astray at this batch.",
        "Compare with another replica; find what wrote the file.",
    ),
    "count-impossible": Code(
        _ERROR,
        "A batch counts more records than its offsets have room for, or fewer than none.",
        "Certain: the checksum covers both fields, so that they were written that way.",
        "A leader refuses it; a broker that reads it from disk does not look.",
        "Compare with another replica; find what wrote the file.",
    ),
    "records-missing": Code(
        _WARNING,
        "A batch has fewer records than offsets in a part of the log that no cleaner has reached.",
        "Certain that they are fewer; brokers up to 0.11 took such batches from clients.",
        "Consumers jump over the missing offsets without a word.",
        "Compare with another replica; legal where the topic was compacted once.",
    ),
    "empty-batch-odd": Code(
        _WARNING,
        "A batch without records has bytes behind its header or a codec: no cleaner leaves it like that.",
        "Certain: the checksum covers the batch.",
        "Readers pass over it.",
        "Compare with another replica; find what wrote the file.",
    ),
    "producer-fields-odd": Code(
        _ERROR,
        "A batch's producer id, epoch and first sequence do not go together.",
        "Certain: the checksum covers the fields, so that they were written that way.",
        "A leader refuses it; a broker that reads it from disk may fail to rebuild its producers' state.",
        "Compare with another replica; find what wrote the file.",
    ),
    "transaction-without-producer": Code(
        _ERROR,
        "A batch is part of a transaction and names no producer.",
        "Certain: the checksum covers the fields, so that they were written that way.",
        "A leader refuses it; a broker that reads it from disk throws.",
        "Compare with another replica; find what wrote the file.",
    ),
    "control-batch-odd": Code(
        _ERROR,
        "A control batch is not as a broker writes it: a marker is one record, uncompressed and without a sequence.",
        "Certain: the checksum covers the batch, so that it was written that way.",
        "Clients can't write control batches; brokers write no other.",
        "Compare with another replica; find what wrote the file.",
    ),
    "marker-epoch-wrong": Code(
        _ERROR,
        "A transaction's marker has an older epoch than the data that it ends.",
        "Certain: both batches' checksums hold.",
        "A leader refuses such a marker.",
        "Compare with another replica; find what wrote the file.",
    ),
    "coordinator-epoch-decreasing": Code(
        _ERROR,
        "A producer's marker was written by an older coordinator than the marker before it.",
        "Certain: both batches' checksums hold.",
        "A leader refuses such a marker.",
        "Compare with another replica; find what wrote the file.",
    ),
    "attributes-unused": Code(
        _NOTE,
        "A batch's attributes have bits set that mean nothing.",
        "Certain: the checksum covers them. Brokers store what a client sent.",
        "Ignored.",
        "Nothing to do; it tells of an unusual client.",
    ),
    "delete-horizon-odd": Code(
        _NOTE,
        "A batch says that its base timestamp is a delete horizon, which no cleaner sets below 0.",
        "Certain: the checksum covers both. Brokers store what a client sent.",
        "The cleaner takes it for a horizon that has passed.",
        "Nothing to do; it tells of an unusual client.",
    ),
    "timestamp-odd": Code(
        _NOTE,
        "A batch's newest timestamp is below -1 or behind the year 9999.",
        "Certain: the checksum covers it. A topic without limits takes any timestamp.",
        "Retention by time keeps or deletes the segment by it; segments roll by it.",
        "Find the producer; limit timestamps with message.timestamp.after.max.ms.",
    ),
    "max-timestamp-wrong": Code(
        _NOTE,
        "A batch's newest timestamp is not that of its records.",
        "Certain: the checksum covers all of them. Brokers were seen to store what a client sent.",
        "Retention and look-ups by time go by the batch's field.",
        "Nothing to do; it tells of an unusual client.",
    ),
    "record-offset-outside": Code(
        _WARNING,
        "A record's offset lies outside its batch's offsets although the checksum holds.",
        "Certain: the checksum covers the deltas. Brokers do not look at those of uncompressed batches.",
        "Consumers skip such records, or see offsets twice.",
        "Find the producer; those records may have to be sent again.",
    ),
    "record-offsets-unordered": Code(
        _WARNING,
        "The offsets of a batch's records do not rise although the checksum holds.",
        "Certain: the checksum covers the deltas. Brokers do not look at those of uncompressed batches.",
        "Consumers skip such records.",
        "Find the producer; those records may have to be sent again.",
    ),
    "message-crc-mismatch": Code(
        _WARNING,
        "A message inside a compressed one of magic 0 or 1 fails its own checksum; the outer one's holds.",
        "Certain: it was written that way.",
        "Brokers and consumers do not look at inner checksums after the first leader did.",
        "Find the producer; the message can be read, its content may be wrong.",
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
    "base-offset-wrong": Code(
        _ERROR,
        "A batch's base offset meets neither the batch before it nor the one behind it; another one meets both.",
        "As good as certain: the field is outside the checksum, and both neighbours are witnesses.",
        "Reads by offset go astray at this batch; consumers see its records under wrong offsets.",
        "The bytes around it are whole: `needed` is the offset that fits. Compare with another replica.",
    ),
    "leader-epoch-wrong": Code(
        _ERROR,
        "A batch's leader epoch is not that of the batches before it and behind it, which are of one epoch.",
        "Certain: epochs never fall. The field is outside the checksum.",
        "Followers truncate by it.",
        "`needed` is the epoch that fits. Compare with another replica.",
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
    "segments-alike": Code(
        _WARNING,
        "Segments of two partitions hold the same batches, byte for byte, and no other file says where they belong.",
        "Certain that they are the same; producers' clocks and checksums make a coincidence all but impossible.",
        "It reads both: consumers get the records twice, and miss what was there before.",
        "One of the two is a copy. Compare both partitions with another replica.",
    ),
    "file-added": Code(
        _WARNING,
        "A file is here that was not when the evidence was verified before.",
        "Certain by its name below the argument; that both runs looked at the same evidence is taken for granted.",
        "Nothing by itself.",
        "Find out who wrote it: evidence should not change.",
    ),
    "file-gone": Code(
        _WARNING,
        "A file is missing that was here when the evidence was verified before.",
        "Certain by its name below the argument; that both runs looked at the same evidence is taken for granted.",
        "Nothing by itself.",
        "Find out who removed it: evidence should not change.",
    ),
    "file-size-changed": Code(
        _WARNING,
        "A file has another size than when the evidence was verified before.",
        "Certain.",
        "Nothing by itself.",
        "Find out who wrote to it: evidence should not change.",
    ),
    "file-content-changed": Code(
        _ERROR,
        "A file has the size that it had when the evidence was verified before, and other bytes.",
        "Certain: the SHA-256 of its bytes is another one.",
        "Nothing by itself.",
        "Find out who wrote to it: evidence should not change. The other findings may tell what changed.",
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
    "files-deleted": Code(
        _NOTE,
        "Files with the suffix .deleted: their segments were given up, by retention, a truncation or a cleaning.",
        "By their names, which are what the broker goes by.",
        "They are deleted a minute later, or by the loader at the next start.",
        "Nothing to do; they can be dumped.",
    ),
    "files-cleaned": Code(
        _NOTE,
        "Files with the suffix .cleaned: a cleaning was interrupted, or goes on.",
        "By their names, which are what the broker goes by.",
        "The loader deletes them; the segments that they were made of are in place.",
        "Nothing to do; they can be dumped. A cleaner that failed leaves them for good, and cleans no more.",
    ),
    "files-swap": Code(
        _NOTE,
        "Files with the suffix .swap: a cleaning was finished, and putting its result in place was interrupted.",
        "By their names, which are what the broker goes by.",
        "The loader puts them in the place of the files of the same offsets, or deletes them, as the message says.",
        "What is read here are the files in place; dump the .swap files too.",
    ),
    "files-unfinished": Code(
        _NOTE,
        "Files with the suffix .tmp: writing a checkpoint anew was interrupted.",
        "By their names.",
        "The file without the suffix counts; the .tmp is written over.",
        "Nothing to do.",
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
    "side-file-missing": Code(
        _NOTE,
        "A segment has no index beside it.",
        "Certain that it is not here.",
        "The broker rebuilds it from the log at its next start.",
        "Nothing is lost: indexes are rebuilt from the log.",
    ),
    "segment-foreign": Code(
        _ERROR,
        "A segment's batches are not those that its side files were made of: it was put in from elsewhere.",
        "As good as certain: files that were written independently of each other contradict the segment.",
        "The broker serves it as it is; it checks only what lies above its recovery point.",
        "Copy the partition from another replica; look for the segment whose side files these are.",
    ),
    "log-cut-short": Code(
        _ERROR,
        "A log ends before offsets that the files beside it know: its end was cut off.",
        "Certain that they contradict each other; batches end whole, so that no write was torn. A file beside it may"
        " be another log's.",
        "It starts with the shorter log and takes the rest for never written.",
        "Copy the partition from another replica. Normal, and a note, where a broker ran while it was copied.",
    ),
    "segment-missing": Code(
        _WARNING,
        "Index files are here whose segment is not.",
        "Certain that the segment is not here; brokers remove a segment's files together.",
        "The loader deletes the indexes without a word.",
        "Copy the partition from another replica. A note in a gap or behind the log's end, which has its own finding.",
    ),
    "txn-index-mismatch": Code(
        _ERROR,
        "A .txnindex does not list the aborted transactions that the log's markers tell of.",
        "Certain that they differ; what the log can't tell, being cleaned or cut in front, is not compared.",
        "read_committed consumers go by it: they get aborted records, or miss committed ones.",
        "Delete the .txnindex and the .index: the broker rebuilds both from the log.",
    ),
    "snapshot-mismatch": Code(
        _WARNING,
        "A producer snapshot's checksum holds, and its states are not those of the log up to its offset.",
        "Certain that they differ, in a part of the log that is whole.",
        "A broker that starts from it takes the states for true: it may refuse batches, or take them twice.",
        "Delete the snapshot: the broker rebuilds the states from the log.",
    ),
    "leader-epochs-mismatch": Code(
        _WARNING,
        "leader-epoch-checkpoint does not fit the leader epochs of the batches.",
        "Certain that they differ. The epochs of batches are outside their checksums, so that either may be wrong.",
        "Followers truncate by it.",
        "Compare with another replica's.",
    ),
    "checkpoint-ahead": Code(
        _WARNING,
        "A checkpoint of the log directory knows offsets behind a log's end.",
        "Certain that they contradict each other: the log was cut, or the checkpoint is another directory's.",
        "A broker takes the log's end for the high watermark; a log start above the log's end empties the log.",
        "Compare with another replica. Normal, and a note, where a broker ran while it was copied.",
    ),
    "checkpoint-wrong": Code(
        _WARNING,
        "A checkpoint's entry can't be what a broker wrote for this log: negative, twice there, or, after a clean stop,"
        " not where such a stop leaves it.",
        "Certain for the rule that the message names.",
        "A recovery point that is too low costs time at the next start; a wrong high watermark is soon corrected.",
        "Compare with the log's own end and start.",
    ),
    "checkpoint-names-absent": Code(
        _NOTE,
        "A checkpoint names partitions whose directories are not here.",
        "Certain; they were deleted, or left out of the copy.",
        "The broker drops such entries when it writes the file anew.",
        "Nothing to do where the copy is a part of the directory.",
    ),
    "meta-properties-wrong": Code(
        _WARNING,
        "meta.properties breaks its format: a version, an id or a number is none.",
        "Certain by Kafka's own rules; a cluster id that somebody chose by hand may break them.",
        "A broker refuses to start on it, or on a directory whose ids differ from its configuration.",
        "Compare with the other directories of the node.",
    ),
    "partition-metadata-wrong": Code(
        _WARNING,
        "partition.metadata breaks its format, or holds an id that no topic has.",
        "Certain.",
        "A broker takes the log directory offline.",
        "Compare with the topic's other partitions.",
    ),
    "topic-id-differs": Code(
        _ERROR,
        "A partition's topic id is not that of its topic.",
        "Certain that they differ: the topic was deleted and made anew, or the directory is another cluster's.",
        "A broker takes the partition for another topic's, and puts it aside or fails.",
        "Find out which topic the data belongs to before it is used.",
    ),
    "partition-twice": Code(
        _ERROR,
        "One node holds the same partition in two log directories.",
        "Certain by their names.",
        "The broker refuses to start.",
        "Typical of a disk that failed while a replica was moved: the one that is behind is the leftover.",
    ),
    "directory-twice": Code(
        _WARNING,
        "Two log directories have the same directory.id: one is a copy of the other.",
        "Certain.",
        "A broker refuses to start with both.",
        "Compare the two; name one of them.",
    ),
    "quorum-state-wrong": Code(
        _WARNING,
        "quorum-state does not fit the metadata log beside it, or breaks its format.",
        "Certain: its epoch only grows, and no batch is of a later one.",
        "A controller that starts from it may vote twice in one epoch.",
        "Compare with the other controllers.",
    ),
    "kraft-snapshot-wrong": Code(
        _ERROR,
        "A KRaft snapshot is not whole from its header to its footer, or not of the epoch and offset in its name.",
        "Certain.",
        "A controller or broker that loads it stops.",
        "Take the one before it, or another controller's.",
    ),
    "replicas-differ": Code(
        _ERROR,
        "Two replicas hold different batches at the same offset in the same leader epoch.",
        "Certain: the batches of both are at hand, and no cleaner was there.",
        "No follower writes that: one of the two was changed, or came from elsewhere. Consumers get the leader's.",
        "Compare both with a third replica, or with what the producer knows.",
    ),
    "replica-lacks": Code(
        _ERROR,
        "A replica lacks batches that another has, between batches that both have.",
        "Certain; neither the log's start nor a cleaner explains it.",
        "Consumers that read from it jump over them without a word.",
        "Copy the partition from the other replica.",
    ),
    "replica-damaged": Code(
        _NOTE,
        "A batch whose checksum does not hold is whole in another replica.",
        "Certain: the same batch, by its offsets, epochs and sequences, passes its checksum there.",
        "A broker that finds it fetches the log anew from the leader.",
        "Copy the partition from the other replica. The damage has its own finding.",
    ),
}
