"""The position in a segment that is read: the window over its bytes, and the facts of the batches before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Unpack

from kafkalog.findings import Finding, Where
from kafkalog.format import kernel
from kafkalog.format.batch import CellTable
from kafkalog.format.batch_start import LOG_OVERHEAD, SIZE_UP_TO_MAGIC, magic_of, smallest_size
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.files import Source
from kafkalog.log.order import BatchOrder
from kafkalog.log.window import Window

if TYPE_CHECKING:
    from kafkalog.format.resync import Resync

__all__ = ["CHUNK_ROOM", "DOUBTED", "Cursor"]

CHUNK_ROOM: Final = 1048  # rows: they fit in the cache; a power of two would make the columns share cache lines
_EACH: Final = 1000  # damaged places of a file that are examined closely; after these, adjacent ones are joined
DOUBTED: Final = 1 << 16  # bytes; in a file with more damage, the CRC of a larger batch is first computed from prefixes


class Cursor:
    """The window that moves over one source, the table of the batches in it, and the facts of those before."""

    def __init__(
        self,
        source: Source,
        limits: Limits,
        base_offset: int | None,
        hints: Callable[[], list[int]],
        room: int | None = None,
    ) -> None:
        self.source = source
        self.limits = limits
        self.expansion = limits.expansion(source.size)
        self.window = Window(source, limits.max_batch_bytes)
        self.heads = CellTable(
            len(kernel.BATCH_COLUMNS),
            min(CHUNK_ROOM if room is None else room, self.window.size // smallest_size(0) + 1),
        )
        self.order = BatchOrder(base_offset)
        self.damages = 0
        self.legacy = True  # may there be old messages: until only batches of magic 2 were seen
        self._hints = hints
        self._resync: Resync | None = None

    @property
    def resync(self) -> Resync:
        """Return what searches the source for whole batches; it is made when the source has damage."""
        if self._resync is None:
            from kafkalog.format.resync import Resync

            self._resync = Resync(
                self.source.read, lambda: self.source.size, self.limits.max_batch_bytes, self._hints()
            )
        return self._resync

    @property
    def passed_over(self) -> int:
        """Return how many headers a search skipped, because there were too many."""
        return 0 if self._resync is None else self._resync.passed_over

    @property
    def is_crowded(self) -> bool:
        """Say whether the file has so many damaged places that each must cost as little as possible."""
        return self.damages > _EACH

    def reach(self) -> int:
        """Return how far in the window batches of a crowded file may be read; not at all if the next CRC is wrong.

        A large batch is read only after its CRC is known to match: many false headers would
        cause the same bytes to be read again and again.
        """
        window = self.window
        start, stop = window.start, window.stop
        # As `next_size`, which costs as much as all else for a place of many.
        size = int.from_bytes(window.buffer[start + 8 : start + 12], "big", signed=True) + LOG_OVERHEAD
        if size <= DOUBTED or start + SIZE_UP_TO_MAGIC > stop:
            return min(stop, start + DOUBTED)
        is_old = magic_of(window.buffer, window.start) < 2
        holds = self.resync.holds_message if is_old else self.resync.holds
        return window.stop if self.next_fits() and holds(window.here, size) else window.start

    def next_fits(self) -> bool:
        """Say whether the next batch may be read whole: within the limit, and within the file if its size is known."""
        size = self.window.next_size()
        end = self.source.size
        return size <= self.limits.max_batch_bytes and (end is None or self.window.here + size <= end)

    def chunk(self, buf: bytearray | None = None, position: int | None = None) -> Chunk:
        """Make a chunk of the rows in the table; their bytes are the window's unless others are given."""
        view = memoryview(self.window.buffer if buf is None else buf)
        where = self.window.position if position is None else position
        return Chunk(self.source.name, view, where, self.heads, self.limits, self.expansion)

    def ordered(self, chunk: Chunk) -> Chunk:
        """Compare the chunk's batches with those before."""
        chunk.examined += self.order.broken(self.source.name, self.heads)
        chunk.impossible = self.order.impossible
        return chunk

    def finding(self, code: str, message: str, **where: Unpack[Where]) -> Finding:
        return Finding.of(code, self.source.name, message, **where)
