"""A file that a question is about; reading one needs no NumPy where nobody asks what became of its records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkalog.folds.fates import Fates
    from kafkalog.folds.stable import Extents
    from kafkalog.segments.selection import Selection

__all__ = ["GivenFile"]


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to read; `fates` is None where they were not asked for.

    `extents` and `spans` are as in ``Selection``, `outcomes` those that count where none are asked for.
    """

    path: str
    fates: Fates | None = None
    extents: Extents | None = None
    spans: tuple[tuple[int, int], ...] | None = None
    outcomes: frozenset[str] = frozenset()

    def selection(self, asked: Selection) -> Selection:
        """Return which of the file's records are meant."""
        if self.fates is None:
            return asked
        return replace(
            asked, fates=self.fates, extents=self.extents, spans=self.spans, outcomes=asked.outcomes or self.outcomes
        )
