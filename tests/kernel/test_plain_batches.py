"""Plain batches, each the continuation of the one before, are looked up by the kernel as NumPy looks up all others."""

from __future__ import annotations

import struct
from array import array
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_header_sums import FORMS

from kafkalog.auditing.side_files.rebuilt import EpochRuns
from kafkalog.auditing.side_files.segment_batches import BATCH, Coverage
from kafkalog.auditing.side_files.segment_indexes import OffsetIndex, TimeIndex
from kafkalog.columns.table import Columns
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers

BASE = 100
SIZE = 70
# Of each batch: offsets skipped before it, offsets it has, its newest time.
_batches = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(-1, 30)), min_size=1, max_size=12)
_cuts = st.lists(st.integers(1, 12), max_size=3)
_offset_entries = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 14)), max_size=12)
_time_entries = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 60)), max_size=12)


def tables_of(batches: list[tuple[int, int, int]], cuts: list[int]) -> list[CellTable]:
    """The batches as chunks that are cut before some rows."""
    rows, offset = [], BASE
    for number, (skipped, count, newest) in enumerate(batches):
        offset += skipped
        rows.append((number * SIZE, SIZE, offset, offset + count - 1, newest))
        offset += count
    found = []
    for some in np.split(np.array(rows, np.int64), sorted({cut for cut in cuts if cut < len(rows)})):
        heads = CellTable(len(buffers.BATCH_COLUMNS), len(some))
        heads.count = len(some)
        columns = (buffers.POSITION, buffers.SIZE, buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.MAX_TIMESTAMP)
        for row, cells in enumerate(some.tolist()):
            for column, cell in zip(columns, cells, strict=True):
                heads.set(column, row, cell)
            for column, cell in ((buffers.VALID, 1), (buffers.MAGIC, 2), (buffers.LEADER_EPOCH, 3), (buffers.COUNT, 1)):
                heads.set(column, row, cell)
        found.append(heads)
    return found


def batches_of(heads: CellTable) -> Columns:
    return Columns({name: heads.numpy()[column].copy() for name, column in BATCH.items()})


@given(_batches, _cuts, _offset_entries, _time_entries)
def test_entries_are_looked_up_as_in_all_other_chunks(
    batches: list[tuple[int, int, int]], cuts: list[int], offsets: list[tuple[int, int]], times: list[tuple[int, int]]
) -> None:
    """Indexes, coverage and leader epochs know the same after plain chunks, whichever way they were taken in."""
    of_offsets = b"".join(struct.pack(">ii", offset, place * SIZE) for offset, place in offsets)
    of_times = b"".join(struct.pack(">qi", time, offset) for time, offset in times)
    quick, slow = (
        (OffsetIndex(of_offsets, BASE), TimeIndex(of_times, BASE), Coverage(BASE), EpochRuns()) for _ in range(2)
    )
    for heads in tables_of(batches, cuts):
        index, time_index, coverage, epochs = quick
        index.plain(heads, coverage.reached)
        time_index.plain(heads, coverage.reached)
        epochs.plain(heads)
        coverage.plain(heads)
        index, time_index, coverage, epochs = slow
        some = batches_of(heads)
        index.take_batches(some, coverage.reached)
        time_index.take_batches(some, coverage.reached)
        epochs.take_batches(some, coverage.last_offset)
        coverage.take_batches(some)

    assert [vars(one) for one in quick[2:]] == [vars(one) for one in slow[2:]]
    for name in ("first", "last", "ends_at"):
        assert getattr(quick[0], name).tolist() == getattr(slow[0], name).tolist()
    for name in ("there", "before"):
        assert getattr(quick[1], name).tolist() == getattr(slow[1], name).tolist()
    assert quick[1].newest == slow[1].newest


@pytest.mark.parametrize("form", FORMS)
@given(
    _batches,
    st.sampled_from(
        [None, buffers.POSITION, buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.LEADER_EPOCH, buffers.VALID]
    ),
    st.integers(0, 11),
    st.sampled_from([-(2**62), -1, 0, 1, 2**62, buffers.NONE]),
)
def test_one_odd_cell_makes_no_plain_chunk(
    form: ModuleType, batches: list[tuple[int, int, int]], column: int | None, row: int, odd: int
) -> None:
    """Batches are plain until one has a hole before it, offsets that do not rise, another epoch or a wrong checksum."""
    [heads] = tables_of(batches, [])
    row %= heads.count
    if column is not None:
        healthy = heads.cell(column, row)
        changed = 0 if column == buffers.VALID else odd if abs(odd) > 1 else healthy + odd
        heads.set(column, row, changed)
    found = array("q", bytes(8 * buffers.SUM_CELLS))
    before = CellTable(buffers.NEIGHBOUR_COLUMNS, 2)
    for cell, value in enumerate((0, 0, buffers.NONE, BASE - 1, buffers.NONE, 1)):
        before.set(cell, 1, value)
    form.sums(heads.cells, heads.count, before.cells, 1, found)
    table = heads.numpy()
    position, size, base, last = (
        table[cells].tolist() for cells in (buffers.POSITION, buffers.SIZE, buffers.BASE_OFFSET, buffers.LAST_OFFSET)
    )
    ends = [0, *(at + length for at, length in zip(position, size, strict=True))]
    plain = (
        table[buffers.VALID].all()
        and len(set(table[buffers.LEADER_EPOCH].tolist())) == 1
        and position == ends[:-1]
        and all(first > reached for first, reached in zip(base, [BASE - 1, *last[:-1]], strict=True))
        and all(first <= reached for first, reached in zip(base, last, strict=True))
    )

    assert found[buffers.SUM_PLAIN] == plain
    if plain:
        assert not form.disagree(heads.cells, heads.count, before.cells, 1)


def test_the_last_two_rows_are_kept_across_chunks() -> None:
    """A chunk of one row moves the row before it, one of more replaces both."""
    kept = CellTable(buffers.NEIGHBOUR_COLUMNS, 2)
    kept.flat[:] = array("q", range(12))
    for heads in tables_of([(0, 1, 5)] * 4, [1, 3]):
        headers.last_two(heads.cells, heads.count, kept.cells)

    assert kept.flat.tolist() == [140, 210, 70, 70, 102, 103, 102, 103, 3, 3, 1, 1]
