"""What Python sees of the loops; the source beside this file says what each does."""

from typing import TYPE_CHECKING, Protocol, TypeAlias

from kafkalog.kernel.buffers import Bytes, Cells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
Numbers: TypeAlias = NDArray[np.int64]
Out: TypeAlias = bytearray | memoryview | NDArray[np.uint8]

class Filling:
    def __init__(
        self, plan: Cells, state: Cells | Numbers, scratch: Cells | Numbers, bits: Bytes, out: Out, valid: Out
    ) -> None: ...

class WithCells(Protocol):
    @property
    def cells(self) -> Cells: ...

class Tables(Protocol):
    @property
    def rows(self) -> WithCells: ...
    @property
    def batches(self) -> WithCells: ...
    @property
    def messages(self) -> WithCells: ...
    @property
    def outer(self) -> int: ...

def fill(filling: Filling, tables: Tables, first: int, count: int, row: int) -> None: ...
def take(source: Cells, picks: Cells, count: int, out: Cells) -> None: ...
def bytes_kinds(buf: Bytes, cells: Cells, starts: int, sizes: int, kinds: int, count: int) -> None: ...
def texts(
    places: Cells,
    column: int,
    picks: Cells,
    count: int,
    cells: Cells,
    at: int,
    room: int,
    weight: int,
) -> None: ...
def signs(cells: Cells, at: int, count: int, flags: int, valid: bytearray | memoryview, bit: int) -> None: ...

Offsets: TypeAlias = NDArray[np.int32]
Data: TypeAlias = NDArray[np.uint8]

class Strings(Protocol):
    wanted: int
    room: int
    state: Numbers
    offsets: Offsets
    valid: Data
    text: Data
    coded: Data

def gather(buf: Bytes, cells: Cells | Numbers, starts: int, sizes: int, count: int, strings: Strings) -> int: ...
def list_ends(cells: Cells, counts: int, count: int, offsets: Offsets, row: int) -> int: ...
def headers(
    buf: Bytes,
    cells: Cells,
    starts: int,
    counts: int,
    row: int,
    stop_row: int,
    p: int,
    left: int,
    found: Cells | Numbers,
) -> tuple[int, int, int, int]: ...
