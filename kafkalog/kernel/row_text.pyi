"""What Python sees of row_lines; ``row_text.py`` says what each does."""

from typing import Final

from kafkalog.kernel.buffers import Bytes, Cells

DONE: int
NO_ROOM: int
BIG: int
SLACK: Final = 64

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
    form: int,
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
