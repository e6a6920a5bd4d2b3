"""Columns of equal length under names: what the folds take and give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NONE", "Columns", "Packed"]

NONE: Final = -(2**63)  # a cell that has no value


class Columns:
    """Named int64 columns of equal length. Adding two puts the second's rows behind the first's."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, NDArray[np.int64]]) -> None:
        self._columns = dict(columns)

    @classmethod
    def empty(cls, names: tuple[str, ...]) -> Columns:
        """Return columns without rows."""
        return cls({name: np.empty(0, np.int64) for name in names})

    @classmethod
    def concat(cls, parts: list[Columns], names: tuple[str, ...]) -> Columns:
        """Put many under one another."""
        if not parts:
            return cls.empty(names)
        return cls({name: np.concatenate([part[name] for part in parts]) for name in names})

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Yield the rows as mappings of plain integers."""
        names = list(self._columns)
        lists = [self._columns[name].tolist() for name in names]
        for row in zip(*lists, strict=True):
            yield dict(zip(names, row, strict=True))

    def __add__(self, other: Columns) -> Columns:
        return Columns({name: np.concatenate([column, other[name]]) for name, column in self._columns.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns) or list(self._columns) != list(other._columns):
            return NotImplemented
        return all(np.array_equal(column, other[name]) for name, column in self._columns.items())

    __hash__ = None  # type: ignore[assignment]  # rows can't be keys

    def __repr__(self) -> str:
        return f"Columns({len(self)} rows: {', '.join(self._columns)})"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns' names."""
        return tuple(self._columns)

    def flat(self, names: tuple[str, ...]) -> memoryview[int]:
        """Return the columns of these names one behind another, as the loops take them."""
        flat: Any = np.concatenate([self._columns[name] for name in names])  # a buffer, which its type does not say
        return memoryview(flat)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Columns:
        """Return the rows at these places, in that order."""
        return Columns({name: column[rows] for name, column in self._columns.items()})


class Packed:
    """Rows that are many and kept: blocks of columns, each as its least value and the narrow differences to it.

    Offsets and times of neighbours are close together, and much is the same in all rows: a finished transaction of
    eighteen columns takes some 30 bytes instead of 144. Blocks of few rows are kept as they are.
    """

    __slots__ = ("_blocks", "_lengths", "names")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._blocks: list[Columns | dict[str, tuple[int, NDArray[Any] | None]]] = []
        self._lengths: list[int] = []

    def __len__(self) -> int:
        return sum(self._lengths)

    def append(self, rows: Columns) -> None:
        """Put rows behind those that are there."""
        if len(rows):
            few = len(rows) < _FEW
            self._blocks.append(rows if few else {name: _packed(rows[name]) for name in self.names})
            self._lengths.append(len(rows))

    def blocks(self, *names: str) -> Iterator[Columns]:
        """Yield all rows, some thousand at a time, with the columns of these names, or all."""
        for number in range(len(self._blocks)):
            yield self._block(number, names or self.names)

    def drain(self) -> Iterator[Columns]:
        """Yield all rows as `blocks` does and forget them on the way."""
        self._blocks.reverse()
        self._lengths.reverse()
        while self._blocks:
            block = self._block(-1, self.names)
            del self._blocks[-1], self._lengths[-1]
            yield block

    def take(self, places: NDArray[np.intp]) -> Columns:
        """Return the rows at these places, in that order."""
        if not len(places):
            return Columns.empty(self.names)
        starts = np.array([0, *accumulate(self._lengths)], np.intp)
        numbers = np.searchsorted(starts, places, "right") - 1
        needed, of_place = np.unique(numbers, return_inverse=True)
        blocks = [self._block(number, self.names) for number in needed.tolist()]
        base = np.array([0, *accumulate(map(len, blocks))], np.intp)[of_place]
        return Columns.concat(blocks, self.names).take(places - starts[numbers] + base)

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        parts = [rows[name] for rows in self.blocks(name)]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def _block(self, number: int, names: tuple[str, ...]) -> Columns:
        block, length = self._blocks[number], self._lengths[number]
        if isinstance(block, Columns):
            return block
        return Columns({name: _unpacked(*block[name], length) for name in names})


_FEW: Final = 100  # rows that are not worth packing
_NARROW: Final = tuple((narrow, np.iinfo(narrow).max) for narrow in (np.uint8, np.uint16, np.uint32))
_TOP: Final = {np.dtype(narrow): top for narrow, top in _NARROW}


def _packed(column: NDArray[np.int64]) -> tuple[int, NDArray[Any] | None]:
    """Return a column as a number and what its cells have above it: nothing, or the highest value for no value."""
    low, high = int(column.min()), int(column.max())
    if low == high:
        return low, None
    absent = None
    if low == NONE:
        absent = column == NONE
        low = int(column[~absent].min())
    for narrow, top in _NARROW:
        if high - low < top:
            above = (column - low).astype(narrow)
            if absent is not None:
                above[absent] = top
            return low, above
    return 0, column.copy()


def _unpacked(low: int, above: NDArray[Any] | None, length: int) -> NDArray[np.int64]:
    if above is None:
        return np.full(length, low, np.int64)
    if above.dtype == np.int64:
        return above
    column = above.astype(np.int64)
    column += low
    absent = above == _TOP[above.dtype]
    if absent.any():
        column[absent] = NONE
    return column
