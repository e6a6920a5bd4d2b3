"""What the hot loops share: the columns of their tables, and how numbers and markers are read.

The loops are in the modules beside this one: one source each that runs compiled (pure-Python-mode Cython) and
interpreted, with the same answers. What is here is read by Python and by the interpreted loops; ``buffers.pxd`` says
the same in C, so that the compiled ones inline it, and the tests compare both. Rules for the loops:

- Tables are one flat buffer of int64, column by column: cell (column, row) is ``table[column * capacity + row]``.
- No loop raises for bad bytes: it stops or marks the row, and reports the position.
- No ``cython.`` name inside a loop, no literal above 2**31 - 1 where it would be compiled, ``len(x)`` not ``x.shape``.
- The compiled form checks no bounds (that took a third of its time): each function first checks its buffers' lengths,
  and each length in the data against the bytes left before it is used. The interpreted form does check bounds, and the
  tests run both over hostile bytes: a missing check is an IndexError there.
- Sums of offsets and timestamps wrap at 64 bits as in Java: ``add64``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from array import array

__all__ = [
    "BATCH_COLUMNS",
    "NONE",
    "RECORD_COLUMNS",
    "add64",
    "add_sequence",
    "end_marker",
    "form",
    "int16",
    "int32",
    "int64",
    "unsigned32",
    "varint",
    "varlong",
]

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = "memoryview | array[int]"  # a string: Python 3.11 has no array[int]

NONE: Final = -(2**63)  # a cell that has no value

# The bits of a batch's attributes.
CODEC_BITS, APPEND_TIME_BIT, TRANSACTIONAL_BIT, CONTROL_BIT, HORIZON_BIT = 7, 8, 16, 32, 64
MARKER_BITS = TRANSACTIONAL_BIT | CONTROL_BIT  # of a transaction marker: both
UNUSED_BITS, UNUSED_BITS_V1, UNUSED_BITS_V0 = 0xFF80, 0xF0, 0xF8  # of magic 2, 1 and 0: they mean nothing

BATCH_COLUMNS: Final = (
    "position",
    "size",
    "base_offset",
    "last_offset",
    "partition_leader_epoch",
    "magic",
    "crc",
    "valid",
    "attributes",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "count",
    "section_start",  # of the records in the buffer; moves forward while they are decoded
    "section_stop",
    "decoded",  # records so far
    "error",  # number in RECORD_ERRORS
    "error_position",  # in the buffer
)
(
    POSITION,
    SIZE,
    BASE_OFFSET,
    LAST_OFFSET,
    LEADER_EPOCH,
    MAGIC,
    CRC,
    VALID,
    ATTRIBUTES,
    BASE_TIMESTAMP,
    MAX_TIMESTAMP,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    BASE_SEQUENCE,
    LAST_SEQUENCE,
    COUNT,
    SECTION_START,
    SECTION_STOP,
    DECODED,
    ERROR,
    ERROR_POSITION,
) = range(len(BATCH_COLUMNS))

RECORD_COLUMNS: Final = (
    "batch",  # row of its batch
    "offset",
    "timestamp",
    "sequence",
    "key_start",  # positions are in the buffer
    "key_size",  # -1: null
    "value_start",
    "value_size",
    "headers_start",
    "headers_count",
    "size",
)
(
    BATCH,
    OFFSET,
    TIMESTAMP,
    SEQUENCE,
    KEY_START,
    KEY_SIZE,
    VALUE_START,
    VALUE_SIZE,
    HEADERS_START,
    HEADERS_COUNT,
    RECORD_SIZE,
) = range(len(RECORD_COLUMNS))

# What ``end_marker`` answers if a control record ends no transaction.
KEY_SHORT, KEY_VERSION_NEGATIVE, NO_END, VALUE_SHORT, VALUE_VERSION_NEGATIVE = range(-5, 0)


def form() -> str:
    """Say which form of the loops runs: ``compiled`` or ``interpreted``."""
    from kafkalog.kernel.checksums import COMPILED

    return "compiled" if COMPILED else "interpreted"


def add64(a: int, b: int) -> int:
    """Add as Java does: the sum wraps at 64 bits."""
    return ((a + b + 2**63) & (2**64 - 1)) - 2**63


def wrap32(a: int) -> int:
    """Keep the low 32 bits, signed."""
    return ((a + 2**31) & (2**32 - 1)) - 2**31


def int16(buf: Bytes, i: int) -> int:
    """Read a big-endian int16."""
    return int.from_bytes(buf[i : i + 2], "big", signed=True)


def int32(buf: Bytes, i: int) -> int:
    """Read a big-endian int32."""
    return int.from_bytes(buf[i : i + 4], "big", signed=True)


def int64(buf: Bytes, i: int) -> int:
    """Read a big-endian int64."""
    return int.from_bytes(buf[i : i + 8], "big", signed=True)


def unsigned32(v: int) -> int:
    """Read an int32 as unsigned."""
    return v & (2**32 - 1)


def add_sequence(sequence: int, delta: int) -> int:
    """Move a sequence on as DefaultRecordBatch.incrementSequence does: after 2147483647 comes 0."""
    if sequence < 0:
        return -1
    if sequence > wrap32(2147483647 - delta):
        return wrap32(delta - (2147483647 - sequence) - 1)
    return sequence + delta


def varint(buf: Bytes, p: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint at `p`: (value, position after it), (0, -1) if there is none."""
    if p >= end:
        return 0, -1
    v = buf[p]
    p += 1
    if v >= 128:
        v, p = _more(buf, p, end, v & 127, 28)
        v &= 2**32 - 1
    return (v >> 1) ^ -(v & 1), p


def varlong(buf: Bytes, p: int, end: int) -> tuple[int, int]:
    """Read a zigzag varlong at `p`: (value, position after it), (0, -1) if there is none."""
    if p >= end:
        return 0, -1
    v = buf[p]
    p += 1
    if v >= 128:
        v, p = _more(buf, p, end, v & 127, 63)
        v &= 2**64 - 1
    return (v >> 1) ^ -(v & 1), p


def _more(buf: Bytes, p: int, end: int, v: int, most: int) -> tuple[int, int]:
    """Continue with seven bits from each byte, the lowest first; the last byte's are shifted by at most `most`."""
    shift = 7
    while p < end and shift <= most:
        b = buf[p]
        p += 1
        v |= (b & 127) << shift
        if b < 128:
            return v, p
        shift += 7
    return 0, -1


def end_marker(buf: Bytes, key: int, key_size: int, value: int, value_size: int) -> int:
    """Say what a control record ends, by the key and value at these positions: 0 abort, 1 commit, below 0 nothing.

    A longer key or value and newer versions are read as version 0, as Kafka does (ControlRecordType,
    EndTransactionMarker). The coordinator's epoch is the int32 at `value` + 2.
    """
    if key_size < 4:
        return KEY_SHORT
    if int16(buf, key) < 0:
        return KEY_VERSION_NEGATIVE
    kind = int16(buf, key + 2)
    if kind < 0 or kind > 1:
        return NO_END
    if value_size < 6:
        return VALUE_SHORT
    if int16(buf, value) < 0:
        return VALUE_VERSION_NEGATIVE
    return kind
