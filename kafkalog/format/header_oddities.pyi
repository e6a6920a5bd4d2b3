"""What Python sees of header_oddities; ``header_oddities.py`` says what each does."""

from array import array
from typing import Final, TypeAlias

Cells: TypeAlias = memoryview | array[int]

RULES: Final[tuple[str, ...]]

def find(heads: Cells, capacity: int, count: int, records: bool, controls: bool, broken: array[int]) -> int: ...
