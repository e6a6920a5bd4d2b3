"""Which row of a producer an offset is in: as if each were looked for alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.columns.sorted_rows import Spans

_PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 9)), max_size=12)


@given(_PAIRS, _PAIRS)
def test_the_last_row_that_begins_up_to_an_offset(rows: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    """Of the producer that is asked for; -1 where it has none, or none that early."""
    spans = Spans(*np.array(rows, np.int64).reshape(-1, 2).T)
    found = spans.last(*np.array(asked, np.int64).reshape(-1, 2).T)

    order = sorted(range(len(rows)), key=rows.__getitem__)
    assert found.tolist() == [
        max((at for at in order if rows[at][0] == producer and rows[at][1] <= offset), key=order.index, default=-1)
        for producer, offset in asked
    ]


@given(_PAIRS, _PAIRS)
def test_an_offset_is_in_the_last_row_that_begins_up_to_it_if_that_goes_so_far(
    rows: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    """A row that ends before the offset has it not, and no earlier row is looked at."""
    producers, firsts = np.array(rows, np.int64).reshape(-1, 2).T
    spans = Spans(producers, firsts, firsts + 2)
    wanted = np.array(asked, np.int64).reshape(-1, 2).T
    last = spans.last(*wanted).tolist()

    assert spans.find_rows(*wanted).tolist() == [
        at if at >= 0 and offset <= rows[at][1] + 2 else -1 for at, (_, offset) in zip(last, asked, strict=True)
    ]
