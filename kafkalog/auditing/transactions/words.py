"""The words of verdicts by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.tables.audit import CAUSES, CERTAINTIES, STATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["CAUSE", "CERTAINTY", "STATE", "texts"]

STATE: Final = {word: number for number, word in enumerate(STATES)}
CAUSE: Final = {word: number for number, word in enumerate((None, *CAUSES))}
CERTAINTY: Final = {word: number for number, word in enumerate(CERTAINTIES)}


def texts(words: Sequence[str | None]) -> NDArray[np.object_]:
    """Return words as an array, so that a column of numbers picks from them."""
    found = np.empty(len(words), object)
    found[:] = words
    return found
