"""Chooses the sink for a format, of a stream or of a directory with a file for each table, and gives it rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from kafkalog.segments.blocks import Rows
from kafkalog.tables import TABLES, Table
from kafkalog.tables.audit_tables import FINDINGS, SUMMARY
from kafkalog.zone import UTC, Zone
from kafkalog_cli.output import write_provenance
from kafkalog_cli.render.people import style
from kafkalog_cli.render.row_formats import BlockSink, CsvSink, JsonSink, NdjsonSink
from kafkalog_cli.render.text_table import TableSink

if TYPE_CHECKING:
    from pathlib import Path

    from kafkalog.columns.table import Columns
    from kafkalog_cli.output import Target

__all__ = [
    "TableRows",
    "folder_sink",
    "give",
    "sink_of",
    "write_columns",
    "write_folder",
    "write_output",
    "write_rows",
    "write_summary",
]

TableRows = Sequence[tuple[Table, Iterable[Sequence[Any]]]]  # tables, each with its rows


def sink_of(
    form: str, stream: BinaryIO, columns: Sequence[str], tables: Sequence[str | Table], target: Target, *,
    zone: Zone = UTC,
) -> BlockSink:  # fmt: skip
    """Return the sink for `form` of a command that has these tables; csv, Arrow and Parquet have the first.

    A table that is made of a question comes itself, others by their names.
    """
    names = [table if isinstance(table, str) else table.name for table in tables]
    first = tables[0] if isinstance(tables[0], Table) else TABLES[tables[0]]
    if form == "ndjson":
        return NdjsonSink(stream, columns)
    if form == "json":
        return JsonSink(stream, columns, names)
    if form in ("arrow", "parquet"):
        from kafkalog_cli.render.columnar import ArrowSink

        return ArrowSink(form, stream, columns, first)
    if form == "csv":
        return CsvSink(stream, columns, first, escaped=target.on_terminal, safe=target.csv_safe)
    shown = [name for name in names if name != FINDINGS.name or len(names) == 1]  # none means nothing to say
    return TableSink(stream, columns, zone=zone, tables=shown, **style(target.on_terminal))


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
    form: str, folder: Path, columns: Sequence[str], tables: Sequence[str], files: Sequence[str] | None = None
) -> Iterator[BlockSink]:
    """Give the sink for `tables` that become files of a directory; `files` are those that a dump reads.

    Parquet of a dump is a file for each table; that of all other commands is a directory for each, as Spark writes it.
    """
    place = "{}/part-00000.parquet" if form == "parquet" and files is None else f"{{}}.{form}"
    with ExitStack() as opened:
        sinks: dict[str, BlockSink] = {}
        for name in tables:
            path = folder / place.format(name)
            path.parent.mkdir(exist_ok=True)
            stream = opened.enter_context(path.open("wb"))
            if form == "ndjson":
                sinks[name] = NdjsonSink(stream, columns)
            else:
                from kafkalog_cli.render.columnar import ArrowSink

                sinks[name] = ArrowSink(form, stream, columns, TABLES[name], files or ())
        yield _FolderSink(sinks)


def give(sink: BlockSink, tables: TableRows) -> None:
    """Give a sink all that it gets."""
    for table, rows in tables:
        for row in rows:
            sink.row(table, row)
    sink.close()


def write_folder(form: str, tables: TableRows, folder: Path) -> None:
    """Write tables, each to its file."""
    with folder_sink(form, folder, (), [table.name for table, _ in tables]) as sink:
        give(sink, tables)


def write_rows(
    form: str, stream: BinaryIO, tables: TableRows, target: Target, *, columns: Sequence[str] = (), zone: Zone = UTC,
    summary: Sequence[Any] | None = None,
) -> None:  # fmt: skip
    """Write tables as rows of `form`; `summary` comes before them where the format has a place for it."""
    sink = sink_of(form, stream, columns, [table for table, _ in tables], target, zone=zone)
    if summary is not None:
        write_summary(sink, summary)
    give(sink, tables)


def write_output(
    form: str, tables: TableRows, target: Target, inputs: Sequence[str], *, columns: Sequence[str] = (),
    zone: Zone = UTC,
) -> None:  # fmt: skip
    """Write tables to the target of a command that reads the `inputs`: a file, or a directory with its provenance."""
    if target.is_folder(form):
        with target.folder(inputs) as folder:
            write_folder(form, tables, folder)
            write_provenance(folder, target.command)
    else:
        with target.stream(inputs) as stream:
            write_rows(form, stream, tables, target, columns=columns, zone=zone)


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
