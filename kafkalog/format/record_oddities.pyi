"""What Python sees of record_oddities; ``record_oddities.py`` says what each does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

OVERLONG: int
DROPPED: int
ATTRIBUTES_SET: int
BELOW_NULL: int
REPEATED: int
FALLING: int
FOUND: int

def find(buf: Bytes, start: int, stop: int, count: int, found: array[int]) -> int: ...
def in_order(buf: Bytes, heads: Cells, capacity: int, count: int, found: array[int]) -> bool: ...
def next_odd(
    buf: Bytes, heads: Cells, capacity: int, row: int, stop_row: int, unpacked: bool, found: array[int]
) -> int: ...
