"""Rows of a segment as Arrow: only the columns that are asked for are made, their bytes copied once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kafkalog.findings import Finding
from kafkalog.format.internal_topics import Internal
from kafkalog.log.arrow_rows import ArrowRows
from kafkalog.log.blocks import Rows
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.readers import warn
from kafkalog.log.rows import segment_rows
from kafkalog.log.segment import segment_chunks
from kafkalog.log.selection import Selection
from kafkalog.tables import Table
from kafkalog.tables.arrow import arrow_table, chosen_schema
from kafkalog.tables.dump import BATCHES, RECORDS

if TYPE_CHECKING:
    from kafkalog.tables.arrow import ArrowTable, RecordBatch, Schema

__all__ = ["ARROW_BATCHES", "ARROW_ROOM", "batch_table", "record_table", "segment_as_arrow"]

# Records in a block and batches in a chunk, more than for text: each costs some calls for each column. A power of two
# would make the columns share cache lines.
ARROW_ROOM: Final = 12300
ARROW_BATCHES: Final = 8400


def batch_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    limits: Limits | None = None,
    on_finding: Callable[[Finding], object] | None = None,
) -> ArrowTable:
    """Return the batches of a segment or KRaft snapshot as the Arrow table ``batches`` of ``kafkalog schema``.

    Columns of few different words are dictionaries. Only the named columns are made. Needs pyarrow. Raises
    UnreadableError if the file can't be opened or read, KeyError for a column that the table does not have.
    """
    return _table(BATCHES, path, columns, limits, on_finding)


def record_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    limits: Limits | None = None,
    on_finding: Callable[[Finding], object] | None = None,
) -> ArrowTable:
    """Return the records of a segment or KRaft snapshot as the Arrow table ``records`` of ``kafkalog schema``.

    Columns of few different words are dictionaries. Only the named columns are made. Needs pyarrow. Raises
    UnreadableError if the file can't be opened or read, KeyError for a column that the table does not have.
    """
    return _table(RECORDS, path, columns, limits, on_finding)


def _table(
    table: Table,
    path: str | os.PathLike[str],
    columns: Sequence[str] | None,
    limits: Limits | None,
    on_finding: Callable[[Finding], object] | None,
) -> ArrowTable:
    file = os.fspath(path)
    schema = chosen_schema(table, table.names if columns is None else columns, coded=True, files=True)
    chunks = segment_chunks(file, limits=limits, room=ARROW_BATCHES)
    return arrow_table(segment_as_arrow(file, chunks, table, schema, Selection(), on_finding or warn), schema)


def segment_as_arrow(
    file: str,
    chunks: Iterable[Chunk],
    table: Table,
    schema: Schema,
    selection: Selection,
    on_finding: Callable[[Finding], object] | None = None,
    internal: Internal | None = None,
) -> Iterator[RecordBatch]:
    """Yield the selected rows of a segment's batches or records, or of its records as those of an internal topic.

    They have the columns of the schema.
    """
    made = ArrowRows(schema, (file,))
    wanted = {table.name: schema.names}
    for item in segment_rows(file, chunks, wanted, selection, internal, room=ARROW_ROOM, spaced=True):
        if isinstance(item, Rows):
            yield from made.add(item)
        elif on_finding is not None and isinstance(item, Finding):
            on_finding(item)
    yield from made.last()
