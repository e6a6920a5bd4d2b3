"""A rectangle cut into parts whose areas are given, each as square as can be: the squarified treemap of Bruls et al."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["Box", "squares"]


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
