"""Chooses the sink for a format of rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import BinaryIO, TypedDict

import click

from kafkalog import FileKind
from kafkalog.log.rows import TABLES_OF
from kafkalog.tables import TABLES
from kafkalog_cli.dumping import Request
from kafkalog_cli.inputs import name_of
from kafkalog_cli.render.rows import CsvSink, JsonSink, NdjsonSink, RowSink
from kafkalog_cli.render.table import TableSink

__all__ = ["make_sink", "sink_of", "style"]


def make_sink(
    form: str, stream: BinaryIO, request: Request, columns: Sequence[str], *, terminal: bool, raw: bool
) -> RowSink:
    """Return the sink for `form`; a csv holds exactly one table."""
    if form == "ndjson":
        return NdjsonSink(stream, columns)
    if form == "json":
        kinds = {name_of(file).kind for file in request.files} & set(TABLES_OF)
        given = request.tables or [
            name
            for kind in kinds
            for name in (
                request.wanted if kind in (FileKind.LOG, FileKind.KRAFT_SNAPSHOT) else [TABLES_OF[kind][0].name]
            )
        ]
        return JsonSink(stream, columns, sorted({*given, "findings"}))
    if form == "table":
        return TableSink(stream, columns, **style(terminal))
    if len(request.tables) > 1:
        raise click.UsageError("--format csv takes exactly one --table.")
    name = request.tables[0] if request.tables else _only_table(request)
    if columns and not set(columns) & set(TABLES[name].names):
        raise click.UsageError(f"The table {name} has none of these columns: kafkalog schema {name} lists its own.")
    return CsvSink(stream, columns, TABLES[name], escaped=terminal and not raw)


class Style(TypedDict):
    """How tables for eyes are drawn; a width of None is as wide as it must be."""

    color: bool
    width: int | None


def style(terminal: bool) -> Style:
    """Return how tables are drawn on a terminal, or in a file."""
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Style(color=color, width=shutil.get_terminal_size().columns if terminal else None)


def sink_of(form: str, stream: BinaryIO, columns: Sequence[str], tables: Sequence[str], *, terminal: bool) -> RowSink:
    """Return the sink for `form` of a command whose tables are known by their names; a csv holds the first."""
    if form == "ndjson":
        return NdjsonSink(stream, columns)
    if form == "json":
        return JsonSink(stream, columns, tables)
    if form == "csv":
        return CsvSink(stream, columns, TABLES[tables[0]], escaped=terminal)
    return TableSink(stream, columns, **style(terminal))


def _only_table(request: Request) -> str:
    """Return the one table that the files give by default."""
    names: set[str] = set()
    for file in request.files:
        kind = name_of(file).kind
        if kind in (FileKind.LOG, FileKind.KRAFT_SNAPSHOT):
            names.add(next(name for name in ("internal", "records", "batches") if name in request.wanted))
        elif kind in TABLES_OF:
            names.add(TABLES_OF[kind][0].name)
    if len(names) > 1:
        raise click.UsageError(
            f"--format csv holds one table, the files give {', '.join(sorted(names))}: choose by --table."
        )
    return names.pop() if names else "batches"
