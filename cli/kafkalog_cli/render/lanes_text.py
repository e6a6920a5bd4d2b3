"""Lanes as lines of text: a line each, a character for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafkalog.escape import escape
from kafkalog.quantities import iso
from kafkalog.reports import EMPTY, GAP, LEGAL_GAP, STATE_RANKS, Lane

__all__ = ["timeline_lines"]

_WORDS: Final = {number: word for word, number in STATE_RANKS.items()} | {
    GAP: "offsets missing",
    LEGAL_GAP: "legal gap",
    EMPTY: "no transaction",
}
_SIGNS: Final = dict(zip(
    ("no transaction", "legal gap", "committed", "aborted", "ongoing", "commit-pending", "abort-pending",
     "offsets missing", "undecided", "hanging"), " ·█▒>cax?H", strict=True,
))  # fmt: skip
_ASCII: Final = {"legal gap": ".", "committed": "#", "aborted": "-"}
# Numbers of a terminal's 256 colours; people who see red and green alike can tell them apart.
_COLORS: Final = {
    "committed": 32, "aborted": 214, "ongoing": 45, "commit-pending": 45, "abort-pending": 45, "offsets missing": 201,
    "undecided": 226, "hanging": 196, "legal gap": 244,
}  # fmt: skip
_STABLE: Final = ("┃", "|")
_NAME: Final = 28  # characters of a lane's name at most, of 80


def timeline_lines(
    lanes: Sequence[Lane], *, width: int, by_time: bool, ascii_only: bool = False, color: bool = False
) -> Iterator[str]:
    """Yield the lines: lanes, then what the signs stand for. `width` is that of a lane's cells."""
    longest = name_width(lanes)
    if by_time and lanes:
        axis = lanes[0].axis
        first, last = iso(axis.first), iso(axis.last)
        yield f"{'':{longest}}  {first}{last:>{max(width - len(first), len(last) + 1)}}"
    seen = {EMPTY}
    for lane in lanes:
        seen.update(lane.cells.tolist())
        bar = "".join(_drawn(lane, ascii_only=ascii_only, color=color))
        edge = "|" if ascii_only else "│"
        yield f"{_short(escape(lane.name), longest):<{longest}} {edge}{bar}{edge}{_said(lane)}"
    signs = [
        f"{_painted(_sign(rank, ascii_only), rank, color)} {_WORDS[rank]}" for rank in sorted(seen) if rank != EMPTY
    ]
    if any(lane.stable is not None for lane in lanes):
        signs.append(f"{_STABLE[ascii_only]} last stable offset")
    if signs:
        yield ""
        yield "  ".join(signs)


def name_width(lanes: Sequence[Lane]) -> int:
    """Return how many characters the lanes' names take."""
    return min(max((len(escape(lane.name)) for lane in lanes), default=0), _NAME)


def _drawn(lane: Lane, *, ascii_only: bool, color: bool) -> Iterator[str]:
    for number, rank in enumerate(lane.cells.tolist()):
        if number == lane.stable:
            yield _STABLE[ascii_only]
        yield _painted(_sign(rank, ascii_only), rank, color)
    if lane.stable is None:
        yield " "


def _sign(rank: int, ascii_only: bool) -> str:
    word = _WORDS[rank]
    return _ASCII.get(word, _SIGNS[word]) if ascii_only else _SIGNS[word]


def _painted(sign: str, rank: int, color: bool) -> str:
    code = _COLORS.get(_WORDS[rank])
    return f"\x1b[38;5;{code}m{sign}\x1b[0m" if color and code is not None else sign


def _said(lane: Lane) -> str:
    if lane.stable is None:
        return ""
    return f" LSO {lane.row['last_stable_offset']} of {lane.row['log_end_offset']}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
