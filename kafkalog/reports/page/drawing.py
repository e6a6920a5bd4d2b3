"""The timeline as a picture in the page: what is seen without a script, and in print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from kafkalog.reports.lanes import EMPTY, GAP, LEGAL_GAP, STATE_RANKS, Lane
from kafkalog.reports.page.elements import Element, element
from kafkalog.reports.source import leader_words

__all__ = ["NAMES", "UNCLEAN", "legend", "picture"]

ByLog = Mapping[str, Sequence[Mapping[str, Any]]]

NAMES: Final = {rank: state for state, rank in STATE_RANKS.items()} | {GAP: "gap", LEGAL_GAP: "legal-gap"}
_WORDS: Final = {"gap": "offsets missing", "legal-gap": "legal gap"}
UNCLEAN: Final = "unclean-election"
_ROW: Final = 22  # px
_BAR: Final = 14
_LEFT: Final = 240
_WIDTH: Final = 960


def picture(lanes: Sequence[Lane], drawn: ByLog, changes: ByLog) -> Element:
    """Draw lanes by offset; `drawn` has the transactions, by log, that are drawn one by one with their words.

    `changes` are the logs' changes of leaders.
    """
    height = _ROW * len(lanes) + 4
    parts = [
        _lane(lane, number, drawn.get(lane.row["log"], ()), changes.get(lane.row["log"], ()))
        for number, lane in enumerate(lanes)
    ]
    return element(
        "svg", element("title", "Transactions by partition and offset"), parts, width=_LEFT + _WIDTH, height=height,
        viewBox=f"0 0 {_LEFT + _WIDTH} {height}", role="img", class_="lanes",
    )  # fmt: skip


def _lane(
    lane: Lane, number: int, transactions: Sequence[Mapping[str, Any]], changes: Sequence[Mapping[str, Any]]
) -> Element:
    top = number * _ROW + 4
    name = element("text", lane.name, x=_LEFT - 8, y=top + _BAR - 3, text_anchor="end")
    ground = element("rect", x=_LEFT, y=top, width=_WIDTH, height=_BAR, class_="ground")
    bars = list(_bars(lane, transactions, top)) if transactions else list(_cells(lane, top))
    return element("g", name, ground, bars, list(_rules(lane, changes, top)), _stable(lane, top))


def _cells(lane: Lane, top: int) -> Iterator[Element]:
    cell = _WIDTH / len(lane.cells)
    at = 0
    for rank, run in groupby(lane.cells.tolist()):
        count = sum(1 for _ in run)
        if rank != EMPTY:
            yield element(
                "rect", x=round(_LEFT + at * cell, 1), y=top, width=round(count * cell, 1), height=_BAR,
                class_=f"s-{NAMES[rank]}",
            )  # fmt: skip
        at += count


def _bars(lane: Lane, transactions: Sequence[Mapping[str, Any]], top: int) -> Iterator[Element]:
    span = max(lane.axis.last - lane.axis.first, 1)

    def x(offset: int) -> float:
        return round(_LEFT + min(max((offset - lane.axis.first) / span, 0), 1) * _WIDTH, 1)

    for row in transactions:
        if row["first_offset"] is not None:
            left = x(row["first_offset"])
            yield element(
                "rect", element("title", _words(row)), x=left, y=top,
                width=max(round(x(row["last_offset"] + 1) - left, 1), 2), height=_BAR, class_=f"s-{row['state']}",
            )  # fmt: skip
        if row["marker_offset"] is not None:
            at = x(row["marker_offset"])
            yield element("line", x1=at, x2=at, y1=top - 2, y2=top + _BAR + 2, class_=f"m-{row['state']}")


def _rules(lane: Lane, changes: Sequence[Mapping[str, Any]], top: int) -> Iterator[Element]:
    """Draw a rule where the log's leader changed: the offset of the first batch after it."""
    span = max(lane.axis.last - lane.axis.first, 1)
    for row in changes:
        at = round(_LEFT + min(max((row["first_offset"] - lane.axis.first) / span, 0), 1) * _WIDTH, 1)
        yield element(
            "line", element("title", leader_words(row)), x1=at, x2=at, y1=top - 4, y2=top + _BAR + 4,
            class_="unclean" if row["change"] == UNCLEAN else "leader",
        )  # fmt: skip


def _words(row: Mapping[str, Any]) -> str:
    who = f"producer {row['producer_id']}"
    if row["transactional_id"] is not None:
        who = f"{row['transactional_id']} ({who})"
    end = "" if row["marker_offset"] is None else f", marker at {row['marker_offset']}"
    return f"{row['state']}: {who}, offsets {row['first_offset']}-{row['last_offset']}{end}"


def _stable(lane: Lane, top: int) -> Element | None:
    if lane.stable is None:
        return None
    span = max(lane.axis.last - lane.axis.first, 1)
    at = round(_LEFT + (lane.row["last_stable_offset"] - lane.axis.first) / span * _WIDTH, 1)
    words = f"last stable offset {lane.row['last_stable_offset']} of {lane.row['log_end_offset']}"
    return element("line", element("title", words), x1=at, x2=at, y1=top - 3, y2=top + _BAR + 3, class_="stable")


def legend(ranks: set[int]) -> Element:
    """Say what the colours stand for."""
    items = []
    for rank in sorted(ranks - {EMPTY}):
        swatch = element("svg", element("rect", width=12, height=12, class_=f"s-{NAMES[rank]}"), width=12, height=12,
                         aria_hidden="true")  # fmt: skip
        items.append(element("li", swatch, " ", _WORDS.get(NAMES[rank], NAMES[rank])))
    return element(
        "ul", items, element("li", "│ marker"), element("li", "┃ last stable offset"),
        element("li", "┆ other leader"), element("li", "┇ unclean election"), class_="legend",
    )  # fmt: skip
