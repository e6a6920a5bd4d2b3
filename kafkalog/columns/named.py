"""Columns of equal length under names: what the folds take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from kafkalog.kernel.buffers import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEW", "NONE", "Columns", "Packed", "give_back", "narrowed", "one_cell", "widened"]


# A column of whole numbers kept small: one cell for all, or its least value and the narrow differences from it.


_NARROW: Final = tuple((narrow, np.iinfo(narrow).max) for narrow in (np.uint8, np.uint16, np.uint32))

_TOP: Final = {np.dtype(narrow): top for narrow, top in _NARROW}


def narrowed(column: NDArray[np.int64]) -> tuple[int, NDArray[Any] | None]:
    """Return a column as a number and its cells' differences from it, None where all cells are that number.

    The highest difference means no value.
    """
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


def widened(low: int, above: NDArray[Any] | None, length: int) -> NDArray[np.int64]:
    """Return the column that ``narrowed`` made smaller."""
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


def one_cell(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column; one whose cells are all the same as a view of one cell, which can't be written."""
    if len(column) < 2 or not (column[0] == column[-1] and (column == column[0]).all()):
        return column
    return np.broadcast_to(column[:1].copy(), column.shape)


_T = TypeVar("_T")

FEW: Final = 100  # fewer rows are not worth packing: they are kept as they are given

_NO_CELLS: Final = np.empty(0, np.int64)

_places: dict[tuple[str, ...], dict[str, int]] = {}  # of columns in a table

_names: dict[tuple[str, ...], tuple[str, ...]] = {}  # so that equal names are one object, which crosses once

_empty: dict[tuple[str, ...], Columns] = {}  # of each shape one: most tables of most logs have no rows


class Columns:
    """Named int64 columns of equal length. Adding two puts the second's rows after the first's.

    They are arrays by their names, or the rows of one table, which takes a tenth of the memory where rows are few.
    """

    __slots__ = ("_columns", "_table")

    def __init__(self, columns: Mapping[str, NDArray[np.int64]]) -> None:
        self._columns: Mapping[str, Any] = dict(columns)  # of a table their places in it
        self._table: NDArray[np.int64] | None = None

    @classmethod
    def empty(cls, names: tuple[str, ...]) -> Columns:
        """Return columns without rows."""
        found = _empty.get(names)
        if found is None:
            found = _empty[names] = cls(dict.fromkeys(names, _NO_CELLS))
        return found

    @classmethod
    def of_table(cls, names: tuple[str, ...], table: NDArray[np.int64]) -> Columns:
        """Return the columns that are the rows of a table, in the order of the names."""
        places = _places.get(names)
        if places is None:
            places = _places[names] = {name: place for place, name in enumerate(names)}
        found = cls.__new__(cls)
        found._columns, found._table = places, table
        return found

    @classmethod
    def concat(cls, parts: list[Columns], names: tuple[str, ...]) -> Columns:
        """Join many, one after the other."""
        if not parts:
            return cls.empty(names)
        if len(parts) == 1 and len(parts[0]._columns) == len(names):
            return parts[0]
        return cls({name: np.concatenate([part[name] for part in parts]) for name in names})

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        column: NDArray[np.int64] = self._columns[name] if self._table is None else self._table[self._columns[name]]
        return column

    def __len__(self) -> int:
        if self._table is not None:
            return int(self._table.shape[1])
        for column in self._columns.values():
            return len(column)
        return 0

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Yield the rows as mappings of plain integers."""
        names = self.names
        lists = [self[name].tolist() for name in names]
        for row in zip(*lists, strict=True):
            yield dict(zip(names, row, strict=True))

    def __add__(self, other: Columns) -> Columns:
        return Columns({name: np.concatenate([self[name], other[name]]) for name in self.names})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns) or self.names != other.names:
            return NotImplemented
        return all(np.array_equal(self[name], other[name]) for name in self.names)

    __hash__ = None  # type: ignore[assignment]  # rows can't be keys

    def __repr__(self) -> str:
        return f"Columns({len(self)} rows: {', '.join(self._columns)})"

    def __reduce__(self) -> tuple[Callable[..., Columns], tuple[Any, ...]]:
        """Cross to another process as one buffer, many rows as narrow columns."""
        names, rows = self.names, len(self)
        if not rows:
            return _without_rows, (names,)
        if rows >= FEW:
            return _of_narrow, ({name: narrowed(self[name]) for name in names}, rows)
        table = np.stack([self[name] for name in names]) if self._table is None else self._table
        return _of_cells, (names, table.tobytes())

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns' names."""
        names = tuple(self._columns)
        return _names.setdefault(names, names)

    def flat(self, names: tuple[str, ...]) -> memoryview[int]:
        """Return the columns of these names one after the other, as the loops need them."""
        flat: Any  # also a buffer; its type does not say so
        if self._table is None:
            flat = np.concatenate([self[name] for name in names])
        elif names == self.names:
            flat = self._table.flatten()
        else:
            flat = self._table.take(_rows_of(self.names, names), axis=0).reshape(-1)
        return memoryview(flat)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Columns:
        """Return the rows at these places, in that order."""
        if self._table is not None:
            return Columns.of_table(self.names, self._table[:, rows])
        return self.chosen(rows, self.names)

    def chosen(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice, names: Iterable[str]) -> Columns:
        """Return the rows at these places with the columns of these names."""
        return Columns({name: self[name][rows] for name in names})


