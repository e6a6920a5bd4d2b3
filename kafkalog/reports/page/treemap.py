"""Bytes as areas: log directories, topics and partitions as rectangles in rectangles, and what can be freed of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafkalog.quantities import size_text
from kafkalog.reports.page.elements import Element, element, table

__all__ = ["Box", "Tile", "bytes_table", "cause_legend", "squares", "treemap"]


# A rectangle cut into parts whose areas are given, each as square as can be: the squarified treemap of Bruls et al.


class Box(NamedTuple):
    """A rectangle of a drawing."""

    x: float
    y: float
    width: float
    height: float


def squares(sizes: Sequence[int], box: Box) -> list[Box]:
    """Cut a box into one part for each size, in their order; the sizes fall, and are above 0.

    Parts are put into rows along the shorter side: a row ends before the part that would make its longest part longer.
    The cost is linear.
    """
    found: list[Box] = []
    scale = box.width * box.height / max(1, sum(sizes))
    for row in _rows(sizes, box, scale):
        total = sum(row)
        upright = box.width >= box.height  # the row is a column at the left
        side, room = (box.height, box.width) if upright else (box.width, box.height)
        depth = min(total * scale / max(1e-9, side), room)  # rounded sums may leave no room for the last parts
        at = box.y if upright else box.x
        for size in row:
            length = side * size / total
            found.append(Box(box.x, at, depth, length) if upright else Box(at, box.y, length, depth))
            at += length
        box = _rest(box, depth, upright=upright)
    return found


def _rows(sizes: Sequence[int], box: Box, scale: float) -> Iterator[list[int]]:
    """Yield the sizes row by row."""
    row: list[int] = []
    total, width, height = 0, box.width, box.height
    for size in sizes:
        side = min(width, height)
        if row and _worst(row[0], size, total + size, side, scale) > _worst(row[0], row[-1], total, side, scale):
            yield row
            depth = total * scale / max(1e-9, side)
            width, height = (width - depth, height) if width >= height else (width, height - depth)
            row, total = [], 0
        row.append(size)
        total += size
    if row:
        yield row


def _worst(largest: int, smallest: int, total: int, side: float, scale: float) -> float:
    """Return how long the longest part of a row is, as the ratio of its sides."""
    area = max(1e-9, total * scale)
    return max(side * side * largest * scale / (area * area), area * area / max(1e-9, side * side * smallest * scale))


def _rest(box: Box, depth: float, *, upright: bool) -> Box:
    if upright:
        return Box(box.x + depth, box.y, max(0.0, box.width - depth), box.height)
    return Box(box.x, box.y + depth, box.width, max(0.0, box.height - depth))


_WIDTH: Final = 1200

_HEIGHT: Final = 640

_HEAD: Final = 16  # px of a name above its parts

_LETTER: Final = 6.6  # px

_MOST: Final = 2_000  # partitions that are drawn one by one

_ROWS: Final = 500

_OTHERS: Final = "more partitions"


class Tile(NamedTuple):
    """A partition's directory. `gone` are the bytes that would be freed if its `cause` were removed."""

    home: str
    topic: str
    name: str
    bytes: int
    gone: int = 0
    cause: str = "none"


@dataclass(slots=True)
class _Part:
    """A rectangle: a name, its bytes, and either the parts in it or what can be freed of it."""

    name: str
    bytes: int = 0
    gone: int = 0
    cause: str = "none"
    directories: int = 1
    parts: list[_Part] = field(default_factory=list)


def treemap(tiles: Iterable[Tile]) -> Element:
    """Draw directories by their bytes; those that are too many to be drawn are one rectangle for each topic."""
    homes = _grouped(tiles)
    whole = Box(0, 0, _WIDTH, _HEIGHT)
    drawn = homes[0].parts if len(homes) == 1 else homes
    return element(
        "svg", element("title", "Bytes by topic and partition"), list(_drawn(drawn, whole)), width=_WIDTH,
        height=_HEIGHT, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", class_="treemap",
    )  # fmt: skip


