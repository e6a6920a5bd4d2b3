"""The transactions of many producers, taken together and one by one."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.partition import PartitionAudit, facts
from kafkalog.txn.columns import Columns, Packed

NAMES = ("producer_id", "first_offset")


def audited(blocks: list[list[int]]) -> PartitionAudit:
    """A log whose packed blocks have transactions of these producers."""
    rows = Packed(NAMES)
    number = 0
    for producers in blocks:
        numbers = np.arange(number, number + len(producers))
        rows.append(Columns({"producer_id": np.array(producers, np.int64), "first_offset": numbers}))
        number += len(producers)
    none = Columns.empty(NAMES)
    return PartitionAudit(mock.Mock(), 0, 0, 0, rows, none, 0, 0, 0, 0, 0, 0, (), -1, (), False, ())


@given(st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=5), st.sets(st.integers(0, 7)), st.integers(1, 9))
def test_many_producers_are_taken_as_each_alone(blocks: list[list[int]], wanted: set[int], at_once: int) -> None:
    """Each producer that is asked for comes once, by id, with the rows that it has alone, in log order."""
    log = audited(blocks)
    with mock.patch.object(facts, "_AT_ONCE", at_once):
        found = list(log.of_producers_among(wanted, *NAMES))

    assert [producer for producer, _ in found] == sorted(wanted)
    for producer, rows in found:
        assert rows["first_offset"].tolist() == log.of_producer(producer)["first_offset"].tolist()
        assert rows["first_offset"].tolist() == sorted(rows["first_offset"].tolist())
        assert set(rows["producer_id"].tolist()) <= {producer}


def test_rows_come_in_the_order_that_is_asked_for() -> None:
    """Places may be of several blocks, in any order, and more than once."""
    log = audited([[1, 2, 3], [4, 5], [6]])

    assert log.transactions.take(np.array([5, 0, 3, 0, 4]))["producer_id"].tolist() == [6, 1, 4, 1, 5]
