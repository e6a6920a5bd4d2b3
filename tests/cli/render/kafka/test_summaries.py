"""The tool's summary of offsets that do not follow each other: each offset once, in order, and little memory."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from kafkalog import scan
from kafkalog_cli.render.kafka import summaries
from kafkalog_cli.render.kafka.summaries import Summaries


def summed(data: bytes) -> Summaries:
    """Collect what does not agree in a segment."""
    found = Summaries("4.3")
    for chunk in scan(data):
        for block in chunk.records():
            found.records("x.log", block)
    return found


@pytest.mark.parametrize("least", [1, 3000])
@given(offsets=st.lists(st.integers(0, 9) | st.integers(0, 2**63 - 1), min_size=1, max_size=40))
def test_the_last_pair_of_an_offset_counts(least: int, offsets: list[int]) -> None:
    """The lines are in the order of offsets, of few pairs and of many, which numpy puts in order."""
    times = -(-least // len(offsets))
    data = b"".join(build.batch(build.record(None), base_offset=offset) for offset in offsets)
    pairs = {first: second for first, second in pairwise(offsets * times) if second != first + 1}
    said = [f"  {first} is followed by {second}" for first, second in sorted(pairs.items())]

    head = [f"Non-consecutive offsets in {Path('x.log').absolute()}"] if said else []
    assert list(summed(data * times).lines()) == head + said


def test_equal_offsets_are_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Very many records of one offset take no memory that grows with them."""
    monkeypatch.setattr(summaries, "PAIRS", 1 << 16)
    found, data = Summaries("4.3"), build.batch(*[build.record(None)] * 5000)
    tracemalloc.start()
    try:
        for block in (block for chunk in scan(data) for block in chunk.records()):
            for _ in range(40):
                found.records("x.log", block)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(list(found.lines())) == 2
    assert held < 1 << 20  # of 3 MB of pairs
