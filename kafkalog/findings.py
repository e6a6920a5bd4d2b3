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
    `certainty` on are an audit's: how sure it is, which log it is about, the command that ends the trouble, and the
    broker that led the partition at `offset`.
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
    leader: int | None = None

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


def _refused(meaning: str) -> Code:
    """Make the code of what Kafka throws at although the checksum holds."""
    return Code(
        _ERROR,
        meaning,
        "Certain: the checksum holds, so that the bytes are as they were written.",
        "A consumer fails at this batch for ever; a broker that looks inside it throws.",
        "Find the producer; consumers have to skip the batch.",
    )


def _accepted(severity: Severity, meaning: str, kafka: str) -> Code:
    """Make the code of what Kafka reads although nothing should write it."""
    return Code(
        severity,
        meaning,
        "Certain: the checksum holds, so that the bytes are as they were written.",
        kafka,
        "Nothing is lost; look at the client or the tool that wrote the batch.",
    )


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
    "compressed-stream-missing": _refused(
        "A batch names a codec and counts records, and no compressed bytes follow its header."
    ),
    "compressed-stream-foreign": _refused(
        "A batch's records do not begin as a stream of the codec that its attributes name."
    ),
    "compressed-stream-cut": _refused(
        "A batch's compressed records end before their stream does, although the checksum holds."
    ),
    "snappy-block-past-end": _refused("A block of a snappy stream is longer than the bytes that are left."),
    "snappy-size-lies": _refused("A snappy block claims to hold more than its bytes can give."),
    "lz4-frame-refused": _refused(
        "An LZ4 frame is of a kind that Kafka's reader refuses: blocks that hang together, or a dictionary."
    ),
    "record-size-unending": _refused("A record's length has more than five bytes, or runs past the batch's end."),
    "record-size-negative": _refused("A record's length is negative."),
    "record-size-too-small": _refused("A record's length is smaller than the fields that each record has."),
    "record-past-end": _refused("A record is longer than the bytes that are left in its batch."),
    "timestamp-delta-unending": _refused(
        "A record's timestamp delta has more than ten bytes, or runs past the record."
    ),
    "offset-delta-unending": _refused("A record's offset delta has more than five bytes, or runs past the record."),
    "key-size-unending": _refused("The length of a record's key has more than five bytes, or runs past the record."),
    "key-past-end": _refused("A record's key is longer than the bytes that are left in the record."),
    "value-size-unending": _refused(
        "The length of a record's value has more than five bytes, or runs past the record."
    ),
    "value-past-end": _refused("A record's value is longer than the bytes that are left in the record."),
    "header-count-unending": _refused(
        "A record's number of headers has more than five bytes, or runs past the record."
    ),
    "header-count-negative": _refused("A record's number of headers is negative."),
    "header-count-too-high": _refused("A record counts more headers than it has bytes left."),
    "header-key-size-unending": _refused(
        "The length of a header's key has more than five bytes, or runs past the record."
    ),
    "header-key-null": _refused("The length of a header's key is negative: a header's key can't be null."),
    "header-key-past-end": _refused("A header's key is longer than the bytes that are left in the record."),
    "header-value-size-unending": _refused(
        "The length of a header's value has more than five bytes, or runs past the record."
    ),
    "header-value-past-end": _refused("A header's value is longer than the bytes that are left in the record."),
    "record-rest": _refused("A record is longer than its fields."),
    "records-end-early": _refused(
        "A batch holds fewer records than its header counts; those that are there were read."
    ),
    "records-rest": _refused("Bytes follow the last record that a batch's header counts."),
    "records-count-negative": _refused("A batch counts fewer than no records."),
    "message-too-short": _refused("A message of magic 0 or 1 has no room for the lengths of its key and value."),
    "message-key-past-end": _refused("The key of a message of magic 0 or 1 is longer than the message."),
    "message-value-past-end": _refused("The value of a message of magic 0 or 1 is longer than the message."),
    "message-rest": _refused("A message of magic 0 or 1 is longer than its key and value."),
    "wrapper-too-short": _refused(
        "A compressed message of magic 0 or 1 has no room for the lengths of its key and value."
    ),
    "wrapper-past-end": _refused(
        "The key or the value of a compressed message of magic 0 or 1 is longer than the message."
    ),
    "wrapper-empty": _refused("A compressed message of magic 0 or 1 holds no message."),
    "wrapper-nested": _refused("A message inside a compressed message is compressed itself."),
    "wrapper-rest": _refused("Bytes inside a compressed message of magic 0 or 1 are no message."),
    "wrapper-offset-too-small": _refused(
        "A compressed message of magic 1 has a smaller offset than the last message inside counts."
    ),
    "control-key-short": _refused("A control record's key is null, or too short for a version and a type."),
    "control-version-negative": _refused("The version in a control record's key is negative."),
    "marker-value-short": _refused(
        "A transaction marker's value is null, or too short for a version and a coordinator's epoch."
    ),
    "marker-version-negative": _refused("The version in a transaction marker's value is negative."),
    "offset-overflow": _refused("A batch's offsets pass the largest number that an offset can be."),
    "last-offset-delta-negative": _refused("A batch's last offset is below its first."),
    "records-count-above-offsets": _refused("A batch counts more records than it has offsets."),
    "codec-not-of-magic": _accepted(
        _WARNING,
        "A message of magic 0 or 1 is compressed with zstd, which came with magic 2.",
        "Clients of its time can't read it; what a newer one does hangs on its version.",
    ),
    "compressed-stream-rest": _accepted(
        _NOTE,
        "Bytes follow the end of a batch's compressed stream.",
        "Kafka's readers stop at the stream's end and ignore them.",
    ),
    "number-overlong": _accepted(
        _NOTE, "A number in a batch's records is written with more bytes than it needs.", "Kafka reads the same number."
    ),
    "number-bits-dropped": _accepted(
        _NOTE,
        "A number in a batch's records has bits that do not fit a number of its kind.",
        "Kafka drops them without a word.",
    ),
    "record-attributes-set": _accepted(
        _NOTE, "A record's attributes, which have no meaning yet, are not 0.", "Kafka reads it and never looks."
    ),
    "size-below-null": _accepted(
        _NOTE,
        "The length of a key or a value is below -1, which stands for null.",
        "Kafka reads any negative length as null.",
    ),
    "offset-delta-repeated": _accepted(
        _WARNING,
        "Two records of a batch have the same offset.",
        "Brokers from 2.8 on refuse it of clients; a consumer gives only the first of them to who seeks behind it.",
    ),
    "offset-delta-falling": _accepted(
        _WARNING,
        "The offsets of a batch's records do not rise.",
        "Brokers store it uncompressed as it came; consumers jump over records.",
    ),
    "offset-delta-negative": _accepted(
        _WARNING,
        "A record's offset is below its batch's first.",
        "Brokers store it uncompressed as it came; consumers jump over records.",
    ),
    "offset-delta-above-last": _accepted(
        _WARNING,
        "A record's offset is above its batch's last.",
        "Brokers store it uncompressed as it came; consumers jump over records or read them twice.",
    ),
    "leader-epoch-below-none": _accepted(
        _WARNING,
        "A batch's partition leader epoch is below -1, which stands for unknown.",
        "No broker writes it; the field is outside the checksum.",
    ),
    "producer-id-below-none": _accepted(
        _ERROR,
        "A batch's producer id is below -1, which stands for none.",
        "Brokers take it for no idempotent producer's.",
    ),
    "producer-id-missing": _accepted(
        _NOTE,
        "A batch has a producer epoch and no producer id.",
        "Brokers look at the epoch only where there is an id.",
    ),
    "producer-epoch-missing": _accepted(
        _ERROR,
        "A batch has a producer id and no producer epoch.",
        "A leader refuses it of clients; a replica stores what its leader has.",
    ),
    "sequence-missing": _accepted(
        _ERROR,
        "A producer's data has no sequence.",
        "A leader refuses it of clients; a replica stores what its leader has.",
    ),
    "control-batch-sequence": _accepted(
        _ERROR,
        "A batch of control records has a sequence.",
        "No broker writes it; producers' states do not take it up.",
    ),
    "control-batch-compressed": _accepted(
        _ERROR, "A batch of control records is compressed.", "No broker writes it; consumers decompress it."
    ),
    "marker-count": _accepted(
        _ERROR,
        "A batch that ends a transaction counts more than one record.",
        "No broker writes it; only the first record is looked at.",
    ),
    "marker-not-transactional": _accepted(
        _WARNING,
        "A record ends a transaction in a batch that is not marked as a transaction's.",
        "No broker writes it; consumers go by the batch's attributes.",
    ),
    "control-version-newer": _accepted(_NOTE, "A control record's version is above 0.", "Kafka reads it as version 0."),
    "control-key-long": _accepted(
        _NOTE, "A control record's key is longer than a version and a type.", "Kafka reads the first four bytes."
    ),
    "control-type-unknown": _accepted(
        _NOTE,
        "A control record's type is none that is known here.",
        "Consumers pass over it, the cleaner keeps it; a broker throws where it has a producer id.",
    ),
    "control-type-transactional": _accepted(
        _WARNING,
        "A control record that ends no transaction stands in a transaction's batch.",
        "No broker writes it; a broker that loads the log throws.",
    ),
    "marker-value-long": _accepted(
        _NOTE,
        "A transaction marker's value is longer than a version and a coordinator's epoch.",
        "Kafka reads the first six bytes.",
    ),
    "marker-version-newer": _accepted(
        _NOTE, "A transaction marker's version is above 0.", "Kafka reads it as version 0."
    ),
    "wrapper-key-set": _accepted(
        _NOTE, "A compressed message of magic 0 or 1 has a key of its own.", "Kafka never looks at it."
    ),
    "wrapper-magic-mixed": _accepted(
        _NOTE, "A message inside a compressed message has another magic.", "Readers tolerate it."
    ),
    "wrapper-offsets-falling": _accepted(
        _WARNING, "The offsets inside a compressed message do not rise.", "Consumers jump over messages."
    ),
    "wrapper-offset-wrong": _accepted(
        _WARNING,
        "The offset of a compressed message of magic 0 is not that of the last message inside.",
        "Consumers go by the messages inside, look-ups by the wrapper's.",
    ),
    "control-record-malformed": Code(
        _ERROR,
        "A control record's key or value does not hold what its type needs.",
        "Certain: the checksum holds, so that the bytes are as they were written.",
        "Brokers and consumers throw on it.",
        "Compare with another replica.",
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
    "transaction-without-producer": Code(
        _ERROR,
        "A batch is part of a transaction and names no producer.",
        "Certain: the checksum covers the fields, so that they were written that way.",
        "A leader refuses it; a broker that reads it from disk throws.",
        "Compare with another replica; find what wrote the file.",
    ),
    "control-batch-odd": Code(
        _ERROR,
        "A batch of control records in a topic where they only end transactions is not part of one.",
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
    "internal-record-malformed": Code(
        _ERROR,
        "A record of an internal topic can't be read: its key or value is not what its type needs.",
        "Certain for the types and versions known here; a newer Kafka may write others.",
        "The coordinator or controller skips it with a warning, or fails to load the partition.",
        "Compare with another replica; the records before and behind it were read.",
    ),
    "internal-record-unknown": Code(
        _NOTE,
        "A record of an internal topic is of a type or version that is not known here.",
        "Certain: no release up to 4.4 writes it.",
        "A coordinator skips unknown types with a warning; it reads unknown versions as the newest that it knows.",
        "A newer broker wrote it, or the file is of another topic: choose the decoder by the topic's name.",
    ),
    "internal-record-odd": Code(
        _WARNING,
        "A record of an internal topic is read, with something in it that no broker writes.",
        "Certain: brokers write neither bytes behind the last field nor tags that are out of order or of a wrong size.",
        "Kafka lets it pass.",
        "Compare with another replica: the record may have been edited.",
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
    "state-not-read": Code(
        _WARNING,
        "The state topic or the metadata log is bigger than what one process may read before the others begin.",
        "Certain: the sizes are those of the listing.",
        "Nothing: a broker reads all of it.",
        "Raise the limit, or run the bulk audit: without the coordinator's word verdicts are less sure.",
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
    "metadata-snapshot-incomplete": Code(
        _WARNING,
        "A snapshot of the metadata log has no footer, which is written last: it was not used.",
        "Certain that the footer is not there; the records before it may be whole.",
        "A controller or broker that loads it fails; one that was never finished keeps the suffix .part.",
        "Compare with another node's snapshot of the same name.",
    ),
    "partition-absent": Code(
        _WARNING,
        "The metadata assigns a partition to this node, and it does not lie in the node's directories at hand.",
        "Certain that it is not here; a note where checkpoints know it as empty, or it may have come after the copy.",
        "A broker that starts makes it anew and empty, and fetches it from the leader if another replica is left.",
        "Look for it in the node's other log directories; else on the other replicas, before the broker starts.",
    ),
    "topic-missing": Code(
        _WARNING,
        "No partition of the internal topic that a command reads lies under the inputs.",
        "Certain for the directories that were named; the topic may lie in another of the broker's.",
        "A broker creates the topic when a client first needs it.",
        "Name all log directories of the broker; a topic that nobody used is not there at all.",
    ),
}
