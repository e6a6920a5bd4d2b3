"""What Python sees of compaction; ``compaction.py`` says what each does."""

from array import array
from typing import Final, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

SUMS: Final[tuple[str, ...]]

def put(
    buf: Bytes, recs: Cells, room: int, first: int, count: int, hashes: Cells, newest: Cells, state: Cells
) -> int: ...
def move(hashes: Cells, newest: Cells, to_hashes: Cells, to_newest: Cells) -> None: ...
def keep(
    buf: Bytes,
    heads: Cells,
    capacity: int,
    outer: int,
    recs: Cells,
    room: int,
    count: int,
    hashes: Cells,
    newest: Cells,
    sums: Cells,
    sums_capacity: int,
    conditions: Cells,
    kept: bytearray,
) -> None: ...
