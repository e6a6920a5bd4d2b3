"""What Python sees of candidates; ``candidates.py`` says what each does."""

from array import array
from typing import Final, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview

NOTHING: int
WHOLE: int
FAR: int
BLOCK: Final = 4096
NEAR: Final = 4096

def find(
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
def pass_over(
    buf: Bytes,
    here: int,
    room: int,
    limit: int,
    legacy: bool,
    above: int,
    sums: array[int],
    state: array[int],
    found: array[int],
) -> bool: ...
