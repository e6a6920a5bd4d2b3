"""What Python sees of markers; ``markers.py`` says what each does."""

from array import array
from typing import Final, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

NO_MARKER: Final = -1
UNREADABLE: Final = -2

def read(buf: Bytes, heads: Cells, capacity: int, count: int, types: Cells, coordinator_epochs: Cells) -> int: ...
