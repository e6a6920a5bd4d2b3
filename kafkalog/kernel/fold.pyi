"""What Python sees of the loops; ``fold.py`` says what each does."""

from array import array
from typing import Final, Protocol

from kafkalog.kernel.buffers import Cells, Table

DONE: Final = 0
NO_ROOM: Final = 1
NO_STATES: Final = 2

class States(Protocol):
    """A table of states; one that is as wide as an audit's has `out` and `events`, too."""

    width: int
    slots: array[int]
    cells: array[int]
    part: array[int]

def batches(table: States, heads: Table, row: int, types: Cells, coordinator_epochs: Cells) -> tuple[int, int]: ...
def extents(table: States, rows: Cells, row: int) -> tuple[int, int]: ...
def producers(table: States, rows: Cells, row: int) -> tuple[int, int]: ...
def sequence_break(epoch: int, last_sequence: int, next_epoch: int, first_sequence: int) -> int: ...
def rehash(table: States) -> None: ...
def few_states(
    states: Cells, used: int, opened: array[int], producers: array[int], order: array[int]
) -> tuple[int, int]: ...
def tallied(rows: Cells, count: int) -> tuple[int, int, int, bool, bool]: ...
def snapshot_batches(
    table: States, heads: Table, row: int, types: Cells, coordinator_epochs: Cells, stops: Cells
) -> int: ...
def snapshot_rows(table: States, rows: Cells, row: int) -> int: ...
