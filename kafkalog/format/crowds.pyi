"""What Python sees of crowds; ``crowds.py`` says what each does."""

from array import array
from typing import Final, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

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
