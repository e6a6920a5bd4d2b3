"""A block of records that are large together as several blocks: what is made of each at once is bounded by bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkalog.format import kernel
from kafkalog.log.records import RecordBlock, record_cells

__all__ = ["Piece", "pieces"]

_MOST: Final = 1 << 21  # bytes of records


class Piece(NamedTuple):
    """Some records of a block, from number `first` on; the next piece uses the same cells."""

    first: int
    records: RecordBlock


def pieces(block: RecordBlock, most: int = _MOST) -> Iterator[Piece]:
    """Yield a block in pieces of at most so many bytes, or of one record; the block itself if it has no more.

    The pieces have no findings.
    """
    recs = block.recs
    sizes = recs.column(kernel.RECORD_SIZE)
    if sum(sizes) <= most:
        yield Piece(0, block)
        return
    cells = record_cells(recs.capacity)
    first = 0
    while first < recs.count:
        stop, size = first + 1, sizes[first]
        while stop < recs.count and size + sizes[stop] <= most:
            size += sizes[stop]
            stop += 1
        cells.count = stop - first
        for column in range(len(kernel.RECORD_COLUMNS)):
            cells.column(column)[:] = recs.column(column)[first:stop]
        yield Piece(first, RecordBlock(block.buf, block.heads, cells, block.outer))
        first = stop
