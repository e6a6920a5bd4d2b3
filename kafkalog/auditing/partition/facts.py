"""What a partition's files say: one frozen value, made once by ``join``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition.gaps import NO_GAPS, Gaps
from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.columns.named import Columns
from kafkalog.folds.fold import MARKER_COLUMNS
from kafkalog.kernel.fold import EXTENT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkalog.auditing.partition.damaged_bytes import DamagedBytes
    from kafkalog.columns.named import Packed
    from kafkalog.findings import Finding
    from kafkalog.folds.fold import Break
    from kafkalog.kafka.index import AbortedTransaction
    from kafkalog.log_dirs.log_directory import PartitionDirectory

__all__ = ["Cut", "PartitionAudit", "cut_of", "is_cut", "offsets_rise"]


# Segments whose transactions are made of the same bytes as in an earlier audit, as far as digests say.
#
# The transactions that begin in a segment follow from what was open where it begins, from its own scan, and for those
# that are open where it ends from what came later. A digest of the first two stands for all rows that also end in it.


LEAST_ROWS: Final = 1 << 14  # of a segment: fewer are written in less time than they are looked up

_DISORDER: Final = frozenset({"offset-not-increasing", "offset-outside-segment"})


class Cut(NamedTuple):
    """A segment's offsets from `base` up to `end`, and a digest of what its transactions were made of."""

    base: int
    end: int
    inputs: bytes


def is_cut(scan: SegmentScan) -> bool:
    """Say whether a scan has a digest and ends so many transactions that their rows are worth carrying over."""
    return bool(scan.digest) and len(scan.stretch.finished) >= LEAST_ROWS


def cut_of(scan: SegmentScan, opened: Columns) -> Cut:
    """Return the cut of a segment; `opened` are the transactions that were open where it begins."""
    digest = hashlib.blake2b(scan.digest, digest_size=32)
    rows = opened.take(np.lexsort((opened["first_offset"], opened["producer_id"])))
    for name in EXTENT_COLUMNS:
        digest.update(rows[name].astype("<i8").tobytes())
    assert scan.stretch.last_offset is not None  # it has transactions
    return Cut(scan.segment.base_offset, scan.stretch.last_offset + 1, digest.digest())


def offsets_rise(scans: Sequence[SegmentScan]) -> bool:
    """Say whether each segment has offsets of its own alone, so that an offset says in which one a batch is."""
    if any(finding.code in _DISORDER for scan in scans for finding in scan.findings):
        return False
    return all(
        scan.stretch.last_offset is None or scan.stretch.last_offset < after.segment.base_offset
        for scan, after in pairwise(scans)
    )


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
    around the open transactions, by ``MARKER_COLUMNS``. `cuts` are the segments whose transactions a digest stands for.
    """

    directory: PartitionDirectory
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    transactions: Packed
    producers: Packed
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
    cuts: tuple[Cut, ...] = ()

    def with_findings(self, *findings: Finding) -> PartitionAudit:
        """Return the same with more findings about the log."""
        return self._replace(findings=(*self.findings, *findings)) if findings else self
