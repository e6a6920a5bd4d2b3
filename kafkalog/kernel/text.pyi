"""What Python sees of lines of text; ``text.py`` says what each does."""

from typing import Final

from kafkalog.kernel.buffers import Bytes, Cells

DONE: int
NO_ROOM: int
SPECIAL: int
SLACK: Final = 64

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
def kind_of(buf: Bytes, start: int, size: int) -> int: ...
def is_quoted(buf: Bytes, start: int, size: int) -> bool: ...
def is_marked(first: int, in_base64: bool) -> bool: ...
def text_piece(buf: Bytes, at: int, stop: int, how: int, out: bytearray | memoryview, w: int) -> tuple[int, int]: ...
def headers_piece(
    buf: Bytes,
    p: int,
    left: int,
    started: bool,
    literals: bytes,
    words: Cells,
    at: int,
    doubled: bool,
    out: bytearray | memoryview,
    w: int,
) -> tuple[int, int, int]: ...
def row_lines(
    buf: Bytes,
    cells: Cells,
    room: int,
    valid: Bytes,
    row: int,
    stop_row: int,
    template: Cells,
    literals: bytes,
    form: int,
    line_room: int,
    weight: int,
    out: bytearray | memoryview,
    w: int,
) -> tuple[int, int, int]: ...
