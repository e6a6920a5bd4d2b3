"""Records of internal topics with their places, one by one, and as rows of the table ``internal``."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.errors import NothingMatchesError, UnreadableError
from kafkalog.files.limits import OVER_BUDGET, Limits
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.quantities import iso
from kafkalog.segments.blocks import Rows
from kafkalog.segments.internal_blocks import TOPICS, InternalRecords, Written, internal_blocks
from kafkalog.segments.moment import Moment
from kafkalog.segments.selection import Picks
from kafkalog.tables import Table
from kafkalog.tables.internal_tables import INTERNAL
from kafkalog.unread import is_not_read, not_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.segments.internal_rows import InternalBlocks

__all__ = [
    "TOPICS",
    "WHOLE",
    "InternalView",
    "RowForm",
    "Written",
    "blocks_again",
    "blocks_of_directory",
    "held_by",
    "split",
    "until",
]


def blocks_of_directory(
    directory: PartitionDirectory, limits: Limits, report: Callable[[Finding], object]
) -> Iterator[InternalRecords]:
    """Yield the records of a partition's segments in order, a block at a time; the scan reports what is wrong with the
    bytes, and ``InternalRecords.findings`` what is wrong with the records.
    """
    for segment in directory.segments:
        try:
            for item in internal_blocks(segment.path, TOPICS[directory.topic], limits, segment.size):
                if isinstance(item, InternalRecords):
                    yield item
                elif item.code == OVER_BUDGET:
                    report(item)
        except UnreadableError as error:
            report(not_read(segment.path, error, log=directory.log))


def blocks_again(directory: PartitionDirectory, limits: Limits, unreadable: list[Finding]) -> Iterator[InternalRecords]:
    """Yield the same blocks once more; only a file that can't be read is still to be reported."""
    findings: list[Finding] = []
    yield from blocks_of_directory(directory, limits, findings.append)
    unreadable += [finding for finding in findings if is_not_read(finding)]


def split(items: Iterable[Written | Finding], findings: list[Finding]) -> Iterator[Written]:
    """Yield the records alone; findings are put into a list."""
    for item in items:
        if isinstance(item, Finding):
            findings.append(item)
        else:
            yield item


def until(moment: Moment | None, records: InternalRecords) -> NDArray[np.bool_]:
    """Say which records were written by a moment, all without one."""
    return np.ones(records.count, np.bool_) if moment is None else moment.hold(records.offset, records.timestamp)


def held_by(moment: Moment, directories: Iterable[PartitionDirectory], limits: Limits) -> None:
    """Raise NothingMatchesError if all records of some directories were written after a moment: it says when.

    Without a moment nothing is read.
    """
    if moment.offset is None and not isinstance(moment.timestamp, int):
        return
    logs = [one for one in directories if one.segments]
    blocks = [block for one in logs for block in islice(blocks_of_directory(one, limits, _ignore), 1)]
    times = [int(block.timestamp.min()) for block in blocks if block.count]
    offset = min((one.segments[0].base_offset for one in logs), default=0)
    if moment.offset is not None and moment.offset < offset:
        raise NothingMatchesError(f"nothing matches: records begin at offset {offset}, after offset {moment.offset}")
    if isinstance(moment.timestamp, int) and times and moment.timestamp < min(times):
        raise NothingMatchesError(f"nothing matches: records begin at {iso(min(times))}, after {iso(moment.timestamp)}")


def _ignore(_: Finding) -> None:
    """Do nothing: it was reported when all was read."""


class RowForm(NamedTuple):
    """How rows are made that come many at once: with which columns of a table, and whether JSON in them is `spaced`."""

    names_of: Callable[[Table], Sequence[str]] = attrgetter("names")
    spaced: bool = False


WHOLE: Final = RowForm()


class InternalView:
    """Makes the records of a log rows of the table ``internal``."""

    def __init__(self, directory: PartitionDirectory, form: RowForm) -> None:
        self._directory = directory
        self._form = form
        self._blocks: InternalBlocks | None = None

    def of(self, records: InternalRecords, rows: NDArray[Any]) -> Iterator[tuple[Rows, Sequence[int]]]:
        """Yield these rows of a block, which ascend, but for records that can't be read, each run with its numbers.

        The next run uses the same cells.
        """
        if self._blocks is None:
            from kafkalog.segments.internal_rows import InternalBlocks  # an audit needs no text

            directory = self._directory
            self._blocks = InternalBlocks(
                directory.log, TOPICS[directory.topic], self._form.names_of(INTERNAL), records.block.recs.capacity,
                spaced=self._form.spaced, log=directory.log, partition=directory.partition,
            )  # fmt: skip
        numbers = array("q", rows.astype(np.int64).tobytes())
        for item in self._blocks.of(records.heads, records.block, Picks(numbers, len(numbers))):
            if isinstance(item, Rows):
                yield item, self._blocks.numbers[item.start : item.stop]
