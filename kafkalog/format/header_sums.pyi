"""What Python sees of header_sums; ``header_sums.py`` says what each does."""

from array import array
from typing import TypeAlias

Cells: TypeAlias = memoryview | array[int]

SUMS: int
NEIGHBOUR_CELLS: int

def sums(heads: Cells, capacity: int, count: int, found: array[int]) -> None: ...
def keep(heads: Cells, capacity: int, count: int, columns: array[int], kept: array[int], room: int, n: int) -> int: ...
def disagree(heads: Cells, capacity: int, count: int, before: Cells, known: int) -> bool: ...
