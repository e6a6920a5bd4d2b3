"""What Python sees of selecting; ``selecting.py`` says what each does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

def batches(heads: Cells, capacity: int, count: int, conditions: Cells, picks: Cells) -> int: ...
def leave_out(heads: Cells, capacity: int, count: int, picks: Cells, picked: int, control_only: bool) -> None: ...
def records(
    buf: Bytes, recs: Cells, room: int, count: int, conditions: Cells, key: bytes, has_key: bool, picks: Cells
) -> int: ...
def without_control(
    heads: Cells, capacity: int, recs: Cells, room: int, picks: Cells, picked: int, found: Cells
) -> int: ...
def controls(
    buf: Bytes, heads: Cells, capacity: int, recs: Cells, room: int, picks: Cells, count: int, found: Cells
) -> int: ...
