"""What Python sees of the loops; the source beside this file says what each does."""

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from kafkalog.kernel.buffers import Bytes, Cells, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
Numbers: TypeAlias = NDArray[np.int64]
DONE: int
NO_ROOM: int
PACKED: int

def read_records(
    buf: Bytes, heads: Cells, row: int, stop_row: int, unpacked: bool, recs: Cells
) -> tuple[int, int, int, int]: ...
def find_oddities(buf: Bytes, start: int, stop: int, count: int, found: array[int]) -> int: ...
def in_order(buf: Bytes, heads: Cells, count: int, found: array[int]) -> bool: ...
def next_odd(buf: Bytes, heads: Cells, row: int, stop_row: int, unpacked: bool, found: array[int]) -> int: ...
def wanted_batches(heads: Cells, count: int, conditions: Cells, picks: Cells) -> int: ...
def holding(buf: Bytes, literal: Bytes, heads: Cells, count: int, start: int, rows: Cells) -> int: ...
def leave_out(heads: Cells, count: int, picks: Cells, picked: int, control_only: bool) -> None: ...
def copies(
    buf: Bytes, recs: Cells, start_column: int, size_column: int, picks: Cells | array[int], count: int
) -> list[bytes | None]: ...
def copies_of_headers(
    buf: Bytes, recs: Cells, picks: Cells | array[int], count: int
) -> list[tuple[tuple[bytes, bytes | None], ...]]: ...
def wanted_records(
    buf: Bytes, recs: Cells, count: int, conditions: Cells, key: bytes, has_key: bool, picks: Cells
) -> int: ...
def without_control(heads: Cells, recs: Cells, picks: Cells, picked: int, found: Cells) -> int: ...
def controls(buf: Bytes, heads: Cells, recs: Cells, picks: Cells, count: int, found: Cells) -> int: ...

ENOUGH: int
ROOM: int

def zstd_frame(payload: Bytes) -> tuple[int, int]: ...
def unpack(
    buf: Bytes,
    heads: memoryview,
    row: int,
    stop_row: int,
    out: memoryview,
    limit: int,
    source: memoryview,
    target: memoryview,
    zstd: Callable[[memoryview, int], bytes | None],
) -> tuple[int, int, int]: ...
def put(buf: Bytes, recs: Cells, first: int, count: int, hashes: Cells, newest: Cells, state: Cells) -> int: ...
def move(hashes: Cells, newest: Cells, to_hashes: Cells, to_newest: Cells) -> None: ...

class Block(Protocol):
    @property
    def buf(self) -> Bytes: ...
    @property
    def heads(self) -> Table: ...
    @property
    def recs(self) -> Table: ...
    @property
    def outer(self) -> int | None: ...

class OffsetMap(Protocol):
    @property
    def hashes(self) -> Cells: ...
    @property
    def newest(self) -> Cells: ...

def keep(
    block: Block,
    offsets: OffsetMap,
    sums: Cells | Numbers,
    past: Bytes,
    conditions: Cells,
    kept: bytearray,
) -> None: ...
