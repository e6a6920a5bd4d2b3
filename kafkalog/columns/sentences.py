"""Sentences made of columns: a million without an object for each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.texts import TextColumn
from kafkalog.kernel import row_text
from kafkalog.quantities import FIRST_MS, LAST_MS, iso_marked

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["joined", "moments", "sentences"]

_TENS: Final = 10 ** np.arange(1, 20, dtype=np.uint64)


def joined(count: int, parts: Sequence[tuple[NDArray[Any], TextColumn]]) -> TextColumn:
    """Put the texts for some rows each together; rows that no part has get no text."""
    starts, sizes = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    before = 0
    for rows, texts in parts:
        starts[rows], sizes[rows] = texts.starts.astype(np.int64) + before, texts.sizes
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
            columns += [part.starts.astype(np.int64) + before, part.sizes, np.ones(count, np.int64)]
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
