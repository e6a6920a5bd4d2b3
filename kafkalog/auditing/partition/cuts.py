"""Segments whose transactions are made of the same bytes as in an earlier audit, as far as digests say.

The transactions that begin in a segment follow from what was open where it begins, from its own scan, and for those
that are open where it ends from what came later. A digest of the first two stands for all rows that also end in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.txn.columns import Columns
from kafkalog.txn.loops import EXTENT_COLUMNS

__all__ = ["Cut", "cut_of", "is_cut", "offsets_rise"]

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
