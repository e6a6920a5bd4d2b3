"""Many texts kept small: their UTF-8 one after the other, instead of an object of some 70 bytes for each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.kernel import messages
from kafkalog.kernel.buffers import Bytes
from kafkalog.kernel.slots import secret_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Numbered", "PackedTexts"]


# Strings of bytes that occur many times, kept once and numbered.


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
            done = messages.number(buf, starts, sizes, done, found, self._slots, self._spans, self._arena, self._state)
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
            messages.place(self._spans, count, self._slots)


_AT_ONCE: Final = 4096  # texts that are made together

_SEARCHED: Final = 1 << 16  # texts that are looked through together

_WIDE: Final = 64  # bytes of texts that are not sorted as columns


class PackedTexts:
    """PackedTexts by their numbers. Text `n` is ``data[bounds[n]:bounds[n + 1]]``."""

    __slots__ = ("_bounds", "data")

    def __init__(self, data: bytes = b"", bounds: NDArray[Any] | None = None) -> None:
        self.data = data
        self._bounds: NDArray[Any] = np.zeros(1, np.int32) if bounds is None else bounds

    @classmethod
    def of(cls, texts: Iterable[str]) -> PackedTexts:
        """Keep texts."""
        found = [text.encode("utf-8", "backslashreplace") for text in texts]
        return cls(b"".join(found), _bounds_of(np.array([0, *map(len, found)])))

    @classmethod
    def of_sizes(cls, data: bytes, sizes: NDArray[Any]) -> PackedTexts:
        """Take the UTF-8 of texts of these sizes."""
        return cls(data, _bounds_of(np.concatenate([[0], sizes])))

    @classmethod
    def of_numbered(cls, numbered: Numbered) -> PackedTexts:
        """Read strings as UTF-8; bytes that are not UTF-8 are escaped with backslashes."""
        found = cls.of_sizes(numbered.data, np.frombuffer(numbered.sizes, np.int64))
        if found.is_utf8():
            return found
        return cls.of(one.decode("utf-8", "backslashreplace") for one in numbered)

    def is_utf8(self) -> bool:
        """Say whether each text is UTF-8: all are together, and none begins inside of a character."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return False
        begins = self._bounds[:-1][np.diff(self._bounds) > 0]
        return not (np.frombuffer(self.data, np.uint8)[begins] & 0xC0 == 0x80).any()

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> str:
        start, end = self._bounds[number : number + 2].tolist()
        return self.data[start:end].decode()

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self._some, range(0, len(self), _AT_ONCE)))

    def _some(self, first: int) -> list[str]:
        """Return some thousand texts from a number on: without a call for each, if all are ASCII."""
        bounds = self._bounds[first : first + _AT_ONCE + 1]
        data = self.data[bounds[0] : bounds[-1]]
        places = (bounds - bounds[0]).tolist()
        if data.isascii():
            together = data.decode()
            return [together[start:end] for start, end in pairwise(places)]
        return [data[start:end].decode() for start, end in pairwise(places)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedTexts):
            return NotImplemented
        return self.data == other.data and np.array_equal(self._bounds, other._bounds)

    __hash__ = None  # type: ignore[assignment]  # many texts are no key

    @property
    def sizes(self) -> NDArray[Any]:
        """Return how many bytes each text has."""
        return np.diff(self._bounds)

    def take(self, numbers: NDArray[Any]) -> PackedTexts:
        """Return the texts of these numbers, in that order."""
        data = np.frombuffer(self.data, np.uint8)
        every = self._bounds[1:][numbers] - self._bounds[:-1][numbers]
        parts = []
        for first in range(0, len(numbers), _AT_ONCE):
            starts, sizes = self._bounds[:-1][numbers[first : first + _AT_ONCE]], every[first : first + _AT_ONCE]
            ends = np.cumsum(sizes, dtype=np.int64)
            parts.append(data[np.repeat(starts - (ends - sizes), sizes) + np.arange(int(ends[-1]))].tobytes())
        return PackedTexts.of_sizes(b"".join(parts), every)

    def ranks(self) -> NDArray[np.int64]:
        """Return the place of each text among all in order; UTF-8 has the order of its characters."""
        ranks = np.empty(len(self), np.int64)
        widest = int(self.sizes.max(initial=0))
        if widest > _WIDE:
            ranks[sorted(range(len(self)), key=self.__getitem__)] = np.arange(len(self))
            return ranks
        cells = np.zeros((len(self), max(widest, 1)), np.uint8)
        data, starts, sizes = np.frombuffer(self.data, np.uint8), self._bounds[:-1], self.sizes
        for at in range(widest):
            longer = sizes > at
            cells[longer, at] = data[starts[longer] + at]
        ranks[np.argsort(cells.view(f"S{cells.shape[1]}")[:, 0], kind="stable")] = np.arange(len(self))
        return ranks

    def find(self, texts: PackedTexts | Iterable[str]) -> NDArray[np.int64]:
        """Return the number of each of some texts among these, which are distinct; -1 where it is not among them."""
        wanted = texts if isinstance(texts, PackedTexts) else PackedTexts.of(texts)
        found = np.full(len(wanted), -1)
        for first in range(0, len(self), max(_SEARCHED, len(wanted))):
            numbered = Numbered()
            places = wanted.numbers_in(numbered)
            last = min(first + max(_SEARCHED, len(wanted)), len(self))
            at = np.full(len(numbered), -1)
            numbers = PackedTexts(self.data, self._bounds[first : last + 1]).numbers_in(numbered)
            there = np.flatnonzero(numbers < len(at))
            at[numbers[there]] = first + there
            found = np.where(at[places] >= 0, at[places], found)
        return found

    def numbers_in(self, numbered: Numbered) -> NDArray[np.int64]:
        """Return the number of each text among those `numbered`, to which new ones are added."""
        starts, sizes = (np.ascontiguousarray(column, np.int64) for column in (self._bounds[:-1], self.sizes))
        return np.frombuffer(numbered.numbers(self.data, starts.data, sizes.data), np.int64)


def _bounds_of(sizes: NDArray[Any]) -> NDArray[Any]:
    """Return where texts begin and the last one ends; the first of `sizes` is a zero."""
    bounds = np.cumsum(sizes, dtype=np.int64)
    return bounds.astype(np.int32) if bounds[-1] < 2**31 else bounds
