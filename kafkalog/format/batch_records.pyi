"""What Python sees of batch_records; ``batch_records.py`` says what each does."""

from array import array
from typing import Final, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

RECORD_ERRORS: Final[tuple[tuple[str, str], ...]]
DONE: int
NO_ROOM: int
PACKED: int

def read(
    buf: Bytes, heads: Cells, capacity: int, row: int, stop_row: int, unpacked: bool, recs: Cells, room: int
) -> tuple[int, int, int, int]: ...
