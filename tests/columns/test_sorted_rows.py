"""Groups of rows, places among sorted values, and ranges: as one row after the other gives them."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.columns.sorted_rows import (
    any_between,
    group_begins,
    group_ends,
    groups,
    joined_ranges,
    last_of_each,
    place_of,
    ranges,
    runs,
)

numbers = st.integers(-3, 3)


@given(st.lists(st.tuples(numbers, numbers), max_size=12))
def test_a_group_is_neighbours_that_are_alike_in_all_columns(rows: list[tuple[int, int]]) -> None:
    """The first and the last row of each group, also of one row, and of no rows."""
    columns = np.array(rows, np.int64).reshape(-1, 2).T
    groups = [[place for place, _ in group] for _, group in groupby(enumerate(rows), key=lambda one: one[1])]

    assert np.flatnonzero(group_begins(*columns)).tolist() == [group[0] for group in groups]
    assert np.flatnonzero(group_ends(*columns)).tolist() == [group[-1] for group in groups]


@given(st.lists(st.tuples(numbers, numbers), max_size=12), st.integers(1, 3))
def test_rows_with_equal_keys_are_a_group_wherever_they_are(rows: list[tuple[int, int]], least: int) -> None:
    """Groups in the order of their keys, the rows of each as they were; smaller ones than asked for are left out."""
    columns = np.array(rows, np.int64).reshape(-1, 2).T
    places = [[place for place, one in enumerate(rows) if one == key] for key in sorted(set(rows))]

    assert [group.tolist() for group in groups(*columns, least=least)] == [one for one in places if len(one) >= least]


@given(st.lists(numbers))
def test_the_last_row_of_a_key_is_found_wherever_it_is(rows: list[int]) -> None:
    """One place for each key, in the order of the keys."""
    keys, last = last_of_each(np.array(rows, np.int64))

    assert dict(zip(keys.tolist(), last.tolist(), strict=True)) == {key: at for at, key in enumerate(rows)}
    assert keys.tolist() == sorted(set(rows))


@given(st.lists(numbers))
def test_runs_have_all_rows(rows: list[int]) -> None:
    """A run begins where the one before it stops; no rows are no run."""
    firsts, stops = runs(group_begins(np.array(rows, np.int64)))
    parts = [rows[first:stop] for first, stop in zip(firsts.tolist(), stops.tolist(), strict=True)]

    assert parts == [list(group) for _, group in groupby(rows)]


@given(st.lists(st.tuples(numbers, numbers)))
def test_ranges_are_joined_where_they_meet(some: list[tuple[int, int]]) -> None:
    """A range that begins where the one before it stops goes on with it."""
    joined: list[tuple[int, int]] = []
    for first, stop in some:
        if joined and joined[-1][1] == first:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((first, stop))
    found = joined_ranges(*np.array(some, np.int64).reshape(-1, 2).T)

    assert list(zip(*(ends.tolist() for ends in found), strict=True)) == joined


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


@given(st.lists(numbers).map(sorted), st.lists(st.tuples(numbers, numbers)))
def test_a_range_has_a_value_from_its_first_up_to_below_its_stop(
    values: list[int], some: list[tuple[int, int]]
) -> None:
    """An empty range has none."""
    firsts, stops = np.array(some, np.int64).reshape(-1, 2).T

    assert any_between(np.array(values, np.int64), firsts, stops).tolist() == [
        any(first <= value < stop for value in values) for first, stop in some
    ]
