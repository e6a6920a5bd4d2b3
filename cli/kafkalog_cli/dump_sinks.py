"""Chooses the sink for the rows of a dump: its tables follow from the files that were named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import click

from kafkalog import FileKind
from kafkalog.log.rows import TABLES_OF
from kafkalog.tables import TABLES
from kafkalog_cli.dumping import SEGMENTS, DumpRequest, counted_of
from kafkalog_cli.inputs import name_of
from kafkalog_cli.render.rows import BlockSink, CsvSink
from kafkalog_cli.render.sinks import sink_of

__all__ = ["dump_sink"]


def dump_sink(
    form: str, stream: BinaryIO, request: DumpRequest, columns: Sequence[str], *, terminal: bool, raw: bool
) -> BlockSink:
    """Return the sink for `form`; a csv has exactly one table.

    Raises UsageError if the files or the options give it several, or none of its columns.
    """
    if form != "csv":
        return sink_of(form, stream, columns, _in_order({*_expected(request), "findings"}), terminal=terminal)
    if len(request.tables) > 1:
        raise click.UsageError("--format csv takes exactly one --table.")
    name = request.tables[0] if request.tables else _only_table(request)
    if columns and not set(columns) & set(TABLES[name].names):
        raise click.UsageError(f"The table {name} has none of these columns: kafkalog schema {name} lists its own.")
    return CsvSink(stream, columns, TABLES[name], escaped=terminal and not raw)


def _kinds(request: DumpRequest) -> set[FileKind]:
    """Return the kinds of the files that have rows."""
    return {name_of(file).kind for file in request.files} & set(TABLES_OF)


def _expected(request: DumpRequest) -> set[str]:
    """Return the tables of the files, even those without rows."""
    if request.tables:
        return set(request.tables)
    return {
        name for kind in _kinds(request) for name in (request.wanted if kind in SEGMENTS else {TABLES_OF[kind][0].name})
    }


def _in_order(tables: set[str]) -> list[str]:
    """Put the table with the most rows first: json writes that one as it comes."""
    return sorted(tables, key=lambda name: (name != counted_of(tables), name))


def _only_table(request: DumpRequest) -> str:
    """Return the one table of the files by default."""
    of_segment = counted_of(request.wanted) or "batches"
    names = {of_segment if kind in SEGMENTS else TABLES_OF[kind][0].name for kind in _kinds(request)}
    if len(names) > 1:
        raise click.UsageError(
            f"--format csv has one table, but the files have {', '.join(sorted(names))}: choose one with --table."
        )
    return names.pop() if names else "batches"
