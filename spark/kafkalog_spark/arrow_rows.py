"""Rows of Python values as Arrow batches of some MiB, which cost Spark more than what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

__all__ = ["Row", "rows_of"]

_BATCH_ROWS: Final = 256
_BATCH_BYTES: Final = 4 << 20

Row = tuple[Any, ...]


def rows_of(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow batches of some MiB; the last cell of each is its content. A batch costs 100 us."""
    some: list[Row] = []
    size = 0
    for row in rows:
        some.append(row)
        size += len(row[-1])
        if len(some) == _BATCH_ROWS or size >= _BATCH_BYTES:
            yield _batch_of(some, schema)
            some, size = [], 0
    if some:
        yield _batch_of(some, schema)


def _batch_of(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(zip(*rows, strict=True), schema.types, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(cells, kind) for cells, kind in columns], schema=schema)
