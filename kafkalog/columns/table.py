"""The table type, `Columns`: columns of equal length under names, from the fold upwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from kafkalog.columns.sorted_rows import groups
from kafkalog.columns.texts import JsonColumn, TextColumn
from kafkalog.kernel.buffers import NONE
from kafkalog.tables.arrow import Numbers, arrow_batch, column_of_arrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch, Schema

__all__ = ["AFTER_ALL", "FEW", "NONE", "AnyColumn", "Columns", "give_back", "narrowed", "one_cell", "widened"]

AFTER_ALL: Final = 2**63 - 1  # an offset, or a time, after every other

AnyColumn: TypeAlias = "NDArray[Any] | Numbers | TextColumn"


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

_AT_ONCE: Final = 4096  # rows that are objects at a time

_MANY: Final = 1 << 20  # rows

_SPLIT_ROWS: Final = 1 << 16  # rows that are shared out together: each share of them is a block of its own

_NO_CELLS: Final = np.empty(0, np.int64)

_places: dict[tuple[str, ...], dict[str, int]] = {}  # of columns in a table

_names: dict[tuple[str, ...], tuple[str, ...]] = {}  # so that equal names are one object, which crosses once

_empty: dict[tuple[str, ...], Columns] = {}  # of each shape one: most tables of most logs have no rows


class Columns:
    """Named columns of equal length, in blocks of rows that are kept as they were given, or packed.

    A column is an array of int64, where ``NONE`` is no value; ``Numbers``, where any number is a value or numbers stand
    for words; or texts. Adding two puts the second's rows after the first's, and copies none. Offsets and times of
    neighbours are close together, and many cells are the same in all rows: packed, a finished transaction of eighteen
    columns takes some 30 bytes instead of 144. Without rows the columns keep their types.
    """

    __slots__ = ("_blocks", "_known", "names")

    def __init__(self, columns: Mapping[str, AnyColumn]) -> None:
        names = tuple(columns)
        self.names = _names.setdefault(names, names)
        length = next(map(len, columns.values()), 0)
        self._blocks: tuple[_Block, ...] = ()
        if length or not all(map(_is_plain, columns.values())):  # without rows, for the types of its columns
            self._blocks = (_Block(dict(columns), length),)
        self._known: Any = None

    @classmethod
    def _of(cls, names: tuple[str, ...], blocks: tuple[_Block, ...]) -> Columns:
        found = cls.__new__(cls)
        found.names, found._blocks, found._known = names, blocks, None
        return found

    @classmethod
    def empty(cls, names: tuple[str, ...]) -> Columns:
        """Return columns without rows."""
        found = _empty.get(names)
        if found is None:
            found = _empty[names] = cls._of(_names.setdefault(names, names), ())
        return found

    @classmethod
    def of_table(cls, names: tuple[str, ...], table: NDArray[np.int64]) -> Columns:
        """Return the columns that are the rows of a table, in the order of the names.

        Where rows are few it takes a tenth of the memory of arrays.
        """
        places = _places.get(names)
        if places is None:
            places = _places[names] = {name: place for place, name in enumerate(names)}
        length = table.shape[1]
        names = _names.setdefault(names, names)
        return cls._of(names, (_Block(places, length, table),) if length else ())

    @classmethod
    def chained(cls, parts: Iterable[Columns], names: tuple[str, ...]) -> Columns:
        """Put the rows of many one after the other, in the blocks that they have."""
        blocks = [block for part in parts for block in part._blocks]
        kept = tuple([block for block in blocks if block.length]) or tuple(blocks[:1])
        return cls._of(_names.setdefault(names, names), kept) if kept else cls.empty(names)

    @classmethod
    def concat(cls, parts: Iterable[Columns], names: tuple[str, ...]) -> Columns:
        """Put the rows of many one after the other, as one array for each column."""
        return cls.chained(parts, names).columns(*names)

    @classmethod
    def gathered(cls, parts: Iterable[Columns], rows: int) -> Iterator[Columns]:
        """Put small tables of the same columns together, until there are some `rows`: each piece has its cost."""
        held: list[Columns] = []
        count = 0
        for part in parts:
            if len(part):
                held.append(part)
                count += len(part)
            if count >= rows:
                yield cls.concat(held, held[0].names)
                held, count = [], 0
        if held:
            yield cls.concat(held, held[0].names)

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]], names: tuple[str, ...], texts: Collection[str] = ()) -> Columns:
        """Take rows in the order of the names, None for no value; `texts` are the columns that have no numbers."""
        columns = list(zip(*rows, strict=True))
        if not columns:
            return _no_rows(names, tuple(texts))
        cells = dict(zip(names, columns, strict=True))
        numbers = [[NONE if cell is None else cell for cell in cells[name]] for name in names if name not in texts]
        if not texts:
            return cls.of_table(names, np.array(numbers, np.int64))
        table = iter(np.array(numbers, np.int64))
        return cls({name: TextColumn.of(cells[name]) if name in texts else next(table) for name in names})

    @classmethod
    def moved(
        cls, parts: Iterable[Columns], types: Mapping[str, str], order: NDArray[np.intp] | None = None
    ) -> Columns:
        """Put the rows of many one after the other, or in an `order`, as arrays of these types.

        The parts lose each column before the next one is made, so that no row is kept twice. A column of one value
        takes no room: its cells can't be written.
        """
        blocks = [block for part in parts for block in part._filled()]
        length = sum([block.length for block in blocks])
        columns: dict[str, AnyColumn] = {}
        for name, kind in types.items():
            if len(blocks) == 1:
                column = blocks[0].pop(name).astype(kind, copy=False)
            else:
                column, at = np.empty(length, kind), 0
                for block in blocks:
                    column[at : at + block.length] = block.pop(name)
                    at += block.length
            columns[name] = one_cell(column if order is None or not column.strides[0] else column[order])
            del column
            if length >= _MANY:
                give_back()  # else the pieces of all columns stay, twice the memory
        return cls(columns)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column as an array, one of texts as an array of strings."""
        found: Any = self._column(name)
        if type(found) is np.ndarray:  # as nearly all: asking for the other type is a call
            return found
        return found.objects() if isinstance(found, TextColumn) else found

    def texts(self, name: str) -> TextColumn:
        """Return a column of texts."""
        found: TextColumn = self._column(name) if self._blocks else TextColumn()
        return found

    def column(self, name: str) -> AnyColumn:
        """Return a column of any kind; an array of a table that was made ``empty``."""
        found: AnyColumn = self._column(name)
        return found

    def _column(self, name: str) -> Any:
        if len(self._blocks) == 1:
            return self._blocks[0].column(name)
        if name not in self.names:
            raise KeyError(name)
        return _chained([block.column(name) for block in self._blocks]) if self._blocks else _NO_CELLS

    def __len__(self) -> int:
        return sum([block.length for block in self._blocks])

    def _filled(self) -> tuple[_Block, ...]:
        """Return the blocks that have rows: all, or none."""
        return self._blocks if len(self) else ()

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Yield the rows as mappings of plain integers; ``rows`` has texts, too."""
        names = self.names
        for row in self.tuples(*names):
            yield dict(zip(names, row, strict=True))

    def tuples(self, *names: str) -> Iterator[tuple[int, ...]]:
        """Yield the rows as tuples of plain integers, with the columns of these names, or all columns."""
        names = names or self.names
        for block in self._blocks:
            columns = [block.column(name) for name in names]
            for start in range(0, block.length, _AT_ONCE):
                yield from zip(*(column[start : start + _AT_ONCE].tolist() for column in columns), strict=True)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows as tuples of plain objects, None where there is no value."""
        for block in self._blocks:
            yield from zip(*(_objects(block.column(name)) for name in self.names), strict=True)

    def row(self, number: int, *names: str) -> dict[str, Any]:
        """Return one row, of these columns or all, as a mapping of plain objects, None where there is no value."""
        some = self.take(slice(number, number + 1), *names)
        [cells] = some.rows()
        return dict(zip(some.names, cells, strict=True))

    @classmethod
    def from_arrow(cls, batch: RecordBatch) -> Columns:
        """Return the columns of a batch of Arrow. Raises TypeError for one that is no number and no text."""
        columns = zip(batch.schema.names, map(column_of_arrow, batch.columns), strict=True)
        return cls({name: TextColumn(*one) if isinstance(one, tuple) else one for name, one in columns})

    def to_arrow(self, schema: Schema) -> RecordBatch:
        """Return the columns of a schema as one batch of Arrow."""
        return arrow_batch(lambda name: _for_arrow(self.column(name)) if self._blocks else (), schema)

    def __add__(self, other: Columns) -> Columns:
        return Columns.chained((self, other), self.names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns) or self.names != other.names:
            return NotImplemented
        if not len(self):
            return not len(other)
        return len(self) == len(other) and all(_are_equal(self.column(name), other.column(name)) for name in self.names)

    __hash__ = None  # type: ignore[assignment]  # rows can't be keys

    def __repr__(self) -> str:
        return f"Columns({len(self)} rows: {', '.join(self.names)})"

    def __reduce__(self) -> tuple[Callable[..., Columns], tuple[Any, ...]]:
        """Cross to another process: few rows as one buffer, many packed.

        What makes them again are functions of this module: Spark's pickle would copy a method with all that it names.
        """
        if not self._blocks:
            return _of_blocks, (self.names, ())
        if len(self._blocks) == 1 and self._blocks[0].length < FEW and self._blocks[0].is_plain:
            return _of_cells, (self.names, self._blocks[0].flat(self.names).tobytes())
        return _of_blocks, (self.names, self._blocks)

    def packed(self) -> Columns:
        """Return the same rows, kept small."""
        return Columns._of(self.names, tuple(block.packed(self.names) for block in self._blocks))

    def blocks(self, *names: str) -> Iterator[Columns]:
        """Yield all rows, some thousand at a time, with the columns of these names, or all columns, as arrays."""
        names = names or self.names
        for block in self._filled():
            yield Columns._of(names, (block.opened(names),))

    def columns(self, *names: str) -> Columns:
        """Return these columns of all rows, as arrays."""
        if not self._blocks:
            return Columns.empty(names)
        if len(self._blocks) == 1:
            return Columns._of(names, (self._blocks[0].opened(names),))
        return Columns({name: self.column(name) for name in names})

    def with_columns(self, more: Mapping[str, AnyColumn]) -> Columns:
        """Return the same rows with more columns, or with others under the same names."""
        return Columns({name: self.column(name) for name in self.names} | dict(more))

    def where(self, chosen: NDArray[np.bool_] | Callable[[Columns], NDArray[np.bool_]]) -> Columns:
        """Return the rows that `chosen` says, packed."""
        found, start = [], 0
        for block, rows in zip(self._filled(), self.blocks(), strict=True):
            some = chosen(rows) if callable(chosen) else chosen[start : start + block.length]
            found.append(Columns._of(self.names, (block,)) if some.all() else rows.take(some).packed())
            start += block.length
        return Columns.chained(found, self.names) if found else self

    def split(self, name: str, count: int) -> list[Columns]:
        """Share the rows out by what is left of a column divided by `count`: each share in order, packed."""
        shares: list[list[Columns]] = [[] for _ in range(count)]
        for some in self.pieces(_SPLIT_ROWS):
            rows = some.columns(*self.names)
            numbers = rows[name] % count
            for of_share in groups(numbers):
                shares[numbers[of_share[0]]].append(rows.take(of_share).packed())
        return [Columns.chained(share or [self.take(slice(0))], self.names) for share in shares]

    def known(self, make: Callable[[Columns], _T]) -> _T:
        """Return what `make` makes of the rows, made once. It is always the same function."""
        if self._known is None:
            self._known = make(self)
        found: _T = self._known
        return found

    def pieces(self, rows: int) -> Iterator[Columns]:
        """Yield all rows in pieces of some `rows` each, as they are kept."""
        some: tuple[_Block, ...] = ()
        for block in self._filled():
            some += (block,)
            if sum([one.length for one in some]) >= rows:
                yield Columns._of(self.names, some)
                some = ()
        if some:
            yield Columns._of(self.names, some)

    def holders(self) -> Sequence[object]:
        """Return the objects that hold the rows: a sum has those of its parts."""
        return self._blocks

    def table(self, names: tuple[str, ...]) -> memoryview[int]:
        """Return the columns of these names as a table of the kernel's."""
        flat: Any  # also a buffer; its type does not say so
        one = len(self._blocks) == 1
        flat = self._blocks[0].flat(names) if one else np.concatenate([self[name] for name in names])
        return memoryview(flat.reshape(len(names), -1))

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice, *names: str) -> Columns:
        """Return the rows at these places, in that order, with the columns of these names, or all columns."""
        names = names or self.names
        if not self._blocks:
            return Columns.empty(names)
        if len(self._blocks) == 1:
            return self._blocks[0].take(rows, names)
        are_numbers = not isinstance(rows, slice) and rows.dtype != np.bool_
        places: Any = rows if are_numbers else np.arange(len(self))[rows]
        if not len(places):
            return self._blocks[0].take(slice(0), names)
        starts = np.array([0, *accumulate(block.length for block in self._blocks)], np.intp)
        if (places[1:] >= places[:-1]).all():
            return self._ascending(places, starts, names)
        order = np.argsort(places, kind="stable")
        back = np.empty(len(places), np.intp)
        back[order] = np.arange(len(places))
        return self._ascending(places[order], starts, names).take(back)

    def _ascending(self, places: NDArray[np.intp], starts: NDArray[np.intp], names: tuple[str, ...]) -> Columns:
        """Return the rows at places that ascend, block by block."""
        cuts = np.searchsorted(places, starts)
        return Columns.concat(
            [
                self._blocks[number].take(places[cuts[number] : cuts[number + 1]] - starts[number], names)
                for number in np.flatnonzero(cuts[1:] > cuts[:-1]).tolist()
            ],
            names,
        )

    def parts(self) -> list[bytes]:
        """Return the rows as bytes: how many blocks there are, and of each how many rows; then the cells.

        Few rows are little-endian int64, column by column; of many, each column's least value and width come first, and
        the cells are the differences from it. Of texts the cells are sizes, -1 for none; their UTF-8 follows all cells.
        """
        blocks = [some for block in self._filled() for some in block.split(_ON_WIRE)]
        found = [_COUNT.pack(len(blocks))]
        for block in blocks:
            found.append(_COUNT.pack(block.length))
            if block.length < FEW and block.is_plain:
                found.append(block.flat(self.names).astype(_WIRE, copy=False).tobytes())
                continue
            cells, texts = zip(*map(block.on_wire, self.names), strict=True)
            if block.length < FEW:
                found.append(np.concatenate(cells).astype(_WIRE, copy=False).tobytes())
            else:
                packed = [cell if type(cell) is tuple else narrowed(cell) for cell in cells]
                widths = [0 if above is None else above.itemsize for _, above in packed]
                found.append(np.array([*(low for low, _ in packed), *widths], _WIRE).tobytes())
                found += [
                    above.astype(above.dtype.newbyteorder("<")).tobytes() for _, above in packed if above is not None
                ]
            found += texts
        return found

    @classmethod
    def from_parts(cls, names: tuple[str, ...], texts: tuple[str, ...], take: Callable[[int], bytes]) -> Columns:
        """Read what ``parts`` gave, columns of numbers and then of `texts`; `take` returns the next bytes or refuses.

        Raises ValueError for a width, a size or a number of rows that no block has.
        """
        every = (*names, *texts)
        (count,) = _COUNT.unpack(take(8))
        if not count:
            return _no_rows(every, texts)
        blocks: list[_Block] = []
        for _ in range(count):
            (length,) = _COUNT.unpack(take(8))
            if not 0 < length <= _ON_WIRE:  # a column of one value takes no bytes, whatever its length
                raise ValueError(f"a block can't have {length} rows")
            columns: dict[str, Any]
            if length < FEW:
                table = np.frombuffer(take(8 * length * len(every)), _WIRE).astype(np.int64).reshape(-1, length)
                if not texts:
                    blocks += Columns.of_table(names, table)._blocks
                    continue
                columns = dict(zip(every, table, strict=True))
            else:
                about = np.frombuffer(take(16 * len(every)), _WIRE).tolist()
                columns = {}
                for name, low, width in zip(every, about[: len(every)], about[len(every) :], strict=True):
                    if width not in _WIDTHS:
                        raise ValueError(f"a column can't have {width} bytes per cell")
                    columns[name] = (low, np.frombuffer(take(length * width), _WIDTHS[width]) if width else None)
            block = _Block(columns, length)
            for name in texts:
                sizes = block.column(name)
                if sizes.min() < -1 or sizes.max() > _MOST_BYTES:
                    raise ValueError(f"a text of {name} can't have such a size")
                columns[name] = TextColumn.of_sizes(take(int(np.maximum(sizes, 0).sum())), sizes)
            blocks.append(block)
        return cls._of(_names.setdefault(every, every), tuple(blocks))


