"""Codes about bytes and batches: what is no whole batch, and what a batch's header says wrongly."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.code import ERROR, NOTE, WARNING, Code

__all__ = ["BATCHES"]


BATCHES: Final[dict[str, Code]] = {
    "crc-mismatch": Code(
        ERROR,
        "The checksum in a batch's header is not that of its bytes; what follows the batch is in place.",
        "Certain: the bytes are not those that the checksum was taken of. What changed them the file does not say.",
        "A consumer or a follower that reads it fails; recovery after an unclean stop truncates the log here.",
        "Copy the partition from another replica; the batches before and after are whole.",
    ),
    "batch-length-wrong": Code(
        ERROR,
        "A batch's length does not lead to the next batch: a whole batch was found inside or elsewhere.",
        "Certain where the checksum holds up to the next whole batch; else inferred from the whole batches around it.",
        "The file's reader stops or goes astray here; everything after is invisible to kafka-dump-log.",
        "Compare with another replica; the batches found after it are whole.",
    ),
    "magic-wrong": Code(
        ERROR,
        "A batch's magic byte is not 2, yet its checksum holds as that of a magic 2 batch; the byte is outside it.",
        "Certain: the checksum of magic 2 holds by chance once in four billion times.",
        "Kafka reads any magic above 2 as 2 from files; 0 and 1 are read as old messages and fail.",
        "The batch was read as magic 2; compare the byte with another replica.",
    ),
    "batch-truncated": Code(
        WARNING,
        "The file ends inside its last batch: a write was torn, or the copy was taken while the broker wrote.",
        "Certain that the rest is not in the file; it does not say whether it was ever written.",
        "Recovery truncates the partial batch; nothing that was acknowledged by all replicas is lost.",
        "Expected in the active segment of a killed or running broker; elsewhere compare with another replica.",
    ),
    "bytes-unreadable": Code(
        ERROR,
        "Bytes that belong to no batch: no header whose checksum holds begins here.",
        "Certain: no header in them passes its checksum. How many batches were there is not known.",
        "The file's reader stops here, so that all that follows is invisible; recovery truncates the log here.",
        "Copy the partition from another replica before a broker starts on this directory.",
    ),
    "bytes-zero": Code(
        ERROR,
        "A run of zero bytes between batches.",
        "Certain: batches follow, or another segment does, so that no space was allocated there in advance.",
        "The file's reader raises a corruption error here; recovery truncates the log here.",
        "Typical after a power loss; copy the partition from another replica before a broker starts on it.",
    ),
    "tail-preallocated": Code(
        NOTE,
        "The file ends in zeros from a batch's end on: space that the broker allocated in advance.",
        "As good as certain in a segment that is its partition's last; zeros left by a power loss look the same.",
        "Trimmed when the segment is rolled or the broker stops cleanly; kafka-dump-log throws on it.",
        "Nothing to do.",
    ),
    "batch-over-limit": Code(
        ERROR,
        "A batch is bigger than the limit for one batch, so that its records were not read.",
        "Certain; whether the batch is whole was not looked at.",
        "A broker reads it if its own limits allow.",
        "Run again with a higher --max-batch-bytes.",
    ),
    "decompression-over-limit": Code(
        ERROR,
        "A batch's records decompress to more than the limit, so that they were not read.",
        "Certain; what lies beyond the limit was not looked at.",
        "Kafka decompresses without a limit.",
        "Run again with a higher --max-decompressed-bytes if the data can be trusted.",
    ),
    "codec-unknown": Code(
        ERROR,
        "A batch names a compression codec that does not exist.",
        "Certain: the checksum covers the codec's number.",
        "Kafka throws on it.",
        "Compare with another replica.",
    ),
    "decompression-failed": Code(
        ERROR,
        "A batch's records do not decompress although its checksum holds: they were written that way.",
        "Certain: the checksum holds, so that the bytes are as they were written.",
        "A consumer fails at this batch for ever; the broker did not look inside it.",
        "Find the producer; consumers have to skip the batch.",
    ),
    "control-record-malformed": Code(
        ERROR,
        "A control record's key or value does not hold what its type needs.",
        "Certain: the checksum holds, so that the bytes are as they were written.",
        "Brokers and consumers throw on it.",
        "Compare with another replica.",
    ),
    "records-missing": Code(
        WARNING,
        "A batch has fewer records than offsets in a part of the log that no cleaner has reached.",
        "Certain that they are fewer; brokers up to 0.11 took such batches from clients.",
        "Consumers jump over the missing offsets without a word.",
        "Compare with another replica; legal where the topic was compacted once.",
    ),
    "empty-batch-odd": Code(
        WARNING,
        "A batch without records has bytes behind its header or a codec: no cleaner leaves it like that.",
        "Certain: the checksum covers the batch.",
        "Readers pass over it.",
        "Compare with another replica; find what wrote the file.",
    ),
    "transaction-without-producer": Code(
        ERROR,
        "A batch is part of a transaction and names no producer.",
        "Certain: the checksum covers the fields, so that they were written that way.",
        "A leader refuses it; a broker that reads it from disk throws.",
        "Compare with another replica; find what wrote the file.",
    ),
    "control-batch-odd": Code(
        ERROR,
        "A batch of control records in a topic where they only end transactions is not part of one.",
        "Certain: the checksum covers the batch, so that it was written that way.",
        "Clients can't write control batches; brokers write no other.",
        "Compare with another replica; find what wrote the file.",
    ),
    "attributes-unused": Code(
        NOTE,
        "A batch's attributes have bits set that mean nothing.",
        "Certain: the checksum covers them. Brokers store what a client sent.",
        "Ignored.",
        "Nothing to do; it tells of an unusual client.",
    ),
    "delete-horizon-odd": Code(
        NOTE,
        "A batch says that its base timestamp is a delete horizon, which no cleaner sets below 0.",
        "Certain: the checksum covers both. Brokers store what a client sent.",
        "The cleaner takes it for a horizon that has passed.",
        "Nothing to do; it tells of an unusual client.",
    ),
    "timestamp-odd": Code(
        NOTE,
        "A batch's newest timestamp is below -1 or behind the year 9999.",
        "Certain: the checksum covers it. A topic without limits takes any timestamp.",
        "Retention by time keeps or deletes the segment by it; segments roll by it.",
        "Find the producer; limit timestamps with message.timestamp.after.max.ms.",
    ),
    "max-timestamp-wrong": Code(
        NOTE,
        "A batch's newest timestamp is not that of its records.",
        "Certain: the checksum covers all of them. Brokers were seen to store what a client sent.",
        "Retention and look-ups by time go by the batch's field.",
        "Nothing to do; it tells of an unusual client.",
    ),
    "message-crc-mismatch": Code(
        WARNING,
        "A message inside a compressed one of magic 0 or 1 fails its own checksum; the outer one's holds.",
        "Certain: it was written that way.",
        "Brokers and consumers do not look at inner checksums after the first leader did.",
        "Find the producer; the message can be read, its content may be wrong.",
    ),
    "offset-gap": Code(
        WARNING,
        "Offsets are missing between two batches of the segment.",
        "Certain that the offsets are missing; one segment alone can't say whether they may.",
        "Legal where a log is compacted; elsewhere consumers silently jump over it.",
        "Audit the whole partition: only its other files can tell whether the gap is legal.",
    ),
    "offset-not-increasing": Code(
        ERROR,
        "A batch's first offset is not above the last offset of the batch before it.",
        "Certain that the order is broken; which of the two offsets is wrong can't be told from them alone.",
        "No broker since 1.1 writes that: the segment mixes files, or the field changed, being outside the checksum.",
        "Compare with another replica and with the segment's .index.",
    ),
    "offset-outside-segment": Code(
        ERROR,
        "A batch's offset lies before the segment's base offset, or further behind it than a segment can reach.",
        "Certain; whether the file's name or the batch's field is wrong is not.",
        "Reads by offset miss it.",
        "The file belongs elsewhere, or the field, which is outside the checksum, changed.",
    ),
    "base-offset-wrong": Code(
        ERROR,
        "A batch's base offset meets neither the batch before it nor the one behind it; another one meets both.",
        "As good as certain: the field is outside the checksum, and both neighbours are witnesses.",
        "Reads by offset go astray at this batch; consumers see its records under wrong offsets.",
        "The bytes around it are whole: `needed` is the offset that fits. Compare with another replica.",
    ),
    "leader-epoch-wrong": Code(
        ERROR,
        "A batch's leader epoch is not that of the batches before it and behind it, which are of one epoch.",
        "Certain: epochs never fall. The field is outside the checksum.",
        "Followers truncate by it.",
        "`needed` is the epoch that fits. Compare with another replica.",
    ),
    "leader-epoch-decreasing": Code(
        ERROR,
        "A batch's partition leader epoch is below that of the batch before it.",
        "Certain that the order is broken; which of the two epochs is wrong can't be told from them alone.",
        "Epochs only grow with offsets; followers truncate by them.",
        "Compare with leader-epoch-checkpoint: the field is outside the checksum.",
    ),
    "stretch-regained": Code(
        NOTE,
        "Whole batches were found again behind damage, and more than their checksums speaks for them.",
        "As good as certain: an index entry, the offset that the damaged header leads to, offsets that meet those"
        " around them, or several batches whose offsets go on.",
        "It never reads so far: recovery truncates the log at the damage before them.",
        "kafkalog salvage copies them; the damaged bytes before them need another replica.",
    ),
    "stretch-isolated": Code(
        WARNING,
        "A single whole batch was found behind damage, and nothing but its checksum speaks for it.",
        "Not sure: it may be the log's, or bytes that a producer wrote inside a record that is damaged.",
        "It never reads so far: recovery truncates the log at the damage before it.",
        "Look at it with kafkalog show, and add --include isolated if it belongs to the log.",
    ),
    "search-over-budget": Code(
        WARNING,
        "Damaged bytes hold so many headers of big batches that not all of their checksums were looked at.",
        "Certain; a whole batch of more than 4 KiB may be among those that were passed over.",
        "It never reads so far: recovery truncates the log at the first damage.",
        "Nobody writes such bytes by chance: look at them with kafkalog show, and at who could write them.",
    ),
}
