"""Lanes of the timeline as lines of text: a line each, a character for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafkalog.escape import escape
from kafkalog.quantities import iso
from kafkalog.reports import Folded, Lane, look_of, shortened

__all__ = ["lane_lines"]

_ASCII: Final = {"legal gap": ".", "committed": "#", "aborted": "-"}
_SIGN: Final = ("┃", "|")
_SHARES: Final = (" ▁▂▃▄▅▆▇█", " 12345678")  # of the healthy lanes, how many have a transaction there
_NAME: Final = 28  # characters of a lane's name at most, of 80


def lane_lines(
    lanes: Sequence[Lane], folded: Folded | None, *, width: int, by_time: bool, kind: str = "partitions",
    ascii_only: bool = False, color: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Yield the lines: lanes, those that are `folded` as one, then what the signs stand for.

    `width` is that of a lane's cells, `kind` what the lanes are.
    """
    fold = f"{folded.lanes:,} healthy {kind}" if folded is not None else ""
    longest = min(max([len(fold), *(len(escape(lane.name)) for lane in lanes)]), _NAME)
    edge = "|" if ascii_only else "│"
    if by_time and lanes:
        axis = lanes[0].axis
        first, last = iso(axis.first), iso(axis.last)
        yield f"{'':{longest}}  {first}{last:>{max(width - len(first), len(last) + 1)}}"
    seen: set[int] = set()
    for lane in lanes:
        seen.update(lane.cells.tolist())
        bar = "".join(_drawn(lane, ascii_only=ascii_only, color=color))
        yield f"{shortened(escape(lane.name), longest):<{longest}} {edge}{bar}{edge}{_said(lane)}"
    if folded is not None:
        shares = _SHARES[ascii_only]
        bar = "".join(shares[int(-(-share * 8 // 1))] for share in folded.density.tolist())
        yield f"{shortened(fold, longest):<{longest}} {edge}{bar} {edge} --all draws each"
    signs = [
        f"{_painted(rank, ascii_only=ascii_only, color=color)} {look.words}"
        for rank in sorted(seen)
        if (look := look_of(rank)) is not None
    ]
    if any(lane.stable is not None for lane in lanes):
        signs.append(f"{_SIGN[ascii_only]} last stable offset")
    if signs:
        yield ""
        yield "  ".join(signs)


def _drawn(lane: Lane, *, ascii_only: bool, color: bool) -> Iterator[str]:
    for number, rank in enumerate(lane.cells.tolist()):
        if number == lane.stable:
            yield _SIGN[ascii_only]
        yield _painted(rank, ascii_only=ascii_only, color=color)
    if lane.stable is None:
        yield " "


def _painted(rank: int, *, ascii_only: bool, color: bool) -> str:
    look = look_of(rank)
    if look is None:
        return " "
    sign = _ASCII.get(look.words, look.sign) if ascii_only else look.sign
    return f"\x1b[38;5;{look.terminal}m{sign}\x1b[0m" if color and look.terminal is not None else sign


def _said(lane: Lane) -> str:
    if lane.stable is None:
        return ""
    return f" LSO {lane.row['last_stable_offset']} of {lane.row['log_end_offset']}"