def _without_rows(names: tuple[str, ...]) -> Columns:
    return Columns.empty(names)


@cache
def _rows_of(table: tuple[str, ...], names: tuple[str, ...]) -> NDArray[np.intp]:
    return np.array([table.index(name) for name in names], np.intp)


def _of_cells(names: tuple[str, ...], cells: bytes) -> Columns:
    return Columns.of_table(names, np.frombuffer(cells, np.int64).reshape(len(names), -1))


def _of_narrow(columns: Mapping[str, tuple[int, NDArray[Any] | None]], length: int) -> Columns:
    return Columns({name: widened(*column, length) for name, column in columns.items()})


class Packed:
    """Many rows that are kept: blocks of columns, each as its least value and the narrow differences from it.

    Offsets and times of neighbours are close together, and many cells are the same in all rows: a finished transaction
    of eighteen columns takes some 30 bytes instead of 144. Blocks of few rows are kept as they are.
    """

    __slots__ = ("_blocks", "_known", "names")

    def __init__(self, names: tuple[str, ...], blocks: Iterable[_Block] = ()) -> None:
        self.names = names
        self._blocks = list(blocks)
        self._known: tuple[int, Any] | None = None  # of so many blocks

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Packed) or self.names != other.names:
            return NotImplemented
        return len(self) == len(other) and self.columns(*self.names) == other.columns(*self.names)

    __hash__ = None  # type: ignore[assignment]  # rows can't be keys

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

    def known(self, make: Callable[[Packed], _T]) -> _T:
        """Return what `make` makes of the rows: once, until there are more of them. It is always the same function."""
        if self._known is None or self._known[0] != len(self._blocks):
            self._known = (len(self._blocks), make(self))
        found: _T = self._known[1]
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

    def holders(self) -> Sequence[object]:
        """Return the objects that hold the rows: those that are ``followed_by`` others have the same ones."""
        return self._blocks

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
            if not 0 < length <= _MOST_ROWS:  # a column of one value takes no bytes, whatever its length
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
        if len(self._blocks) < 2:
            return self._blocks[0].rows((name,))[name] if self._blocks else _NO_CELLS
        return np.concatenate([rows[name] for rows in self.blocks(name)])

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Yield the rows as mappings of plain integers."""
        for rows in self.blocks():
            yield from rows


class _Block:
    """Some rows, packed unless they are few."""

    __slots__ = ("_columns", "_few", "_length")

    def __init__(self, rows: Columns, names: tuple[str, ...]) -> None:
        self._length = len(rows)
        self._few = rows if self._length < FEW else None
        self._columns = {} if self._few is not None else {name: narrowed(rows[name]) for name in names}

    def __len__(self) -> int:
        return self._length

    @classmethod
    def of_cells(cls, columns: dict[str, tuple[int, NDArray[Any] | None]], length: int) -> _Block:
        """Make a block of its columns as they are packed."""
        block = cls.__new__(cls)
        block._length, block._columns, block._few = length, columns, None
        if length < FEW:
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


_MOST_ROWS: Final = 1 << 24  # of a block that is read; folds make blocks of some thousand rows

_WIRE: Final = np.dtype("<i8")

_WIDTHS: Final[dict[int, np.dtype[Any]]] = {
    0: np.dtype("u1"),
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
    8: np.dtype("<i8"),
}


# Freed memory given back to the system: glibc keeps blocks of up to 32 MiB for itself, which columns are made of.


def give_back() -> None:
    """Give all freed pages back; nothing where the C library is another one, or keeps none."""
    import ctypes

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return
    trim(0)
