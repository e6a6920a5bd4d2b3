"""What Python sees of checksums; ``checksums.py`` says what each does."""

from typing import Final

from kafkalog.kernel.buffers import Bytes

COMPILED: Final[bool]

def crc32c(buf: Bytes, start: int, stop: int, crc: int = 0) -> int: ...
def crc32(buf: Bytes, start: int, stop: int, crc: int = 0) -> int: ...
def shift(crc: int, length: int) -> int: ...
