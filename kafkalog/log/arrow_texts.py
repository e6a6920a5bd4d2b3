"""Strings and headers of an Arrow batch while they grow."""

from __future__ import annotations

from functools import lru_cache
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.errors import UnsupportedError
from kafkalog.format import gathering
from kafkalog.format.gathering import CODED, CODED_COUNT, CODED_END, ROWS, TEXT, TEXT_COUNT, TEXT_END
from kafkalog.tables.arrow import Lists, Strings
from kafkalog.tables.column import HEADER_FIELDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ROOM", "Buffers", "Headers", "Texts", "constant"]

ROOM: Final = 1 << 15  # rows of a batch at most
_MOST: Final = 2**31 - 1  # bytes of a column of strings: its offsets are int32
_LISTED: Final = 1 << 12  # headers at once
_KEPT: Final = 16  # buffers that may be given again
_ALIGNED: Final = 64  # what smaller ones are a multiple of
_PIECE: Final = 1 << 20  # big ones are multiples of it, so that the next batch finds them large enough
_UNUSED: Final = 3  # references to a buffer while it is looked at
_KINDS: Final = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}

_NOTHING: Final = np.empty(0, np.uint8)

Bytes = bytes | bytearray | memoryview


@lru_cache(maxsize=64)
def constant(width: int, value: int) -> NDArray[np.uint8]:
    """Return a buffer of `ROOM` numbers of so many bytes that all have this value, of bits for 0."""
    if not width:
        return np.full(-(-ROOM // 8), 255 if value else 0, np.uint8)
    return np.full(ROOM + 1, value, _KINDS[width]).view(np.uint8)


@lru_cache(maxsize=64)
def _nulls(rows: int) -> Strings:
    """Return a column of strings that are all null, of `ROOM` rows at most."""
    return Strings(constant(4, 0).view(np.int32)[: rows + 1], constant(0, 0)[:0], constant(0, 0), again=True)


class Buffers:
    """Hands out buffers. One that no batch holds any more is given again: a new one's pages must be cleared."""

    def __init__(self) -> None:
        self._known: list[NDArray[np.uint8]] = []

    def take(self, size: int) -> NDArray[np.uint8]:
        """Return a buffer of at least `size` bytes, whatever they are."""
        for buffer in self._known:
            if size <= len(buffer) <= 4 * size and getrefcount(buffer) <= _UNUSED:
                return buffer
        piece = _PIECE if size > _PIECE else _ALIGNED
        buffer = np.empty(-(-size // piece) * piece, np.uint8)
        self._known = [*self._known[1 - _KEPT :], buffer]
        return buffer

    def numbers(self, count: int) -> NDArray[np.int32]:
        """Return a buffer of at least `count` numbers."""
        return self.take(4 * count).view(np.int32)


class Texts:
    """Bytes as two columns: what is UTF-8 as text, anything else in base64."""

    def __init__(self, room: int, buffers: Buffers) -> None:
        self.wanted = 0
        self._buffers = buffers
        self._room = self._first_room = room
        self._state = np.zeros(5, np.int64)
        self.begin()

    def begin(self) -> None:
        """Begin a batch, with as much room as the last one needed."""
        rows, *hints = (self._state[ROWS : CODED_END + 1] * 9 // 8).tolist()
        self._room = self._first_room or rows
        self._state = np.zeros(5, np.int64)
        self._offsets = _NOTHING.view(np.int32)  # so that what nobody else holds is given again
        self._valid = self._text = self._coded = _NOTHING
        self._offsets = self._buffers.numbers(2 * self._room + 2)
        self._offsets[0] = 0
        self._valid = self._buffers.take(2 * (-(-self._room // 8)))
        self._text, self._coded = (self._buffers.take(hint) for hint in hints)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return int(self._state[TEXT_END] + self._state[CODED_END])

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._state[ROWS])

    def add(self, buf: Bytes, cells: Any, starts: int, sizes: int, count: int) -> None:
        """Add pieces of `buf`, whose starts and sizes are runs of cells."""
        if self.rows + count > self._room:
            self._reserve(self.rows + count)
        done = 0
        while True:
            done += gathering.gather(
                buf, cells, starts + done, sizes + done, count - done, self.wanted, self._state, self._room,
                self._offsets, self._valid, self._text, self._coded,
            )  # fmt: skip
            if done == count:
                return
            self._grow(int(cells[sizes + done]))

    def _grow(self, size: int) -> None:
        """Make room for a piece of that size."""
        end, coded_end = self._state[TEXT_END : CODED_END + 1].tolist()
        if self.wanted & TEXT and end + size > len(self._text):
            self._text = self._larger(self._text, end, end + size)
        else:
            self._coded = self._larger(self._coded, coded_end, coded_end + (size + 2) // 3 * 4)

    def _larger(self, data: NDArray[np.uint8], used: int, needed: int) -> NDArray[np.uint8]:
        """Return room for `needed` bytes, the first `used` of them the same.

        Raises UnsupportedError beyond 2 GiB.
        """
        if needed > _MOST:
            raise UnsupportedError(f"a column of strings holds at most {_MOST} bytes; one row has {needed}")
        larger = self._buffers.take(min(max(needed, 2 * used, _PIECE), _MOST))
        larger[:used] = data[:used]
        return larger

    def _reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        room = max(rows, 2 * self._room)
        offsets = self._buffers.numbers(2 * room + 2)
        valid = self._buffers.take(2 * (-(-room // 8)))
        for part in range(2):
            old, new = part * (self._room + 1), part * (room + 1)
            offsets[new : new + self.rows + 1] = self._offsets[old : old + self.rows + 1]
            old, new = part * (-(-self._room // 8)), part * (-(-room // 8))
            bits = -(-self.rows // 8)
            valid[new : new + bits] = self._valid[old : old + bits]
        self._offsets, self._valid, self._room = offsets, valid, room

    def made(self, *, is_coded: bool) -> Strings:
        """Return one of the two columns."""
        rows = self.rows
        present = int(self._state[CODED_COUNT if is_coded else TEXT_COUNT])
        if not present:
            if rows <= ROOM:
                return _nulls(rows)
            return Strings(np.zeros(rows + 1, np.int32), constant(0, 0)[:0], np.zeros(-(-rows // 8), np.uint8))
        end = int(self._state[CODED_END if is_coded else TEXT_END])
        data = (self._coded if is_coded else self._text)[:end]
        at, bit = (self._room + 1, -(-self._room // 8)) if is_coded else (0, 0)
        valid = None if present == rows else self._valid[bit : bit + -(-rows // 8)]
        return Strings(self._offsets[at : at + rows + 1], data, valid)


class Headers:
    """Headers as lists of structures: nothing is written before the first record that has one."""

    def __init__(self, room: int, buffers: Buffers) -> None:
        self._room = room
        self._buffers = buffers
        self._fields = (Texts(0, buffers), Texts(0, buffers))
        for field in self._fields:
            field.wanted = TEXT | CODED
        self._found = np.empty(0, np.int64)
        self.begin()

    def begin(self) -> None:
        """Begin a batch."""
        self._rows = 0
        self._offsets = _NOTHING.view(np.int32)
        self._offsets = self._buffers.numbers(self._room + 1)
        self._offsets[0] = 0
        for field in self._fields:
            field.begin()

    @property
    def size(self) -> int:
        """How many bytes they take, with their offsets."""
        return sum(field.size + 8 * field.rows for field in self._fields)

    def add(self, buf: Bytes, cells: Any, starts: int, counts: int, count: int) -> None:
        """Add the headers of records: where they begin and how many they are is in runs of cells."""
        if gathering.list_ends(cells, counts, count, self._offsets, self._rows):
            self._list(buf, cells, starts, counts, count)
        self._rows += count

    def _list(self, buf: Bytes, cells: Any, starts: int, counts: int, count: int) -> None:
        if not len(self._found):
            self._found = np.empty(4 * _LISTED, np.int64)
        found, row, position, left = self._found, 0, -1, 0
        while row < count:
            row, position, left, listed = gathering.headers(
                buf, cells, starts, counts, row, count, position, left, found, _LISTED
            )
            for part, field in enumerate(self._fields):
                field.add(buf, found, 2 * part * _LISTED, (2 * part + 1) * _LISTED, listed)

    def made(self) -> Lists:
        """Return the column."""
        fields = (field.made(is_coded=is_coded) for field in self._fields for is_coded in (False, True))
        has_some = self._fields[0].rows > 0
        offsets = self._offsets if has_some else constant(4, 0).view(np.int32)
        return Lists(offsets[: self._rows + 1], dict(zip(HEADER_FIELDS, fields, strict=True)))
