"""The position in a segment that is read: the window over its bytes, and the facts of the batches before it."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Unpack

from kafkalog import few_of_many
from kafkalog.files.limits import Limits
from kafkalog.files.opening import Source
from kafkalog.findings import Finding, Where
from kafkalog.kafka.batch import LOG_OVERHEAD, SIZE_UP_TO_MAGIC, CellTable, magic_of, size_of, smallest_size
from kafkalog.kernel import buffers, headers
from kafkalog.quantities import many
from kafkalog.segments.chunk import Chunk

if TYPE_CHECKING:
    from kafkalog.segments.resync import Resync

__all__ = ["CHUNK_ROOM", "DOUBTED", "SLACK", "WINDOW", "Cursor", "allowed_offsets"]

WINDOW: Final = 1 << 20
_SMALLEST: Final = 64
SLACK: Final = 1 << 16  # read after a large batch, so that the next header is there without a copy


class Window:
    """Whole batches of a source, whatever their size: a window of bytes that moves over it.

    It takes what is there and waits only for the rest of the next batch, so that a slow pipe is shown as it comes.
    Bytes [`start`, `stop`) of `buffer` are not read yet; ``buffer[0]`` is at `position` in the source.
    """

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
            max(self.size, needed + SLACK) if needed > WINDOW // 8 and self.size == WINDOW else max(self.size, needed)
        )
        rest = memoryview(self.buffer)[self.start : self.stop]
        if want > len(self.buffer):
            self.buffer = bytearray(want)  # a new one: a reader may still use the old one
        view = memoryview(self.buffer)
        view[:kept] = rest
        self.position += self.start
        self.start = 0
        self.source.release(max(0, self.position - headers.BLOCK))  # checksums begin at blocks; see segments/resync.py
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


# The order of a segment's batches: offsets rise, leader epochs do not fall, and all offsets belong to the segment.


_HIGHEST: Final = 2**63 - 2  # the log's end is one more

_OFFSETS: Final = 2**31  # that a segment can hold: its indexes have relative offsets of 32 bits


def allowed_offsets(base_offset: int | None) -> tuple[int, int]:
    """Return the lowest and the highest offset of a segment that begins at `base_offset`, where that is known."""
    if base_offset is None:
        return 0, _HIGHEST
    return base_offset, min(base_offset + _OFFSETS - 1, _HIGHEST)


class BatchOrder:
    """What the batches so far require of the next one."""

    # Cells of the kernel's state; see kernel.headers.order.

    def __init__(self, base_offset: int | None) -> None:
        low, high = allowed_offsets(base_offset)
        self.impossible: list[int] = []  # rows of the table last given to `broken` whose offsets no log has
        self._state = array("q", [buffers.NONE, -1, low, high, 0, 0, 0])

    @property
    def last_offset(self) -> int | None:
        """Return the last offset so far, None before the first batch."""
        last = self._state[buffers.ORDER_LAST_OFFSET]
        return None if last == buffers.NONE else last

    def reach(self, offset: int) -> None:
        """Count `offset` as read, although its batch could not be, if it is above all before."""
        self._state[buffers.ORDER_LAST_OFFSET] = max(self._state[buffers.ORDER_LAST_OFFSET], offset)

    def broken(self, file: str, heads: CellTable, row: int = 0) -> list[Finding]:
        """Compare the batches of `heads`, from `row` on, with those before; return a finding for each that is wrong."""
        findings: list[Finding] = []
        self.impossible = []
        first = row
        while row < heads.count:
            before, epoch = self._state[buffers.ORDER_LAST_OFFSET], self._state[buffers.ORDER_LEADER_EPOCH]
            row, rule = headers.order(heads.cells, row, heads.count, self._state)
            if not rule:
                break
            if rule == buffers.OFFSET_IMPOSSIBLE:
                self.impossible.append(row)
            elif row > first:
                before = heads.cell(buffers.LAST_OFFSET, row - 1)
                if rule == buffers.LEADER_EPOCH_DECREASING:  # old messages between have no epoch
                    epochs = (heads.cell(buffers.LEADER_EPOCH, at) for at in range(row - 1, first - 1, -1))
                    epoch = next((one for one in epochs if one >= 0), epoch)
            findings.append(self._finding(file, heads, row, rule, before, epoch))
            row += 1
        return findings

    def _finding(self, file: str, heads: CellTable, row: int, rule: int, before: int, epoch: int) -> Finding:
        position, size = heads.cell(buffers.POSITION, row), heads.cell(buffers.SIZE, row)
        first, last = heads.cell(buffers.BASE_OFFSET, row), heads.cell(buffers.LAST_OFFSET, row)
        first = last if first == buffers.NONE else first
        if rule == buffers.OFFSET_NOT_INCREASING:
            return Finding.of(
                "offset-not-increasing",
                file,
                f"the batch begins at offset {first}, but the batch before it ends at offset {before}",
                position=position,
                length=size,
                offset=first,
                needed=before + 1,
                found=first,
            )
        if rule == buffers.LEADER_EPOCH_DECREASING:
            now = heads.cell(buffers.LEADER_EPOCH, row)
            return Finding.of(
                "leader-epoch-decreasing",
                file,
                f"the batch has leader epoch {now}, but the batch before it has {epoch}",
                position=position,
                length=size,
                offset=first,
                needed=epoch,
                found=now,
            )
        low, high = self._state[buffers.ORDER_LOWEST], self._state[buffers.ORDER_HIGHEST]
        return Finding.of(
            "offset-outside-segment",
            file,
            f"the batch begins at offset {first} and ends at {last}; the segment may contain offsets {low}-{high}",
            position=position,
            length=size,
            offset=first,
            needed=f"{low}..{high}",
            found=f"{first}..{last}",
        )

    def gaps(self, file: str) -> Finding | None:
        """Return the finding about all gaps between batches, None if there are no gaps."""
        gaps, missing = self._state[buffers.ORDER_GAPS], self._state[buffers.ORDER_MISSING]
        position = self._state[buffers.ORDER_FIRST_GAP]
        if not gaps:
            return None
        return Finding.of(
            "offset-gap",
            file,
            f"{missing} offset{'s are' if missing > 1 else ' is'} missing in {gaps}"
            f" gap{'s' * (gaps > 1)} between batches,"
            f" the first before position {position}",
            position=position,
            needed=0,
            found=missing,
        )


CHUNK_ROOM: Final = 1048  # rows: they fit in the cache; a power of two would make the columns share cache lines

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
            len(buffers.BATCH_COLUMNS),
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
            from kafkalog.segments.resync import Resync

            self._resync = Resync(
                self.source.read_bytes, lambda: self.source.size, self.limits.max_batch_bytes, self._hints()
            )
        return self._resync

    @property
    def passed_over(self) -> int:
        """Return how many headers a search skipped, because there were too many."""
        return 0 if self._resync is None else self._resync.passed_over

    @property
    def has_much_damage(self) -> bool:
        """Say whether the file has so many damaged places that each must cost as little as possible."""
        return self.damages > few_of_many.IN_A_FILE

    def reach(self) -> int:
        """Return how far in the window batches may be read where much is damaged; not at all if the next CRC is wrong.

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

    def make_chunk(self, buf: bytearray | None = None, position: int | None = None) -> Chunk:
        """Make a chunk of the rows in the table; their bytes are the window's unless others are given."""
        view = memoryview(self.window.buffer if buf is None else buf)
        where = self.window.position if position is None else position
        return Chunk(self.source.name, view, where, self.heads, self.limits, self.expansion)

    def ordered(self, chunk: Chunk) -> Chunk:
        """Compare the chunk's batches with those before."""
        found = self.order.broken(self.source.name, self.heads)
        chunk.impossible = self.order.impossible
        chunk.findings += (_counted(chunk, one) for one in found) if chunk.impossible else found
        return chunk

    def finding(self, code: str, message: str, **where: Unpack[Where]) -> Finding:
        return Finding.of(code, self.source.name, message, **where)


def _counted(chunk: Chunk, finding: Finding) -> Finding:
    """Return a finding with the number of records that no consumer can fetch, where its batch has offsets below 0."""
    if finding.code != "offset-outside-segment" or finding.offset is None or finding.offset >= 0:
        return finding
    row = next(row for row in chunk.impossible if chunk.heads.cell(buffers.POSITION, row) == finding.position)
    missed, every = chunk.below_zero(row), chunk.heads.cell(buffers.COUNT, row)
    said = f"{missed} of its {many(every, 'record')} lie{'s' * (missed == 1)} below offset 0, where no consumer reads"
    last = min(chunk.heads.cell(buffers.LAST_OFFSET, row), -1)
    return finding._replace(found=missed, last_offset=last, message=f"{finding.message}; {said}")
