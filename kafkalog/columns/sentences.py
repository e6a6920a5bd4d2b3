"""Columns of texts as pieces of one buffer, and sentences made of columns: a million without an object for each."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from kafkalog.columns.texts import PackedTexts
from kafkalog.kernel import row_text
from kafkalog.quantities import FIRST_MS, LAST_MS, iso_marked

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["JsonColumn", "TextColumn", "joined", "moments", "sentences"]

_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))
_TENS: Final = 10 ** np.arange(1, 20, dtype=np.uint64)


class TextColumn:
    """Texts that are pieces of `data`: where each begins and its size, below 0 for no text.

    Equal ones may be one piece. `data` is UTF-8, with the bytes of names that are not UTF-8 as they are.
    """

    __slots__ = ("data", "sizes", "starts")

    def __init__(self, data: bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> TextColumn:
        """Keep texts."""
        found = [b"" if text is None else text.encode("utf-8", "surrogateescape") for text in texts]
        ends = np.array([0, *accumulate(map(len, found))], np.int64)
        sizes = np.diff(ends)
        sizes[[text is None for text in texts]] = -1
        return cls(b"".join(found), ends[:-1], sizes)

    @classmethod
    def same(cls, text: str | None, count: int) -> TextColumn:
        """Return one text `count` times."""
        return cls.of([text]).take(np.zeros(count, np.int64))

    @classmethod
    def packed(cls, texts: PackedTexts, numbers: NDArray[Any]) -> TextColumn:
        """Return the texts of these numbers, none for -1."""
        known = np.flatnonzero(numbers >= 0)
        some = texts.take(numbers[known])
        starts, sizes = np.zeros(len(numbers), np.int64), np.full(len(numbers), -1, np.int64)
        sizes[known] = some.sizes
        starts[known] = np.cumsum(sizes[known]) - sizes[known]
        return cls(some.data, starts, sizes)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, rows: slice) -> Self:
        return type(self)(self.data, self.starts[rows], self.sizes[rows])

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the texts at these places."""
        return type(self)(self.data, self.starts[rows], self.sizes[rows])

    def objects(self) -> NDArray[np.object_]:
        """Return the texts as an array of strings."""
        found = np.empty(len(self), object)
        found[:] = self.tolist()
        return found

    def tolist(self) -> list[Any]:
        """Return the texts as strings, equal pieces as one object."""
        known: dict[tuple[int, int], str | None] = {}
        found = []
        for piece in zip(self.starts.tolist(), self.sizes.tolist(), strict=True):
            if piece not in known:
                start, size = piece
                text = self.data[start : start + size].decode("utf-8", "surrogateescape")
                known[piece] = None if size < 0 else text
            found.append(known[piece])
        return found


class JsonColumn(TextColumn):
    """Values as JSON in ASCII, without blanks: pieces of `data` as of texts."""

    __slots__ = ()

    @classmethod
    def of_values(cls, values: Sequence[Any]) -> JsonColumn:
        """Keep values; None is no value."""
        found = cls.of([None if value is None else _ENCODER.encode(value) for value in values])
        return cls(found.data, found.starts, found.sizes)

    def tolist(self) -> list[Any]:
        """Return the values, equal pieces as one object."""
        known: dict[str | None, Any] = {None: None}
        texts = super().tolist()
        known.update((text, json.loads(text)) for text in set(texts) if text is not None)
        return [known[text] for text in texts]


def joined(count: int, parts: Sequence[tuple[NDArray[Any], TextColumn]]) -> TextColumn:
    """Put the texts for some rows each together; rows that no part has get no text."""
    starts, sizes = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    before = 0
    for rows, texts in parts:
        starts[rows], sizes[rows] = texts.starts + before, texts.sizes
        before += len(texts.data)
    return TextColumn(b"".join(texts.data for _, texts in parts), starts, sizes)


def sentences(count: int, *parts: str | NDArray[np.int64] | TextColumn) -> TextColumn:
    """Write `count` sentences of the same parts: texts that are always the same, numbers, texts of columns."""
    literals, steps = bytearray(), array("q")
    columns: list[NDArray[Any]] = []
    buffers: list[bytes] = []
    sizes = np.zeros(count, np.int64)
    before = 0
    for part in parts:
        kind, column = row_text.LITERAL, len(columns) * count
        text = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else b""
        sizes += len(text)
        if isinstance(part, TextColumn):
            assert not count or part.sizes.min() >= 0, "there is no sentence with a text that is missing"
            kind = row_text.READY
            columns += [part.starts + before, part.sizes, np.ones(count, np.int64)]
            buffers.append(part.data)
            before += len(part.data)
            sizes += part.sizes
        elif not isinstance(part, str):
            kind = row_text.INTEGER
            columns.append(part)
            sizes += _digits(part)
        steps.extend((len(literals), len(text), kind, column, -1, 0, 0))
        literals += text
    steps.append(-1)
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if count else 0
    out: Any = bytearray(total + row_text.SLACK)
    literals += bytes(row_text.SLACK)
    cells: Any = np.concatenate([np.empty(0, np.int64), *columns]).astype(np.int64)
    done, used, _ = row_text.row_lines(
        b"".join(buffers),
        memoryview(cells),
        count,
        b"",
        0,
        count,
        steps,
        bytes(literals),
        row_text.JSON,
        0,
        -1,
        out,
        0,
    )
    assert (done, used) == (count, total)
    return TextColumn(bytes(memoryview(out)[:total]), ends - sizes, sizes)


def _digits(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many characters each number takes."""
    size = np.searchsorted(_TENS, np.abs(numbers).view(np.uint64), "right") + 1 + (numbers < 0)
    return size.astype(np.int64)


def moments(times: NDArray[np.int64]) -> TextColumn:
    """Write times (ms) as ``iso_marked`` does."""
    usual = (times >= FIRST_MS) & (times < LAST_MS)
    told = np.datetime_as_string(times[usual].astype("datetime64[ms]"), unit="ms", timezone="UTC").astype("S24")
    width = 24
    even = TextColumn(told.tobytes(), np.arange(len(told)) * width, np.full(len(told), width))
    odd = TextColumn.of([iso_marked(time) for time in times[~usual].tolist()])
    return joined(len(times), [(np.flatnonzero(usual), even), (np.flatnonzero(~usual), odd)])
