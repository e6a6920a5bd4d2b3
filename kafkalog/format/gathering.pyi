"""What Python sees of gathering; ``gathering.py`` says what each does."""

from typing import TYPE_CHECKING, TypeAlias

from kafkalog.format.columns import Bytes, Cells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Offsets: TypeAlias = NDArray[np.int32]
    Data: TypeAlias = NDArray[np.uint8]
    Numbers: TypeAlias = NDArray[np.int64]

ROWS: int
TEXT_END: int
CODED_END: int
TEXT_COUNT: int
CODED_COUNT: int
TEXT: int
CODED: int

def gather(
    buf: Bytes,
    cells: Cells | Numbers,
    starts: int,
    sizes: int,
    count: int,
    wanted: int,
    state: Numbers,
    room: int,
    offsets: Offsets,
    valid: Data,
    text: Data,
    coded: Data,
) -> int: ...
def list_ends(cells: Cells, counts: int, count: int, offsets: Offsets, row: int) -> int: ...
def headers(
    buf: Bytes,
    cells: Cells,
    starts: int,
    counts: int,
    row: int,
    stop_row: int,
    p: int,
    left: int,
    found: Cells | Numbers,
    room: int,
) -> tuple[int, int, int, int]: ...
