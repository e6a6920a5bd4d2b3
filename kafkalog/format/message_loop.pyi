"""What Python sees of message_loop; ``message_loop.py`` says what it does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

def read(
    buf: Bytes,
    messages: Cells,
    capacity: int,
    first: int,
    count: int,
    programs: Cells,
    steps: Cells,
    tables: Cells,
    cells: Cells,
    stack: Cells,
) -> tuple[int, int, int]: ...
