"""What Python sees of header_sums; ``header_sums.py`` says what each does."""

from array import array
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Column: TypeAlias = NDArray[np.signedinteger[Any]]

Cells: TypeAlias = memoryview | array[int]

SUMS: int
NEIGHBOUR_CELLS: int

def sums(heads: Cells, capacity: int, count: int, before: Cells, known: int, found: array[int]) -> None: ...
def last_two(heads: Cells, capacity: int, count: int, kept: array[int]) -> None: ...
def at_offsets(
    heads: Cells, capacity: int, count: int, positions: _Column, by_position: _Column, first: _Column, last: _Column,
    offsets: _Column, by_offset: _Column, ends_at: _Column,
) -> None: ...  # fmt: skip
def at_times(
    heads: Cells, capacity: int, count: int, before: int, newest: int, offsets: _Column, by_offset: _Column,
    there: _Column, earlier: _Column,
) -> int: ...  # fmt: skip
def keep(heads: Cells, capacity: int, count: int, columns: array[int], kept: array[int], room: int, n: int) -> int: ...
def disagree(heads: Cells, capacity: int, count: int, before: Cells, known: int) -> bool: ...
