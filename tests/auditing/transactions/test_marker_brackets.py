"""The markers around an offset, found block by block: those that all markers in order would give."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from kafkalog.auditing.transactions.live_copy import Moments
from kafkalog.certainty import NEVER
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import MARKER_COLUMNS

TIMES = st.one_of(st.integers(-1, 9), st.sampled_from([2**63 - 1, -(2**63) + 1]))
MARKERS = st.lists(st.tuples(st.one_of(st.integers(0, 40), st.just(NONE)), TIMES), unique_by=lambda row: row[0])


def columns(rows: list[tuple[int, int]]) -> Columns:
    cells = np.array(rows, np.int64).reshape(-1, 2).T
    return Columns(dict(zip(MARKER_COLUMNS, cells, strict=True)))


@example([(5, 3)], 1, 0, [5])  # a marker at the offset is after it
@given(MARKERS, st.integers(1, 9), st.integers(0, 3), st.lists(st.integers(-1, 42)))
def test_markers_around_offsets(markers: list[tuple[int, int]], block: int, others: int, asked: list[int]) -> None:
    """The last one below an offset and the first one from it on, wherever blocks of rows begin."""
    rows = Columns.empty(MARKER_COLUMNS)
    of_blocks = markers[others:]
    for start in range(0, len(of_blocks), block):
        rows += columns(of_blocks[start : start + block]).packed()
    audit: Any = SimpleNamespace(transactions=rows, others=columns(markers[:others]))
    found = Moments(audit).bracket(np.array(asked, np.int64))

    there = sorted((offset, max(-NEVER, min(NEVER, time))) for offset, time in markers if offset != NONE)
    for at, offset in enumerate(asked):
        before = [time for marker, time in there if marker < offset]
        after = [time for marker, time in there if marker >= offset]
        assert (found["before"][at], found["after"][at]) == (before[-1] if before else -1, after[0] if after else NEVER)
