"""Columns of equal length under names: what the folds take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.format.kernel import NONE
from kafkalog.format.narrow import narrowed, widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NONE", "Columns", "Packed"]

_NO_CELLS: Final = np.empty(0, np.int64)


class Columns:
    """Named int64 columns of equal length. Adding two puts the second's rows after the first's."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, NDArray[np.int64]]) -> None:
        self._columns = dict(columns)

    @classmethod
    def empty(cls, names: tuple[str, ...]) -> Columns:
        """Return columns without rows."""
        return cls(dict.fromkeys(names, _NO_CELLS))

    @classmethod
    def concat(cls, parts: list[Columns], names: tuple[str, ...]) -> Columns:
        """Join many, one after the other."""
        if not parts:
            return cls.empty(names)
        return cls({name: np.concatenate([part[name] for part in parts]) for name in names})

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        return self._columns[name]

    def __len__(self) -> int:
        for column in self._columns.values():
            return len(column)
        return 0

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
        """Return the columns of these names one after the other, as the loops need them."""
        flat: Any = np.concatenate([self._columns[name] for name in names])  # also a buffer; its type does not say so
        return memoryview(flat)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Columns:
        """Return the rows at these places, in that order."""
        return self.chosen(rows, self.names)

    def chosen(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice, names: Iterable[str]) -> Columns:
        """Return the rows at these places with the columns of these names."""
        return Columns({name: self._columns[name][rows] for name in names})


