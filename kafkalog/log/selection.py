"""Which records are selected: batches that can't contain any are skipped before they are decompressed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkalog.format import kernel
from kafkalog.format.batch import Batch
from kafkalog.log.records import RecordBlock

__all__ = ["Selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A batch or record is selected if it meets every condition that is set. Both ends of a range belong to it."""

    first_offset: int | None = None
    last_offset: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    producer_id: int | None = None
    key: bytes | None = None
    control_only: bool = False

    @property
    def everything(self) -> bool:
        """Say whether everything is selected."""
        return self == Selection()

    @property
    def looks_at_records(self) -> bool:
        """Say whether the records must be read to know whether a batch has a selected one."""
        return self.key is not None or self.until_ms is not None or self.since_ms is not None

    def may_hold(self, batch: Batch) -> bool:
        """Say whether, by its header, the batch may contain a selected record."""
        if self.first_offset is not None and batch.last_offset < self.first_offset:
            return False
        if self.last_offset is not None and batch.base_offset is not None and batch.base_offset > self.last_offset:
            return False
        if self.producer_id is not None and batch.producer_id != self.producer_id:
            return False
        if self.control_only and not batch.is_control:
            return False
        # A LogAppendTime in the header applies to every record: their timestamp deltas are ignored.
        return batch.timestamp_type != "log_append_time" or self._in_time(batch.max_timestamp)

    def _in_time(self, timestamp: int) -> bool:
        return (self.since_ms is None or timestamp >= self.since_ms) and (
            self.until_ms is None or timestamp <= self.until_ms
        )

    def numbers(self, block: RecordBlock) -> Iterator[int]:
        """Yield the numbers of the selected records in a block of batches that may contain some.

        Uses the kernel's table: no Record is made for one that is not selected.
        """
        first = -(2**63) if self.first_offset is None else self.first_offset
        last = 2**63 - 1 if self.last_offset is None else self.last_offset
        columns = (block.recs.column(kernel.OFFSET), block.recs.column(kernel.TIMESTAMP))
        for number, (offset, timestamp) in enumerate(zip(*columns, strict=True)):
            if (
                first <= offset <= last
                and self._in_time(timestamp)
                and (self.key is None or block.key(number) == self.key)
            ):
                yield number
