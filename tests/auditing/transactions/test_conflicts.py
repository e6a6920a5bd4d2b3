"""Which rows of the logs of a cluster are one transaction that ended in two ways."""

from __future__ import annotations

import numpy as np
import pytest

from kafkalog.auditing.transactions import KEY_COLUMNS, conflicts
from kafkalog.columns.table import Columns
from kafkalog.folds import fold

A, C = fold.ABORT, fold.COMMIT


@pytest.mark.parametrize(
    ("ended", "pairs"),
    [
        ([(0, A), (1, C)], [(0, 1)]),
        ([(0, C), (1, A)], [(1, 0)]),
        ([(0, A), (1, A)], []),
        ([(0, A), (0, C)], []),  # of one log: two transactions
        ([(0, A), (0, C), (1, C)], [(0, 1)]),
        ([(0, A), (1, A), (1, C)], [(0, 1)]),
        ([(0, C), (1, A), (1, C)], [(1, 0)]),
    ],
)
def test_a_conflict_is_between_two_logs(ended: list[tuple[int, int]], pairs: list[tuple[int, int]]) -> None:
    """Rows are (log, how it ended) of one producer id and marker epoch, beside those of another producer."""
    names = ("log", "marker_type", "producer_id", "marker_epoch")
    rows = [(log, how, 7, 3) for log, how in ended] + [(0, C, 8, 3), (1, C, 8, 3), (1, A, 8, 4)]
    rows.sort(key=lambda row: row[0])
    cells = dict(zip(names, np.array(rows, np.int64).T, strict=True))
    keys = Columns({name: cells.get(name, np.zeros(len(rows), np.int64)) for name in KEY_COLUMNS})

    assert [(one["log"], other["log"]) for one, other in conflicts(keys)] == pairs
