"""Finding the next whole batch after damaged bytes, in time linear in what is searched.

A candidate is a plausible header whose checksum matches its whole length. Checking each from scratch would be quadratic
for bytes made to look like headers, so:

- small batches are summed when they are met (``headers.find_whole``);
- sums of prefixes, one for each 4 KiB, give the sum of any other bytes in constant time (``headers.shift``);
- on average there may be one such far batch for every 64 bytes, and one in 128 bytes that ends in another block than
  the one before or is an old message; more are skipped, and a finding reports that;
- answers are kept, and after the same bytes were searched several times, offsets no longer narrow the search.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafkalog.kafka import batch
from kafkalog.kafka.batch import CODEC_MASK
from kafkalog.kafka.layout import MESSAGE_V0, RECORD_BATCH
from kafkalog.kernel import buffers, headers

__all__ = ["Resync", "WholeBatch"]

Read = Callable[[int, int], bytes | bytearray | memoryview]

_BLOCK: Final = headers.BLOCK
_PIECE: Final = 1 << 20
_CRC_FROM: Final = batch.checked_from(2)
_BYTES_FOR_FAR: Final = 64  # bytes searched for each far batch that may be looked at
_BYTES_FOR_LOAD: Final = 128  # the same where another end must be read for it
_FAR_AT_FIRST: Final = 4096
_ANSWERS: Final = 80
_AGAIN: Final = 8  # how often the same bytes are searched for batches above an offset
_FREE: Final = 64 << 20  # bytes that may be searched however often
_ENDLESS: Final = 1 << 62
_HINTS: Final = 64  # positions of other files that are tried before bytes are searched
_LEGACY_WORK: Final = 256 << 20  # bytes of old messages whose checksums are computed in one file
_LEGACY_BYTES: Final = 4 << 30  # the same of bytes that a damaged or big old message may have


class WholeBatch(NamedTuple):
    """A whole batch: its position and its offsets. `base_offset` is None for a wrapper of magic 0 or 1."""

    position: int
    size: int
    magic: int
    base_offset: int | None
    last_offset: int


def _whole_batch(position: int, head: bytes) -> WholeBatch:
    """Read a whole batch's header."""
    magic, offset = batch.magic_of(head), batch.offset_of(head)
    if magic > 1:
        return WholeBatch(position, batch.size_of(head), magic, offset, batch.last_offset_of(head))
    is_wrapper = MESSAGE_V0.read_field("attributes", head) & CODEC_MASK
    return WholeBatch(position, batch.size_of(head), magic, None if is_wrapper else offset, offset)


