"""What crosses between the processes of one command: columns, as they were, and small things together."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.partition import SegmentScan, scan_segment
from kafkalog.columns.named import NONE, Columns
from kafkalog.files.processes import bundles, in_processes
from kafkalog.log_dirs.log_directory import open_log_directory

FIXTURES = Path(__file__).parents[1] / "fixtures"
NAMES = ("a", "b", "c")
CELLS = st.tuples(*[st.integers(NONE, 2**63 - 1) | st.integers(0, 3)] * 3)


def crossed(scan: SegmentScan) -> SegmentScan:
    """Send a scan through a pickle, as a pool does."""
    found = pickle.loads(pickle.dumps(scan))
    assert isinstance(found, SegmentScan)
    return found


def test_every_scan_crosses_unchanged() -> None:
    """Every segment of every fixture, with its findings, damage, transactions and state records."""
    seen = 0
    for root in sorted({path.parent for path in FIXTURES.glob("*/data*/*-*") if path.is_dir()}):
        for directory in open_log_directory(root).partitions:
            for segment in directory.segments:
                scan = scan_segment(directory, segment)
                found = crossed(scan)
                whole, again = scan.stretch.finished, found.stretch.finished
                assert all(np.array_equal(whole[name], again[name]) for name in whole.names)
                found.stretch.finished = whole
                assert found == scan
                seen += bool(scan.findings) + bool(len(scan.states)) + bool(len(whole)) + bool(scan.damaged)
    assert seen > 100


@given(st.lists(CELLS, max_size=5), st.integers(1, 60))
def test_columns_cross_unchanged(rows: list[tuple[int, int, int]], times: int) -> None:
    """None, few and many rows, as arrays of their own and as one table."""
    table = np.array(rows * times, np.int64).reshape(-1, 3).T.copy()
    for columns in (Columns(dict(zip(NAMES, table, strict=True))), Columns.of_table(NAMES, table)):
        found = pickle.loads(pickle.dumps(columns))
        assert found == columns
        assert len(found) == len(rows) * times
        assert list(found) == list(columns)


def test_a_table_of_few_rows_crosses_as_one_buffer() -> None:
    """Eighteen columns of a row take no more than their cells and a name each."""
    names = tuple(f"column_{number}" for number in range(18))
    columns = Columns.of_table(names, np.arange(18, dtype=np.int64).reshape(18, 1))
    one, two = (len(pickle.dumps([columns] * count)) for count in (1, 2))
    other = Columns.of_table(names, np.zeros((18, 1), np.int64))
    both = len(pickle.dumps([columns, other]))

    assert both - one < 18 * 8 + 32
    assert two - one < 8


def _doubled(task: list[int]) -> list[int]:
    return [2 * number for number in task]


def test_results_come_in_the_order_of_the_tasks() -> None:
    """However many processes there are, and also for no task at all."""
    tasks = [[number, number + 1] for number in range(20)]
    with in_processes(_doubled, tasks, 2) as results:
        assert list(results) == [[2 * number, 2 * number + 2] for number in range(20)]
    with in_processes(_doubled, [], 2) as results:
        assert list(results) == []


@given(st.lists(st.integers(0, 100 << 20), max_size=40))
def test_small_things_go_together_and_the_biggest_goes_first(sizes: list[int]) -> None:
    """Each thing is in one task; a big one is alone, or with small ones, in the first task."""
    things = list(enumerate(sizes))
    tasks = bundles(things, lambda thing: thing[1])

    assert sorted(thing for task in tasks for thing in task) == things
    assert [sum(size for _, size in task) for task in tasks] == sorted(
        (sum(size for _, size in task) for task in tasks), reverse=True
    )
    assert len(tasks) <= 1 + sum(size + (256 << 10) for size in sizes) // (32 << 20)
