"""Entries of a segment's indexes that its batches contradict, or that go on after them, as findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkalog.auditing.partition import offset_range
from kafkalog.format import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.side_files.coverage import Coverage
    from kafkalog.auditing.side_files.index_witness import OffsetIndex, TimeIndex
    from kafkalog.auditing.side_files.place import SegmentFiles
    from kafkalog.findings import Finding

__all__ = ["Mismatch", "left_by_truncation", "offset_mismatch", "offsets_beyond", "time_mismatch", "times_beyond"]


class Mismatch(NamedTuple):
    """What is wrong with an index; `share` is the part of its entries that are wrong, from 0 to 1."""

    finding: Finding
    share: float


def offsets_beyond(index: OffsetIndex, place: SegmentFiles, coverage: Coverage) -> NDArray[np.bool_]:
    """Say which entries go on after the log's end: both their offset and their position do."""
    beyond: NDArray[np.bool_] = (index.position >= place.segment.size) & (index.offset > coverage.reached)
    return beyond


def times_beyond(index: TimeIndex, coverage: Coverage) -> NDArray[np.bool_]:
    """Say which entries go on after the log's end: both their offset and their time do."""
    beyond: NDArray[np.bool_] = (index.offset > coverage.reached) & (index.timestamp > index.newest)
    return beyond


def left_by_truncation(
    index: OffsetIndex | TimeIndex, place: SegmentFiles, coverage: Coverage
) -> NDArray[np.bool_]:  # fmt: skip
    """Say which last entries of an active segment's index do not count: their offset is after the log's end.

    A broker that truncates the log goes back in the file and leaves what follows, until it writes there again or trims
    the file.
    """
    if place.is_closed or not len(index):
        return np.zeros(len(index), bool)
    after = index.offset > coverage.reached
    left: NDArray[np.bool_] = np.logical_and.accumulate(after[::-1])[::-1]
    return left


def offset_mismatch(index: OffsetIndex, place: SegmentFiles, coverage: Coverage) -> Mismatch | None:
    """Return the wrong entries of an ``.index``, by which readers go astray."""
    if not len(index):
        return None
    wrong = index.wrong() & ~coverage.in_hole(index.position) & ~offsets_beyond(index, place, coverage)
    wrong &= ~left_by_truncation(index, place, coverage)
    if not wrong.any():
        return None
    row = int(np.flatnonzero(wrong)[0])
    offset, position = int(index.offset[row]), int(index.position[row])
    there = index.last[row] != kernel.NONE
    what = (
        f"the batch has {offset_range(int(index.first[row]), int(index.last[row]))}" if there else "there is no batch"
    )
    message = (
        f"{wrong.sum()} of {len(index)} entries {'does' if wrong.sum() == 1 else 'do'} not match the segment: the first"
        f" one has offset {offset} at position {position}, where {what}"
    )
    finding = place.finding(
        "index-mismatch",
        ".index",
        message,
        position=row * index.size,
        length=index.size,
        offset=offset,
        needed=int(index.last[row]) if there else "a batch",
        found=offset if there else position,
    )
    return Mismatch(finding, float(wrong.sum()) / len(index))


def time_mismatch(index: TimeIndex, place: SegmentFiles, coverage: Coverage) -> Mismatch | None:
    """Return the wrong entries of a ``.timeindex``, by which readers go astray."""
    beyond = times_beyond(index, coverage)
    wrong = index.wrong() & ~beyond & ~left_by_truncation(index, place, coverage)
    if coverage.holes:  # a batch that is missing in one may have had the newest time
        wrong &= index.offset <= coverage.first_doubt()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        newest = max(index.there[row], index.before[row])
        what = "there is no batch" if index.there[row] == kernel.NONE else f"the newest time is {newest}"
        message = (
            f"{wrong.sum()} of {len(index)} entries {'does' if wrong.sum() == 1 else 'do'} not match the segment: the"
            f" first one has time {index.timestamp[row]} at offset {index.offset[row]}, where {what}"
        )
        finding = _of_time(index, place, coverage, row, message, int(index.timestamp[row]))
        return Mismatch(finding, float(wrong.sum()) / len(index))
    if place.is_closed and not coverage.holes and not beyond.any() and _ends_early(index):
        last = int(index.timestamp[-1]) if len(index) else -1
        message = f"the index of a closed segment must end with the newest time {index.newest}, but ends with {last}"
        return Mismatch(_of_time(index, place, coverage, max(len(index) - 1, 0), message, last), 0.0)
    return None


def _ends_early(index: TimeIndex) -> bool:
    return index.newest >= 0 and (not len(index) or int(index.timestamp[-1]) != index.newest)


def _of_time(
    index: TimeIndex, place: SegmentFiles, coverage: Coverage, row: int, message: str, found: int
) -> Finding:  # fmt: skip
    there = int(index.there[row]) if len(index) else kernel.NONE
    return place.finding(
        "time-index-mismatch",
        ".timeindex",
        message,
        position=row * index.size,
        length=index.size,
        offset=int(index.offset[row]) if len(index) else coverage.first_offset,
        needed=index.newest if there == kernel.NONE else there,
        found=found,
    )
