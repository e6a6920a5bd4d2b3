"""What Python sees of the loops; the source beside this file says what each does."""

from array import array
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkalog.kernel.buffers import Bytes, Cells

END: int
FULL: int
BAD: int

def read(
    buf: Bytes, start: int, stop: int, position: int, heads: Cells, capacity: int, row: int
) -> tuple[int, int, int]: ...
def order(heads: Cells, capacity: int, row: int, stop_row: int, state: array[int]) -> tuple[int, int]: ...

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Column: TypeAlias = NDArray[np.signedinteger[Any]]
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

RULES: Final[tuple[str, ...]]

def find(heads: Cells, capacity: int, count: int, records: bool, controls: bool, broken: array[int]) -> int: ...

NO_MARKER: Final = -1
UNREADABLE: Final = -2

def markers(buf: Bytes, heads: Cells, capacity: int, count: int, types: Cells, coordinator_epochs: Cells) -> int: ...
