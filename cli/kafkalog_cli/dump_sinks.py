"""Chooses the sink for the rows of a dump: its tables follow from the files that were named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import click

from kafkalog import FileKind
from kafkalog.log.file_tables import TABLES_OF
from kafkalog.tables import TABLES
from kafkalog_cli.dumping import SEGMENTS, DumpRequest, counted_of
from kafkalog_cli.dumping_rows import dump_rows
from kafkalog_cli.exit import Outcome
from kafkalog_cli.inputs import name_of
from kafkalog_cli.output import Target, write_provenance
from kafkalog_cli.render.rows import BlockSink, CsvSink
from kafkalog_cli.render.sinks import sink_of

__all__ = ["dump_files", "dump_sink"]


def dump_sink(
    form: str, stream: BinaryIO, request: DumpRequest, columns: Sequence[str], target: Target, *, raw: bool
) -> BlockSink:
    """Return the sink for `form`; a csv has exactly one table.

    Raises UsageError if the files or the options give it several, or none of its columns.
    """
    if form != "csv":
        return sink_of(form, stream, columns, _in_order({*_expected(request), "findings"}), terminal=target.on_terminal)
    if len(request.tables) > 1:
        raise click.UsageError("--format csv takes exactly one --table.")
    name = request.tables[0] if request.tables else _only_table(request)
    if columns and not set(columns) & set(TABLES[name].names):
        raise click.UsageError(f"The table {name} has none of these columns: kafkalog schema {name} lists its own.")
    return CsvSink(stream, columns, TABLES[name], escaped=target.on_terminal and not raw, safe=target.csv_safe)


def dump_files(
    form: str, target: Target, request: DumpRequest, columns: Sequence[str], inputs: Sequence[str], outcome: Outcome
) -> None:
    """Write Arrow or Parquet of one table to a file or to standard output, or a directory with a file for each table.

    Raises UsageError if that is a terminal, or if several tables would go to one file.
    """
    if form != "ndjson":
        from kafkalog_cli.render.engine import parquet_engine

        parquet_engine()
    if target.on_terminal:
        raise click.UsageError(f"--format {form} is not for a terminal: name a file with -o, or redirect it.")
    if target.is_folder(form):
        from kafkalog_cli.render.folders import folder_sink

        tables = _in_order({*_expected(request), "findings"})
        with target.folder(inputs) as folder:
            with folder_sink(form, folder, columns, tables, request.files) as sink:
                dump_rows(request, sink, outcome, findings_as_rows=True)
            write_provenance(folder, target.command)
        return
    if len(request.tables) > 1:
        raise click.UsageError(f"Several tables in {form} need a directory: name one, without a suffix, with -o.")
    from kafkalog_cli.render.arrow import arrow_stream

    table = request.tables[0] if request.tables else _only_table(request)
    with target.stream(inputs) as stream:
        sink = arrow_stream(form, stream, columns, table, request.files)
        dump_rows(request, sink, outcome, findings_as_rows=table == "findings")


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
