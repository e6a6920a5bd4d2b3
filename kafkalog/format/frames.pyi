"""What Python sees of frames; ``frames.py`` says what each does."""

from collections.abc import Callable

from kafkalog.format.columns import Bytes

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
