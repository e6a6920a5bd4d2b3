"""Codes about what a checksum vouches for and a rule forbids: headers, records, markers, in valid batches."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.code import ERROR, NOTE, WARNING, Code, Severity

__all__ = ["RECORDS"]


def _refused(meaning: str) -> Code:
    """Make the code of what Kafka throws at although the checksum holds."""
    return Code(
        ERROR,
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


RECORDS: Final[dict[str, Code]] = {
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
        WARNING,
        "A message of magic 0 or 1 is compressed with zstd, which came with magic 2.",
        "Clients of its time can't read it; what a newer one does hangs on its version.",
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
        "A number in a batch's records has bits that do not fit a number of its kind.",
        "Kafka drops them without a word.",
    ),
    "record-attributes-set": _accepted(
        NOTE, "A record's attributes, which have no meaning yet, are not 0.", "Kafka reads it and never looks."
    ),
    "size-below-null": _accepted(
        NOTE,
        "The length of a key or a value is below -1, which stands for null.",
        "Kafka reads any negative length as null.",
    ),
    "offset-delta-repeated": _accepted(
        WARNING,
        "Two records of a batch have the same offset.",
        "Brokers from 2.8 on refuse it of clients; a consumer gives only the first of them to who seeks behind it.",
    ),
    "offset-delta-falling": _accepted(
        WARNING,
        "The offsets of a batch's records do not rise.",
        "Brokers store it uncompressed as it came; consumers jump over records.",
    ),
    "offset-delta-negative": _accepted(
        WARNING,
        "A record's offset is below its batch's first.",
        "Brokers store it uncompressed as it came; consumers jump over records.",
    ),
    "offset-delta-above-last": _accepted(
        WARNING,
        "A record's offset is above its batch's last.",
        "Brokers store it uncompressed as it came; consumers jump over records or read them twice.",
    ),
    "leader-epoch-below-none": _accepted(
        WARNING,
        "A batch's partition leader epoch is below -1, which stands for unknown.",
        "No broker writes it; the field is outside the checksum.",
    ),
    "producer-id-below-none": _accepted(
        ERROR,
        "A batch's producer id is below -1, which stands for none.",
        "Brokers take it for no idempotent producer's.",
    ),
    "producer-id-missing": _accepted(
        NOTE,
        "A batch has a producer epoch and no producer id.",
        "Brokers look at the epoch only where there is an id.",
    ),
    "producer-epoch-missing": _accepted(
        ERROR,
        "A batch has a producer id and no producer epoch.",
        "A leader refuses it of clients; a replica stores what its leader has.",
    ),
    "sequence-missing": _accepted(
        ERROR,
        "A producer's data has no sequence.",
        "A leader refuses it of clients; a replica stores what its leader has.",
    ),
    "control-batch-sequence": _accepted(
        ERROR,
        "A batch of control records has a sequence.",
        "No broker writes it; producers' states do not take it up.",
    ),
    "control-batch-compressed": _accepted(
        ERROR, "A batch of control records is compressed.", "No broker writes it; consumers decompress it."
    ),
    "marker-count": _accepted(
        ERROR,
        "A batch that ends a transaction counts more than one record.",
        "No broker writes it; only the first record is looked at.",
    ),
    "marker-not-transactional": _accepted(
        WARNING,
        "A record ends a transaction in a batch that is not marked as a transaction's.",
        "No broker writes it; consumers go by the batch's attributes.",
    ),
    "control-version-newer": _accepted(NOTE, "A control record's version is above 0.", "Kafka reads it as version 0."),
    "control-key-long": _accepted(
        NOTE, "A control record's key is longer than a version and a type.", "Kafka reads the first four bytes."
    ),
    "control-type-unknown": _accepted(
        NOTE,
        "A control record's type is none that is known here.",
        "Consumers pass over it, the cleaner keeps it; a broker throws where it has a producer id.",
    ),
    "control-type-transactional": _accepted(
        WARNING,
        "A control record that ends no transaction stands in a transaction's batch.",
        "No broker writes it; a broker that loads the log throws.",
    ),
    "marker-value-long": _accepted(
        NOTE,
        "A transaction marker's value is longer than a version and a coordinator's epoch.",
        "Kafka reads the first six bytes.",
    ),
    "marker-version-newer": _accepted(
        NOTE, "A transaction marker's version is above 0.", "Kafka reads it as version 0."
    ),
    "wrapper-key-set": _accepted(
        NOTE, "A compressed message of magic 0 or 1 has a key of its own.", "Kafka never looks at it."
    ),
    "wrapper-magic-mixed": _accepted(
        NOTE, "A message inside a compressed message has another magic.", "Readers tolerate it."
    ),
    "wrapper-offsets-falling": _accepted(
        WARNING, "The offsets inside a compressed message do not rise.", "Consumers jump over messages."
    ),
    "wrapper-offset-wrong": _accepted(
        WARNING,
        "The offset of a compressed message of magic 0 is not that of the last message inside.",
        "Consumers go by the messages inside, look-ups by the wrapper's.",
    ),
}
