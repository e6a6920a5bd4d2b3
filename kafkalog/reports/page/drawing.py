"""Lanes as pictures in the page: what is seen without a script, in print, and beside an incident."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import numpy as np

from kafkalog.quantities import producer_name
from kafkalog.reports.colours import LOOKS, name_of
from kafkalog.reports.lanes import EMPTY, GAP, LEGAL_GAP, STATE_RANKS, Axis, Lane, shortened
from kafkalog.reports.page.elements import Element, element
from kafkalog.reports.source import leader_words
from kafkalog.zone import UTC, Zone

__all__ = ["UNCLEAN", "Drawn", "by_log", "cut_picture", "hatches", "legend", "picture", "ticks"]

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

UNCLEAN: Final = "unclean-election"
_ROW: Final = 22  # px
_BAR: Final = 14
_LEFT: Final = 240
_WIDTH: Final = 820
_RIGHT: Final = 140
_NAME: Final = 36  # characters of a lane's name
_CUT_WIDTH: Final = 480
_CUT_ROW: Final = 62
_TICKS: Final = 5
_RANKS: Final = tuple(STATE_RANKS.values())


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn one by one, by log: transactions, gaps, changes of leaders, whose times are said in `zone`."""

    transactions: Rows = field(default_factory=dict)
    gaps: Rows = field(default_factory=dict)
    changes: Rows = field(default_factory=dict)
    zone: Zone = UTC


