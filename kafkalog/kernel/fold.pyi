"""What Python sees of the loops; ``fold.py`` says what each does."""

from array import array
from typing import Final

from kafkalog.kernel.buffers import Cells

OPEN: Final = -1
ABORT: Final = 0
COMMIT: Final = 1
DONE: Final = 0
NO_ROOM: Final = 1
NO_STATES: Final = 2
EXTENT_COLUMNS: Final[tuple[str, ...]]
PRODUCER_COLUMNS: Final[tuple[str, ...]]
PART_CELLS: Final[tuple[str, ...]]
TALLY_COLUMNS: Final[tuple[str, ...]]
EVENTS: Final[tuple[str, ...]]
EVENT_SIZE: Final[int]
STATE_SIZE: Final[int]

def batches(
    heads: Cells,
    capacity: int,
    row: int,
    count: int,
    types: Cells,
    coordinator_epochs: Cells,
    secret: int,
    bits: int,
    slots: Cells,
    states: Cells,
    part: Cells,
    out: Cells,
    n: int,
    room: int,
    events: Cells,
) -> tuple[int, int, int, int]: ...
def extents(
    rows: Cells,
    row: int,
    count: int,
    secret: int,
    bits: int,
    slots: Cells,
    states: Cells,
    part: Cells,
    out: Cells,
    n: int,
    room: int,
) -> tuple[int, int, int]: ...
def producers(
    rows: Cells,
    row: int,
    count: int,
    secret: int,
    bits: int,
    slots: Cells,
    states: Cells,
    part: Cells,
    events: Cells,
) -> tuple[int, int, int]: ...
def rehash(slots: Cells, states: Cells, part: Cells, secret: int, bits: int) -> None: ...
def few_states(
    states: Cells, used: int, opened: array[int], producers: array[int], order: array[int]
) -> tuple[int, int]: ...
def tallied(rows: Cells, count: int) -> tuple[int, int, int, bool, bool]: ...
