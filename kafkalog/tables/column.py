"""What a table is declared with."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Column", "Table"]


class Column(NamedTuple):
    """A column: its type is ``int64``, ``int32``, ``int16``, ``int8``, ``bool``, ``string`` or ``json``."""

    name: str
    type: str
    meaning: str
    unit: str = ""
    words: tuple[str, ...] = ()


class Table(NamedTuple):
    """A table: what one row is, and its columns in order."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns' names."""
        return tuple(column.name for column in self.columns)
