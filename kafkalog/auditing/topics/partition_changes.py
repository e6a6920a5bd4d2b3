"""Changes of partitions in a block of the metadata log: most records of a busy cluster, and many change the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.internal import Written
from kafkalog.auditing.topics.partition_history import Change, Key
from kafkalog.format.primitives import uuid_text
from kafkalog.log.internal_blocks import InternalRecords

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PARTITION_CHANGE", "PartitionChange", "PartitionChanges"]

PARTITION_CHANGE: Final = 5
_UUID: Final = 16
_NAMES: Final = ["partitionId", "topicId"]  # the fields that a record begins with; all others follow
_MOST_KEPT: Final = 1 << 16
_MOST_BYTES: Final = 256  # of a change that is kept


class PartitionChange(NamedTuple):
    """A PartitionChangeRecord: the partition by topic id and number, what changes, time and offset."""

    key: Key
    change: Change
    timestamp: int
    offset: int


class PartitionChanges:
    """Reads the PartitionChangeRecords of blocks; what follows a partition's name is read once for equal bytes."""

    def __init__(self) -> None:
        self._changes: dict[bytes, Change] = {}
        self._topics: dict[bytes, str] = {}

    def of(self, records: InternalRecords, wanted: NDArray[np.bool_]) -> tuple[NDArray[Any], Iterator[PartitionChange]]:
        """Return the rows of such records among those wanted, in order, and what each of them says."""
        rows = np.flatnonzero(wanted & (records.type == PARTITION_CHANGE) & ~records.is_doubtful)
        parts = [
            part
            for part in records.values((PARTITION_CHANGE,), rows)
            if [one.name for one in part.program.structure.fields[:2]] == _NAMES
        ]
        topics = records.field(parts, "topicId")
        rows = rows[topics[rows] >= 0]
        return rows, self._read(records, rows, topics[rows], records.field(parts, "partitionId")[rows])

    def _read(
        self, records: InternalRecords, rows: NDArray[Any], topics: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> Iterator[PartitionChange]:
        ends = records.value_start[rows] + records.value_size[rows]
        columns = (rows, topics, ends, numbers, records.version[rows], records.timestamp[rows], records.offset[rows])
        buf = records.buf
        for row, at, end, number, version, timestamp, offset in zip(*(one.tolist() for one in columns), strict=True):
            rest = bytes((version, *buf[at + _UUID : end]))
            change = self._changes.get(rest)
            if change is None:
                change = self._new(records, row, rest)
            topic = bytes(buf[at : at + _UUID])
            name = self._topics.get(topic)
            if name is None:
                if len(self._topics) >= _MOST_KEPT:
                    self._topics.clear()
                name = self._topics[topic] = uuid_text(topic)
            yield PartitionChange((name, number), change, timestamp, offset)

    def _new(self, records: InternalRecords, row: int, rest: bytes) -> Change:
        (record,) = records.written(np.array([row]))
        assert isinstance(record, Written)  # it is in no doubt
        assert record.content is not None
        assert record.content.value is not None
        change = Change.of(record.content.value)
        if len(rest) <= _MOST_BYTES:
            if len(self._changes) >= _MOST_KEPT:
                self._changes.clear()
            self._changes[rest] = change
        return change
