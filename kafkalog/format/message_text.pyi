"""What Python sees of message_text; ``message_text.py`` says what it does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

DONE: int
NO_ROOM: int
SPECIAL: int

def write(
    buf: Bytes,
    messages: Cells,
    capacity: int,
    first: int,
    count: int,
    programs: Cells,
    steps: Cells,
    literals: bytes | bytearray,
    tables: Cells,
    cells: Cells,
    stack: Cells,
    out: bytearray,
    w: int,
    starts: Cells,
    sizes: Cells,
    dialect: int,
) -> tuple[int, int, int]: ...
