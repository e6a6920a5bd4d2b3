"""A window of bytes that moves over a source: whole batches in it, whatever their size.

It takes what is there and waits only for the rest of the next batch, so that a slow pipe is shown as it comes.
"""

from __future__ import annotations

from typing import Final

from kafkalog.files.opening import Source
from kafkalog.kafka.batch import SIZE_UP_TO_MAGIC, size_of
from kafkalog.kernel import search

__all__ = ["WINDOW", "Window"]

WINDOW: Final = 1 << 20
_SMALLEST: Final = 64
_SLACK: Final = 1 << 16  # read after a large batch, so that the next header is there without a copy


class Window:
    """Bytes [`start`, `stop`) of `buffer` are not read yet; ``buffer[0]`` is at `position` in the source."""

    def __init__(self, source: Source, limit: int) -> None:
        self.source = source
        whole = WINDOW if source.size is None else source.size + 1  # a small file's end is seen at once
        self.size = max(_SMALLEST, min(WINDOW, limit, whole))  # never wide enough for a batch over the limit
        self.buffer = bytearray(self.size)
        self.position = 0
        self.start = 0
        self.stop = 0
        self.at_end = False

    @property
    def here(self) -> int:
        """Return the next batch's position in the source."""
        return self.position + self.start

    @property
    def is_whole(self) -> bool:
        """Say whether the source has no more bytes after those in the window, as far as its size is known."""
        return self.source.size is not None and self.position + self.stop >= self.source.size

    def next_size(self) -> int:
        """Return the size that the next header declares, 0 if too little of it is there."""
        if self.stop - self.start < SIZE_UP_TO_MAGIC:
            return 0
        return size_of(self.buffer, self.start)

    def fill(self, needed: int) -> None:
        """Move the next batch to the buffer's front and read on, at least `needed` bytes from its start.

        Without waiting the window is filled further, and a new batch's length is always waited for.
        """
        kept = self.stop - self.start
        want = (
            max(self.size, needed + _SLACK) if needed > WINDOW // 8 and self.size == WINDOW else max(self.size, needed)
        )
        rest = memoryview(self.buffer)[self.start : self.stop]
        if want > len(self.buffer):
            self.buffer = bytearray(want)  # a new one: a reader may still use the old one
        view = memoryview(self.buffer)
        view[:kept] = rest
        self.position += self.start
        self.start = 0
        self.source.release(max(0, self.position - search.BLOCK))  # checksums begin at blocks; see format.resync
        least = max(needed, SIZE_UP_TO_MAGIC, kept + 1) - kept
        got = self.source.read_into(self.position + kept, view[kept:want], least)
        self.stop = kept + got
        self.at_end = got < least

    def go_to(self, position: int) -> None:
        """Make `position` in the source the next batch's."""
        if position <= self.position + self.stop:
            self.start = position - self.position
            if self.start < self.stop or self.at_end:
                return
        self.position, self.start, self.stop = position, 0, 0
        self.fill(0)
