"""Chooses the sink for a format of rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict

from kafkalog.tables import TABLES, Table
from kafkalog.tables.audit_tables import FINDINGS, SUMMARY
from kafkalog.zone import UTC, Zone
from kafkalog_cli.render.row_formats import BlockSink, CsvSink, JsonSink, NdjsonSink
from kafkalog_cli.render.text_table import TableSink

if TYPE_CHECKING:
    from kafkalog_cli.output import Target

__all__ = ["Style", "sink_of", "style", "write_rows", "write_summary"]


class Style(TypedDict):
    """How tables for people are drawn; a width of None is as wide as needed."""

    color: bool
    width: int | None


def style(terminal: bool) -> Style:
    """Return how tables are drawn on a terminal, or in a file."""
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Style(color=color, width=_width() if terminal else None)


def _width() -> int:
    import shutil  # imports each codec of Python

    return shutil.get_terminal_size().columns


def write_summary(sink: BlockSink, row: Sequence[Any]) -> None:
    """Write a row of the table ``summary`` before all others where the format has a place for it."""
    if isinstance(sink, NdjsonSink):
        sink.row(SUMMARY, row)
    elif isinstance(sink, JsonSink):
        sink.head(dict(zip(SUMMARY.names, row, strict=True)))


def sink_of(
    form: str,
    stream: BinaryIO,
    columns: Sequence[str],
    tables: Sequence[str | Table],
    *,
    terminal: bool,
    csv_safe: bool = False,
    zone: Zone = UTC,
) -> BlockSink:
    """Return the sink for `form` of a command that has these tables; csv, Arrow and Parquet have the first.

    A table that is made of a question comes itself, others by their names.
    """
    names = [table if isinstance(table, str) else table.name for table in tables]
    if form == "ndjson":
        return NdjsonSink(stream, columns)
    if form == "json":
        return JsonSink(stream, columns, names)
    if form in ("arrow", "parquet"):
        from kafkalog_cli.render.columnar import arrow_stream

        return arrow_stream(form, stream, columns, names[0], ())
    if form == "csv":
        first = tables[0] if isinstance(tables[0], Table) else TABLES[tables[0]]
        return CsvSink(stream, columns, first, escaped=terminal, safe=csv_safe)
    shown = [name for name in names if name != FINDINGS.name or len(names) == 1]  # none means nothing to say
    return TableSink(stream, columns, zone=zone, tables=shown, **style(terminal))


def write_rows(
    form: str, stream: BinaryIO, tables: Sequence[tuple[Table, Iterable[Sequence[Any]]]], target: Target, *,
    columns: Sequence[str] = (), zone: Zone = UTC, summary: Sequence[Any] | None = None,
) -> None:  # fmt: skip
    """Write tables, each with its rows, as rows of `form`; `summary` comes before them where the format has a place."""
    sink = sink_of(
        form, stream, columns, [table for table, _ in tables], terminal=target.on_terminal, csv_safe=target.csv_safe,
        zone=zone,
    )  # fmt: skip
    if summary is not None:
        write_summary(sink, summary)
    for table, rows in tables:
        for row in rows:
            sink.row(table, row)
    sink.close()
