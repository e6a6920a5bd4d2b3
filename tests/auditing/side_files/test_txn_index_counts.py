"""Aborted transactions without an entry are counted, not listed: a log without its files may have a million."""

from __future__ import annotations

import numpy as np

from counted import counted
from kafkalog.auditing.side_files.txn_indexes import Aborts, EntryFaults, Reach
from kafkalog.columns.table import Columns
from kafkalog.kernel.buffers import EXTENT_COLUMNS

REACH = Reach(lambda _: False, 0, 0)


def aborts(count: int) -> Aborts:
    """Aborted transactions of one producer, one after the other."""
    starts = 2 * np.arange(count)
    cells = {name: np.zeros(count, np.int64) for name in EXTENT_COLUMNS}
    cells |= {"producer_id": cells["producer_id"] + 7, "first_offset": starts, "marker_offset": starts + 1}
    rows = Columns.empty(EXTENT_COLUMNS)
    rows += Columns(cells).packed()
    return Aborts(rows)


def faults(of: Aborts) -> tuple[EntryFaults | None, int]:
    return counted(lambda: of.faults([], 0, 2**62, REACH))


def test_what_is_missing_is_counted() -> None:
    """The finding names the first one and counts the others; ten thousand take no more calls than ten."""
    (few, calls), (many, more_calls) = faults(aborts(10)), faults(aborts(10_000))

    assert few is not None
    assert many is not None
    assert (few.number, many.number) == (10, 10_000)
    assert few.all_missing
    assert few.first == many.first
    assert few.first.message == ("the transaction of producer 7 at offsets 0-1 was aborted, but has no entry")
    assert more_calls <= calls + 5


def test_nothing_missing_is_no_fault() -> None:
    """A log without aborted transactions has nothing to say."""
    assert faults(aborts(0))[0] is None
