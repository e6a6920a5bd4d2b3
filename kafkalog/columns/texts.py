"""Many texts kept small: their UTF-8 one after the other, instead of an object of some 70 bytes for each.

A million sentences are made of columns so, too.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, overload

import numpy as np

from kafkalog.kernel import messages, plans
from kafkalog.kernel import text as kernel_text
from kafkalog.kernel.buffers import Bytes
from kafkalog.kernel.slots import secret_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["JsonColumn", "Numbered", "TextColumn", "sentences"]

# Strings of bytes that occur many times, kept once and numbered.


_FIRST = 64  # strings that there is room for at first


class Numbered:
    """Strings numbered from 0 on, in the order in which they first occur.

    A million ids of 1,000 names take 45 ms, by a dict 160 ms. Arrow's dictionaries take 28 ms, but 40 MiB for pyarrow,
    which only some extras have.
    """

    __slots__ = ("arena", "slots", "spans", "state")

    def __init__(self) -> None:
        self.slots = array("q", bytes(8 * 2 * _FIRST))
        self.spans = array("q", bytes(8 * 3 * _FIRST))
        self.arena = bytearray(1 << 10)
        self.state = array("q", (0, 0, 256 + secret_bits(30)))

    def __len__(self) -> int:
        return self.state[0]

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> bytes:
        start, size, _ = self.spans[3 * number : 3 * number + 3]
        return bytes(self.arena[start : start + size])

    @property
    def data(self) -> bytes:
        """Return the strings, one after the other."""
        return bytes(self.arena[: self.size])

    @property
    def sizes(self) -> array[int]:
        """Return how many bytes each string has."""
        return self.spans[1 : 3 * len(self) : 3]

    @property
    def size(self) -> int:
        """Return how many bytes the strings have."""
        return self.state[1]

    def only(self, numbers: Iterable[int]) -> Numbered:
        """Return these strings alone, numbered in this order."""
        found = Numbered()
        starts, sizes = array("q"), array("q")
        for number in numbers:
            start, size, _ = self.spans[3 * number : 3 * number + 3]
            starts.append(start)
            sizes.append(size)
        found.numbers(self.arena, memoryview(starts), memoryview(sizes))
        return found

    def numbers(self, buf: Bytes, starts: memoryview, sizes: memoryview) -> array[int]:
        """Return the numbers of the strings at `starts` in `buf`; a size below 0 is no string and gets -1."""
        found = array("q", bytes(8 * len(starts)))
        done = 0
        while True:
            done = messages.number(buf, starts, sizes, done, found, self)
            if done == len(starts):
                return found
            self._grow(sizes[done])

    def _grow(self, size: int) -> None:
        count, used, _ = self.state
        if size > len(self.arena) - used:
            self.arena += bytes(max(size, len(self.arena)))
        if (count + 1) * 2 > len(self.slots):
            self.spans += array("q", bytes(8 * len(self.spans)))
            self.slots = array("q", bytes(16 * len(self.slots)))
            messages.place(self)


_AT_ONCE: Final = 4096  # texts that are made together

_SEARCHED: Final = 1 << 16  # texts that are looked through together

_WIDE: Final = 64  # bytes of texts that are not sorted as columns

_NO_TEXTS: Final = np.empty(0, np.int32)


class TextColumn:
    """Texts that are pieces of `data`: where each begins and its size, below 0 for no text.

    Equal ones may be one piece. `data` is UTF-8, with the bytes of names that are not UTF-8 as they are.
    """

    __slots__ = ("data", "sizes", "starts")

    def __init__(self, data: bytes = b"", starts: NDArray[Any] = _NO_TEXTS, sizes: NDArray[Any] = _NO_TEXTS) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes

    @classmethod
    def of(cls, texts: Iterable[str | None], errors: str = "surrogateescape") -> Self:
        """Keep texts; `errors` says how those that are not UTF-8 are encoded."""
        found = [None if text is None else text.encode("utf-8", errors) for text in texts]
        sizes = np.array([-1 if text is None else len(text) for text in found], np.int64)
        return cls.of_sizes(b"".join([text for text in found if text]), sizes)

    @classmethod
    def of_sizes(cls, data: bytes, sizes: NDArray[Any]) -> Self:
        """Take the bytes of texts of these sizes, one after the other."""
        there = np.maximum(sizes, 0)
        ends = np.cumsum(there, dtype=np.int64)
        kind = np.int32 if len(data) < 2**31 else np.int64  # a million is common
        return cls(data, (ends - there).astype(kind), sizes.astype(kind))

    @classmethod
    def of_numbered(cls, numbered: Numbered) -> Self:
        """Read strings as UTF-8; bytes that are not UTF-8 are escaped with backslashes."""
        found = cls.of_sizes(numbered.data, np.frombuffer(numbered.sizes, np.int64))
        return found if found.is_utf8() else cls.of(one.decode("utf-8", "backslashreplace") for one in numbered)

    @classmethod
    def same(cls, text: str | None, count: int) -> Self:
        """Return one text `count` times."""
        return cls.of([text]).take(np.zeros(count, np.int64))

    @classmethod
    def joined(cls, count: int, parts: Sequence[tuple[NDArray[Any] | slice, TextColumn]]) -> Self:
        """Put the texts for some of `count` rows each together; rows that no part has get no text."""
        starts, sizes = np.zeros(count, np.int64), np.full(count, -1, np.int64)
        before = 0
        for rows, texts in parts:
            starts[rows], sizes[rows] = texts.starts.astype(np.int64) + before, texts.sizes
            before += len(texts.data)
        return cls(b"".join(texts.data for _, texts in parts), starts, sizes)

    def is_utf8(self) -> bool:
        """Say whether each text is UTF-8: all are together, and none begins inside of a character."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return False
        begins = self.starts[self.sizes > 0]
        return not (np.frombuffer(self.data, np.uint8)[begins] & 0xC0 == 0x80).any()

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self[at : at + _AT_ONCE].tolist() for at in range(0, len(self), _AT_ONCE))

    @overload
    def __getitem__(self, rows: int) -> str: ...
    @overload
    def __getitem__(self, rows: slice | NDArray[Any]) -> Self: ...
    def __getitem__(self, rows: int | slice | NDArray[Any]) -> str | Self:
        """Return one text, which is there, or some."""
        if isinstance(rows, (slice, np.ndarray)):
            return self.take(rows)
        start = int(self.starts[rows])
        return self.data[start : start + int(self.sizes[rows])].decode("utf-8", "surrogateescape")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextColumn):
            return NotImplemented
        return np.array_equal(self.sizes, other.sizes) and self.together().data == other.together().data

    __hash__ = None  # type: ignore[assignment]  # many texts are no key

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross to another process without the bytes that no text has."""
        texts = self.together()
        return type(self).of_sizes, (texts.data, texts.sizes)

    def take(self, rows: NDArray[Any] | slice) -> Self:
        """Return the texts at these places, of the same bytes."""
        return type(self)(self.data, self.starts[rows], self.sizes[rows])

    def gather(self, rows: NDArray[Any]) -> Self:
        """Return the texts at these places, none for -1, with only their own bytes."""
        known = np.flatnonzero(rows >= 0)
        sizes = np.full(len(rows), -1, np.int64)
        sizes[known] = self.sizes[rows[known]]
        starts = self.starts[rows[known]]
        data, parts = np.frombuffer(self.data, np.uint8), []
        for first in range(0, len(known), _AT_ONCE):
            some = np.maximum(sizes[known[first : first + _AT_ONCE]], 0)
            ends = np.cumsum(some)
            of_each = np.repeat(starts[first : first + _AT_ONCE] - (ends - some), some)
            parts.append(data[of_each + np.arange(len(of_each))].tobytes())
        return type(self).of_sizes(b"".join(parts), sizes)

    def together(self) -> Self:
        """Return the same texts, one after the other in `data`, which has nothing else."""
        there = np.maximum(self.sizes, 0)
        ends = np.cumsum(there, dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        is_so = total == len(self.data) and np.array_equal((ends - there)[there > 0], self.starts[there > 0])
        return self if is_so else self.gather(np.arange(len(self)))

    def numbered(self) -> tuple[NDArray[np.int64], Self]:
        """Return for each text its number among the distinct ones, -1 for no text; and these, as they first occur."""
        few, known = self.few(), Numbered()
        if few is None:
            numbers = self.numbers_in(known)
        else:  # numbers of some pieces instead of all texts
            of_piece, pieces = few
            first = np.full(len(pieces) + 1, len(self))
            first[of_piece[::-1]] = np.arange(len(self))[::-1]
            order = np.argsort(first[:-1])
            place = np.full(len(pieces) + 1, -1)
            place[order] = pieces.take(order).numbers_in(known)
            numbers = place[of_piece]
        return numbers, type(self).of_sizes(known.data, np.frombuffer(known.sizes, np.int64))

    def among(self, words: Collection[str]) -> NDArray[np.bool_]:
        """Say which texts are one of some words."""
        numbers, distinct = self.numbered()
        return np.array([*(text in words for text in distinct.tolist()), False])[numbers]

    def objects(self) -> NDArray[np.object_]:
        """Return the texts as an array of strings."""
        found = np.empty(len(self), object)
        few = self.few()
        if few is None:
            found[:] = TextColumn.tolist(self)
            return found
        numbers, pieces = few
        words = np.empty(len(pieces) + 1, object)  # the last one is for no text
        words[:-1] = TextColumn.tolist(pieces)
        found[:] = words[numbers]
        return found

    def few(self) -> tuple[NDArray[np.int64], Self] | None:
        """Return for each text its number among the pieces that occur, -1 for no text, and these pieces.

        None where texts are not a few pieces, many times.
        """
        nowhere = len(self.data)
        if nowhere >= len(self):
            return None
        starts = np.where(self.sizes < 0, nowhere, self.starts)
        places = np.full(nowhere + 1, -1)
        places[starts] = np.arange(len(self))
        pieces = self.take(places[:nowhere][places[:nowhere] >= 0])
        numbers = np.full(nowhere + 1, -1)
        numbers[pieces.starts] = np.arange(len(pieces))
        found = numbers[starts]
        sizes = np.append(pieces.sizes, -1)
        return (found, pieces) if (sizes[found] == self.sizes).all() else None

    def tolist(self) -> list[Any]:
        """Return the texts as strings, equal pieces as one object."""
        starts, sizes = self.starts.tolist(), self.sizes.tolist()
        if sizes and min(sizes) >= 0:
            low, high = min(starts), starts[-1] + sizes[-1]
            data = self.data[low:high]
            if sum(sizes) == len(data) and data.isascii() and starts == [*accumulate(sizes[:-1], initial=low)]:
                together = data.decode()  # without a call for each
                return [together[start - low : start - low + size] for start, size in zip(starts, sizes, strict=True)]
        known: dict[tuple[int, int], str | None] = {}
        found = []
        for piece in zip(starts, sizes, strict=True):
            if piece not in known:
                start, size = piece
                text = self.data[start : start + size].decode("utf-8", "surrogateescape")
                known[piece] = None if size < 0 else text
            found.append(known[piece])
        return found

    def ranks(self) -> NDArray[np.int64]:
        """Return the place of each text among all in order; UTF-8 has the order of its characters."""
        ranks = np.empty(len(self), np.int64)
        widest = int(self.sizes.max(initial=0))
        if widest > _WIDE:
            ranks[sorted(range(len(self)), key=self.__getitem__)] = np.arange(len(self))
            return ranks
        cells = np.zeros((len(self), max(widest, 1)), np.uint8)
        data = np.frombuffer(self.data, np.uint8)
        for at in range(widest):
            longer = self.sizes > at
            cells[longer, at] = data[self.starts[longer] + at]
        by_size = np.argsort(self.sizes, kind="stable")  # what differs in zeros at the end alone is equal below
        in_order = by_size[np.argsort(cells.view(f"S{cells.shape[1]}")[by_size, 0], kind="stable")]
        ranks[in_order] = np.arange(len(self))
        return ranks

    def find_texts(self, texts: TextColumn | Iterable[str]) -> NDArray[np.int64]:
        """Return the number of each of some texts among these, which are distinct; -1 where it is not among them."""
        wanted = texts if isinstance(texts, TextColumn) else TextColumn.of(texts, "backslashreplace")
        found = np.full(len(wanted), -1)
        at_once = max(_SEARCHED, len(wanted))
        for first in range(0, len(self), at_once):
            numbered = Numbered()
            places = wanted.numbers_in(numbered)
            at = np.full(len(numbered), -1)
            numbers = self[first : first + at_once].numbers_in(numbered)
            there = np.flatnonzero(numbers < len(at))
            at[numbers[there]] = first + there
            found = np.where(at[places] >= 0, at[places], found)
        return found

    def numbers_in(self, numbered: Numbered) -> NDArray[np.int64]:
        """Return the number of each text among those `numbered`, to which new ones are added."""
        starts, sizes = (np.ascontiguousarray(column, np.int64) for column in (self.starts, self.sizes))
        return np.frombuffer(numbered.numbers(self.data, starts.data, sizes.data), np.int64)


class JsonColumn(TextColumn):
    """Values as JSON in ASCII, without blanks: pieces of `data` as of texts."""

    __slots__ = ()

    def tolist(self) -> list[Any]:
        """Return the values, equal pieces as one object."""
        known: dict[str | None, Any] = {None: None}
        texts = super().tolist()
        known.update((text, json.loads(text)) for text in set(texts) if text is not None)
        return [known[text] for text in texts]


_TENS: Final = 10 ** np.arange(1, 20, dtype=np.uint64)


class _Rows(NamedTuple):
    """The rows of sentences, as the kernel's writer of lines wants a block."""

    buf: bytes
    cells: memoryview
    room: int
    valid: bytes = b""
    weight: int = -1


