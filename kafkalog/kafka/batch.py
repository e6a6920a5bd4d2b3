"""A batch's header as a row, and the buffers that hold many of them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalog.kafka.compression import CODECS
from kafkalog.kafka.layout import MESSAGE_V0, MESSAGE_V1, RECORD_BATCH, Layout
from kafkalog.kernel import buffers, headers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "LOG_OVERHEAD",
    "MAGIC_AT",
    "SIZE_UP_TO_MAGIC",
    "Batch",
    "CellTable",
    "Record",
    "believed_counts",
    "checked_from",
    "last_offset_of",
    "layout_of",
    "magic_of",
    "offset_of",
    "set_magic",
    "set_size",
    "size_of",
    "smallest_size",
]


CODEC_MASK: Final = 0x07

LOG_APPEND_TIME: Final = 0x08

TRANSACTIONAL: Final = 0x10

CONTROL: Final = 0x20

DELETE_HORIZON: Final = 0x40


class CellTable:
    """Rows of int64 columns in one buffer, column by column, as the kernel writes them: below the fold, filled often.

    Cell (column, row) is ``cells[column, row]``; `count` rows are in use. `flat` has the same cells in one dimension.
    """

    __slots__ = ("capacity", "cells", "count", "flat")

    def __init__(self, columns: int, capacity: int) -> None:
        self.capacity = max(capacity, 1)  # a view has a size
        self.flat = memoryview(array("q", [0]) * (columns * self.capacity))
        self.cells = self.flat.cast("B").cast("q", (columns, self.capacity))
        self.count = 0

    def column(self, number: int) -> memoryview:
        """Return a view of one column's rows in use."""
        return self.flat[number * self.capacity : number * self.capacity + self.count]

    def cell(self, number: int, row: int) -> int:
        """Return one cell."""
        return self.cells[number, row]

    def set(self, number: int, row: int, value: int) -> None:
        """Change one cell."""
        self.cells[number, row] = value

    def row(self, number: int) -> tuple[int, ...]:
        """Return one row, all columns."""
        return tuple(self.flat[number :: self.capacity])

    def widened(self, more: int) -> CellTable:
        """Return a copy with `more` columns after these."""
        other = CellTable(len(self.cells) + more, self.capacity)
        other.flat[: len(self.flat)] = self.flat
        other.count = self.count
        return other

    def numpy(self) -> NDArray[np.int64]:
        """Return a view of the rows in use, of shape (columns, rows); imports NumPy, which a dump does not need."""
        import numpy as np

        return np.frombuffer(self.flat, np.int64).reshape(-1, self.capacity)[:, : self.count]


