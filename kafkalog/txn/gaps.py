"""Gaps: offsets missing between one batch and the next, within a stretch and where stretches meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.txn.columns import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "gaps"]

COLUMNS: Final = ("first_offset", "last_offset", "segment", "position")


def gaps(first: NDArray[np.int64], last: NDArray[np.int64], segment: int, position: NDArray[np.int64],
         before: int | None) -> Columns:  # fmt: skip
    """Return the ranges of offsets missing in front of batches; `before` is the last offset in front of them all.

    `first` and `last` are the batches' offsets in log order, `position` where they begin in the file of base offset
    `segment`.
    """
    ends = np.empty(len(first), np.int64)
    ends[1:] = last[:-1]
    if len(first):
        ends[0] = first[0] - 1 if before is None else before
    at = np.flatnonzero(first > ends + 1)
    return Columns(
        {
            "first_offset": ends[at] + 1,
            "last_offset": first[at] - 1,
            "segment": np.full(len(at), segment, np.int64),
            "position": position[at],
        }
    )
