"""What each column of the tables ``batches`` and ``records`` is made of, written once, by its name.

A value is a rule over a column of the kernel's tables (``format.columns``). The order of the columns is that of their
declaration in ``tables.dump``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL
from kafkalog.format.columns import (
    BIT,
    BITS,
    CELL,
    DELTA,
    HOLDS,
    NEVER,
    NO_HORIZON,
    NO_MESSAGE,
    OLD,
    SINCE_2,
    TIMES,
    UNKNOWN,
)
from kafkalog.format.compression import CODECS

__all__ = ["BATCH", "BYTES", "MESSAGE", "OF_BATCH", "RECORD", "Value"]


class Value(NamedTuple):
    """A column's value: what `rule` makes of a cell of `column`, null where `absent` says so.

    `words` are the words for the numbers.
    """

    column: int
    rule: int = CELL
    mask: int = -1
    absent: int = NEVER
    words: tuple[str, ...] = ()


_UNUSED_BITS: Final = 0xFF80
_NUMBERED: Final = (*CODECS, *(str(number) for number in range(len(CODECS), CODEC_MASK + 1)))
_TIMESTAMP_TYPES: Final = ("none", "create_time", "log_append_time")

# Of a batch, by the kernel's table of headers.
BATCH: Final[dict[str, Value]] = {
    "position": Value(kernel.POSITION),
    "size_bytes": Value(kernel.SIZE),
    "base_offset": Value(kernel.BASE_OFFSET, absent=UNKNOWN),
    "last_offset": Value(kernel.LAST_OFFSET),
    "last_offset_delta": Value(kernel.BASE_OFFSET, DELTA, absent=UNKNOWN),
    "count": Value(kernel.COUNT, absent=UNKNOWN),
    "magic": Value(kernel.MAGIC),
    "crc": Value(kernel.CRC),
    "crc_holds": Value(kernel.VALID, HOLDS),
    "attributes": Value(kernel.ATTRIBUTES),
    "codec": Value(kernel.ATTRIBUTES, BITS, CODEC_MASK, words=_NUMBERED),
    "timestamp_type": Value(kernel.ATTRIBUTES, TIMES, LOG_APPEND_TIME, words=_TIMESTAMP_TYPES),
    "is_transactional": Value(kernel.ATTRIBUTES, BIT, TRANSACTIONAL),
    "is_control": Value(kernel.ATTRIBUTES, BIT, CONTROL),
    "has_delete_horizon": Value(kernel.ATTRIBUTES, BIT, DELETE_HORIZON),
    "unused_attribute_bits": Value(kernel.ATTRIBUTES, SINCE_2, _UNUSED_BITS),
    "base_timestamp_ms": Value(kernel.BASE_TIMESTAMP, absent=OLD),
    "delete_horizon_ms": Value(kernel.BASE_TIMESTAMP, absent=NO_HORIZON),
    "max_timestamp_ms": Value(kernel.MAX_TIMESTAMP),
    "producer_id": Value(kernel.PRODUCER_ID),
    "producer_epoch": Value(kernel.PRODUCER_EPOCH),
    "base_sequence": Value(kernel.BASE_SEQUENCE),
    "last_sequence": Value(kernel.LAST_SEQUENCE),
    "partition_leader_epoch": Value(kernel.LEADER_EPOCH),
}
# Of a record, by the kernel's table of records.
RECORD: Final[dict[str, Value]] = {
    "offset": Value(kernel.OFFSET),
    "timestamp_ms": Value(kernel.TIMESTAMP),
    "sequence": Value(kernel.SEQUENCE),
    "size_bytes": Value(kernel.RECORD_SIZE),
    "key_size": Value(kernel.KEY_SIZE),
    "value_size": Value(kernel.VALUE_SIZE),
    "headers_count": Value(kernel.HEADERS_COUNT),
}
# Of a record's batch; for a message inside a wrapper of magic 0 or 1, of the wrapper.
OF_BATCH: Final[dict[str, Value]] = {
    **{
        name: BATCH[name]
        for name in ("timestamp_type", "producer_id", "producer_epoch", "is_transactional", "is_control", "magic")
    },
    "batch_position": BATCH["position"],
    "batch_crc_holds": BATCH["crc_holds"],
}
# Of the message of magic 0 or 1 that a record is, inside a wrapper or alone; the batch of a record of magic 2.
MESSAGE: Final[dict[str, Value]] = {
    "message_crc": Value(kernel.CRC, absent=NO_MESSAGE),
    "message_crc_holds": Value(kernel.VALID, HOLDS, absent=NO_MESSAGE),
}
# Of a record's bytes: where they begin and how many there are.
BYTES: Final[dict[str, tuple[int, int]]] = {
    "key": (kernel.KEY_START, kernel.KEY_SIZE),
    "value": (kernel.VALUE_START, kernel.VALUE_SIZE),
}
