"""Bytes of a log that are no whole batch: where they are, and after which offset."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, overload

import numpy as np

from kafkalog.kernel import buffers
from kafkalog.segments.chunk import Chunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DamagedBytes", "DamagedExtents", "last_before"]


class DamagedBytes(NamedTuple):
    """An extent of a file's bytes that is no whole batch; `last_offset` is that of the batch before it, if any."""

    file: str
    position: int
    length: int
    last_offset: int | None


class DamagedExtents(Sequence[DamagedBytes]):
    """Many of these, kept as columns: half a million fit 64 MiB of small batches."""

    __slots__ = ("_files", "_numbers", "_spans")

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._numbers = array("i")
        self._spans = array("q")  # of each its position, its length, the last offset before

    @classmethod
    def of(cls, extents: Sequence[DamagedBytes]) -> DamagedExtents:
        """Return extents as columns."""
        if isinstance(extents, DamagedExtents):
            return extents
        found = cls()
        found.extend(extents, None)
        return found

    @property
    def files(self) -> list[str]:
        """Return the files by their numbers."""
        return list(self._files)

    def numbers(self) -> NDArray[np.int32]:
        """Return the number of each extent's file."""
        return np.frombuffer(self._numbers, np.int32)

    def spans(self) -> NDArray[np.int64]:
        """Return the rows of positions, lengths, and last offsets before, ``NONE`` for none; no longer than needed."""
        return np.frombuffer(self._spans, np.int64).reshape(-1, 3)

    def append(self, extent: DamagedBytes) -> None:
        """Take in one more."""
        before = buffers.NONE if extent.last_offset is None else extent.last_offset
        self._numbers.append(self._files.setdefault(extent.file, len(self._files)))
        self._spans.extend((extent.position, extent.length, before))

    def extend(self, others: Sequence[DamagedBytes], last_offset: int | None) -> None:
        """Take in others; `last_offset` is the last offset before those that have none."""
        if not isinstance(others, DamagedExtents):
            for extent in others:
                self.append(extent if extent.last_offset is not None else extent._replace(last_offset=last_offset))
            return
        for number, file in enumerate(others._files):
            of_file = self._files.setdefault(file, len(self._files))
            spans = others.spans()[others.numbers() == number]
            if last_offset is not None:
                spans[:, 2] = np.where(spans[:, 2] == buffers.NONE, last_offset, spans[:, 2])
            self._spans.frombytes(spans.tobytes())
            self._numbers.extend(array("i", [of_file]) * len(spans))

    def pass_over(self, chunk: Chunk, last_offset: int | None) -> None:
        """Take in the places of a chunk's crowd; `last_offset` is that of the batch before the chunk."""
        crowd = chunk.crowd
        assert crowd is not None
        heads = chunk.heads.numpy()
        whole = np.flatnonzero(heads[buffers.VALID])
        positions = np.frombuffer(crowd.positions, np.int64)
        offsets = np.append(buffers.NONE if last_offset is None else last_offset, heads[buffers.LAST_OFFSET][whole])
        before = offsets[np.searchsorted(heads[buffers.POSITION][whole], positions)]
        spans = np.stack([positions, np.frombuffer(crowd.lengths, np.int64), before], axis=1)
        self._spans.frombytes(spans.tobytes())
        self._numbers.extend(array("i", [self._files.setdefault(chunk.file, len(self._files))]) * len(crowd))

    def without(self, positions: set[int | None]) -> Sequence[DamagedBytes]:
        """Return those that are not at these positions."""
        return [extent for extent in self if extent.position not in positions] if positions else self

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Cross to another process; most segments have no damage."""
        return super().__reduce_ex__(protocol) if len(self) else (DamagedExtents, ())

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[DamagedBytes]:
        files = list(self._files)
        for start in range(0, len(self), 4096):
            rows = zip(self._numbers[start : start + 4096], self.spans()[start : start + 4096].tolist(), strict=True)
            for number, (position, length, before) in rows:
                yield DamagedBytes(files[number], position, length, None if before == buffers.NONE else before)

    @overload
    def __getitem__(self, place: int) -> DamagedBytes: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[DamagedBytes]: ...
    def __getitem__(self, place: int | slice) -> DamagedBytes | Sequence[DamagedBytes]:
        """Return one, or some."""
        if isinstance(place, slice):
            return list(self)[place]
        position, length, before = self.spans()[place].tolist()
        file = list(self._files)[self._numbers[place]]
        return DamagedBytes(file, position, length, None if before == buffers.NONE else before)


def last_before(chunk: Chunk, position: int, last_offset: int | None) -> int | None:
    """Return the last offset of the whole batch before a position in or after a chunk."""
    row = bisect_left(chunk.heads.column(buffers.POSITION), position) - 1
    while row >= 0 and not chunk.heads.cell(buffers.VALID, row):
        row -= 1
    return last_offset if row < 0 else chunk.heads.cell(buffers.LAST_OFFSET, row)
