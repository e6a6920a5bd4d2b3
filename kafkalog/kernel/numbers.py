"""How the loops read numbers and markers; ``numbers.pxd`` says the same in C, so that the compiled loops inline it.

Sums of offsets and timestamps wrap at 64 bits, as in Java. The tests compare both forms.
"""

from __future__ import annotations

from kafkalog.kernel.buffers import KEY_SHORT, KEY_VERSION_NEGATIVE, NO_END, VALUE_SHORT, VALUE_VERSION_NEGATIVE, Bytes

__all__ = [
    "add64",
    "add_sequence",
    "end_marker",
    "int16",
    "int32",
    "int64",
    "minus64",
    "unsigned32",
    "varint",
    "varlong",
    "wrap32",
]


def add64(a: int, b: int) -> int:
    """Add as Java does: the sum wraps at 64 bits."""
    return ((a + b + 2**63) & (2**64 - 1)) - 2**63


def minus64(a: int, b: int) -> int:
    """Subtract as Java does: the difference wraps at 64 bits."""
    return ((a - b + 2**63) & (2**64 - 1)) - 2**63


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
