"""What Python sees of the loops; the source beside this file says what each does."""

from array import array
from typing import Final

from kafkalog.kernel.buffers import Bytes, Cells

NOTHING: int
WHOLE: int
FAR: int
BLOCK: Final = 4096
NEAR: Final = 4096

def find(
    buf: Bytes,
    start: int,
    stop: int,
    room: int,
    limit: int,
    legacy: bool,
    sums: array[int],
    tail: Bytes,
    state: array[int],
) -> tuple[int, int]: ...
def pass_over(
    buf: Bytes,
    here: int,
    room: int,
    limit: int,
    legacy: bool,
    above: int,
    sums: array[int],
    state: array[int],
    found: array[int],
) -> bool: ...

ENDED: int
LARGE: int
NO_ROOM: int
UNSEEN: int
PLACE: Final = 4

def gather(
    buf: Bytes,
    start: int,
    reach: int,
    position: int,
    room: int,
    limit: int,
    doubted: int,
    is_growing: bool,
    legacy: bool,
    above: int,
    heads: Cells,
    capacity: int,
    row: int,
    sums: array[int],
    state: array[int],
    found: array[int],
    places: array[int],
) -> tuple[int, int, int, int, bool, tuple[int, int, int]]: ...
