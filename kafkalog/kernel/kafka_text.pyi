"""What Python sees of lines; ``kafka_text.py`` says what each does."""

from typing import Final

from kafkalog.kernel.buffers import Bytes, Cells

NOTHING: int
INTEGER: int
FLAG: int
WORD: int
OPTIONAL: int
DONE: int
NO_ROOM: int
SPECIAL: int
PIECES: Final[tuple[str, ...]]
LINE_ROOM: Final = 640

def java_text(data: bytes) -> str: ...
def put_text(out: bytearray | memoryview, w: int, buf: Bytes, start: int, size: int) -> int: ...
def batch_lines(
    heads: Cells,
    capacity: int,
    row: int,
    stop_row: int,
    template: Cells,
    literals: bytes,
    out: bytearray,
    w: int,
) -> tuple[int, int]: ...
def record_lines(
    buf: Bytes,
    heads: Cells,
    capacity: int,
    recs: Cells,
    room: int,
    first: int,
    count: int,
    row: int,
    metadata: bool,
    contents: bool,
    template: Cells,
    literals: bytes,
    pieces: Cells,
    out: bytearray,
    w: int,
    content: Bytes,
    places: Cells,
) -> tuple[int, int, int, int]: ...
def breaks(recs: Cells, room: int, count: int, previous: int, found: Cells) -> int: ...
