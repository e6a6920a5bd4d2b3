"""Ranges of offsets, which may overlap, as the sets of offsets that they are."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.incidents.lost_ranges import Ranges

some_ranges = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)).map(lambda one: (one[0], one[0] + one[1])))


def offsets(ranges: Ranges) -> list[int]:
    """Each offset of each range."""
    return [offset for first, last in ranges.shown() for offset in range(first, last + 1)]


@given(some_ranges)
def test_joined_ranges_have_the_same_offsets_and_room_between(some: list[tuple[int, int]]) -> None:
    """Those that meet, overlap or follow each other are one."""
    joined = Ranges.of(some).joined()
    pairs = list(joined.shown())

    assert offsets(joined) == sorted(set(offsets(Ranges.of(some))))
    assert all(after[0] > before[1] + 1 for before, after in pairwise(pairs))


@given(some_ranges, st.integers(0, 20), st.integers(0, 9))
def test_what_is_outside_of_ranges_is_all_the_rest(some: list[tuple[int, int]], first: int, more: int) -> None:
    """Of the offsets from one to another."""
    inside = set(offsets(Ranges.of(some)))

    assert offsets(Ranges.of(some).outside(first, first + more)) == [
        offset for offset in range(first, first + more + 1) if offset not in inside
    ]
