"""Many texts kept small: their UTF-8 one after the other, instead of an object of some 70 bytes for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.format.numbered import Numbered

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PackedTexts"]

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
