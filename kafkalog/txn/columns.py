"""Columns of equal length under names: what the folds take and give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NONE", "Columns"]

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

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Columns:
        """Return the rows at these places, in that order."""
        return Columns({name: column[rows] for name, column in self._columns.items()})

    def with_columns(self, **columns: NDArray[np.int64]) -> Columns:
        """Return the same rows with columns added or replaced."""
        return Columns({**self._columns, **columns})
