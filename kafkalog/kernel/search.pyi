"""What Python sees of the loops; the source beside this file says what each does."""

from array import array
from typing import Final

from kafkalog.kernel.buffers import Bytes, Cells

NOTHING: int
WHOLE: int
FAR: int
BLOCK: Final = 4096
NEAR: Final = 4096

def find(buf: Bytes, start: int, stop: int, sums: array[int], tail: Bytes, state: array[int]) -> tuple[int, int]: ...
def declared(buf: Bytes, at: int) -> int: ...
def hop(buf: Bytes, at: int, stop: int) -> int: ...
def leads_to(buf: Bytes, head: int) -> int: ...
def may_follow(buf: Bytes, head: int, after: Bytes, end: int, shown: int, whole: bool) -> bool: ...
def pass_over(buf: Bytes, here: int, sums: array[int], state: array[int]) -> bool: ...

ENDED: int
LARGE: int
NO_ROOM: int
UNSEEN: int

def gather(
    buf: Bytes,
    start: int,
    reach: int,
    heads: Cells,
    row: int,
    sums: array[int],
    state: array[int],
    places: Cells,
) -> tuple[int, int, int, int, tuple[int, int, int]]: ...
