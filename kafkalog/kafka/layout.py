"""Every fixed layout, declared once in Kafka's words and read two ways.

``packed`` is a ``struct.Struct`` for readers, ``construct`` a ``construct.Struct`` for tests and labelled views. The
kernel's loops spell the same positions out; a test compares them with these declarations.
"""

from __future__ import annotations

import struct
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import construct

__all__ = [
    "ABORTED_TXN",
    "CONTROL_RECORD_KEY",
    "END_TXN_MARKER",
    "MESSAGE_CONTENT",
    "MESSAGE_V0",
    "MESSAGE_V1",
    "OFFSET_INDEX_ENTRY",
    "PRODUCER_SNAPSHOT",
    "PRODUCER_STATE_ENTRY",
    "RECORD",
    "RECORD_BATCH",
    "RECORD_HEADER",
    "TIME_INDEX_ENTRY",
    "Layout",
    "Varying",
]


class Integer(NamedTuple):
    """A big-endian integer: its struct code and its name in construct."""

    code: str
    construct: str


INT8: Final = Integer("b", "Int8sb")
INT16: Final = Integer("h", "Int16sb")
INT32: Final = Integer("i", "Int32sb")
INT64: Final = Integer("q", "Int64sb")
UINT32: Final = Integer("I", "Int32ub")


class Layout:
    """Fields of fixed width, one after the other, in network byte order."""

    def __init__(self, kafka_class: str, **fields: Integer) -> None:
        self.kafka_class = kafka_class
        self.fields = fields
        self.names = tuple(fields)

    @cached_property
    def packed(self) -> struct.Struct:
        """The layout for readers: a tuple of integers in the order of `names`."""
        return struct.Struct(">" + "".join(field.code for field in self.fields.values()))

    @cached_property
    def construct(self) -> construct.Struct[Any, Any]:
        """The layout for tests and labelled views; imports construct."""
        import construct

        return construct.Struct(*(name / getattr(construct, field.construct) for name, field in self.fields.items()))

    @cached_property
    def size(self) -> int:
        """The size in bytes."""
        return self.packed.size

    def position(self, name: str) -> int:
        """Return the byte position of a field."""
        return self._places[name][0]

    def read_field(self, name: str, data: bytes | bytearray | memoryview, at: int = 0) -> int:
        """Read one field of the structure at ``data[at]``. Raises struct.error if `data` ends before the field does."""
        position, packed = self._places[name]
        return int(packed.unpack_from(data, at + position)[0])

    def write_field(self, name: str, data: bytearray, value: int) -> None:
        """Change one field of the structure that `data` begins with."""
        position, packed = self._places[name]
        packed.pack_into(data, position, value)

    @cached_property
    def _places(self) -> dict[str, tuple[int, struct.Struct]]:
        fields = [struct.Struct(">" + field.code) for field in self.fields.values()]
        ends = accumulate(field.size for field in fields)
        return {name: (end - field.size, field) for name, field, end in zip(self.names, fields, ends, strict=True)}


class Varying:
    """Numbers and bytes one after the other; the number before bytes is their size, -1 for null."""

    def __init__(self, kafka_class: str, **fields: str) -> None:
        self.kafka_class = kafka_class
        self.fields = fields

    @cached_property
    def construct(self) -> construct.Struct[Any, Any]:
        """The layout for labelled views; imports construct."""
        import construct

        parts, size = [], ""
        for name, kind in self.fields.items():
            part = construct.Bytes(_size_by(size)) if kind == BYTES else getattr(construct, kind)
            parts.append(name / part)
            size = name
        return construct.Struct(*parts)


def _size_by(name: str) -> Any:
    return lambda context: max(0, context[name])


VARINT: Final = "ZigZag"
BYTES: Final = "bytes"

# Magic 2. The CRC, a CRC-32C, covers everything from ``attributes`` on. base_timestamp is the delete horizon if bit 6
# of the attributes is set.
RECORD_BATCH: Final = Layout(
    "org.apache.kafka.common.record.DefaultRecordBatch",
    base_offset=INT64,
    batch_length=INT32,  # of everything after this field
    partition_leader_epoch=INT32,  # set by the broker: outside the CRC
    magic=INT8,
    crc=UINT32,
    attributes=INT16,
    last_offset_delta=INT32,
    base_timestamp=INT64,
    max_timestamp=INT64,
    producer_id=INT64,
    producer_epoch=INT16,
    base_sequence=INT32,
    records_count=INT32,
)
# A record of magic 2; its headers follow.
RECORD: Final = Varying(
    "org.apache.kafka.common.record.DefaultRecord",
    length=VARINT,  # of everything after this field
    attributes=INT8.construct,
    timestamp_delta=VARINT,
    offset_delta=VARINT,
    key_size=VARINT,
    key=BYTES,
    value_size=VARINT,
    value=BYTES,
    headers_count=VARINT,
)
RECORD_HEADER: Final = Varying(
    "org.apache.kafka.common.header.internals.RecordHeader",
    header_key_size=VARINT,
    header_key=BYTES,
    header_value_size=VARINT,
    header_value=BYTES,
)
# Magic 0 and 1. The CRC, a CRC-32, covers everything from ``magic`` on; key and value follow, each after its size.
MESSAGE_V0: Final = Layout(
    "org.apache.kafka.common.record.LegacyRecord",
    offset=INT64,
    message_size=INT32,
    crc=UINT32,
    magic=INT8,
    attributes=INT8,
)
MESSAGE_V1: Final = Layout("org.apache.kafka.common.record.LegacyRecord", **MESSAGE_V0.fields, timestamp=INT64)
MESSAGE_CONTENT: Final = Varying(
    "org.apache.kafka.common.record.LegacyRecord",
    key_size=INT32.construct,
    key=BYTES,
    value_size=INT32.construct,
    value=BYTES,
)
CONTROL_RECORD_KEY: Final = Layout("org.apache.kafka.common.record.ControlRecordType", version=INT16, type=INT16)
END_TXN_MARKER: Final = Layout(
    "org.apache.kafka.common.record.EndTransactionMarker", version=INT16, coordinator_epoch=INT32
)
OFFSET_INDEX_ENTRY: Final = Layout(
    "org.apache.kafka.storage.internals.log.OffsetIndex", relative_offset=INT32, position=INT32
)
TIME_INDEX_ENTRY: Final = Layout(
    "org.apache.kafka.storage.internals.log.TimeIndex", timestamp=INT64, relative_offset=INT32
)
ABORTED_TXN: Final = Layout(
    "org.apache.kafka.storage.internals.log.AbortedTxn",
    version=INT16,
    producer_id=INT64,
    first_offset=INT64,
    last_offset=INT64,  # of the ABORT marker
    last_stable_offset=INT64,
)
# The CRC, a CRC-32C, covers everything after it.
PRODUCER_SNAPSHOT: Final = Layout(
    "org.apache.kafka.storage.internals.log.ProducerStateManager", version=INT16, crc=UINT32, entries_count=INT32
)
PRODUCER_STATE_ENTRY: Final = Layout(
    "org.apache.kafka.storage.internals.log.ProducerStateEntry",
    producer_id=INT64,
    producer_epoch=INT16,
    last_sequence=INT32,
    last_offset=INT64,
    offset_delta=INT32,
    timestamp=INT64,
    coordinator_epoch=INT32,
    current_txn_first_offset=INT64,
)
