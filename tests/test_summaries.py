"""The tool's summary of offsets that do not follow each other: each offset once, in order, and little memory."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

import build
from kafkalog import scan
from kafkalog_cli.render.kafka import summaries
from kafkalog_cli.render.kafka.summaries import Summaries

pairs = st.lists(st.tuples(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), max_size=40)


@given(pairs)
def test_pairs_are_a_map(found: list[tuple[int, int]]) -> None:
    """The last pair of an offset counts, of few pairs and of many, which are put in order by numpy."""
    for times in (1, 1000):
        cells = array("q", (number for pair in found * times for number in pair))
        kept = summaries._by_offset(cells)
        assert list(zip(kept[::2], kept[1::2], strict=True)) == sorted(dict(found).items())


def test_equal_offsets_are_kept_once() -> None:
    """A million records of one offset take no memory that grows with them."""
    found = Summaries("4.3")
    data = build.batch(*[build.record(None)] * 5000) * 300
    for chunk in scan(data):
        for block in chunk.records():
            found.records("x.log", block)
    held = sum(len(kept) for kept in found._breaks.values())

    assert held <= summaries._PAIRS + 10_000
    assert len(list(found.lines())) == 2
