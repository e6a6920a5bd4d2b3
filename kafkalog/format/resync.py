"""Finding the next whole batch behind damaged bytes, in time linear in what is searched.

A candidate is a header that is plausible and whose checksum holds over its whole extent. Checking each from scratch
would be quadratic for bytes made to look like headers; sums of prefixes, one for each 4 KiB, give the sum of any
extent in constant time (``kernel.shift``).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafkalog.format import kernel
from kafkalog.format.layout import MESSAGE_V0, RECORD_BATCH

__all__ = ["Extent", "Resync"]

Read = Callable[[int, int], bytes | bytearray | memoryview]

_BLOCK: Final = 4096
_PIECE: Final = 1 << 20
_CRC_FROM: Final = 21  # of a magic 2 batch
_SMALLEST_MESSAGE: Final = 26
# Of each byte that can tell a header of magic 2: length at most 128 MiB, magic, attributes, last offset delta, count.
# They begin with the magic, because a search for a literal is fast; what lies before it is looked back at.
_MAGIC_AT: Final = 16
_PLAUSIBLE: Final = re.compile(rb"(?s)\x02(?<=[\x00-\x08].{8})(?=.{4}[\x00-\x03].[\x00-\x7f].{33}[\x00-\x7f])")
_PLAUSIBLE_LEGACY: Final = re.compile(rb"(?s)[\x00\x01](?=[\x00-\x0f])(?<=(?!\x00{4})[\x00-\x08].{8})")
_HINTS: Final = 64  # positions of other files that are tried before bytes are searched
_LEGACY_WORK: Final = 256 << 20  # bytes of old messages whose checksums are tried in one file
_LEGACY_EXTENTS: Final = 4 << 30  # the same of extents that a damaged or big old message may have


class Extent(NamedTuple):
    """A whole batch: where it lies and which offsets it holds. `base_offset` is None for a wrapper of magic 0 or 1."""

    position: int
    size: int
    magic: int
    base_offset: int | None
    last_offset: int


class Resync:
    """Searches one file, whose bytes `read(position, size)` gives (fewer at its end).

    `hints` are positions, in order, where other files say that batches start.
    """

    def __init__(self, read: Read, max_batch_bytes: int, hints: Sequence[int] = ()) -> None:
        self._read = read
        self._max = max_batch_bytes
        self._hints = hints
        self._anchor = 0
        self._prefixes = array("Q", [0])  # CRC-32C from the anchor on up to each block
        self._legacy_work = _LEGACY_WORK
        self._legacy_extents = _LEGACY_EXTENTS
        self._answer: tuple[int, int, int | None, bool, Extent | None] | None = None

    def whole(self, position: int, *, legacy: bool = True) -> Extent | None:
        """Return the batch at `position` if it is whole and its checksum holds."""
        head = bytes(self._read(position, RECORD_BATCH.size))
        if len(head) < 17:
            return None
        if head[16] == 2:
            return self._batch(position, head)
        return self._message(position, head) if legacy and head[16] < 2 else None

    def holds(self, position: int, size: int) -> bool:
        """Say whether the bytes at `position` are a magic 2 batch of `size` bytes, whatever its magic byte says."""
        if size < RECORD_BATCH.size:
            return False
        head = self._read(position, RECORD_BATCH.size)
        if len(head) < RECORD_BATCH.size or not self._read(position + size - 1, 1):
            return False
        return self._crc32c(position + _CRC_FROM, position + size) == int.from_bytes(head[17:21], "big")

    def holds_message(self, position: int, size: int) -> bool:
        """Say whether the bytes at `position` are a message of magic 0 or 1 of `size` bytes."""
        if not _SMALLEST_MESSAGE <= size <= self._legacy_extents:
            return False
        self._legacy_extents -= size
        crc = 0
        for at in range(position + 16, position + size, _PIECE):
            data = self._read(at, min(_PIECE, position + size - at))
            crc = kernel.crc32(data, 0, len(data), crc)
        return crc == int.from_bytes(self._read(position + 12, 4), "big")

    def forget(self, position: int) -> None:
        """Say that nothing before `position` will be asked for again."""
        blocks = (position - self._anchor) // _BLOCK
        if position > self._anchor + (len(self._prefixes) - 1) * _BLOCK:  # the sums do not reach so far
            self._anchor, self._prefixes = position, array("Q", [0])
        elif 2 * blocks > len(self._prefixes):
            del self._prefixes[:blocks]
            self._anchor += blocks * _BLOCK

    def next_whole(self, start: int, stop: int, above: int | None, *, legacy: bool) -> Extent | None:
        """Find the first whole batch that begins in [`start`, `stop`) and whose offsets lie above `above`."""
        if self._answer is not None:
            low, high, old_above, old_legacy, extent = self._answer
            if low <= start and stop <= high and old_above == above and old_legacy == legacy:
                if extent is None:
                    return None
                if start <= extent.position:
                    return extent if extent.position < stop else None
        extent = self._search(start, stop, above, legacy)
        self._answer = (start, stop, above, legacy, extent)
        return extent

    def _search(self, start: int, stop: int, above: int | None, legacy: bool) -> Extent | None:
        first = bisect_right(self._hints, start)
        for hint in self._hints[first : first + _HINTS]:
            if hint < stop and (known := self._usable(self.whole(hint, legacy=legacy), above)):
                inside = self._scan(start, hint, above, legacy)
                return inside if inside is not None and inside.position + inside.size <= hint else known
        return self._scan(start, stop, above, legacy)

    @staticmethod
    def _usable(extent: Extent | None, above: int | None) -> Extent | None:
        return extent if extent is not None and (above is None or extent.last_offset > above) else None

    def _scan(self, start: int, stop: int, above: int | None, legacy: bool) -> Extent | None:
        step = _BLOCK  # pieces grow, so that many small damages cost little
        while start < stop:
            piece = bytes(self._read(start, min(step, stop - start) + RECORD_BATCH.size))
            if not piece:
                return None
            best: Extent | None = None
            for match in _PLAUSIBLE.finditer(piece, _MAGIC_AT):
                at = match.start() - _MAGIC_AT
                if at >= step or start + at >= stop:
                    break
                best = self._usable(self._batch(start + at, piece[at : at + RECORD_BATCH.size]), above)
                if best is not None:
                    break
            if legacy and piece.count(0) != len(piece):
                limit = best.position if best is not None else stop
                for match in _PLAUSIBLE_LEGACY.finditer(piece, _MAGIC_AT):
                    at = match.start() - _MAGIC_AT
                    if at >= step or start + at >= limit:
                        break
                    found = self._usable(self._message(start + at, piece[at : at + RECORD_BATCH.size]), above)
                    if found is not None:
                        return found
            if best is not None:
                return best
            start += step
            step = min(2 * step, _PIECE)
        return None

    def _batch(self, position: int, head: bytes) -> Extent | None:
        if len(head) < RECORD_BATCH.size:
            return None
        base, length, _, magic, crc, attributes, delta, *_, count = RECORD_BATCH.packed.unpack(head)
        size = length + kernel.LOG_OVERHEAD
        if magic != 2 or not RECORD_BATCH.size <= size <= self._max or attributes & 7 > 4:
            return None
        if delta < 0 or not 0 <= count <= delta + 1 or not self._read(position + size - 1, 1):
            return None
        if self._crc32c(position + _CRC_FROM, position + size) != crc:
            return None
        return Extent(position, size, 2, base, base + delta)

    def _message(self, position: int, head: bytes) -> Extent | None:
        if len(head) < MESSAGE_V0.size:
            return None
        offset, length, crc, magic, attributes = MESSAGE_V0.packed.unpack_from(head)
        size = length + kernel.LOG_OVERHEAD
        if not 26 + 8 * magic <= size <= self._max or attributes & 7 > 3:
            return None
        key_at = 18 + 8 * magic
        key_size = int.from_bytes(head[key_at : key_at + 4], "big", signed=True)
        value_at = key_at + 4 + max(key_size, 0)
        if key_size < -1 or value_at + 4 > size:
            return None
        value_size = int.from_bytes(self._read(position + value_at, 4), "big", signed=True)
        if value_size < -1 or value_at + 4 + max(value_size, 0) != size or size > self._legacy_work:
            return None
        self._legacy_work -= size
        data = self._read(position + 16, size - 16)
        if len(data) < size - 16 or kernel.crc32(data, 0, len(data)) != crc:
            return None
        return Extent(position, size, magic, None if attributes & 7 else offset, offset)

    def _crc32c(self, start: int, stop: int) -> int:
        if stop - start <= 4 * _BLOCK:
            data = self._read(start, stop - start)
            return int(kernel.crc32c(data, 0, len(data)))
        edge = start + (self._anchor - start) % _BLOCK
        data = self._read(start, edge - start)
        return int(
            self._prefix(stop) ^ kernel.shift(self._prefix(edge) ^ kernel.crc32c(data, 0, len(data)), stop - edge)
        )

    def _prefix(self, stop: int) -> int:
        """Return the CRC-32C of everything from the anchor to `stop`."""
        blocks = (stop - self._anchor) // _BLOCK
        while len(self._prefixes) <= blocks:
            at = self._anchor + (len(self._prefixes) - 1) * _BLOCK
            data = self._read(at, _PIECE)
            whole = len(data) // _BLOCK
            if not whole:
                break
            crc = self._prefixes[-1]
            for block in range(whole):
                crc = kernel.crc32c(data, block * _BLOCK, (block + 1) * _BLOCK, crc)
                self._prefixes.append(crc)
        at = self._anchor + blocks * _BLOCK
        data = self._read(at, stop - at)
        return int(kernel.crc32c(data, 0, len(data), self._prefixes[min(blocks, len(self._prefixes) - 1)]))
