"""A column of whole numbers kept small: one cell for all, or its least value and the narrow differences from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.format.kernel import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["narrowed", "one_cell", "widened"]

_NARROW: Final = tuple((narrow, np.iinfo(narrow).max) for narrow in (np.uint8, np.uint16, np.uint32))
_TOP: Final = {np.dtype(narrow): top for narrow, top in _NARROW}


def narrowed(column: NDArray[np.int64]) -> tuple[int, NDArray[Any] | None]:
    """Return a column as a number and its cells' differences from it, None where all cells are that number.

    The highest difference means no value.
    """
    low, high = int(column.min()), int(column.max())
    if low == high:
        return low, None
    absent = None
    if low == NONE:
        absent = column == NONE
        low = int(column[~absent].min())
    for narrow, top in _NARROW:
        if high - low < top:
            above = (column - low).astype(narrow)
            if absent is not None:
                above[absent] = top
            return low, above
    return 0, column.copy()


def widened(low: int, above: NDArray[Any] | None, length: int) -> NDArray[np.int64]:
    """Return the column that ``narrowed`` made smaller."""
    if above is None:
        return np.full(length, low, np.int64)
    if above.dtype == np.int64:
        return above
    column = above.astype(np.int64)
    column += low
    absent = above == _TOP[above.dtype]
    if absent.any():
        column[absent] = NONE
    return column


def one_cell(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column; one whose cells are all the same as a view of one cell, which can't be written."""
    if len(column) < 2 or not (column[0] == column[-1] and (column == column[0]).all()):
        return column
    return np.broadcast_to(column[:1].copy(), column.shape)
