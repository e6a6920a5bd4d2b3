"""The parts in which a log too big for one task is judged: its producers shared out, and the log as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import any_between
from kafkalog.columns.table import NONE, Columns
from kafkalog.kernel.buffers import ABORT

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Share", "entangled", "shares_of"]


class Share(NamedTuple):
    """One part of `of`: every `of`-th producer id from `number` on, or with `number` = `of` the log as a whole.

    The only part of a log that is not shared out is both.
    """

    number: int = 0
    of: int = 1

    @property
    def is_all(self) -> bool:
        """Say whether the log is not shared out."""
        return self.of == 1

    @property
    def of_log(self) -> bool:
        """Say whether what concerns the log as a whole is judged here."""
        return self.is_all or self.number == self.of

    @property
    def of_producers(self) -> bool:
        """Say whether producers and their transactions are judged here."""
        return self.number < self.of

    def has(self, producer_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which producers are of this share."""
        mine: NDArray[np.bool_] = producer_ids % self.of == self.number
        return mine


def shares_of(count: int) -> list[Share]:
    """Return the parts of a log whose producers are shared out to so many tasks."""
    return [Share(number, count) for number in range(count + (count > 1))]


def entangled(finished: Columns) -> Columns:
    """Return the aborted transactions, those that were open when one was aborted, and each producer's first.

    A producer's first row may continue a transaction from before this part; all others begin and end in it. Which
    offset was the last stable one after an ABORT marker depends on no other transaction.
    """
    about = finished.columns("producer_id", "first_offset", "marker_type", "marker_offset")
    aborted = about["marker_type"] == ABORT
    markers = np.sort(about["marker_offset"][aborted])
    began, ended = about["first_offset"], about["marker_offset"]
    kept = aborted | ((began != NONE) & any_between(markers, began + 1, ended))
    kept[np.unique(about["producer_id"], return_index=True)[1]] = True
    return finished.where(kept)
