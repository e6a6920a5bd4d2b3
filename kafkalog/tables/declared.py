"""How a table is declared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

__all__ = ["EVERY_COLUMN", "HEADER_FIELDS", "Column", "Table"]

EVERY_COLUMN: Final = "*"  # of a table, also those that are made only if they are asked for
HEADER_FIELDS: Final = ("key", "key_base64", "value", "value_base64")  # of each header in a column of ``headers``
_Cell = TypeVar("_Cell")


class Column(NamedTuple):
    """A column: its type is ``int64``, ``int32``, ``int16``, ``int8``, ``bool``, ``string``, ``json`` or ``headers``.

    ``headers`` is a list of structures of strings, in JSON a list of objects. Cells that are no `words` are only in a
    column that is `open`. One that is made `only_asked` is left out where no columns are named. `least` is the least
    number that kafkalog writes, None where it repeats what evidence says, whatever that is. Each cell of ``json`` is
    like `shape`, JSON with types in the place of values: a list has any number of values like its one, an object all
    these fields, or with ``*`` any fields; a type that ends in ``?`` may be null.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    words: tuple[str, ...] = ()
    open: bool = False
    only_asked: bool = False
    shape: str = ""
    least: int | None = 0

    @property
    def is_time(self) -> bool:
        """Say whether it is a moment, in ms since 1970, and no duration."""
        return self.unit == "ms" and not self.name.startswith(_DURATIONS)


_DURATIONS: Final = ("ahead_", "duration_", "marker_max_", "marker_p", "timeout_")


@dataclass(frozen=True)
class Table:
    """A table: what one row is, and its columns in order.

    `answers` are the columns that people read first, the most important one first: where there is no room for all, they
    stay longest. `filled` are the columns without which a row says nothing: none of their cells is null. Of each
    of `together` a row has all cells or none.
    """

    name: str
    row: str
    columns: tuple[Column, ...]
    answers: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the columns' names."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def usual(self) -> tuple[str, ...]:
        """Return the names of the columns that are made without being asked for."""
        return tuple(column.name for column in self.columns if not column.only_asked)

    def of(self, **cells: _Cell) -> tuple[_Cell, ...]:
        """Return a row of its cells, or all rows of their columns, given by name, in the order of the columns.

        Raises TypeError if a column is missing, or if a name is not that of a column.
        """
        if len(cells) == len(self.names):
            try:
                return tuple(map(cells.__getitem__, self.names))
            except KeyError:
                pass
        differing = ", ".join(sorted(cells.keys() ^ set(self.names)))
        raise TypeError(f"table {self.name}: columns missing or not declared: {differing}")
