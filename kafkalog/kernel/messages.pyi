"""What Python sees of the loops; the source beside this file says what each does."""

from kafkalog.kernel.buffers import Bytes, Cells

def read(
    buf: Bytes,
    messages: Cells,
    first: int,
    count: int,
    programs: Cells,
    steps: Cells,
    tables: Cells,
    cells: Cells,
    stack: Cells,
) -> tuple[int, int, int]: ...
def keyed(buf: Bytes, recs: Cells, count: int, kinds: Cells, keys: Cells, values: Cells, facts: Cells) -> None: ...
def framed(buf: Bytes, recs: Cells, count: int, kinds: Cells, values: Cells, facts: Cells) -> None: ...
def doubts(count: int, messages: Cells, remarks: Cells, facts: Cells) -> None: ...
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
) -> None: ...

DONE: int
NO_ROOM: int
SPECIAL: int

def write(
    buf: Bytes,
    messages: Cells,
    first: int,
    count: int,
    programs: Cells,
    steps: Cells,
    literals: bytes | bytearray,
    tables: Cells,
    cells: Cells,
    stack: Cells,
    out: bytearray,
    w: int,
    starts: Cells,
    sizes: Cells,
    dialect: int,
) -> tuple[int, int, int]: ...
def number(
    buf: Bytes,
    starts: Cells,
    sizes: Cells,
    first: int,
    numbers: Cells,
    slots: Cells,
    spans: Cells,
    arena: bytearray,
    state: Cells,
) -> int: ...
def place(spans: Cells, count: int, slots: Cells) -> None: ...