class Packed:
    """Many rows that are kept: blocks of columns, each as its least value and the narrow differences from it.

    Offsets and times of neighbours are close together, and many cells are the same in all rows: a finished transaction
    of eighteen columns takes some 30 bytes instead of 144. Blocks of few rows are kept as they are.
    """

    __slots__ = ("_blocks", "names")

    def __init__(self, names: tuple[str, ...], blocks: Iterable[_Block] = ()) -> None:
        self.names = names
        self._blocks = list(blocks)

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def append(self, rows: Columns) -> None:
        """Add rows at the end."""
        if len(rows):
            self._blocks.append(_Block(rows, self.names))

    def blocks(self, *names: str) -> Iterator[Columns]:
        """Yield all rows, some thousand at a time, with the columns of these names, or all columns."""
        for block in self._blocks:
            yield block.rows(names or self.names)

    def columns(self, *names: str) -> Columns:
        """Return these columns of all rows, or more."""
        if len(self._blocks) == 1:
            return self._blocks[0].rows(names)
        return Columns.concat(list(self.blocks(*names)), names)

    def followed_by(self, other: Packed) -> Packed:
        """Return these rows and then those of another."""
        return Packed(self.names, [*self._blocks, *other._blocks])

    def where(self, chosen: Callable[[Columns], NDArray[np.bool_]]) -> Packed:
        """Return the rows that `chosen` says."""
        found = Packed(self.names)
        for rows in self.blocks():
            found.append(rows.take(chosen(rows)))
        return found

    def pieces(self, rows: int) -> Iterator[Packed]:
        """Yield all rows in pieces of some `rows` each, as they are packed."""
        some: list[_Block] = []
        for block in self._blocks:
            some.append(block)
            if sum(map(len, some)) >= rows:
                yield Packed(self.names, some)
                some = []
        if some:
            yield Packed(self.names, some)

    def extend(self, other: Packed) -> None:
        """Add all rows of another at the end."""
        self._blocks += other._blocks

    def give(self, other: Packed, keep: Callable[[Columns], bool]) -> Iterator[Columns]:
        """Put all rows after those of `other`, but yield the blocks that `keep` wants, by their producers' ids."""
        for block in self._blocks:
            if keep(block.rows(("producer_id",))):
                yield block.rows(self.names)
            else:
                other._blocks.append(block)

    def take(self, places: NDArray[np.intp], *names: str) -> Columns:
        """Return the rows at these places, in that order, with the columns of these names, or all columns."""
        names = names or self.names
        if not len(places):
            return Columns.empty(names)
        starts = np.array([0, *accumulate(map(len, self._blocks))], np.intp)
        if (places[1:] >= places[:-1]).all():
            return Columns.concat(self._ascending(places, starts, names), names)
        numbers = np.searchsorted(starts, places, "right") - 1
        order = np.argsort(numbers, kind="stable")
        needed, firsts = np.unique(numbers[order], return_index=True)
        found = [
            self._blocks[number].rows(names).chosen(places[of_block] - starts[number], names)
            for number, of_block in zip(needed.tolist(), np.split(order, firsts[1:]), strict=True)
        ]
        back = np.empty(len(places), np.intp)
        back[order] = np.arange(len(places))
        return Columns.concat(found, names).take(back)

    def _ascending(self, places: NDArray[np.intp], starts: NDArray[np.intp], names: tuple[str, ...]) -> list[Columns]:
        """Return the rows at places that ascend, block by block."""
        cuts = np.searchsorted(places, starts)
        return [
            self._blocks[number].rows(names).chosen(places[cuts[number] : cuts[number + 1]] - starts[number], names)
            for number in np.flatnonzero(cuts[1:] > cuts[:-1]).tolist()
        ]

    def parts(self) -> list[bytes]:
        """Return the rows as bytes: of each block its length, each column's least value and width, and the cells."""
        found = [np.array([len(self._blocks)], _WIRE).tobytes()]
        for block in self._blocks:
            lows, cells = block.cells(self.names)
            widths = [0 if above is None else above.itemsize for above in cells]
            found += [np.array([len(block), *lows, *widths], _WIRE).tobytes()]
            found += [above.astype(above.dtype.newbyteorder("<")).tobytes() for above in cells if above is not None]
        return found

    @classmethod
    def from_parts(cls, names: tuple[str, ...], take: Callable[[int], bytes]) -> Packed:
        """Read what ``parts`` gave; `take` returns the next bytes, and refuses if there are not so many.

        Raises ValueError for a width or a number of rows that no block has.
        """
        (blocks,) = np.frombuffer(take(8), _WIRE).tolist()
        found = cls(names)
        for _ in range(blocks):
            length, *about = np.frombuffer(take(8 + 16 * len(names)), _WIRE).tolist()
            if not 0 <= length <= _MOST_ROWS:  # a column of one value takes no bytes, whatever its length
                raise ValueError(f"a block can't have {length} rows")
            columns = {}
            for name, low, width in zip(names, about[: len(names)], about[len(names) :], strict=True):
                if width not in _WIDTHS:
                    raise ValueError(f"a column can't have {width} bytes per cell")
                above = np.frombuffer(take(length * width), _WIDTHS[width]) if width else None
                columns[name] = (low, above)
            found._blocks.append(_Block.of_cells(columns, length))
        return found

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        parts = [rows[name] for rows in self.blocks(name)]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Yield the rows as mappings of plain integers."""
        for rows in self.blocks():
            yield from rows


class _Block:
    """Some rows, packed unless they are few."""

    __slots__ = ("_columns", "_few", "_length")

    def __init__(self, rows: Columns, names: tuple[str, ...]) -> None:
        self._length = len(rows)
        self._few = rows if len(rows) < _FEW else None
        self._columns = {} if self._few is not None else {name: narrowed(rows[name]) for name in names}

    def __len__(self) -> int:
        return self._length

    @classmethod
    def of_cells(cls, columns: dict[str, tuple[int, NDArray[Any] | None]], length: int) -> _Block:
        """Make a block of its columns as they are packed."""
        block = cls.__new__(cls)
        block._length, block._columns, block._few = length, columns, None
        if length < _FEW:
            block._few = block.rows(tuple(columns))
            block._columns = {}
        return block

    def cells(self, names: tuple[str, ...]) -> tuple[list[int], list[NDArray[Any] | None]]:
        """Return of each column its least value, and its cells above that; None where all are the same."""
        if self._few is not None:
            return [0] * len(names), [self._few[name] for name in names]
        return [self._columns[name][0] for name in names], [self._columns[name][1] for name in names]

    def rows(self, names: tuple[str, ...]) -> Columns:
        """Return the rows with these columns, or more."""
        if self._few is not None:
            return self._few
        return Columns({name: widened(*self._columns[name], self._length) for name in names})


_FEW: Final = 100  # fewer rows are not worth packing
_MOST_ROWS: Final = 1 << 24  # of a block that is read; folds make blocks of some thousand rows
_WIRE: Final = np.dtype("<i8")
_WIDTHS: Final[dict[int, np.dtype[Any]]] = {
    0: np.dtype("u1"),
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
    8: np.dtype("<i8"),
}
