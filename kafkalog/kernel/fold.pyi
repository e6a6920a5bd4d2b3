"""What Python sees of the loops; ``fold.py`` says what each does."""

from array import array
from typing import Final

from kafkalog.kernel.buffers import Cells

DONE: Final = 0
NO_ROOM: Final = 1
NO_STATES: Final = 2

def batches(
    heads: Cells,
    row: int,
    count: int,
    types: Cells,
    coordinator_epochs: Cells,
    slots: Cells,
    states: Cells,
    part: Cells,
    out: Cells,
    events: Cells,
) -> tuple[int, int]: ...
def extents(
    rows: Cells, row: int, count: int, slots: Cells, states: Cells, part: Cells, out: Cells
) -> tuple[int, int]: ...
def producers(
    rows: Cells, row: int, count: int, slots: Cells, states: Cells, part: Cells, events: Cells
) -> tuple[int, int]: ...
def sequence_break(epoch: int, last_sequence: int, next_epoch: int, first_sequence: int) -> int: ...
def rehash(slots: Cells, states: Cells, part: Cells, width: int) -> None: ...
def few_states(
    states: Cells, used: int, opened: array[int], producers: array[int], order: array[int]
) -> tuple[int, int]: ...
def tallied(rows: Cells, count: int) -> tuple[int, int, int, bool, bool]: ...
def snapshot_batches(
    heads: Cells,
    row: int,
    count: int,
    types: Cells,
    coordinator_epochs: Cells,
    stops: Cells,
    slots: Cells,
    states: Cells,
    part: Cells,
) -> int: ...
def snapshot_rows(table: Cells, row: int, count: int, slots: Cells, states: Cells, part: Cells) -> int: ...
