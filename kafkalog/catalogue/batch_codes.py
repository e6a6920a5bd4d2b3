"""Codes about bytes and batches: bytes that are not a whole batch, and wrong values in batch headers."""

from __future__ import annotations

from typing import Final

from kafkalog.catalogue.code import ERROR, NOTE, WARNING, Bytes, Code

__all__ = ["BATCHES"]


BATCHES: Final[dict[str, Code]] = {
    "crc-mismatch": Code(
        ERROR,
        "A batch's bytes do not match the CRC in its header; what follows the batch is in place.",
        "Certain: the bytes are not those that the CRC was computed from. The file does not show what changed them.",
        "A consumer or a follower that reads it fails; recovery after an unclean stop truncates the log here.",
        "Copy the partition from another replica; the batches before and after this one are whole.",
        bytes=Bytes.LOST,
    ),
    "batch-length-wrong": Code(
        ERROR,
        "A batch's length does not lead to the next batch: a whole batch was found inside it or elsewhere.",
        "Certain where the CRC matches up to the next whole batch; otherwise inferred from the whole batches around"
        " it.",
        "Kafka's reader stops or reads wrong bytes here; kafka-dump-log shows nothing after it.",
        "Compare with another replica; the batches found after it are whole.",
        bytes=Bytes.LOST,
    ),
    "magic-wrong": Code(
        ERROR,
        "A batch's magic byte is not 2, yet its CRC matches as that of a magic 2 batch; the CRC does not cover this"
        " byte.",
        "Certain: the CRC of magic 2 matches by chance once in four billion times.",
        "In files, Kafka reads any magic above 2 as 2; it reads 0 and 1 as old messages and fails.",
        "Compare the byte with another replica; the batch was read as magic 2.",
        bytes=Bytes.WHOLE,
    ),
    "batch-truncated": Code(
        WARNING,
        "The file ends inside its last batch: a write was interrupted, or the copy was taken while the broker wrote.",
        "Certain that the rest is not in the file; whether it was ever written is not known.",
        "Recovery truncates the partial batch; nothing that all replicas had acknowledged is lost.",
        "Compare with another replica; in the active segment of a killed or running broker it is normal.",
        bytes=Bytes.SUSPECT,
    ),
    "bytes-unreadable": Code(
        ERROR,
        "Bytes that belong to no batch: no batch header with a matching CRC begins here.",
        "Certain: no header in these bytes has a matching CRC. How many batches were here is not known.",
        "Kafka's reader stops here and sees nothing after it; recovery truncates the log here.",
        "Copy the partition from another replica before a broker starts on this directory.",
        bytes=Bytes.LOST,
    ),
    "bytes-zero": Code(
        ERROR,
        "Zero bytes between batches.",
        "Certain: batches or another segment follow, so this is not preallocated space.",
        "Kafka's reader raises a corruption error here; recovery truncates the log here.",
        "Copy the partition from another replica before a broker starts on it; zeros are typical after a power loss.",
        bytes=Bytes.LOST,
    ),
    "tail-preallocated": Code(
        NOTE,
        "The file ends in zeros after a batch: space that the broker preallocated.",
        "Almost certain in the last segment of a partition; zeros left by a power loss look the same.",
        "The broker trims it when it rolls the segment or stops cleanly; kafka-dump-log throws on it.",
        "Nothing to do.",
        bytes=Bytes.SUSPECT,
    ),
    "batch-over-limit": Code(
        ERROR,
        "A batch is larger than the limit for one batch, so its records were not read.",
        "Certain; whether the batch is whole was not checked.",
        "A broker reads it if its own limits allow.",
        "Run again with a higher --max-batch-bytes.",
        bytes=Bytes.WHOLE,
    ),
    "decompression-over-limit": Code(
        ERROR,
        "A batch's records decompress to more than the limit, so they were not read.",
        "Certain; nothing beyond the limit was looked at.",
        "Kafka decompresses without a limit.",
        "If you trust the data, run again with a higher --max-decompressed-bytes.",
    ),
    "expansion-over-budget": Code(
        ERROR,
        "A file's batches decompress to more than one reading of a file may decompress, so the records of the last"
        " ones were not read.",
        "Certain; the headers and CRCs of all batches were read, and the records that are not compressed.",
        "Kafka decompresses without a limit.",
        "If you trust the data, run again with a higher --max-expansion. `found` is the number of batches left out,"
        " `position` the first of them.",
    ),
    "codec-unknown": Code(
        ERROR,
        "A batch names a compression codec that does not exist.",
        "Certain: the CRC covers the codec's number.",
        "Kafka throws on it.",
        "Compare with another replica.",
    ),
    "decompression-failed": Code(
        ERROR,
        "A batch's records do not decompress although its CRC matches: they were written that way.",
        "Certain: the CRC matches, so the bytes are as they were written.",
        "A consumer fails at this batch every time; the broker did not look inside it.",
        "Find the producer; consumers have to skip the batch.",
    ),
    "control-record-malformed": Code(
        ERROR,
        "A control record's key or value does not contain what its type needs.",
        "Certain: the CRC matches, so the bytes are as they were written.",
        "Brokers and consumers throw on it.",
        "Compare with another replica.",
    ),
    "records-missing": Code(
        WARNING,
        "A batch has fewer records than offsets, in a part of the log that no cleaner has reached.",
        "Certain that there are fewer; brokers up to 0.11 accepted such batches from clients.",
        "Consumers skip the missing offsets silently.",
        "Compare with another replica; legal if the topic was once compacted.",
    ),
    "empty-batch-odd": Code(
        WARNING,
        "A batch without records has bytes after its header, or a codec: no cleaner leaves such a batch.",
        "Certain: the CRC covers the batch.",
        "Readers skip it.",
        "Compare with another replica; find out what wrote the file.",
    ),
    "control-batch-odd": Code(
        ERROR,
        "A control batch is not part of a transaction, in a topic where control records only end transactions.",
        "Certain: the CRC covers the batch, so it was written that way.",
        "Clients can't write control batches; brokers write no other kind in such a topic.",
        "Compare with another replica; find out what wrote the file.",
    ),
    "attributes-unused": Code(
        NOTE,
        "A batch's attributes have bits set that have no meaning.",
        "Certain: the CRC covers them. Brokers store what a client sent.",
        "Kafka ignores them.",
        "Nothing to do; an unusual client wrote the batch.",
    ),
    "delete-horizon-odd": Code(
        NOTE,
        "A batch says that its base timestamp is a delete horizon, but no cleaner sets one below 0.",
        "Certain: the CRC covers both. Brokers store what a client sent.",
        "The cleaner treats it as a horizon that has passed.",
        "Nothing to do; an unusual client wrote the batch.",
    ),
    "timestamp-odd": Code(
        NOTE,
        "A batch's newest timestamp is below -1 or after the year 9999.",
        "Certain: the CRC covers it. A topic without timestamp limits accepts any timestamp.",
        "Retention by time keeps or deletes the segment by this timestamp; segments roll by it.",
        "Find the producer; limit timestamps with message.timestamp.after.max.ms.",
    ),
    "max-timestamp-wrong": Code(
        NOTE,
        "A batch's newest timestamp is not the newest timestamp of its records.",
        "Certain: the CRC covers all of them. Brokers were seen to store what a client sent.",
        "Retention and lookups by time use the batch's field.",
        "Nothing to do; an unusual client wrote the batch.",
    ),
    "message-crc-mismatch": Code(
        WARNING,
        "A message inside a compressed message of magic 0 or 1 does not match its own CRC; the outer CRC matches.",
        "Certain: it was written that way.",
        "Only the first leader checks inner CRCs; after that neither brokers nor consumers do.",
        "Find the producer; the message can be read, but its content may be wrong.",
    ),
    "offset-gap": Code(
        WARNING,
        "Offsets are missing between two batches of the segment.",
        "Certain that the offsets are missing; one segment alone can't show whether that is legal.",
        "Legal where a log is compacted; elsewhere consumers skip the offsets silently.",
        "Audit the whole partition: only its other files can show whether the gap is legal.",
    ),
    "offset-not-increasing": Code(
        ERROR,
        "A batch's first offset is not above the last offset of the batch before it.",
        "Certain that the order is broken; the two offsets alone do not show which one is wrong.",
        "No broker since 1.1 writes that: files were mixed, or the offset field changed, which the CRC does not cover.",
        "Compare with another replica and with the segment's .index.",
    ),
    "offset-outside-segment": Code(
        ERROR,
        "A batch's offset is below 0 or the segment's base offset, or further above it than a segment can reach.",
        "Certain; whether the file's name or the batch's field is wrong is not known.",
        "Reads by offset miss it.",
        "Compare with another replica, and find out what wrote the batch: its CRC does not cover the offset.",
    ),
    "base-offset-wrong": Code(
        ERROR,
        "A batch's base offset fits neither the batch before it nor the batch after it; another offset fits both.",
        "Almost certain: the CRC does not cover this field, and both neighbours contradict it.",
        "Reads by offset go wrong at this batch; consumers see its records under wrong offsets.",
        "Compare with another replica; `needed` is the offset that fits: the bytes around it are whole.",
    ),
    "leader-epoch-wrong": Code(
        ERROR,
        "A batch's leader epoch differs from the one epoch that the batches before and after it have.",
        "Certain: leader epochs never fall. The CRC does not cover this field.",
        "Followers truncate by leader epochs.",
        "Compare with another replica; `needed` is the epoch that fits.",
    ),
    "leader-epoch-decreasing": Code(
        ERROR,
        "A batch's partition leader epoch is below that of the batch before it.",
        "Certain that the order is broken; the two epochs alone do not show which one is wrong.",
        "Epochs only grow with offsets; followers truncate by them.",
        "Compare with leader-epoch-checkpoint: the CRC does not cover the field.",
    ),
    "stretch-regained": Code(
        NOTE,
        "Whole batches were found again after damage, and more than their CRCs shows that they belong to the log.",
        "Almost certain: an index entry, the offset that the damaged header leads to, offsets that fit those before"
        " and after, or several batches whose offsets continue.",
        "A broker never reads this far: recovery truncates the log at the damage before them.",
        "kafkalog salvage copies them; the damaged bytes before them must come from another replica.",
    ),
    "stretch-isolated": Code(
        WARNING,
        "A single whole batch was found after damage, and nothing but its CRC shows that it belongs to the log.",
        "Not sure: it may be the log's own, or bytes that a producer wrote inside a record that is now damaged.",
        "A broker never reads this far: recovery truncates the log at the damage before it.",
        "Look at it with kafkalog show; add --include isolated if it belongs to the log.",
    ),
    "search-over-budget": Code(
        WARNING,
        "Damaged bytes contain so many headers of large batches that not all of their CRCs were checked.",
        "Certain; a whole batch of more than 4 KiB may be among those that were skipped.",
        "A broker never reads this far: recovery truncates the log at the first damage.",
        "Such bytes do not occur by chance: look at them with kafkalog show, and find out who could write them.",
    ),
}
