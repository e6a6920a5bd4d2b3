"""What of a segment is asked for: batches that cannot hold it are passed over before their records are decompressed."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalog.format.batch import Batch, Record

__all__ = ["Selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """A batch or record is selected where it meets all that is set. Both ends of a range belong to it."""

    first_offset: int | None = None
    last_offset: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    producer_id: int | None = None
    key: bytes | None = None
    control_only: bool = False

    @property
    def everything(self) -> bool:
        """Say whether nothing is left out."""
        return self == Selection()

    @property
    def looks_at_records(self) -> bool:
        """Say whether only the records can tell whether a batch holds any that is selected."""
        return self.key is not None or self.until_ms is not None or self.since_ms is not None

    def may_hold(self, batch: Batch) -> bool:
        """Say whether the batch's header leaves it open that a record is selected."""
        if self.first_offset is not None and batch.last_offset < self.first_offset:
            return False
        if self.last_offset is not None and batch.base_offset is not None and batch.base_offset > self.last_offset:
            return False
        if self.producer_id is not None and batch.producer_id != self.producer_id:
            return False
        if self.control_only and not batch.is_control:
            return False
        if (
            self.until_ms is not None
            and batch.timestamp_type == "log_append_time"
            and batch.max_timestamp > self.until_ms
        ):
            return False
        return self.since_ms is None or batch.max_timestamp >= self.since_ms or batch.magic == 0

    def holds(self, record: Record) -> bool:
        """Say whether a record of a batch that may hold it is selected."""
        if self.first_offset is not None and record.offset < self.first_offset:
            return False
        if self.last_offset is not None and record.offset > self.last_offset:
            return False
        if self.since_ms is not None and record.timestamp < self.since_ms:
            return False
        if self.until_ms is not None and record.timestamp > self.until_ms:
            return False
        return self.key is None or record.key == self.key
