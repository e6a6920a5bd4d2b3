"""Chooses the sink for a format of rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import BinaryIO

import click

from kafkalog.tables import TABLES
from kafkalog_cli.dumping import Request
from kafkalog_cli.render.rows import CsvSink, JsonSink, NdjsonSink, RowSink, TableSink

__all__ = ["make_sink"]


def make_sink(
    form: str, stream: BinaryIO, request: Request, columns: Sequence[str], *, terminal: bool, raw: bool
) -> RowSink:
    """Return the sink for `form`; a csv holds exactly one table."""
    if form == "ndjson":
        return NdjsonSink(stream, columns)
    if form == "json":
        return JsonSink(stream, columns, sorted(request.wanted))
    if form == "table":
        color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return TableSink(stream, columns, color=color, width=shutil.get_terminal_size().columns if terminal else None)
    if len(request.tables) > 1:
        raise click.UsageError("--format csv takes exactly one --table.")
    name = request.tables[0] if request.tables else "records" if request.options.deep else "batches"
    return CsvSink(stream, columns, TABLES[name], escaped=terminal and not raw)
