"""What becomes of transactions if a segment is replaced by its whole batches: a marker that was left out is missed.

The copy is read as a broker would read it in the segment's place, with the partition's other segments.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import read_log
from kafkalog.columns.table import NONE, Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import parse_name
from kafkalog.folds import fold
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment, open_log_directory
from kafkalog.quantities import offset_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ChangedFate", "ChangedFates", "fates_after_salvage"]

_COLUMNS: Final = (
    "producer_id", "first_offset", "last_offset", "last_epoch", "older_records", "marker_type", "marker_offset",
    "marker_epoch",
)  # fmt: skip


class ChangedFate(NamedTuple):
    """A transaction with data before bytes that were left out, and its end after them, if any.

    `marker_offset` is None if it is open. `how` is ``open``, ``merged`` with data after these bytes, or ``extended``
    up to a marker that may be another transaction's.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    committed: bool
    marker_offset: int | None
    how: str

    def __str__(self) -> str:
        """Write it as a sentence."""
        offsets = offset_range(self.first_offset, self.last_offset)
        start = f"transaction of producer {self.producer_id}, {offsets}: {self.how}"
        if self.how == "open":
            return f"{start}; no marker follows, consumers with read_committed stop at offset {self.first_offset}"
        ended = f"{'committed' if self.committed else 'aborted'} by the marker at offset {self.marker_offset}"
        if self.how == "merged":
            return f"{start}; {ended} with data from after the left-out bytes, which may be another transaction's"
        return f"{start}; {ended}, its own marker may be among what is left out"


class ChangedFates(NamedTuple):
    """How many transactions reach across what was left out, and the first ones of them."""

    total: int
    first: list[ChangedFate]


def fates_after_salvage(
    segment: str, copy: str, holes: Sequence[int], limits: Limits | None = None, *, most: int = 20
) -> ChangedFates | None:
    """Return the transactions whose end is not certain if `copy` takes the place of `segment`, up to `most` of them.

    `holes` are the last offsets before what was left out. None if the segment is in no partition's directory.
    """
    directory = _with_copy(segment, copy)
    if directory is None or not holes:
        return None
    before = np.array(sorted(set(holes)), np.int64)
    rows = read_log(directory, (), limits).partition.transactions
    count, first = 0, list[ChangedFate]()
    for some in rows.blocks(*_COLUMNS):
        hole, chosen = _across(some, before)
        count += int(chosen.sum())
        places = np.flatnonzero(chosen)[: most - len(first)]
        first += map(_fate, some.take(places), hole[places].tolist())
    return ChangedFates(count, first)


def _with_copy(segment: str, copy: str) -> PartitionDirectory | None:
    """Return the partition's directory with the copy in it, from there on if a snapshot says what was open there."""
    try:
        partitions = open_log_directory(os.path.dirname(segment) or ".").partitions
    except UnreadableError:
        return None
    base = parse_name(os.path.basename(segment)).offset
    if len(partitions) != 1 or base is None:
        return None
    [directory] = partitions
    segments = [
        Segment(copy, base, os.path.getsize(copy)) if one.base_offset == base else one for one in directory.segments
    ]
    at = next((number for number, one in enumerate(segments) if one.base_offset == base), None)
    if at is None:
        return None
    known = tuple(segments[at:] if base in directory.snapshots else segments)
    return replace(directory, segments=known, txn_indexes=frozenset(), checkpoints={})


def _across(rows: Columns, holes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each transaction the first hole after its begin, and whether it ends after that hole."""
    end = fold.ends(rows)
    at = np.searchsorted(holes, rows["first_offset"])
    hole = holes[np.minimum(at, len(holes) - 1)]
    chosen = fold.has_data(rows) & (at < len(holes)) & (hole < end)
    # Under transaction.version 2 a COMMIT marker has the next epoch: it is the data's own.
    own = (rows["marker_type"] == fold.COMMIT) & (rows["marker_epoch"] == rows["last_epoch"] + 1)
    chosen &= ~(own & (rows["older_records"] == NONE))
    return hole, chosen


def _fate(row: dict[str, int], last_before: int) -> ChangedFate:
    is_open = row["marker_type"] == fold.OPEN
    merged = row["older_records"] != NONE or row["last_offset"] > last_before
    return ChangedFate(
        row["producer_id"],
        row["first_offset"],
        row["last_offset"],
        row["marker_type"] == fold.COMMIT,
        None if is_open else row["marker_offset"],
        "open" if is_open else "merged" if merged else "extended",
    )
