"""Rows that are taken from packed blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.columns.named import Columns


@given(st.lists(st.integers(1, 200), min_size=1, max_size=4), st.data())
def test_rows_come_in_the_order_that_is_asked_for(sizes: list[int], drawn: st.DataObject) -> None:
    """Places may be of several blocks, in any order, and more than once."""
    rows = Columns.empty(("number",))
    numbers = np.arange(sum(sizes)) * 7
    for part in np.split(numbers, np.cumsum(sizes)[:-1]):
        rows += Columns({"number": part}).packed()
    places = drawn.draw(st.lists(st.integers(0, sum(sizes) - 1), max_size=20))

    assert rows.take(np.array(places, np.intp))["number"].tolist() == [7 * place for place in places]
