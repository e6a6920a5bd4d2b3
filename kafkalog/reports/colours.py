"""How a state looks, in the page and in a terminal alike: its colour, its hatching, its sign, its words.

The colours are those of Okabe and Ito, which people who see red and green alike can tell apart; hatching and signs say
the same without a colour.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.reports.lanes import EMPTY, GAP, LEGAL_GAP, STATE_RANKS

__all__ = ["LOOKS", "Look", "look_of", "name_of"]


class Look(NamedTuple):
    """What a state looks like: on a light and on a dark page, in a terminal of 256 colours, as one character."""

    light: str
    dark: str
    terminal: int | None
    sign: str
    words: str
    hatch: str = ""  # a path in a square of 8 by 8, as in SVG


LOOKS: Final = {
    "legal-gap": Look("#c8ccd1", "#4a535e", 250, "·", "legal gap", "M1 1h1M5 5h1"),
    "committed": Look("#0072b2", "#2f95d6", 32, "█", "committed"),
    "aborted": Look("#8c959f", "#8b949e", 245, "▒", "aborted", "M-1 9L9 -1M-1 1L1 -1M7 9L9 7"),
    "ongoing": Look("#56b4e9", "#7cc8f4", 74, ">", "ongoing", "M0 2h8M0 6h8"),
    "commit-pending": Look("#009e73", "#2fc79b", 36, "c", "commit-pending", "M2 0v8M6 0v8"),
    "abort-pending": Look("#cc79a7", "#e39ac4", 175, "a", "abort-pending", "M1 1h2M5 5h2M1 6h1M6 1h1"),
    "gap": Look("#000000", "#ffffff", None, "x", "offsets missing", "M0 0L8 8M8 0L0 8"),
    "undecided": Look("#b8860b", "#f0e442", 178, "?", "undecided", "M4 0v8M0 4h8"),
    "hanging": Look("#d55e00", "#ff8a3d", 202, "H", "hanging", "M-1 -1L9 9M-1 7L1 9M7 -1L9 1"),
}

_NAMES: Final = {rank: state for state, rank in STATE_RANKS.items()} | {GAP: "gap", LEGAL_GAP: "legal-gap"}


def look_of(rank: int) -> Look | None:
    """Return how a cell of a lane looks, None for an empty one."""
    return None if rank == EMPTY else LOOKS[name_of(rank)]


def name_of(rank: int) -> str:
    """Return the name of what a cell of a lane shows."""
    return _NAMES[rank]
