"""Folds one after the other, of few producers and of many: each knows its own batches alone."""

from __future__ import annotations

import tracemalloc
from array import array

import numpy as np
import pytest

import build
from kafkalog.columns.table import Columns
from kafkalog.folds import fold
from kafkalog.folds.fold import Fold, FoldedLog
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers
from kafkalog.kernel.buffers import EXTENT_COLUMNS, PRODUCER_COLUMNS


def heads_of(producers: list[int]) -> CellTable:
    """A batch of an open transaction for each of some producers."""
    data = b"".join(
        build.batch(
            build.record(), base_offset=offset, attributes=build.TRANSACTIONAL, producer_id=producer,
            producer_epoch=0, base_sequence=0,
        )
        for offset, producer in enumerate(producers)
    )  # fmt: skip
    heads = CellTable(len(buffers.BATCH_COLUMNS), len(producers))
    heads.count, *_ = headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
    return heads


def folded(heads: CellTable) -> tuple[Fold, FoldedLog]:
    """Fold such batches."""
    made = Fold()
    made.batches(heads, array("q", [-1]) * heads.count, array("q", [-1]) * heads.count)
    return made, made.result()


def test_a_fold_in_used_buffers_begins_anew() -> None:
    """What an earlier fold left in its buffers is neither seen nor changed."""
    first, one = folded(heads_of([9, 7, 8]))
    before = one.opened.columns(*EXTENT_COLUMNS), one.producers.columns(*PRODUCER_COLUMNS)
    before = tuple(Columns({name: rows[name].copy() for name in rows.names}) for rows in before)
    first.close()
    second, other = folded(heads_of([8, 3]))

    assert other.opened["producer_id"].tolist() == [8, 3]
    assert other.opened["batches"].tolist() == [1, 1]
    assert other.producers["producer_id"].tolist() == [3, 8]
    assert (one.opened.columns(*EXTENT_COLUMNS), one.producers.columns(*PRODUCER_COLUMNS)) == before
    assert (other.first_offset, other.batches) == (0, 2)
    second.close()


def test_a_fold_of_many_producers_leaves_nothing() -> None:
    """Only small buffers are used again: a big table would be memory that nobody asked for."""
    folded(heads_of([1]))[0].close()
    many = heads_of(list(range(600)))
    tracemalloc.start(9)
    made, found = folded(many)
    made.close()
    del made, found
    kept = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, fold.__file__, all_frames=True)])
    tracemalloc.stop()

    assert sum(one.size for one in kept.traces) < 100_000


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 300])
def test_producers_come_sorted_and_transactions_in_log_order(count: int) -> None:
    """Few and many producers make the same rows, whatever order they came in."""
    numbers = np.random.default_rng(count).permutation(count) * 7
    _, found = folded(heads_of(numbers.tolist()))

    assert found.opened["producer_id"].tolist() == numbers.tolist()
    assert found.opened["first_offset"].tolist() == list(range(count))
    assert found.producers["producer_id"].tolist() == sorted(numbers.tolist())
    assert found.producers["first_offset"].tolist() == np.argsort(numbers).tolist()


@pytest.mark.parametrize("count", [99, 100, 101, 300])
def test_ended_transactions_stay_when_the_buffer_is_filled_again(count: int) -> None:
    """Rows that were packed are copies, however many they are."""
    made = Fold()
    starts = np.arange(count)
    cells = {name: np.zeros(count, np.int64) for name in EXTENT_COLUMNS}
    cells |= {"producer_id": starts % 3, "first_offset": 2 * starts, "last_offset": 2 * starts}
    cells |= {"marker_type": np.ones(count, np.int64), "marker_offset": 2 * starts + 1}
    made.extents(Columns(cells))
    first = made.result().finished
    cells["first_offset"] = cells["first_offset"] + 10_000
    made.extents(Columns(cells))

    assert made.result().finished["first_offset"].tolist() == [*(2 * starts), *(2 * starts + 10_000)]
    assert first["first_offset"].tolist()[:count] == (2 * starts).tolist()