def _grouped(tiles: Iterable[Tile]) -> list[_Part]:
    """Put directories into topics and these into log directories, the most bytes first."""
    homes: dict[str, dict[str, _Part]] = {}
    every = sorted((tile for tile in tiles if tile.bytes > 0), key=lambda tile: -tile.bytes)
    for number, tile in enumerate(every):
        topic = homes.setdefault(tile.home, {}).setdefault(tile.topic, _Part(tile.topic, directories=0))
        if number < _MOST or not topic.parts:
            topic.parts.append(_Part(tile.name, cause=tile.cause, directories=0))
        elif topic.parts[-1].name != _OTHERS:
            topic.parts.append(_Part(_OTHERS, cause="several", directories=0))
        for part in (topic, topic.parts[-1]):
            part.bytes += tile.bytes
            part.gone += min(tile.gone, tile.bytes)
            part.directories += 1
    found = []
    for name, topics in homes.items():
        for topic in topics.values():
            topic.parts.sort(key=lambda part: -part.bytes)
        parts = sorted(topics.values(), key=lambda part: -part.bytes)
        found.append(_Part(name, sum(part.bytes for part in parts), parts=parts))
    return sorted(found, key=lambda part: -part.bytes)


def _drawn(parts: Sequence[_Part], box: Box) -> Iterator[Element]:
    for part, place in zip(parts, squares([part.bytes for part in parts], box), strict=True):
        if place.width < 1 or place.height < 1:
            continue
        yield from _group(part, place) if part.parts else _leaf(part, place)


def _group(part: _Part, place: Box) -> Iterator[Element]:
    words = f"{part.name}: {size_text(part.bytes)}"
    yield _rectangle(place, "group", words)
    named = place.height > 3 * _HEAD and place.width > 10 * _LETTER
    if named:
        yield _text(words, place)
    head = _HEAD if named else 0
    inside = Box(place.x + 2, place.y + 2 + head, place.width - 4, place.height - 4 - head)
    if inside.width > 1 and inside.height > 1:
        yield from _drawn(part.parts, inside)


def _leaf(part: _Part, place: Box) -> Iterator[Element]:
    words = f"{part.name}: {size_text(part.bytes)}"
    if part.gone:
        words += f", {part.cause}, {size_text(part.gone)} can be freed"
    yield _rectangle(place, "kept", words)
    if part.gone:
        height = place.height * part.gone / part.bytes
        gone = Box(place.x, place.y + place.height - height, place.width, height)
        yield _rectangle(gone, f"c-{part.cause}", words)
    if place.height > _HEAD and place.width > 6 * _LETTER:
        yield _text(part.name, place)


def _rectangle(place: Box, kind: str, words: str) -> Element:
    x, y, width, height = (round(number, 1) for number in place)
    return element("rect", element("title", words), x=x, y=y, width=width, height=height, class_=kind)


def _text(words: str, place: Box) -> Element:
    room = int((place.width - 6) / _LETTER)
    shown = words if len(words) <= room else f"{words[: max(0, room - 1)]}…"
    return element("text", shown, x=round(place.x + 4, 1), y=round(place.y + 13, 1))


def cause_legend(causes: Iterable[str]) -> Element:
    """Say what the colours stand for."""
    items = []
    for cause in sorted(set(causes) - {"none"}):
        swatch = element("svg", element("rect", width=12, height=12, class_=f"c-{cause}"), width=12, height=12,
                         aria_hidden="true", class_="treemap")  # fmt: skip
        items.append(element("li", swatch, f" {cause}"))
    return element("ul", items, class_="legend")


def bytes_table(tiles: Iterable[Tile]) -> Element:
    """Say in a table what the drawing shows: the bytes of each topic of each log directory."""
    homes = _grouped(tiles)
    rows = []
    for home in homes:
        for topic in home.parts:
            share = f"{100 * topic.bytes / home.bytes:.1f} %"
            rows.append([home.name, topic.name, str(topic.directories), str(topic.bytes), share, str(topic.gone)])
    caption = f"Bytes by topic: {len(rows)} rows" + (f", the first {_ROWS} here" if len(rows) > _ROWS else "")
    heads = ("log directory", "topic", "partitions", "bytes", "share of the directory", "bytes that can be freed")
    return table(caption, heads, rows[:_ROWS], id="bytes-by-topic")
