"""The words of verdicts by their numbers."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit import CAUSES, CERTAINTIES, STATES

__all__ = ["CAUSE", "CERTAINTY", "STATE"]

STATE: Final = {word: number for number, word in enumerate(STATES)}
CAUSE: Final = {word: number for number, word in enumerate((None, *CAUSES))}
CERTAINTY: Final = {word: number for number, word in enumerate(CERTAINTIES)}
