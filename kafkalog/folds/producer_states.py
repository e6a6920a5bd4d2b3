"""Producers' states rebuilt from batches: the content of a ``.snapshot`` (ProducerStateManager), as a fold.

A row says how a part of a log changes the state of one producer. A batch or a marker is a row, so that reading a
segment and joining parts are one rule, ``kernel.fold.States.continue_state``. It is associative, not commutative.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.columns.table import Columns, one_cell
from kafkalog.folds.state_table import StateTable, zeros
from kafkalog.kernel import fold as kernel_fold
from kafkalog.kernel.buffers import PART_CELLS, S_USED, STATE_CELLS, STATE_COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.kafka.batch import CellTable

__all__ = ["FIRST_BITS", "ProducerStates", "collapse"]

FIRST_BITS: Final = 6  # half as many states as slots


class ProducerStates:
    """How parts of a log change producers' states: one that ends at each of `stops`, and the one after them.

    `stops` are offsets that rise. Memory grows with the number of producers, not with the log.
    """

    def __init__(self, stops: Sequence[int] = ()) -> None:
        self._stops = array("q", stops)
        self._states = StateTable(STATE_CELLS, FIRST_BITS, zeros(PART_CELLS))

    def batches(self, heads: CellTable, types: array[int], coordinator_epochs: array[int]) -> None:
        """Take in the next batches; `types` and `coordinator_epochs` are those of their markers."""
        row = 0
        while True:
            row = kernel_fold.snapshot_batches(self._states, heads, row, types, coordinator_epochs, self._stops)
            if row >= heads.count:
                return
            self._states.grow()

    def rows(self, rows: Columns) -> None:
        """Take in rows of another part, which join the first one here."""
        if not len(rows):
            return
        table, row = rows.table(STATE_COLUMNS), 0
        while True:
            row = kernel_fold.snapshot_rows(self._states, table, row)
            if row >= len(rows):
                return
            self._states.grow()

    def result(self) -> list[Columns]:
        """Return each part's rows, one of each producer, sorted by producer."""
        states = np.frombuffer(self._states.cells, np.int64).reshape(-1, STATE_CELLS)[: self._states.part[S_USED]]
        order = np.lexsort((states[:, 1], states[:, 0]))
        ends = np.searchsorted(states[order, 0], np.arange(len(self._stops)), "right")
        bounds = list(zip([0, *ends.tolist()], [*ends.tolist(), len(order)], strict=True))
        found: list[dict[str, NDArray[np.int64]]] = [{} for _ in bounds]
        for cell, name in enumerate(STATE_COLUMNS, 1):  # one after the other, as states are many
            column = states[order, cell]
            for piece, (begin, end) in zip(found, bounds, strict=True):
                piece[name] = one_cell(column[begin:end].copy())
        return [Columns(piece) for piece in found]


def collapse(rows: Columns) -> Columns:
    """Join each producer's rows, which are in log order, to one; they come out sorted by producer.

    ``collapse(a + b) == collapse(collapse(a) + collapse(b))``.
    """
    states = ProducerStates()
    states.rows(rows)
    return states.result()[0]