class Resync:
    """Searches one file, whose bytes `read(position, size)` returns; `end()` is where it ends, None if not known yet.

    `hints` are the positions, in order, where batches start by other files.
    """

    def __init__(
        self, read: Read, end: Callable[[], int | None], max_batch_bytes: int, hints: Sequence[int] = ()
    ) -> None:
        self._read = read
        self._end = end
        self._max = max_batch_bytes
        self._hints = hints
        self._anchor = 0
        self._prefixes = array("Q", [0])  # CRC-32C from the anchor on up to each block
        self._legacy_work = _LEGACY_WORK
        self._legacy_bytes = _LEGACY_BYTES
        self._answers: deque[_Answer] = deque(maxlen=_ANSWERS)
        self._blocks: list[tuple[int, bytes]] = [(-1, b""), (-1, b"")]  # read last: of a start and of an end
        self._state = array("q", bytes(8 * buffers.SEEK_CELLS))  # the kernel's; see candidate
        self._state[buffers.SEEK_TAIL_BLOCK], self._state[buffers.SEEK_LEFT] = -1, _FAR_AT_FIRST
        self._state[buffers.SEEK_LIMIT] = self._max
        self._tail = b""
        self._loads = _FAR_AT_FIRST
        self._searched = 0

    def whole(self, position: int, *, legacy: bool = True) -> WholeBatch | None:
        """Return the batch at `position` if it is whole and its checksum matches."""
        head = bytes(self._read(position, RECORD_BATCH.size))
        if len(head) < batch.SIZE_UP_TO_MAGIC:
            return None
        if batch.magic_of(head) == 2:
            return self._batch(position, head)
        return self._message(position, head) if legacy and batch.magic_of(head) < 2 else None

    def holds(self, position: int, size: int) -> bool:
        """Say whether the bytes at `position` are a magic 2 batch of `size` bytes, whatever its magic byte says."""
        if size < RECORD_BATCH.size:
            return False
        head = self._read(position, RECORD_BATCH.size)
        if len(head) < RECORD_BATCH.size or not self._read(position + size - 1, 1):
            return False
        return self._crc32c(position + _CRC_FROM, position + size) == RECORD_BATCH.read_field("crc", head)

    def holds_message(self, position: int, size: int) -> bool:
        """Say whether the bytes at `position` are a message of magic 0 or 1 of `size` bytes."""
        if not batch.smallest_size(0) <= size <= self._legacy_bytes:
            return False
        self._legacy_bytes -= size
        crc = 0
        for at in range(position + batch.checked_from(0), position + size, _PIECE):
            data = self._read(at, min(_PIECE, position + size - at))
            crc = headers.crc32(data, 0, len(data), crc)
        head = self._read(position, MESSAGE_V0.size)
        return len(head) == MESSAGE_V0.size and crc == MESSAGE_V0.read_field("crc", head)

    def reaches(self, stop: int) -> bool:
        """Say whether the file has all bytes up to `stop`."""
        end = self._end()
        return len(self._read(stop - 1, 1)) == 1 if end is None else stop <= end

    def forget(self, position: int) -> None:
        """Promise not to ask for anything before `position` again; a block before it may still be read."""
        while self._answers and (oldest := self._answers[-1].found) is not None and oldest.position < position:
            self._answers.pop()
        blocks = (position - self._anchor) // _BLOCK
        if position > self._anchor + (len(self._prefixes) - 1) * _BLOCK:  # the sums do not reach so far
            self._anchor, self._prefixes = position, array("Q", [0])
            self._state[buffers.SEEK_TAIL_BLOCK] = -1
        elif 2 * blocks > len(self._prefixes):
            del self._prefixes[:blocks]
            self._anchor += blocks * _BLOCK
            self._state[buffers.SEEK_TAIL_BLOCK] = -1

    def next_whole(self, start: int, stop: int, above: int | None, *, legacy: bool) -> WholeBatch | None:
        """Find the first whole batch that begins in [`start`, `stop`) and has offsets above `above`.

        Once far more bytes were searched than there are before `start`, offsets no longer count: each search for higher
        ones may go over the same bytes again.
        """
        if self._searched > _AGAIN * start + _FREE:
            above = None
        for answer in self._answers:
            if answer.low <= start and stop <= answer.high and answer.legacy == legacy and answer.serves(start, above):
                found = answer.found
                return found if found is not None and found.position < stop else None
        found = self._search(start, stop, above, legacy)
        self._answers.appendleft(_Answer(start, stop, above, legacy, found))
        return found

    def _search(self, start: int, stop: int, above: int | None, legacy: bool) -> WholeBatch | None:
        first = bisect_right(self._hints, start)
        for hint in self._hints[first : first + _HINTS]:
            if hint < stop and (known := self._usable(self.whole(hint, legacy=legacy), above)):
                inside = self._scan(start, hint, above, legacy)
                return inside if inside is not None and inside.position + inside.size <= hint else known
        return self._scan(start, stop, above, legacy)

    @staticmethod
    def _usable(found: WholeBatch | None, above: int | None) -> WholeBatch | None:
        return found if found is not None and (above is None or found.last_offset > above) else None

    def _scan(self, start: int, stop: int, above: int | None, legacy: bool) -> WholeBatch | None:
        step = _BLOCK  # pieces grow, so that many small damages cost little
        while start < stop:
            before = (start - self._anchor) % _BLOCK
            piece = bytes(self._read(start - before, before + min(step, stop - start) + headers.NEAR))
            if len(piece) <= before:
                return None
            end = self._end()
            room = _ENDLESS if end is None else end - (start - before)
            self._state[buffers.SEEK_ROOM], self._state[buffers.SEEK_LEGACY] = room, legacy
            self._state[buffers.SEEK_BLOCK] = (start - before - self._anchor) // _BLOCK
            self._state[buffers.SEEK_LEFT] += (min(step, stop - start)) // _BYTES_FOR_FAR
            self._loads += (min(step, stop - start)) // _BYTES_FOR_LOAD
            at, last = before, before + min(step, stop - start)
            while at < last:
                at, what = headers.find_whole(piece, at, last, self._prefixes, self._tail, self._state)
                if what == headers.NOTHING:
                    break
                position = start - before + at
                head = piece[at : at + RECORD_BATCH.size]
                if what == headers.FAR and head[batch.MAGIC_AT] == 2:
                    if self._loads <= 0:
                        self._state[buffers.SEEK_BEYOND] += 1
                        at += 1
                        continue
                    self._loads -= 1
                    if self._near_its_end(position, head):
                        continue  # the kernel now has the sums
                found = self._usable(self._decided(position, head, what), above)
                if found is not None:
                    self._searched += at
                    return found
                at += 1
            self._searched += last
            start += step
            step = min(2 * step, _PIECE)
        return None

    def _near_its_end(self, position: int, head: bytes) -> bool:
        """Give the kernel the block in which a batch ends; answers False if the file does not have all of it."""
        stop = position + batch.size_of(head)
        if not self.reaches(stop):
            return False
        self._prefix(stop, 1)
        block = (stop - self._anchor) // _BLOCK
        self._state[buffers.SEEK_TAIL_BLOCK], self._tail = block, self._blocks[1][1]
        return block < len(self._prefixes) and stop - self._anchor - block * _BLOCK <= len(self._tail)

    @property
    def passed_over(self) -> int:
        """Return how many headers were skipped because there were too many."""
        return self._state[buffers.SEEK_BEYOND]

    def _decided(self, position: int, head: bytes, what: int) -> WholeBatch | None:
        """Return the batch that the kernel found to be whole, or that a far checksum shows to be whole."""
        if what == headers.WHOLE:
            return _whole_batch(position, head)
        return self._batch(position, head) if batch.magic_of(head) == 2 else self._message(position, head)

    def _batch(self, position: int, head: bytes) -> WholeBatch | None:
        size = headers.whole_size(head, 0, self._max)
        if not size or not self.reaches(position + size):
            return None
        if self._crc32c(position + _CRC_FROM, position + size) != RECORD_BATCH.read_field("crc", head):
            return None
        return _whole_batch(position, head)

    def _message(self, position: int, head: bytes) -> WholeBatch | None:
        size = headers.whole_size(head, 0, self._max)
        if not size or size > self._legacy_work:
            return None
        value_at = headers.value_size_at(head, 0)
        if not headers.value_fills(self._read(position + value_at, 4), 0, size - value_at):
            return None
        self._legacy_work -= size
        data = self._read(position + batch.MAGIC_AT, size - batch.MAGIC_AT)
        crc = MESSAGE_V0.read_field("crc", head)
        if len(data) < size - batch.MAGIC_AT or headers.crc32(data, 0, len(data)) != crc:
            return None
        return _whole_batch(position, head)

    def _crc32c(self, start: int, stop: int) -> int:
        if stop - start <= 4 * _BLOCK:
            data = self._read(start, stop - start)
            return int(headers.crc32c(data, 0, len(data)))
        before = self._prefix(start, 0)
        return int(self._prefix(stop, 1) ^ headers.shift(before, stop - start))

    def _prefix(self, stop: int, slot: int) -> int:
        """Return the CRC-32C of everything from the anchor to `stop`; `slot` is the place of the block read last."""
        number = (stop - self._anchor) // _BLOCK
        while len(self._prefixes) <= number:
            at = self._anchor + (len(self._prefixes) - 1) * _BLOCK
            data = self._read(at, _PIECE)
            whole = len(data) // _BLOCK
            if not whole:
                break
            crc = self._prefixes[-1]
            for block in range(whole):
                crc = headers.crc32c(data, block * _BLOCK, (block + 1) * _BLOCK, crc)
                self._prefixes.append(crc)
        begin = self._anchor + number * _BLOCK
        if self._blocks[slot][0] != begin:
            self._blocks[slot] = begin, bytes(self._read(begin, _BLOCK))
        data = self._blocks[slot][1]
        return int(headers.crc32c(data, 0, stop - begin, self._prefixes[min(number, len(self._prefixes) - 1)]))


class _Answer(NamedTuple):
    """The result of a search of [`low`, `high`)."""

    low: int
    high: int
    above: int | None
    legacy: bool
    found: WholeBatch | None

    def serves(self, start: int, above: int | None) -> bool:
        """Say whether a search from `start` on would have the same result."""
        if self.above is not None and (above is None or above < self.above):
            return False
        if self.found is None:
            return True
        return start <= self.found.position and (above is None or self.found.last_offset > above)
