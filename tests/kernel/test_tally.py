"""A log's transactions counted once: the counts that verdicts are spared by, against a plain count of the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import Tally, tally
from kafkalog.kernel import fold
from kafkalog.kernel.buffers import ABORT, COMMIT, EXTENT_COLUMNS, OPEN, TALLY_COLUMNS

ROW = st.tuples(
    st.sampled_from([NONE, 5]), st.integers(0, 1), st.sampled_from([NONE, NONE, 2]), st.integers(-1, 2),
    st.sampled_from([OPEN, ABORT, COMMIT]), st.integers(0, 2), st.sampled_from([1, 1, 2]),
)  # fmt: skip
PLAIN = (5, 1, NONE, 1, COMMIT, 1, 1)


def packed(*blocks: list[tuple[int, ...]]) -> Columns:
    """Rows by ``EXTENT_COLUMNS``, those of each list as one block."""
    found = Columns.empty(EXTENT_COLUMNS)
    for rows in blocks:
        cells = dict(zip(TALLY_COLUMNS, np.array(rows, np.int64).reshape(-1, len(TALLY_COLUMNS)).T, strict=True))
        found += Columns({name: cells.get(name, np.zeros(len(rows), np.int64)) for name in EXTENT_COLUMNS}).packed()
    return found


def counted(rows: list[tuple[int, ...]]) -> Tally:
    """Count row by row, as the docstring of the counts says."""
    with_data = [row for row in rows if row[0] != NONE and row[4] != OPEN]
    plain = len(with_data) == len(rows) and all(row[1] and row[2] == NONE for row in rows)
    in_order = plain and all(row[5] >= row[3] for row in rows) and len({row[6] for row in rows}) < 2
    return Tally(
        sum(row[4] == COMMIT for row in with_data), sum(row[4] == ABORT for row in with_data),
        sum(row[2] == NONE and row[5] > row[3] for row in with_data), plain, in_order,
    )  # fmt: skip


@given(st.lists(ROW, max_size=6), st.lists(ROW, max_size=150))
def test_the_counts_are_those_of_the_rows(few: list[tuple[int, ...]], more: list[tuple[int, ...]]) -> None:
    """Of any rows, in blocks of any size, small ones and packed ones."""
    assert tally(packed(few, more)) == counted([*few, *more])


@pytest.mark.parametrize("column", range(len(TALLY_COLUMNS)))
def test_one_odd_row_among_many_is_seen(column: int) -> None:
    """A row without data, without its begin, of two epochs, without a marker, or with another's epoch."""
    odd = list(PLAIN)
    odd[column] = (NONE, 0, 1, 3, OPEN, 0, 2)[column]
    found = tally(packed([PLAIN] * 200 + [tuple(odd)]))

    assert tally(packed([PLAIN] * 201)).in_order
    assert not found.in_order


def test_rows_that_come_later_are_counted() -> None:
    """The counts are made once for the same rows, and again for more."""
    rows = packed([PLAIN])
    assert tally(rows) is tally(rows)
    rows += packed([PLAIN, PLAIN])
    assert tally(rows).committed == 3


def test_too_few_cells_are_refused() -> None:
    """A buffer that is shorter than its rows is never read."""
    with pytest.raises(IndexError):
        fold.tallied(memoryview(np.zeros((6, 2), np.int64)), 2)
