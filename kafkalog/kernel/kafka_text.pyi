"""What Python sees of lines; ``kafka_text.py`` says what each does."""

from kafkalog.kernel.buffers import Bytes, Cells

DONE: int
NO_ROOM: int
SPECIAL: int

def java_text(data: bytes) -> str: ...
def put_text(out: bytearray | memoryview, w: int, buf: Bytes, start: int, size: int) -> int: ...
def batch_lines(
    heads: Cells,
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
    recs: Cells,
    first: int,
    count: int,
    row: int,
    parts: int,
    template: Cells,
    literals: bytes,
    pieces: Cells,
    out: bytearray,
    w: int,
    content: Bytes,
    places: Cells,
) -> tuple[int, int, int, int]: ...
def breaks(recs: Cells, count: int, previous: int, found: Cells) -> int: ...
