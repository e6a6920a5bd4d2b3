"""What Python sees of the loops; the source beside this file says what each does."""

from array import array
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkalog.kernel.buffers import Bytes, Cells

COMPILED: Final[bool]
END: int
FULL: int
BAD: int

def crc32c(buf: Bytes, start: int, stop: int, crc: int = 0) -> int: ...
def crc32(buf: Bytes, start: int, stop: int, crc: int = 0) -> int: ...
def shift(crc: int, length: int) -> int: ...
def read(buf: Bytes, start: int, stop: int, position: int, heads: Cells, row: int) -> tuple[int, int, int]: ...
def order(heads: Cells, row: int, stop_row: int, state: array[int]) -> tuple[int, int]: ...

NOTHING: int
WHOLE: int
FAR: int
BLOCK: Final = 4096
NEAR: Final = 4096

def find_whole(
    buf: Bytes, start: int, stop: int, sums: array[int], tail: Bytes, state: array[int]
) -> tuple[int, int]: ...
def declared(buf: Bytes, at: int) -> int: ...
def hop(buf: Bytes, at: int, stop: int) -> int: ...
def leads_to(buf: Bytes, head: int) -> int: ...
def may_follow(buf: Bytes, head: int, after: Bytes, end: int, shown: int, whole: bool) -> bool: ...
def pass_over(buf: Bytes, here: int, sums: array[int], state: array[int]) -> bool: ...

ENDED: int
LARGE: int
NO_ROOM: int
UNSEEN: int

def read_over_damage(
    buf: Bytes,
    start: int,
    reach: int,
    heads: Cells,
    row: int,
    sums: array[int],
    state: array[int],
    places: Cells,
) -> tuple[int, int, int, int, tuple[int, int, int]]: ...

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Column: TypeAlias = NDArray[np.signedinteger[Any]]

def sums(heads: Cells, count: int, before: Cells | _Column, known: int, found: array[int]) -> None: ...
def last_two(heads: Cells, count: int, kept: Cells | _Column) -> None: ...
def at_offsets(
    heads: Cells, count: int, positions: _Column, by_position: _Column, first: _Column, last: _Column,
    offsets: _Column, by_offset: _Column, ends_at: _Column,
) -> None: ...  # fmt: skip
def at_times(
    heads: Cells, count: int, before: int, newest: int, offsets: _Column, by_offset: _Column,
    there: _Column, earlier: _Column,
) -> int: ...  # fmt: skip
def keep(heads: Cells, count: int, columns: array[int], kept: Cells, n: int) -> int: ...
def disagree(heads: Cells, count: int, before: Cells | _Column, known: int) -> bool: ...
def broken_rules(heads: Cells, count: int, records: bool, controls: bool, broken: array[int]) -> int: ...
def markers(buf: Bytes, heads: Cells, count: int, types: Cells, coordinator_epochs: Cells) -> int: ...
