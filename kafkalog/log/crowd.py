"""Files with so much damage that each place must cost as little as possible: neighbouring damage becomes one.

Whole batches and the damaged bytes between them leave in one chunk, as far as the window shows both: so decides the
kernel (``format.crowds``). What it does not show is decided by `crowded`, one place at a time; both follow one rule.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Final, NamedTuple

from kafkalog.format import crowds, kernel
from kafkalog.format.batch_start import SIZE_UP_TO_MAGIC
from kafkalog.format.layout import RECORD_BATCH
from kafkalog.log.chunk import Chunk, CrowdedPlaces, Resumed
from kafkalog.log.cursor import DOUBTED, Cursor
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
    window, heads, source = cursor.window, cursor.heads, cursor.source
    heads.count = 0
    chunk = cursor.chunk()
    view, room = memoryview(window.buffer)[: window.stop], _ENDLESS
    if source.size is not None:
        room = source.size - window.position
    state, found = array("q", [0, -1, 1, 0]), array("q", [0, 0, 0])
    places = array("q", bytes(8 * crowds.PLACE * (heads.capacity + 1)))
    crowd = CrowdedPlaces(chunk.file)
    why = crowds.LARGE
    while why in (crowds.LARGE, crowds.NO_ROOM):
        rows, last = heads.count, cursor.order.last_offset
        why, heads.count, count, window.start, cursor.legacy, read = crowds.gather(
            view, window.start, cursor.reach(), window.position, room, cursor.limits.max_batch_bytes, DOUBTED,
            not window.at_end, cursor.legacy, kernel.NONE if last is None else last, heads.cells, heads.capacity, rows,
            _NO_SUMS, state, found, places,
        )  # fmt: skip
        chunk.examined += cursor.order.broken(source.name, heads, rows)
        chunk.impossible = chunk.impossible + cursor.order.impossible
        cursor.damages += count
        _add(crowd, places[: count * crowds.PLACE])
        if why == crowds.UNSEEN and _passed(cursor, crowd):
            why = crowds.LARGE
    if crowd:
        positions = [finding.position or 0 for finding in chunk.examined]
        crowd.after.extend(bisect_left(positions, place) for place in crowd.positions)
        chunk.crowd = crowd
    return Gathered(chunk, *read)


def _passed(cursor: Cursor, crowd: CrowdedPlaces) -> bool:
    """Pass over the damage at the cursor whose end the window does not show, unless it is one that ends the chunk."""
    window = cursor.window
    here = window.here
    cursor.resync.forget(here)
    resumed = crowded(cursor, here)
    if resumed.position >= window.position + window.stop:
        return False
    cursor.damages += 1
    _add(crowd, _place(here, resumed))
    window.start = resumed.position - window.position
    return True


def _place(position: int, resumed: Resumed) -> array[int]:
    expected = kernel.NONE if resumed.expected is None else resumed.expected
    return array("q", [position, resumed.position - position, resumed.is_proved, expected])


def _add(crowd: CrowdedPlaces, places: array[int]) -> None:
    """Add places as ``crowds.gather`` gives them, but for what comes before each."""
    crowd.positions.extend(places[0 :: crowds.PLACE])
    crowd.lengths.extend(places[1 :: crowds.PLACE])
    crowd.proved.extend(places[2 :: crowds.PLACE].tolist())
    crowd.expected.extend(places[3 :: crowds.PLACE])


def pass_over(chunk: Chunk, position: int, resumed: Resumed) -> None:
    """Make a place the one that a chunk passes over."""
    chunk.crowd = CrowdedPlaces(chunk.file)
    _add(chunk.crowd, _place(position, resumed))
    chunk.crowd.after.append(0)


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
