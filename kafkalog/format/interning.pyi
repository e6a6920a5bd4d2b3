"""What Python sees of interning; ``interning.py`` says what each does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

def number(
    buf: Bytes,
    starts: Cells,
    sizes: Cells,
    first: int,
    numbers: Cells,
    slots: Cells,
    spans: Cells,
    arena: bytearray,
    state: Cells,
) -> int: ...
def place(spans: Cells, count: int, slots: Cells) -> None: ...
