"""Gives rows to the sink of a format, of a stream or of a directory with a file for each table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from kafkalog.segments.blocks import Rows
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import SUMMARY
from kafkalog.writing.row_formats import BlockSink, JsonSink, NdjsonSink
from kafkalog_cli.output import write_provenance

if TYPE_CHECKING:
    from pathlib import Path

    from kafkalog.columns.table import Columns
    from kafkalog_cli.render.showing import Showing

__all__ = [
    "TableRows",
    "folder_sink",
    "give",
    "write_columns",
    "write_folder",
    "write_output",
    "write_rows",
    "write_summary",
]

TableRows = Sequence[tuple[Table, Iterable[Sequence[Any]]]]  # tables, each with its rows


class _FolderSink(BlockSink):
    """Gives each table's rows to a sink of its own; other rows are left out."""

    def __init__(self, sinks: Mapping[str, BlockSink]) -> None:
        self._sinks = sinks
        one = next(iter(sinks.values()))
        self.room, self.spaced, self.batches = one.room, one.spaced, one.batches

    def names(self, table: Table) -> Sequence[str]:
        return self._sinks[table.name].names(table) if table.name in self._sinks else ()

    def row(self, table: Table, row: Sequence[Any]) -> None:
        if table.name in self._sinks:
            self._sinks[table.name].row(table, row)

    def block(self, rows: Rows) -> None:
        if rows.block.table.name in self._sinks:
            self._sinks[rows.block.table.name].block(rows)

    def close(self) -> None:
        for sink in self._sinks.values():
            sink.close()


@contextmanager
def folder_sink(
    showing: Showing, folder: Path, tables: Sequence[str], files: Sequence[str] | None = None
) -> Iterator[BlockSink]:
    """Give the sink for `tables` that become files of a directory; `files` are those that a dump reads.

    Parquet of a dump is a file for each table; that of all other commands is a directory for each, as Spark writes it.
    """
    form = showing.form
    place = f"{{}}/part-00000.{form}" if form.parts and files is None else f"{{}}.{form}"
    with ExitStack() as opened:
        sinks: dict[str, BlockSink] = {}
        for name in tables:
            path = folder / place.format(name)
            path.parent.mkdir(exist_ok=True)
            stream = opened.enter_context(path.open("wb"))
            sinks[name] = showing.sink(stream, (name,), files or ())
        yield _FolderSink(sinks)


def give(sink: BlockSink, tables: TableRows) -> None:
    """Give a sink all that it gets."""
    for table, rows in tables:
        for row in rows:
            sink.row(table, row)
    sink.close()


def write_folder(showing: Showing, tables: TableRows, folder: Path) -> None:
    """Write tables, each to its file, with all columns."""
    with folder_sink(replace(showing, columns=()), folder, [table.name for table, _ in tables]) as sink:
        give(sink, tables)


def write_rows(
    showing: Showing, stream: BinaryIO, tables: TableRows, summary: Sequence[Any] | None = None
) -> None:  # fmt: skip
    """Write tables as rows; `summary` comes before them where the format has a place for it."""
    sink = showing.sink(stream, [table for table, _ in tables])
    if summary is not None:
        write_summary(sink, summary)
    give(sink, tables)


def write_output(showing: Showing, tables: TableRows, inputs: Sequence[str]) -> None:
    """Write tables to the target of a command that reads the `inputs`: a file, or a directory with its provenance."""
    target = showing.target
    if showing.is_folder:
        with target.folder(inputs) as folder:
            write_folder(showing, tables, folder)
            write_provenance(folder, target.command)
    else:
        with target.stream(inputs) as stream:
            write_rows(showing, stream, tables)


def write_summary(sink: BlockSink, row: Sequence[Any]) -> None:
    """Write a row of the table ``summary`` before all others where the format has a place for it."""
    if isinstance(sink, NdjsonSink):
        sink.row(SUMMARY, row)
    elif isinstance(sink, JsonSink):
        sink.head(dict(zip(SUMMARY.names, row, strict=True)))


def write_columns(sink: BlockSink, table: Table, parts: Iterable[Columns]) -> None:
    """Write rows that are given as columns, all columns of the table in each part."""
    from kafkalog.segments.column_blocks import ColumnBlock  # with numpy, which a dump does without

    block = ColumnBlock(table, sink.names(table))
    for columns in parts:
        for item in block.items(columns):
            if isinstance(item, Rows):
                sink.block(item)
            else:
                sink.row(*item)
