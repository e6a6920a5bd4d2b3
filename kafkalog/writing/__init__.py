"""Rows as files: ndjson, JSON, CSV, Arrow and Parquet, for the library and the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kafkalog.errors import InvalidInputError

if TYPE_CHECKING:
    from kafkalog.tables import Table
    from kafkalog.writing.row_formats import BlockSink

__all__ = ["sink_of"]


def sink_of(suffix: str) -> Callable[[Any, Table, Sequence[str]], BlockSink]:
    """Return what makes the sink of a file with this suffix: of its stream, for columns of a table.

    Raises InvalidInputError for another suffix.
    """
    from kafkalog.writing.row_formats import CsvSink, JsonSink, NdjsonSink

    if suffix in (".arrow", ".parquet"):
        from kafkalog.writing.columnar import ArrowSink

        return lambda stream, table, names: ArrowSink(suffix[1:], stream, names, table)
    known: dict[str, Callable[[Any, Table, Sequence[str]], BlockSink]] = {
        ".ndjson": lambda stream, _table, names: NdjsonSink(stream, names),
        ".json": lambda stream, table, names: JsonSink(stream, names, [table.name]),
        ".csv": lambda stream, table, names: CsvSink(stream, names, table, escaped=False),
    }
    if suffix not in known:
        forms = ", ".join([".parquet", ".arrow", *known])
        raise InvalidInputError(f"{suffix or 'no suffix'}: a file's suffix says its format, one of {forms}")
    return known[suffix]
