"""What Python sees of batch_records; ``batch_records.py`` says what each does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

DONE: int
NO_ROOM: int
PACKED: int

def read(
    buf: Bytes, heads: Cells, capacity: int, row: int, stop_row: int, unpacked: bool, recs: Cells, room: int
) -> tuple[int, int, int, int]: ...
