"""What Python sees of lines of text; ``text.py`` says what each does."""

from typing import Final, Protocol

from kafkalog.kernel.buffers import Bytes, Cells

DONE: int
NO_ROOM: int
SPECIAL: int
SLACK: Final = 64

class KafkaLines(Protocol):
    @property
    def batches(self) -> Cells: ...
    @property
    def records(self) -> Cells: ...
    @property
    def literals(self) -> bytes: ...

class RowLines(Protocol):
    @property
    def steps(self) -> Cells: ...
    @property
    def literals(self) -> bytes: ...
    @property
    def form(self) -> int: ...
    @property
    def line_room(self) -> int: ...

class Table(Protocol):
    count: int
    @property
    def cells(self) -> Cells: ...

class Records(Protocol):
    @property
    def buf(self) -> Bytes: ...
    @property
    def heads(self) -> Table: ...
    @property
    def recs(self) -> Table: ...

class Rows(Protocol):
    @property
    def buf(self) -> Bytes: ...
    @property
    def cells(self) -> Cells: ...
    @property
    def valid(self) -> Bytes: ...
    @property
    def room(self) -> int: ...
    @property
    def weight(self) -> int: ...

def java_text(data: bytes) -> str: ...
def put_text(out: bytearray | memoryview, w: int, buf: Bytes, start: int, size: int) -> int: ...
def batch_lines(
    heads: Cells, row: int, stop_row: int, lines: KafkaLines, out: bytearray, w: int
) -> tuple[int, int]: ...
def record_lines(
    block: Records,
    first: int,
    row: int,
    parts: int,
    lines: KafkaLines,
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
    block: Rows, row: int, stop_row: int, lines: RowLines, out: bytearray | memoryview, w: int
) -> tuple[int, int, int]: ...