@cache
def _no_rows(names: tuple[str, ...], texts: tuple[str, ...]) -> Columns:
    return Columns({name: TextColumn() if name in texts else _NO_CELLS for name in names})


def _of_blocks(names: tuple[str, ...], blocks: tuple[_Block, ...]) -> Columns:
    return Columns._of(_names.setdefault(names, names), blocks) if blocks else Columns.empty(names)


def _of_cells(names: tuple[str, ...], cells: bytes) -> Columns:
    return Columns.of_table(names, np.frombuffer(cells, np.int64).reshape(len(names), -1))


@cache
def _rows_of(table: tuple[str, ...], names: tuple[str, ...]) -> NDArray[np.intp]:
    return np.array([table.index(name) for name in names], np.intp)


def _chained(columns: Sequence[Any]) -> Any:
    """Return columns of one kind one after the other."""
    first = columns[0]
    if isinstance(first, Numbers):
        values, there = (
            np.concatenate(some) for some in zip(*((one.values, one.are_there()) for one in columns), strict=True)
        )
        return Numbers(values, there, first.words)
    if not isinstance(first, TextColumn):
        return np.concatenate(columns)
    ends = [*accumulate(map(len, columns))]
    return first.joined(ends[-1], [(slice(end - len(one), end), one) for one, end in zip(columns, ends, strict=True)])


