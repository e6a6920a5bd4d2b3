"""What Python sees of batch_headers; ``batch_headers.py`` says what each does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

END: int
FULL: int
BAD: int

def read(
    buf: Bytes, start: int, stop: int, position: int, heads: Cells, capacity: int, row: int
) -> tuple[int, int, int]: ...
def order(heads: Cells, capacity: int, row: int, stop_row: int, state: array[int]) -> tuple[int, int]: ...
