"""Strings of bytes that occur many times, kept once and numbered."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from kafkalog.format import interning
from kafkalog.format.kernel import Bytes
from kafkalog.format.secret import secret_bits

__all__ = ["Numbered"]

_FIRST = 64  # strings that there is room for at first


class Numbered:
    """Strings numbered from 0 on, in the order in which they first occur."""

    __slots__ = ("_arena", "_slots", "_spans", "_state")

    def __init__(self) -> None:
        self._slots = array("q", bytes(8 * 2 * _FIRST))
        self._spans = array("q", bytes(8 * 3 * _FIRST))
        self._arena = bytearray(1 << 10)
        self._state = array("q", (0, 0, 256 + secret_bits(30)))

    def __len__(self) -> int:
        return self._state[0]

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> bytes:
        start, size, _ = self._spans[3 * number : 3 * number + 3]
        return bytes(self._arena[start : start + size])

    @property
    def data(self) -> bytes:
        """Return the strings, one after the other."""
        return bytes(self._arena[: self.size])

    @property
    def sizes(self) -> array[int]:
        """Return how many bytes each string has."""
        return self._spans[1 : 3 * len(self) : 3]

    @property
    def size(self) -> int:
        """Return how many bytes the strings have."""
        return self._state[1]

    def only(self, numbers: Iterable[int]) -> Numbered:
        """Return these strings alone, numbered in this order."""
        found = Numbered()
        starts, sizes = array("q"), array("q")
        for number in numbers:
            start, size, _ = self._spans[3 * number : 3 * number + 3]
            starts.append(start)
            sizes.append(size)
        found.numbers(self._arena, memoryview(starts), memoryview(sizes))
        return found

    def numbers(self, buf: Bytes, starts: memoryview, sizes: memoryview) -> array[int]:
        """Return the numbers of the strings at `starts` in `buf`; a size below 0 is no string and gets -1."""
        found = array("q", bytes(8 * len(starts)))
        done = 0
        while True:
            done = interning.number(buf, starts, sizes, done, found, self._slots, self._spans, self._arena, self._state)
            if done == len(starts):
                return found
            self._grow(sizes[done])

    def _grow(self, size: int) -> None:
        count, used, _ = self._state
        if size > len(self._arena) - used:
            self._arena += bytes(max(size, len(self._arena)))
        if (count + 1) * 2 > len(self._slots):
            self._spans += array("q", bytes(8 * len(self._spans)))
            self._slots = array("q", bytes(16 * len(self._slots)))
            interning.place(self._spans, count, self._slots)
