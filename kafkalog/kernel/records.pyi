"""What Python sees of the loops; the source beside this file says what each does."""

from array import array
from collections.abc import Callable
from typing import Final

from kafkalog.kernel.buffers import Bytes, Cells

DONE: int
NO_ROOM: int
PACKED: int

def read(
    buf: Bytes, heads: Cells, capacity: int, row: int, stop_row: int, unpacked: bool, recs: Cells, room: int
) -> tuple[int, int, int, int]: ...

OVERLONG: int
DROPPED: int
ATTRIBUTES_SET: int
BELOW_NULL: int
REPEATED: int
FALLING: int
FOUND: int

def find(buf: Bytes, start: int, stop: int, count: int, found: array[int]) -> int: ...
def in_order(buf: Bytes, heads: Cells, capacity: int, count: int, found: array[int]) -> bool: ...
def next_odd(
    buf: Bytes, heads: Cells, capacity: int, row: int, stop_row: int, unpacked: bool, found: array[int]
) -> int: ...

ENOUGH: int
ROOM: int

def zstd_frame(payload: Bytes) -> tuple[int, int]: ...
def unpack(
    buf: Bytes,
    heads: memoryview,
    capacity: int,
    row: int,
    stop_row: int,
    out: memoryview,
    limit: int,
    source: memoryview,
    target: memoryview,
    zstd: Callable[[memoryview, int], bytes | None],
) -> tuple[int, int, int]: ...

SUMS: Final[tuple[str, ...]]

def put(
    buf: Bytes, recs: Cells, room: int, first: int, count: int, hashes: Cells, newest: Cells, state: Cells
) -> int: ...
def move(hashes: Cells, newest: Cells, to_hashes: Cells, to_newest: Cells) -> None: ...
def keep(
    buf: Bytes,
    heads: Cells,
    capacity: int,
    outer: int,
    recs: Cells,
    room: int,
    count: int,
    hashes: Cells,
    newest: Cells,
    sums: Cells,
    sums_capacity: int,
    conditions: Cells,
    kept: bytearray,
) -> None: ...
