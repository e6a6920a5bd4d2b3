"""What Python sees of the loops; ``states.py`` says what each does."""

from kafkalog.kernel.buffers import Cells

def batches(
    heads: Cells,
    row: int,
    count: int,
    types: Cells,
    coordinator_epochs: Cells,
    stops: Cells,
    secret: int,
    bits: int,
    slots: Cells,
    states: Cells,
    used: Cells,
) -> int: ...
def rehash(slots: Cells, states: Cells, used: Cells, secret: int, bits: int) -> None: ...
def rows(
    table: Cells, row: int, count: int, secret: int, bits: int, slots: Cells, states: Cells, used: Cells
) -> int: ...
