"""What Python sees of message_kinds; ``message_kinds.py`` says what each does."""

from array import array
from typing import TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

FACTS: tuple[str, ...]

def keyed(
    buf: Bytes, recs: Cells, room: int, count: int, kinds: Cells, keys: Cells, values: Cells, facts: Cells
) -> None: ...
def framed(buf: Bytes, recs: Cells, room: int, count: int, kinds: Cells, values: Cells, facts: Cells) -> None: ...
def doubts(count: int, room: int, messages: Cells, remarks: Cells, facts: Cells) -> None: ...
def embedded(
    buf: Bytes,
    types: Cells,
    type_sizes: Cells,
    firsts: Cells,
    counts: Cells,
    starts: Cells,
    sizes: Cells,
    wanted: bytes,
    program: int,
    newest: int,
    messages: Cells,
    capacity: int,
) -> None: ...
