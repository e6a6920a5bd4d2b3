"""Data on its way out: collected, so that few writes take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["Buffer"]


class Buffer:
    """Collects data for `out`; the kernel fills it, too: ``buffer[:used]`` is not written yet."""

    def __init__(self, out: SupportsWrite[memoryview | bytes], size: int) -> None:
        self.buffer = bytearray(size)
        self.used = 0
        self._out = out

    def flush(self) -> None:
        """Give all so far to `out`."""
        if self.used:
            self._out.write(memoryview(self.buffer)[: self.used])
            self.used = 0

    def write(self, data: bytes) -> None:
        """Write data that is ready."""
        if self.used + len(data) > len(self.buffer):
            self.flush()
        if len(data) > len(self.buffer):
            self._out.write(data)
            return
        self.buffer[self.used : self.used + len(data)] = data
        self.used += len(data)
