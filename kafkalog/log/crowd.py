"""Files with so much damage that each place must cost as little as possible: neighbouring damage becomes one.

Whole batches and the damaged bytes between them leave in one chunk, as far as the window shows both. What it does not
show is decided by `crowded`, one place at a time; both follow the same rule.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from kafkalog.format import batch_headers, candidates, kernel
from kafkalog.format.batch_start import SIZE_UP_TO_MAGIC
from kafkalog.format.layout import RECORD_BATCH
from kafkalog.log.chunk import Chunk, CrowdedPlaces, Resumed
from kafkalog.log.cursor import Cursor
from kafkalog.log.ends import declared_size, end_is_believed, end_of_file, next_offset, next_whole
from kafkalog.log.window import WINDOW

__all__ = ["Gathered", "crowded", "gather", "pass_over"]

_ENDLESS: Final = 1 << 62
_NO_SUMS: Final = array("Q", [0])


class Gathered(NamedTuple):
    """A chunk of whole batches and damage, and how the last read of headers ended, from `start` to `stop`."""

    chunk: Chunk
    why: int
    start: int
    stop: int


def gather(cursor: Cursor) -> Gathered:
    """Read whole batches and pass over the damage between them, as far as the window and the table reach."""
    window, heads, order = cursor.window, cursor.heads, cursor.order
    heads.count = rows = 0
    chunk = cursor.chunk()
    view, room = memoryview(window.buffer)[: window.stop], _ENDLESS
    if cursor.source.size is not None:
        room = cursor.source.size - window.position
    state, found = array("q", [0, -1, 1, 0]), array("q", [0, 0, 0])
    crowd = CrowdedPlaces(chunk.file)
    positions, lengths, proved = crowd.positions, crowd.lengths, crowd.proved
    expected, after = crowd.expected, crowd.after
    while True:
        start, stop = window.start, cursor.reach()
        more, at, why = batch_headers.read(
            window.buffer, start, stop, window.position, heads.cells, heads.capacity, rows
        )
        if more > rows:
            window.start, heads.count = at, more
            cursor.legacy = heads.cell(kernel.MAGIC, more - 1) < 2 or heads.cell(kernel.MAGIC, rows) < 2
            chunk.examined += order.broken(cursor.source.name, heads, rows)
            rows = more
            if why == batch_headers.END and stop < window.stop:
                continue
        waits = why == batch_headers.END and stop > start and not window.at_end and cursor.next_fits()
        if why == batch_headers.FULL or waits or window.start >= window.stop:
            break
        here, last = window.start, order.last_offset
        if not candidates.pass_over(
            view, here, room, cursor.limits.max_batch_bytes, cursor.legacy, kernel.NONE if last is None else last,
            _NO_SUMS, state, found,
        ):  # fmt: skip
            break
        cursor.damages += 1
        positions.append(window.position + here)
        lengths.append(found[0] - here)
        proved.append(found[1])
        expected.append(found[2])
        after.append(len(chunk.examined))
        window.start = found[0]
    if positions:
        chunk.crowd = crowd
    return Gathered(chunk, why, start, stop)


def pass_over(chunk: Chunk, position: int, resumed: Resumed) -> None:
    """Make a place the one that a chunk passes over."""
    chunk.crowd = crowd = CrowdedPlaces(chunk.file)
    crowd.positions.append(position)
    crowd.lengths.append(resumed.position - position)
    crowd.proved.append(resumed.is_proved)
    crowd.expected.append(kernel.NONE if resumed.expected is None else resumed.expected)
    crowd.after.append(0)


def crowded(cursor: Cursor, here: int) -> Resumed:
    """Return where reading goes on after damage: at the next whole batch that no batch with a believed end covers."""
    at, found, expected = here, next_whole(cursor, here + 1), None
    while True:
        stop = end_of_file(cursor) if found is None else found.position
        at = _hop(cursor, at, stop)
        head = cursor.source.read(at, RECORD_BATCH.size)
        end = at + declared_size(head)
        is_batch = at < end and found is not None and cursor.resync.reaches(end)
        if at >= stop or not is_batch or not end_is_believed(cursor, end, head):
            break
        expected = next_offset(head)
        at, found = end, next_whole(cursor, end)
    return Resumed(stop, is_proved=at == stop and expected is not None, expected=expected)


def _hop(cursor: Cursor, at: int, stop: int) -> int:
    """Go from header to header by their sizes, as long as these do not lead past `stop`."""
    while at < stop:
        piece = cursor.source.read(at, min(WINDOW, stop - at))
        inside = 0
        while size := declared_size(piece[inside : inside + SIZE_UP_TO_MAGIC]):
            if at + inside + size > stop:
                return at + inside
            inside += size
        if not inside:
            return at
        at += inside
    return at
