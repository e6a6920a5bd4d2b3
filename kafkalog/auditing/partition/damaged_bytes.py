"""Bytes of a log that are no whole batch: where they are, and after which offset."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kafkalog.kernel import buffers
from kafkalog.segments.chunk import Chunk

__all__ = ["DamagedBytes", "last_before", "passed_over"]


class DamagedBytes(NamedTuple):
    """An extent of a file's bytes that is no whole batch; `last_offset` is that of the batch before it, if any."""

    file: str
    position: int
    length: int
    last_offset: int | None


def passed_over(chunk: Chunk, last_offset: int | None) -> Iterator[DamagedBytes]:
    """Yield the places of a chunk's crowd; `last_offset` is that of the batch before the chunk."""
    crowd = chunk.crowd
    assert crowd is not None
    heads = chunk.heads.numpy()
    whole = np.flatnonzero(heads[buffers.VALID])
    offsets = [last_offset, *heads[buffers.LAST_OFFSET][whole].tolist()]
    before = np.searchsorted(heads[buffers.POSITION][whole], np.frombuffer(crowd.positions, np.int64)).tolist()
    for position, length, at in zip(crowd.positions, crowd.lengths, before, strict=True):
        yield DamagedBytes(chunk.file, position, length, offsets[at])


def last_before(chunk: Chunk, position: int, last_offset: int | None) -> int | None:
    """Return the last offset of the whole batch before a position in or after a chunk."""
    row = bisect_left(chunk.heads.column(buffers.POSITION), position) - 1
    while row >= 0 and not chunk.heads.cell(buffers.VALID, row):
        row -= 1
    return last_offset if row < 0 else chunk.heads.cell(buffers.LAST_OFFSET, row)
