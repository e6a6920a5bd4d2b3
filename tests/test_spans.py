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

    ordered = sorted(rows)
    assert [rows[number] for number in spans.order.tolist()] == ordered
    assert found.tolist() == [
        max((at for at, (one, first) in enumerate(ordered) if one == producer and first <= offset), default=-1)
        for producer, offset in asked
    ]
