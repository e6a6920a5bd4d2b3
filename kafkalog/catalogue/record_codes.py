"""Codes about headers, records and markers that break a rule in batches whose CRC matches."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.code import ERROR, NOTE, WARNING, Code
from kafkalog.severity import Severity

__all__ = ["RECORDS"]


def _refused(meaning: str, *, follows: tuple[str, ...] = ()) -> Code:
    """Make a code for what Kafka refuses to read although the CRC matches."""
    return Code(
        ERROR,
        meaning,
        "Certain: the CRC matches, so the bytes are as they were written.",
        "A consumer fails at this batch every time; a broker that looks inside the batch throws.",
        "Find the producer; consumers have to skip the batch.",
        kind="records-unreadable",
        cause="malformed-batches",
        follows=follows,
    )


_NOTHING_LOST: Final = "Nothing is lost; look at the client or the tool that wrote the batch."
_SKIPPED: Final = (
    "Print all records with kafkalog dump --table records, and write those again that consumers skipped; correct the"
    " client, which writes wrong offset deltas."
)


def _accepted(
    severity: Severity, meaning: str, kafka: str, *, follows: tuple[str, ...] = (), then: str = _NOTHING_LOST
) -> Code:
    """Make a code for what Kafka reads although nothing should write it."""
    return Code(
        severity,
        meaning,
        "Certain: the CRC matches, so the bytes are as they were written.",
        kafka,
        then,
        kind="records-unreadable",
        cause="odd-batches",
        follows=follows,
    )


RECORDS: Final[dict[str, Code]] = {
    "compressed-stream-missing": _refused(
        "A batch names a codec and counts records, but no compressed bytes follow its header."
    ),
    "compressed-stream-foreign": _refused(
        "A batch's records do not begin like a stream of the codec that its attributes name."
    ),
    "compressed-stream-cut": _refused(
        "A batch's compressed records end before their stream does, although the CRC matches."
    ),
    "snappy-block-past-end": _refused("A block of a snappy stream is longer than the bytes that are left."),
    "snappy-size-lies": _refused("A snappy block claims to contain more than its bytes can decompress to."),
    "lz4-frame-refused": _refused(
        "An LZ4 frame is of a kind that Kafka's reader refuses: with blocks that depend on each other, or with a"
        " dictionary."
    ),
    "record-size-unending": _refused("A record's length has more than five bytes, or runs past the batch's end."),
    "record-size-negative": _refused("A record's length is negative."),
    "record-size-too-small": _refused("A record's length is smaller than the fields that every record has."),
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
    "header-count-unending": _refused("A record's header count has more than five bytes, or runs past the record."),
    "header-count-negative": _refused("A record's header count is negative."),
    "header-count-too-high": _refused(
        "A record's header count is higher than the number of bytes that are left in the record."
    ),
    "header-key-size-unending": _refused(
        "The length of a header's key has more than five bytes, or runs past the record."
    ),
    "header-key-null": _refused("The length of a header's key is negative: a header's key can't be null."),
    "header-key-past-end": _refused("A header's key is longer than the bytes that are left in the record."),
    "header-value-size-unending": _refused(
        "The length of a header's value has more than five bytes, or runs past the record."
    ),
    "header-value-past-end": _refused("A header's value is longer than the bytes that are left in the record."),
    "record-rest": _refused("A record is longer than its fields: bytes are left after the last one."),
    "records-end-early": _refused(
        "A batch contains fewer records than its header counts; the records that are there were read."
    ),
    "records-rest": _refused("Bytes follow the last record that a batch's header counts."),
    "records-count-negative": _refused("A batch's record count is negative."),
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
    "wrapper-empty": _refused("A compressed message of magic 0 or 1 contains no message."),
    "wrapper-nested": _refused("A message inside a compressed message is itself compressed."),
    "wrapper-rest": _refused("Bytes inside a compressed message of magic 0 or 1 belong to no message."),
    "wrapper-offset-too-small": _refused(
        "A compressed message of magic 1 has an offset below the relative offset of the last message inside it."
    ),
    "control-key-short": _refused("A control record's key is null, or too short for a version and a type."),
    "control-version-negative": _refused("The version in a control record's key is negative."),
    "marker-value-short": _refused(
        "A transaction marker's value is null, or too short for a version and a coordinator epoch."
    ),
    "marker-version-negative": _refused("The version in a transaction marker's value is negative."),
    "offset-overflow": _refused(
        "A batch's offsets go past the largest possible offset.",
        follows=("base-offset-wrong",),
    ),
    "last-offset-delta-negative": _refused("A batch's last offset is below its first offset."),
    "records-count-above-offsets": _accepted(
        ERROR,
        "A batch counts more records than it has offsets: the offsets of its last records are given again to the"
        " records that follow.",
        "A consumer goes through all records of the batch and is given those whose offset is not below its"
        " position: of several with one offset the first that it meets, without an error. After a fetch it goes on"
        " after the batch's last offset, so that it may get records twice. Newer brokers refuse such a batch from"
        " clients.",
        then=_SKIPPED,
    ),
    "codec-not-of-magic": _accepted(
        WARNING,
        "A message of magic 0 or 1 is compressed with zstd, which came with magic 2.",
        "Clients of that time can't read it; whether a newer client can depends on its version.",
    ),
    "compressed-stream-rest": _accepted(
        NOTE,
        "Bytes follow the end of a batch's compressed stream.",
        "Kafka's readers stop at the stream's end and ignore them.",
    ),
    "number-overlong": _accepted(
        NOTE, "A number in a batch's records is written with more bytes than it needs.", "Kafka reads the same number."
    ),
    "number-bits-dropped": _accepted(
        NOTE,
        "A number in a batch's records has bits that do not fit into its type.",
        "Kafka drops these bits silently.",
    ),
    "record-attributes-set": _accepted(
        NOTE, "A record's attributes, which have no meaning yet, are not 0.", "Kafka reads them and ignores them."
    ),
    "size-below-null": _accepted(
        NOTE,
        "The length of a key or a value is below -1, which means null.",
        "Kafka reads any negative length as null.",
    ),
    "offset-delta-repeated": _accepted(
        WARNING,
        "Two records of a batch have the same offset.",
        "Brokers from 2.8 on refuse it from clients; a consumer returns only the first of the two.",
        then=_SKIPPED,
    ),
    "offset-delta-falling": _accepted(
        WARNING,
        "The offsets of a batch's records do not rise.",
        "Brokers store an uncompressed batch as it came; consumers skip records.",
        then=_SKIPPED,
    ),
    "offset-delta-negative": _accepted(
        WARNING,
        "A record's offset is below its batch's first offset.",
        "Brokers store an uncompressed batch as it came; consumers skip records.",
        then=_SKIPPED,
    ),
    "offset-delta-above-last": _accepted(
        WARNING,
        "A record's offset is above its batch's last offset.",
        "Brokers store an uncompressed batch as it came; consumers skip records or read them twice.",
        then=_SKIPPED,
    ),
    "leader-epoch-below-none": _accepted(
        WARNING,
        "A batch's partition leader epoch is below -1, which means unknown.",
        "No broker writes it; the CRC does not cover this field.",
        follows=("leader-epoch-wrong",),
    ),
    "producer-id-below-none": _accepted(
        ERROR,
        "A batch's producer id is below -1, which means none.",
        "Brokers treat it as a batch without an idempotent producer.",
    ),
    "producer-id-missing": _accepted(
        NOTE,
        "A batch has a producer epoch but no producer id.",
        "Brokers look at the epoch only if there is a producer id.",
    ),
    "producer-epoch-missing": _accepted(
        ERROR,
        "A batch has a producer id but no producer epoch.",
        "A leader refuses it from clients; a follower stores what its leader has.",
    ),
    "sequence-missing": _accepted(
        ERROR,
        "A data batch has a producer id but no sequence.",
        "A leader refuses it from clients; a follower stores what its leader has.",
    ),
    "transaction-without-producer": _accepted(
        WARNING,
        "A batch is part of a transaction but has no producer id.",
        "A leader takes it from a client, and consumers get its records as those of no transaction.",
    ),
    "control-batch-sequence": _accepted(
        ERROR,
        "A control batch has a sequence.",
        "No broker writes it; producer states ignore it.",
    ),
    "control-batch-compressed": _accepted(
        ERROR, "A control batch is compressed.", "No broker writes it; consumers decompress it."
    ),
    "marker-count": _accepted(
        ERROR,
        "A batch that ends a transaction counts more than one record.",
        "No broker writes it; only the first record is used.",
    ),
    "marker-not-transactional": _accepted(
        WARNING,
        "A record ends a transaction, but its batch is not marked as part of one.",
        "No broker writes it; consumers use the batch's attributes.",
    ),
    "control-version-newer": _accepted(NOTE, "A control record's version is above 0.", "Kafka reads it as version 0."),
    "control-key-long": _accepted(
        NOTE, "A control record's key is longer than a version and a type.", "Kafka reads the first four bytes."
    ),
    "control-type-unknown": _accepted(
        NOTE,
        "A control record has a type that kafkalog does not know.",
        "Consumers skip it and the cleaner keeps it; a broker throws if it has a producer id.",
    ),
    "control-type-transactional": _accepted(
        WARNING,
        "A control record that does not end a transaction is in a transactional batch.",
        "No broker writes it; a broker that loads the log throws.",
    ),
    "marker-value-long": _accepted(
        NOTE,
        "A transaction marker's value is longer than a version and a coordinator epoch.",
        "Kafka reads the first six bytes.",
    ),
    "marker-version-newer": _accepted(
        NOTE, "A transaction marker's version is above 0.", "Kafka reads it as version 0."
    ),
    "wrapper-key-set": _accepted(
        NOTE, "A compressed message of magic 0 or 1 has a key of its own.", "Kafka ignores it."
    ),
    "wrapper-magic-mixed": _accepted(
        NOTE, "A message inside a compressed message has another magic.", "Readers accept it."
    ),
    "wrapper-offsets-falling": _accepted(
        WARNING, "The offsets inside a compressed message do not rise.", "Consumers skip messages."
    ),
    "wrapper-offset-wrong": _accepted(
        WARNING,
        "The offset of a compressed message of magic 0 is not the offset of the last message inside it.",
        "Consumers use the offsets of the messages inside; lookups use the offset of the compressed message.",
    ),
}
