"""What Python sees of the kernel; ``kernel.py`` says what each does."""

from array import array
from typing import Final, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview
Cells: TypeAlias = memoryview | array[int]

NONE: Final = -9223372036854775808
BATCH_COLUMNS: Final[tuple[str, ...]]
RECORD_COLUMNS: Final[tuple[str, ...]]
RECORD_ERRORS: Final[tuple[tuple[str, str], ...]]

POSITION: int
SIZE: int
BASE_OFFSET: int
LAST_OFFSET: int
LEADER_EPOCH: int
MAGIC: int
CRC: int
VALID: int
ATTRIBUTES: int
BASE_TIMESTAMP: int
MAX_TIMESTAMP: int
PRODUCER_ID: int
PRODUCER_EPOCH: int
BASE_SEQUENCE: int
LAST_SEQUENCE: int
COUNT: int
SECTION_START: int
SECTION_STOP: int
DECODED: int
ERROR: int
ERROR_POSITION: int

BATCH: int
OFFSET: int
TIMESTAMP: int
SEQUENCE: int
KEY_START: int
KEY_SIZE: int
VALUE_START: int
VALUE_SIZE: int
HEADERS_START: int
HEADERS_COUNT: int
RECORD_SIZE: int

END: int
FULL: int
BAD: int
DONE: int
NO_ROOM: int
PACKED: int

NOTHING: int
WHOLE: int
FAR: int
BLOCK: Final = 4096
NEAR: Final = 4096
OVERLONG: int
DROPPED: int
ATTRIBUTES_SET: int
BELOW_NULL: int
REPEATED: int
FALLING: int

def form() -> str: ...
def crc32c(buf: Bytes, start: int, stop: int, crc: int = 0) -> int: ...
def crc32(buf: Bytes, start: int, stop: int, crc: int = 0) -> int: ...
def shift(crc: int, length: int) -> int: ...
def candidate(
    buf: Bytes,
    start: int,
    stop: int,
    room: int,
    limit: int,
    legacy: bool,
    sums: array[int],
    tail: Bytes,
    state: array[int],
) -> tuple[int, int]: ...
def order(heads: Cells, capacity: int, row: int, stop_row: int, state: array[int]) -> tuple[int, int]: ...
def headers(
    buf: Bytes, start: int, stop: int, position: int, heads: Cells, capacity: int, row: int
) -> tuple[int, int, int]: ...
def records(
    buf: Bytes, heads: Cells, capacity: int, row: int, stop_row: int, unpacked: bool, recs: Cells, room: int
) -> tuple[int, int, int, int]: ...
def oddities(buf: Bytes, start: int, stop: int, count: int, found: array[int]) -> int: ...
def markers(buf: Bytes, heads: Cells, capacity: int, count: int, types: Cells, coordinator_epochs: Cells) -> int: ...
