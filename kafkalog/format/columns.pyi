"""What Python sees of columns; ``columns.py`` says what each does."""

from array import array
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

CELL: int
BITS: int
HOLDS: int
SINCE_2: int
BIT: int
TIMES: int
SIZE: int
NOT_NEGATIVE: int
DELTA: int
NEGATIVE: int
NEVER: int
UNKNOWN: int
OLD: int
NO_MESSAGE: int
NO_HORIZON: int
BELOW_ZERO: int
NOTHING: int
PLAIN: int
ESCAPED: int
BASE64: int

def fill(
    source: Cells,
    capacity: int,
    picks: Cells,
    first: int,
    count: int,
    rule: int,
    column: int,
    mask: int,
    absent: int,
    cells: Cells,
    at: int,
    valid: bytearray | memoryview,
    bit: int,
) -> None: ...
def bytes_kinds(
    buf: Bytes, cells: Cells | NDArray[np.int64], starts: int, sizes: int, kinds: int, count: int
) -> None: ...
def texts(
    places: Cells,
    capacity: int,
    column: int,
    picks: Cells,
    count: int,
    cells: Cells,
    at: int,
    room: int,
    weight: int,
) -> None: ...