def believed_counts(heads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many records each batch of a table of headers has, 0 where its header says what can't be true."""
    import numpy as np

    counts = np.empty(heads.shape[1], np.int64)
    headers.believe(np.ascontiguousarray(heads).data, counts.data)  # not NumPy's own numbers, which do not wrap
    return counts


class Batch(NamedTuple):
    """The header of a record batch; names are Kafka's (DefaultRecordBatch), sizes in bytes, times in ms.

    For magic 0 and 1 it is one message: `base_offset` and `records_count` are None if the message is a wrapper, and
    fields that these magics don't have are -1. `crc_holds` says whether the stored CRC matches the bytes.
    """

    position: int
    size: int
    base_offset: int | None
    last_offset: int
    partition_leader_epoch: int
    magic: int
    crc: int
    crc_holds: bool
    attributes: int
    base_timestamp: int | None
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    records_count: int | None

    @classmethod
    def of(cls, heads: CellTable, row: int) -> Batch:
        """Make a row of the kernel's table readable."""
        (position, size, base, last, epoch, magic, crc, valid, attributes, base_timestamp, max_timestamp, producer_id,
         producer_epoch, base_sequence, last_sequence, count, *_) = heads.row(row)  # fmt: skip
        none = buffers.NONE
        return cls(
            position, size, None if base == none and magic < 2 else base, last, epoch, magic, crc, bool(valid),
            attributes, None if magic < 2 else base_timestamp, max_timestamp, producer_id, producer_epoch,
            base_sequence, last_sequence, None if count == none and magic < 2 else count,
        )  # fmt: skip

    @property
    def codec(self) -> str:
        """Return the compression codec's name, or the number of an unknown codec."""
        number = self.attributes & CODEC_MASK
        return CODECS[number] if number < len(CODECS) else str(number)

    @property
    def timestamp_type(self) -> str:
        """Return ``create_time``, ``log_append_time`` or, for magic 0, ``none``."""
        if self.magic == 0:
            return "none"
        return "log_append_time" if self.attributes & LOG_APPEND_TIME else "create_time"

    @property
    def is_transactional(self) -> bool:
        """Say whether the batch is part of a transaction; markers are."""
        return self.magic > 1 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Say whether the batch holds control records."""
        return self.magic > 1 and bool(self.attributes & CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """Return when the cleaner may drop tombstones or marker (KIP-534), None if no cleaner has set that."""
        return self.base_timestamp if self.magic > 1 and self.attributes & DELETE_HORIZON else None


class Record(NamedTuple):
    """A record with its values. Times are in ms; `position` is that of its batch in the file.

    `headers` are (key, value) in order. `crc` and `crc_holds` are those of a message of magic 0 or 1, otherwise None.
    The fields after these are None where it was not asked which log it is of and what became of it: `outcome` is a word
    of ``OUTCOMES``, `visible` says whether a read_committed consumer is given it.
    """

    offset: int
    timestamp: int
    sequence: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]
    size: int
    position: int
    magic: int
    crc: int | None
    crc_holds: bool | None
    topic: str | None = None
    partition: int | None = None
    log: str | None = None
    transactional_id: str | None = None
    outcome: str | None = None
    visible: bool | None = None


# The start of a batch: what its first bytes say while it is not known whether a batch begins there.
#
# Offset, length and magic have the same place in every format. All positions come from the layouts. The magic is read
# as a number from 0 to 255: a damaged byte must not look like an older format.


Bytes = bytes | bytearray | memoryview

LOG_OVERHEAD: Final = RECORD_BATCH.position("partition_leader_epoch")  # offset and length

MAGIC_AT: Final = RECORD_BATCH.position("magic")

SIZE_UP_TO_MAGIC: Final = MAGIC_AT + 1

_CONTENT_SIZES: Final = 8  # the sizes of a message's key and value, which every message has


def layout_of(magic: int) -> Layout:
    """Return the layout of a batch's header, or of a message's, by its magic."""
    return RECORD_BATCH if magic > 1 else MESSAGE_V1 if magic else MESSAGE_V0


def smallest_size(magic: int) -> int:
    """Return the least number of bytes that a batch of this magic has."""
    return layout_of(magic).size + (0 if magic > 1 else _CONTENT_SIZES)


def offset_of(head: Bytes) -> int:
    """Return the first offset of a batch, a message's own offset, or a wrapper's last offset."""
    return RECORD_BATCH.read_field("base_offset", head)


def last_offset_of(head: Bytes) -> int:
    """Return the last offset by a batch's header; it may not fit 64 bits."""
    delta = RECORD_BATCH.read_field("last_offset_delta", head) if magic_of(head) > 1 else 0
    return offset_of(head) + delta


def size_of(head: Bytes, at: int = 0) -> int:
    """Return the size in bytes of the whole batch at ``head[at]`` by its header; a damaged one may be below 0."""
    return RECORD_BATCH.read_field("batch_length", head, at) + LOG_OVERHEAD


def set_size(head: bytearray, size: int) -> None:
    """Set a header's length so that the whole batch has `size` bytes."""
    RECORD_BATCH.write_field("batch_length", head, size - LOG_OVERHEAD)


def magic_of(head: Bytes, at: int = 0) -> int:
    """Return the magic of the batch at ``head[at]``."""
    return head[at + MAGIC_AT]


def set_magic(head: bytearray, magic: int) -> None:
    """Set a header's magic."""
    head[MAGIC_AT] = magic


def checked_from(magic: int) -> int:
    """Return the position in a batch where the bytes begin that its checksum covers."""
    return RECORD_BATCH.position("attributes") if magic > 1 else MAGIC_AT
