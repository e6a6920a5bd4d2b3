"""Cells of a table that was written: whether each is one that its column may have.

A manifest is no signature: whoever changes a cell can list the file anew. Readers of a table rely on what its
declaration says, so that is checked, column by column, as the cells come in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.quantities import listed
from kafkalog.tables.arrow import arrow_schema
from kafkalog.tables.declared import Column, Table
from kafkalog.tables.manifest import MANIFEST, TableFile
from kafkalog.untrusted import untrusted_json

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BadCell", "bad_cell", "bad_column", "checked_batches"]

_SHOWN: Final = 60  # characters of a cell
_NAMED: Final = 5  # words of a column


class BadCell(NamedTuple):
    """A cell that its column can't have: its row, counted from 0, what it had to be, and the cell itself."""

    row: int
    column: str
    needed: str
    cell: Any

    def at(self, rows_before: int) -> str:
        """Say where it is, what was needed, and what is there; `rows_before` are the rows of earlier batches."""
        found = "null" if self.cell is None else repr(self.cell)
        found = found if len(found) <= _SHOWN else f"{found[:_SHOWN]}…"
        return f"row {rows_before + self.row + 1}, column {self.column}: needs {self.needed}, has {found}"


def checked_batches(
    stream: BinaryIO | str, file: str, table: Table, listed: TableFile | None, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a Parquet file that has rows of a table, each cell as its column is declared.

    One that a manifest has `listed` has all columns of the table, and as many rows as are listed.
    Raises UnreadableError for a file that is damaged, of another table or of another size, and for a cell that its
    column can't have.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(stream, page_checksum_verification=True) as parquet:
            if listed is not None and parquet.metadata.num_rows != listed.rows:
                raise UnreadableError(f"{file}: has {parquet.metadata.num_rows} rows; {MANIFEST} says {listed.rows}")
            if listed is not None and (other := bad_column(table, parquet.schema_arrow)):
                raise UnreadableError(f"{file}: {other}")
            before = 0
            for batch in parquet.iter_batches(columns=columns):
                batch.validate(full=True)
                if bad := bad_cell(table, batch):
                    raise UnreadableError(f"{file}: {bad.at(before)}")
                yield batch
                before += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{file}: it can't be read as Parquet: {error}") from error


def bad_column(table: Table, schema: pa.Schema) -> str | None:
    """Say which column of a table a file lacks, has twice, or has with another type. None if all are as declared."""
    for field in arrow_schema(table):
        there = schema.get_all_field_indices(field.name)
        if not there:
            return f"it has no column {field.name}"
        if len(there) > 1:
            return f"it has the column {field.name} {len(there)} times"
        if schema.field(there[0]).type != field.type:
            return f"column {field.name}: needs the type {field.type}, has {schema.field(there[0]).type}"
    return None


def bad_cell(table: Table, batch: pa.RecordBatch) -> BadCell | None:
    """Return the first cell of a batch that breaks what its column declares; None where all are right.

    The columns have the types that are declared. Each is checked at once: rows are looked at only where one is bad.
    """
    declared = {column.name: column for column in table.columns}
    some = [
        found
        for name, cells in zip(batch.schema.names, batch.columns, strict=True)
        if name in declared
        for found in _bad_cells(declared[name], cells, filled=name in table.filled)
    ]
    some += (found for names in table.together for found in _apart(declared, batch, names))
    return min(some, key=lambda found: found.row, default=None)


def _bad_cells(column: Column, cells: pa.Array, *, filled: bool) -> Iterator[BadCell]:
    """Yield the first bad cell of each kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if filled and cells.null_count:
        yield _first(column, cells, cells.is_null(), "a value")
    least = _least(column)
    if least is not None and len(cells) > cells.null_count and pc.min(cells).as_py() < least:
        yield _first(column, cells, pc.less(cells, least), f"a number from {least} on")
    if column.words and not column.open:
        known = pc.is_in(cells, value_set=_words(column.words))
        if known.true_count < len(cells):
            yield _first(column, cells, pc.invert(known), f"one of {listed(column.words, _NAMED)}")
    if column.type == "json":
        wrong = [text for text in pc.unique(cells).to_pylist() if text is not None and not _fits(text, column.shape)]
        if wrong:
            yield _first(
                column, cells, pc.is_in(cells, value_set=pa.array(wrong)), f"JSON like {column.shape or 'any'}"
            )


# What ends like these is repeated from batches, records and checkpoints, which can say any number.
_OF_EVIDENCE: Final = ("_ms", "epoch", "leader", "producer_id", "sequence")


def _least(column: Column) -> int | None:
    return None if column.name.endswith(_OF_EVIDENCE) or not column.type.startswith("int") else column.least


def _apart(declared: Mapping[str, Column], batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[BadCell]:
    """Yield the first cell that is null where another one of its row is not, or the other way round."""
    import pyarrow.compute as pc

    there = [name for name in names if name in batch.schema.names]
    if len(there) < 2:
        return
    first, *others = there
    absent = batch.column(first).is_null()
    for name in others:
        cells = batch.column(name)
        differ = pc.xor(absent, cells.is_null())
        if differ.true_count:
            found = _first(declared[name], cells, differ, "")
            yield found._replace(
                needed=f"null, as {first} is" if found.cell is not None else f"a value, as {first} has"
            )


def _first(column: Column, cells: pa.Array, bad: pa.Array, needed: str) -> BadCell:
    import pyarrow as pa

    row = bad.index(pa.scalar(value=True)).as_py()
    return BadCell(row, column.name, needed, cells[row].as_py())


@cache
def _words(words: tuple[str, ...]) -> pa.Array:
    """Return a column's words, and null: whether that may be is another question."""
    import pyarrow as pa

    return pa.array([*words, None], pa.string())


def _fits(text: str, shape: str) -> bool:
    try:
        value = untrusted_json(text.encode())
    except ValueError:
        return False
    return not shape or _has_shape(value, _shape(shape))


@cache
def _shape(shape: str) -> Any:
    return json.loads(shape)


def _has_shape(value: Any, shape: Any) -> bool:
    if isinstance(shape, list):
        return isinstance(value, list) and all(_has_shape(one, shape[0]) for one in value)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return False
        if "*" in shape:
            return all(_has_shape(one, shape["*"]) for one in value.values())
        return all(_has_shape(value.get(name), of) for name, of in shape.items())  # an older one has fewer names
    if value is None:
        return bool(shape.endswith("?"))
    return (
        isinstance(value, str) if shape.startswith("string") else type(value) is int and -(1 << 63) <= value < 1 << 63
    )
