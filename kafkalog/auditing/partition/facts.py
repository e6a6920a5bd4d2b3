"""What a partition's files say: one frozen value, made once by ``join``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalog.auditing.partition.gaps import NO_GAPS, Gaps
from kafkalog.columns.table import Columns
from kafkalog.folds.fold import MARKER_COLUMNS, is_open

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkalog.auditing.partition.scan import DamagedBytes
    from kafkalog.columns.table import Columns
    from kafkalog.findings import Finding
    from kafkalog.folds.fold import Break
    from kafkalog.kafka.index import AbortedTransaction
    from kafkalog.log_dirs.log_directory import PartitionDirectory

__all__ = ["PartitionAudit"]


_NO_ENTRIES: Final[Mapping[int, list[AbortedTransaction]]] = {}


class PartitionAudit(NamedTuple):
    """What a partition's files say on their own: a tuple, because a cluster has many.

    Offsets are log offsets. Times are in milliseconds; -1 stands for no time.
    `transactions` are rows of extents. `newest` is the newest time in the log, `newest_broker` the newest that a broker
    wrote, `oldest` the first time of a producer's batch or a marker. `cleaned_to` is the offset below which the cleaner
    may have been, -1 for nowhere. `epochs` are the batches' leader epochs, each with its first offset. `breaks` are
    producers' breaks of sequence in the order of the log. `findings` are
    about the log, `of_producers` about single producers in it. `txn_entries` are those of the ``.txnindex`` files that
    can be read, by their segments' base offsets. Of a share of the producers `others` are markers of all producers
    around the open transactions, by ``MARKER_COLUMNS``. `newest_of` has the newest time of each segment, -1 where it is
    not whole.
    """

    directory: PartitionDirectory
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    transactions: Columns
    producers: Columns
    batches: int
    records: int
    control_records: int
    newest: int
    newest_broker: int
    oldest: int
    damaged: Sequence[DamagedBytes]
    cleaned_to: int
    epochs: tuple[tuple[int, int], ...]
    has_transactions: bool
    breaks: tuple[Break, ...]
    gaps: Gaps = NO_GAPS
    findings: tuple[Finding, ...] = ()
    of_producers: tuple[Finding, ...] = ()
    txn_entries: Mapping[int, list[AbortedTransaction]] = _NO_ENTRIES
    others: Columns = Columns.empty(MARKER_COLUMNS)
    newest_of: tuple[int, ...] = ()

    def is_held_by(self, first_offset: int) -> bool:
        """Say whether an open transaction from this offset on holds the last stable offset back.

        It may have begun before the log's start, below which the last stable offset never is.

        UnifiedLog.fetchLastStableOffsetMetadata answers no offset below the log's start, either.
        """
        return first_offset <= self.last_stable_offset < self.log_end_offset

    def holder(self) -> dict[str, int] | None:
        """Return the open transaction that holds the last stable offset back, None where nothing does."""
        if self.last_stable_offset >= self.log_end_offset:
            return None
        opened = self.transactions.where(is_open)
        first = int(opened["first_offset"].argmin())
        [row] = opened.take(slice(first, first + 1))
        return row

    @property
    def cleaned_past_checkpoint(self) -> bool:
        """Say whether the cleaner worked in segments after its checkpoint: it writes that when a pass is done."""
        checkpoint = self.directory.checkpoints.get("cleaner")
        if checkpoint is None or not self.gaps:
            return False
        dirty = (one.base_offset for one in self.directory.segments if one.base_offset >= checkpoint)
        return self.gaps.cleaned_from(next(dirty, self.log_end_offset))

    def cleaned_to_active(self) -> PartitionAudit:
        """Return a log in which the cleaner may have been up to the active segment, whatever its checkpoint says."""
        active = max((one.base_offset for one in self.directory.segments[-1:]), default=-1)
        return self._replace(cleaned_to=max(self.cleaned_to, active))

    def with_findings(self, *findings: Finding) -> PartitionAudit:
        """Return the same with more findings about the log."""
        return self._replace(findings=(*self.findings, *findings)) if findings else self
