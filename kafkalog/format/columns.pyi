"""What Python sees of columns; ``columns.py`` says what each does."""

from array import array
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]
Numbers: TypeAlias = NDArray[np.int64]
Out: TypeAlias = bytearray | memoryview | NDArray[np.uint8]

STEP: int
OF_ROW: int
OF_BATCH: int
OF_MESSAGE: int
CELL: int
BITS: int
HOLDS: int
SINCE_2: int
BIT: int
TIMES: int
SIZE: int
NOT_NEGATIVE: int
DELTA: int
NEVER: int
UNKNOWN: int
OLD: int
NO_MESSAGE: int
NO_HORIZON: int
BY_BIT: int
EMPTY: int
SAME: int
VARIED: int
CELLS: int
NOTHING: int
PLAIN: int
ESCAPED: int
BASE64: int

def fill(
    rows: Cells,
    capacity: int,
    first: int,
    count: int,
    batches: Cells,
    batches_capacity: int,
    outer: int,
    messages: Cells,
    messages_capacity: int,
    bits: Bytes,
    plan: Cells,
    state: Cells | Numbers,
    scratch: Cells | Numbers,
    out: Out,
    valid: Out,
    row: int,
) -> None: ...
def take(source: Cells, capacity: int, picks: Cells, count: int, out: Cells) -> None: ...
def bytes_kinds(buf: Bytes, cells: Cells, starts: int, sizes: int, kinds: int, count: int) -> None: ...
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
def signs(cells: Cells, at: int, count: int, flags: int, valid: bytearray | memoryview, bit: int) -> None: ...
