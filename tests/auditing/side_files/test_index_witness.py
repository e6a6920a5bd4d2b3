"""Entries of indexes held against batches: what brokers of each line write, and what none of them does."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.side_files.segment_indexes import OffsetIndex, TimeIndex
from kafkalog.columns.table import NONE, Columns

BASE: Final = 100
# First and last offsets, and newest times, of batches of 50 bytes each.
LOG: Final = [(100, 101, 5), (102, 104, 9), (105, 105, 9), (106, 109, 7), (110, 111, 12)]


def batches(rows: list[tuple[int, int, int]], number: int = 0) -> Columns:
    base, last, times = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    position = 50 * (number + np.arange(len(rows)))
    return Columns({"position": position, "base_offset": base, "last_offset": last, "max_timestamp": times})


def offsets(*entries: tuple[int, int], log: list[tuple[int, int, int]] = LOG, step: int = 99) -> list[bool]:
    """Which entries (offset, number of the batch that they point to) are wrong."""
    index = OffsetIndex(b"".join(struct.pack(">ii", offset - BASE, 50 * at) for offset, at in entries), BASE)
    before = BASE - 1
    for number in range(0, len(log), step):
        index.take_batches(batches(log[number : number + step], number), before)
        before = log[min(number + step, len(log)) - 1][1]
    return index.wrong().tolist()


def times(*entries: tuple[int, int], log: list[tuple[int, int, int]] = LOG, step: int = 99) -> list[bool]:
    """Which entries (time, offset) are wrong."""
    index = TimeIndex(b"".join(struct.pack(">qi", time, offset - BASE) for time, offset in entries), BASE)
    before = BASE - 1
    for number in range(0, len(log), step):
        index.take_batches(batches(log[number : number + step], number), before)
        before = log[min(number + step, len(log)) - 1][1]
    return index.wrong().tolist()


@pytest.mark.parametrize("step", [1, 2, 99])
@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ([(104, 1), (109, 3)], [False, False]),
        ([(102, 1), (106, 3)], [False, False]),
        ([(105, 1), (111, 3)], [False, False]),
        ([(102, 1), (109, 3)], [False, False]),
        ([(104, 1), (106, 3)], [False, True]),
        ([(109, 1), (111, 3)], [True, False]),
        ([(101, 1), (109, 3)], [True, False]),
        ([(103, 1)], [True]),
        ([(104, 7)], [True]),
        ([(109, 3), (104, 1)], [False, True]),
        ([(104, 1), (104, 1)], [False, True]),
    ],
    ids=[
        "last offsets", "first offsets, up to 1.1", "last offsets of appends", "upgraded in between",
        "first offsets again", "an append that reaches over the next entry", "an offset before the batch",
        "an offset inside", "behind the log", "falling", "twice",
    ],
)  # fmt: skip
def test_an_offset_entry_names_its_batch(entries: list[tuple[int, int]], wrong: list[bool], step: int) -> None:
    """By its first offset, its last, or that of the append that it began; however the log is cut into chunks."""
    assert offsets(*entries, step=step) == wrong


def test_a_wrapper_begins_somewhere_behind_the_batch_before() -> None:
    """Only its messages tell where: any of its offsets may be the first."""
    log = [(100, 101, 5), (NONE, 104, 9)]

    assert [offsets((offset, 1), log=log) for offset in (101, 102, 104, 105)] == [[True], [False], [False], [True]]


@pytest.mark.parametrize("step", [1, 2, 99])
@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ([(5, 101), (9, 104), (12, 111)], [False, False, False]),
        ([(9, 103), (12, 110)], [False, False]),
        ([(9, 105)], [True]),
        ([(7, 109)], [True]),
        ([(8, 104)], [True]),
        ([(9, 112)], [True]),
        ([(5, 101), (5, 101)], [False, True]),
        ([(12, 111), (9, 104)], [False, True]),
    ],
    ids=[
        "last offsets", "offsets of the newest record", "reached before", "not the newest so far", "not the batch's",
        "no batch", "twice", "falling",
    ],
)  # fmt: skip
def test_a_time_entry_is_a_new_newest_time(entries: list[tuple[int, int]], wrong: list[bool], step: int) -> None:
    """The first time that it was reached, at an offset of that batch."""
    assert times(*entries, step=step) == wrong


def test_batches_without_times_tell_nothing() -> None:
    """Magic 0 has none: brokers then wrote the file's own time."""
    log = [(100, 101, -1), (102, 104, -1)]

    assert times((77, 104), log=log) == [False]
    assert times((77, 105), log=log) == [True]


@given(st.binary(max_size=200), st.integers(1, 9))
def test_any_bytes_are_entries(data: bytes, step: int) -> None:
    """Nothing raises, and every byte is an entry's, a zero tail's or left over."""
    for index in (OffsetIndex(data, BASE), TimeIndex(data, BASE)):
        for number in range(0, len(LOG), step):
            index.take_batches(batches(LOG[number : number + step], number), BASE - 1)
        assert len(index.wrong()) == len(index)
        assert len(index) * index.size + index.zeros + index.rest == len(data)
