"""Groups of rows, places among sorted values, and ranges: as one row after the other gives them."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.columns.sorted_rows import group_begins, group_ends, place_of, ranges

numbers = st.integers(-3, 3)


@given(st.lists(st.tuples(numbers, numbers), max_size=12))
def test_a_group_is_neighbours_that_are_alike_in_all_columns(rows: list[tuple[int, int]]) -> None:
    """The first and the last row of each group, also of one row, and of no rows."""
    columns = np.array(rows, np.int64).reshape(-1, 2).T
    groups = [[place for place, _ in group] for _, group in groupby(enumerate(rows), key=lambda one: one[1])]

    assert np.flatnonzero(group_begins(*columns)).tolist() == [group[0] for group in groups]
    assert np.flatnonzero(group_ends(*columns)).tolist() == [group[-1] for group in groups]


@given(st.lists(numbers, unique=True).map(sorted), st.lists(numbers))
def test_a_value_has_its_place_among_sorted_ones_or_none(known: list[int], values: list[int]) -> None:
    """-1 stands for none, also where nothing is known."""
    found = place_of(np.array(known, np.int64), np.array(values, np.int64))

    assert found.tolist() == [known.index(value) if value in known else -1 for value in values]


@given(st.lists(st.tuples(numbers, st.integers(0, 3))))
def test_ranges_come_one_after_the_other(some: list[tuple[int, int]]) -> None:
    """Each from its first number on; one without numbers adds nothing."""
    firsts, counts = np.array(some, np.int64).reshape(-1, 2).T

    assert ranges(firsts, counts).tolist() == [first + one for first, count in some for one in range(count)]