def by_log(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return rows by their column ``log``."""
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["log"]].append(row)
    return found


def ticks(first: int, last: int) -> list[int]:
    """Return round numbers from `first` to `last`, at most `_TICKS`: multiples of 1, 2 or 5 with zeros after it."""
    step, factors = 1, (2, 5, 10)
    scale, number = 1, 0
    while (last - first) // step > _TICKS:
        step = scale * factors[number]
        number += 1
        if number == len(factors):
            scale, number = scale * 10, 0
    begin = -(-first // step) * step
    return list(range(begin, last + 1, step))


def hatches() -> Element:
    """Make the patterns that lanes are filled with: a state is known by its hatching, too."""
    patterns = [
        element(
            "pattern",
            element("rect", width=8, height=8, class_=f"of-{name}"),
            element("path", d=look.hatch, class_=f"on-{name}") if look.hatch else None,
            id=f"hatch-{name}",
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
        for name, look in LOOKS.items()
    ]
    return element("svg", element("defs", patterns), width=0, height=0, class_="hatches", aria_hidden="true")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a lane is drawn: its axis from `left` on, as wide as `width`, its bars from `top` on."""

    axis: Axis
    left: int
    top: int
    width: int

    def x(self, offset: int) -> float:
        span = max(self.axis.last - self.axis.first, 1)
        return round(self.left + min(max((offset - self.axis.first) / span, 0), 1) * self.width, 1)

    def range(self, first: int, last: int, *content: Element, least: float = 2, **attributes: str) -> Element:
        """Draw the offsets from `first` to `last`, both included."""
        left = self.x(first)
        wide = max(round(self.x(last + 1) - left, 1), least)
        return element("rect", *content, x=left, y=self.top, width=wide, height=_BAR, **attributes)

    def rule(self, offset: int, above: int, words: str, **attributes: str) -> Element:
        """Draw an upright line at an offset that is higher than the bar."""
        at = self.x(offset)
        title = element("title", words)
        return element("line", title, x1=at, x2=at, y1=self.top - above, y2=self.top + _BAR + above, **attributes)


def picture(lanes: Sequence[Lane], drawn: Drawn) -> Element:
    """Draw lanes by offset."""
    height = _ROW * len(lanes) + 4
    parts = []
    for number, lane in enumerate(lanes):
        place = _Place(lane.axis, _LEFT, number * _ROW + 4, _WIDTH)
        name = element(
            "text", element("title", lane.name), shortened(lane.name, _NAME), x=_LEFT - 8, y=place.top + _BAR - 3,
            text_anchor="end",
        )  # fmt: skip
        ends = element("text", _ends(lane), x=_LEFT + _WIDTH + 8, y=place.top + _BAR - 3)
        parts.append(element("g", name, list(_lane(lane, place, drawn)), ends))
    wide = _LEFT + _WIDTH + _RIGHT
    return element(
        "svg", element("title", "Transactions by partition and offset"), parts, width=wide, height=height,
        viewBox=f"0 0 {wide} {height}", role="img", class_="lanes",
    )  # fmt: skip


def cut_picture(lanes: Sequence[Lane], drawn: Drawn, framed: tuple[int, int] | None) -> Element:
    """Draw parts of lanes by offset, each with a ruler; `framed` are the offsets that it is about."""
    height = _CUT_ROW * len(lanes)
    parts = []
    for number, lane in enumerate(lanes):
        place = _Place(lane.axis, 1, number * _CUT_ROW + 20, _CUT_WIDTH - 2)
        words = f"offsets {lane.axis.first:,} to {lane.axis.last - 1:,}"
        head = element("text", f"{shortened(lane.name, 40)}, {words}", x=0, y=place.top - 7)
        frame = place.range(*framed, least=4, class_="frame") if framed is not None else None
        ruler = []
        for at in ticks(lane.axis.first, lane.axis.last):
            x = place.x(at)
            anchor = "start" if x < 30 else "end" if x > _CUT_WIDTH - 30 else "middle"
            ruler += [
                element("line", x1=x, x2=x, y1=place.top + _BAR, y2=place.top + _BAR + 5, class_="tick"),
                element("text", f"{at:,}", x=x, y=place.top + _BAR + 16, text_anchor=anchor, class_="tick"),
            ]
        parts.append(element("g", head, list(_lane(lane, place, drawn)), frame, ruler))
    return element(
        "svg", element("title", "What happened there, by offset"), parts, viewBox=f"0 0 {_CUT_WIDTH} {height}",
        width=_CUT_WIDTH, height=height, role="img", class_="cut",
    )  # fmt: skip


def _lane(lane: Lane, place: _Place, drawn: Drawn) -> Iterator[Element]:
    log = lane.row["log"]
    yield element("rect", x=place.left, y=place.top, width=place.width, height=_BAR, class_="ground")
    transactions = drawn.transactions.get(log, ())
    if not transactions:
        yield from _cells(lane, place)
    for row in drawn.gaps.get(log, ()) if transactions else ():
        kind = "legal-gap" if row["kind"] == "legal" else "gap"
        words = f"{LOOKS[kind].words}: {row['first_offset']}-{row['last_offset']}"
        if _touches(place.axis, row["first_offset"], row["last_offset"]):
            title = element("title", words)
            yield place.range(row["first_offset"], row["last_offset"], title, class_=f"s-{kind}")
    yield from _bars(place, transactions)
    for row in drawn.changes.get(log, ()):
        if not lane.cut or _touches(place.axis, row["first_offset"], row["first_offset"]):
            kind = "unclean" if row["change"] == UNCLEAN else "leader"
            yield place.rule(row["first_offset"], 4, drawn.zone.prose(leader_words(row)), class_=kind)
    if lane.stable is not None:
        stable = lane.row["last_stable_offset"]
        yield place.rule(stable, 3, f"last stable offset {stable} of {lane.row['log_end_offset']}", class_="stable")


def _touches(axis: Axis, first: int, last: int) -> bool:
    return last >= axis.first and first <= axis.last


def _cells(lane: Lane, place: _Place) -> Iterator[Element]:
    """Draw each cell in the proportion of its transactions' states, what is committed at the bottom.

    What is missing, and what has not ended, has a mark above them, however few of many it is.
    """
    cell = place.width / len(lane.cells)
    counts = [lane.counts.get(rank, np.zeros(len(lane.cells), np.int64)) for rank in _RANKS]
    total = np.maximum(np.sum(counts, axis=0), 1)
    bottoms = np.round(np.cumsum([np.zeros(len(total)), *counts], axis=0) * _BAR / total, 1)
    at = 0
    for (*edges, rank), run in groupby(zip(*bottoms.tolist(), lane.cells.tolist(), strict=True)):
        count = sum(1 for _ in run)
        across = {"x": round(place.left + at * cell, 1), "width": round(count * cell, 1)}
        for name, low, high in zip(STATE_RANKS, edges, edges[1:], strict=False):
            if high > low:
                y = round(place.top + _BAR - high, 1)
                yield element("rect", **across, y=y, height=round(high - low, 1), class_=f"s-{name}")
        if rank != EMPTY and not edges[-1]:
            yield element("rect", **across, y=place.top, height=_BAR, class_=f"s-{name_of(rank)}")
        elif rank > STATE_RANKS["aborted"]:
            yield element("rect", **across, y=place.top - 3, height=2, class_=f"of-{name_of(rank)}")
        at += count


def _bars(place: _Place, transactions: Iterable[Mapping[str, Any]]) -> Iterator[Element]:
    for row in transactions:
        if row["first_offset"] is not None and _touches(place.axis, row["first_offset"], row["last_offset"]):
            title = element("title", _words(row))
            yield place.range(row["first_offset"], row["last_offset"], title, class_=f"s-{row['state']}")
        marker = row["marker_offset"]
        if marker is not None and _touches(place.axis, marker, marker):
            yield place.rule(marker, 2, f"marker at {marker}", class_=f"m-{row['state']}")


def _words(row: Mapping[str, Any]) -> str:
    who = producer_name(row["transactional_id"], row["producer_id"])
    end = "" if row["marker_offset"] is None else f", marker at {row['marker_offset']}"
    return f"{row['state']}: {who}, offsets {row['first_offset']}-{row['last_offset']}{end}"


def _ends(lane: Lane) -> str:
    if lane.stable is None:
        return f"{lane.row['log_start_offset']}-{lane.row['log_end_offset']}"
    return f"LSO {lane.row['last_stable_offset']} of {lane.row['log_end_offset']}"


def legend(lanes: Sequence[Lane], drawn: Drawn) -> Element:
    """Say what colours, hatchings and lines stand for, of those that are drawn."""
    names = {name_of(rank) for lane in lanes for rank in {*lane.cells.tolist(), *lane.counts} - {EMPTY}}
    names |= {name_of(LEGAL_GAP if row["kind"] == "legal" else GAP) for rows in drawn.gaps.values() for row in rows}
    items = [
        element("li", _swatch(element("rect", width=20, height=12, class_=f"s-{name}")), " ", look.words)
        for name, look in LOOKS.items()
        if name in names
    ]
    changes = {row["change"] for rows in drawn.changes.values() for row in rows}
    lines = {
        "marker": any(row["marker_offset"] is not None for rows in drawn.transactions.values() for row in rows),
        "stable": any(lane.stable is not None for lane in lanes),
        "leader": bool(changes - {UNCLEAN}),
        "unclean": UNCLEAN in changes,
    }
    words = {"marker": "marker", "stable": "last stable offset", "leader": "other leader",
             "unclean": "unclean election"}  # fmt: skip
    items += [
        element("li", _swatch(element("line", x1=10, x2=10, y1=0, y2=12, class_=f"swatch {kind}")), " ", words[kind])
        for kind, is_drawn in lines.items()
        if is_drawn
    ]
    return element("ul", items, class_="legend", id="legend")


def _swatch(shape: Element) -> Element:
    return element("svg", shape, width=20, height=12, aria_hidden="true")