def _are_equal(one: Any, other: Any) -> bool:
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)


def _objects(column: AnyColumn) -> Iterable[Any]:
    """Return a column's cells as plain objects, None for no value."""
    if not isinstance(column, np.ndarray):
        return column.tolist()
    return [None if cell == NONE else cell for cell in column.tolist()]


def _for_arrow(column: AnyColumn) -> Numbers | Iterable[Any]:
    if isinstance(column, np.ndarray):
        there = column != NONE
        return Numbers(column, None if there.all() else there)
    return _worded(column) if isinstance(column, TextColumn) else column


def _worded(texts: TextColumn) -> Numbers | Iterable[Any]:
    """Return texts for Arrow: a few words by their numbers, as making an object of each costs more than a row."""
    few = None if isinstance(texts, JsonColumn) else texts.few()
    if few is None or not few[1].is_utf8():
        return texts.tolist()
    return Numbers.worded(few[0], tuple(few[1].tolist()) or ("",))  # none says one of them where no row has a text


class _Block:
    """Some rows: each column is as it was given, or a number and the differences from it, or its place in a `table`."""

    __slots__ = ("_columns", "_table", "length")

    def __init__(self, columns: Mapping[str, Any], length: int, table: NDArray[np.int64] | None = None) -> None:
        self._columns = columns
        self._table = table
        self.length = length

    def __reduce__(self) -> tuple[Callable[..., _Block], tuple[Any, ...]]:
        """Cross to another process, packed."""
        block = self.packed(tuple(self._columns))
        return _Block, (block._columns, block.length, block._table)

    @property
    def is_plain(self) -> bool:
        """Say whether all columns are whole numbers of 64 bits."""
        return self._table is not None or all(type(one) is tuple or _is_plain(one) for one in self._columns.values())

    def column(self, name: str) -> Any:
        """Return a column, not packed."""
        found: Any = self._columns[name]
        if self._table is not None:
            found = self._table[found]
        elif type(found) is tuple:
            low, above = found
            found = widened(low, above, self.length)
        return found

    def pop(self, name: str) -> Any:
        """Return a column, not packed, and forget it if it is kept apart from the others."""
        column = self.column(name)
        if self._table is None:
            self._columns = {other: kept for other, kept in self._columns.items() if other != name}
        return column

    def on_wire(self, name: str) -> tuple[Any, bytes]:
        """Return a column's numbers, of texts their sizes, packed if they are kept so and many; and its texts."""
        found = self._columns[name]
        if type(found) is tuple and self.length >= FEW:
            return found, b""
        column = self.column(name)
        texts = column.together() if isinstance(column, TextColumn) else None
        return (np.asarray(column, np.int64), b"") if texts is None else (texts.sizes.astype(np.int64), texts.data)

    def split(self, rows: int) -> Iterator[_Block]:
        """Yield all rows in blocks of at most so many."""
        if self.length <= rows:
            yield self
            return
        columns = {name: self.column(name) for name in self._columns}
        for start in range(0, self.length, rows):
            some = {name: column[start : start + rows] for name, column in columns.items()}
            yield _Block(some, min(rows, self.length - start))

    def packed(self, names: tuple[str, ...]) -> _Block:
        """Return the rows kept small, with these columns; few are kept as they are."""
        if self.length < FEW or (self._table is None and not any(_is_plain(self._columns[name]) for name in names)):
            return self
        columns = {name: self.column(name) for name in names}
        return _Block({name: narrowed(one) if _is_plain(one) else one for name, one in columns.items()}, self.length)

    def opened(self, names: tuple[str, ...]) -> _Block:
        """Return the rows with these columns, or more, not packed."""
        if self._table is not None or not any(type(self._columns[name]) is tuple for name in names):
            return self
        return _Block({name: self.column(name) for name in names}, self.length)

    def flat(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the cells of these columns, one column after the other."""
        table = self._table
        if table is None:
            return np.concatenate([self.column(name) for name in names])
        of_table = tuple(self._columns)
        return table.flatten() if names == of_table else table.take(_rows_of(of_table, names), axis=0).reshape(-1)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice, names: tuple[str, ...]) -> Columns:
        """Return the rows at these places."""
        if self._table is not None and _places.get(names) is self._columns:
            return Columns.of_table(names, self._table[:, rows])
        return Columns({name: self.column(name)[rows] for name in names})


def _is_plain(column: Any) -> bool:
    return type(column) is np.ndarray and column.dtype == np.int64


_ON_WIRE: Final = 1 << 14  # rows of a block, at most

_MOST_BYTES: Final = 1 << 31  # of a text

_WIRE: Final = np.dtype("<i8")

_COUNT: Final = Struct("<q")

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