class _Lines(NamedTuple):
    """The sentence, as it wants a template."""

    steps: array[int]
    literals: bytes
    form: int = plans.JSON
    line_room: int = 0


def sentences(count: int, *parts: str | NDArray[np.int64] | TextColumn) -> TextColumn:
    """Write `count` sentences of the same parts: texts that are always the same, numbers, texts of columns."""
    literals, steps = bytearray(), array("q")
    columns: list[NDArray[Any]] = []
    buffers: list[bytes] = []
    sizes = np.zeros(count, np.int64)
    before = 0
    for part in parts:
        kind, column = plans.AS_LITERAL, len(columns) * count
        text = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else b""
        sizes += len(text)
        if isinstance(part, TextColumn):
            assert not count or part.sizes.min() >= 0, "there is no sentence with a text that is missing"
            kind = plans.AS_READY
            columns += [part.starts.astype(np.int64) + before, part.sizes, np.ones(count, np.int64)]
            buffers.append(part.data)
            before += len(part.data)
            sizes += part.sizes
        elif not isinstance(part, str):
            kind = plans.AS_INTEGER
            columns.append(part)
            sizes += _digits(part)
        steps.extend((len(literals), len(text), kind, column, -1, 0, 0))
        literals += text
    steps.append(-1)
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if count else 0
    out: Any = bytearray(total + kernel_text.SLACK)
    literals += bytes(kernel_text.SLACK)
    cells: Any = np.concatenate([np.empty(0, np.int64), *columns]).astype(np.int64)
    rows, lines = _Rows(b"".join(buffers), memoryview(cells), count), _Lines(steps, bytes(literals))
    done, used, _ = kernel_text.row_lines(rows, 0, count, lines, out, 0)
    assert (done, used) == (count, total)
    return TextColumn(bytes(memoryview(out)[:total]), ends - sizes, sizes)


def _digits(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many characters each number takes."""
    size = np.searchsorted(_TENS, np.abs(numbers).view(np.uint64), "right") + 1 + (numbers < 0)
    return size.astype(np.int64)
