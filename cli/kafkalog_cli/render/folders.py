"""A directory with a file for each table, as ndjson, Arrow or Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kafkalog.segments.blocks import Rows
from kafkalog.segments.decoded import ROOM
from kafkalog.tables import Table
from kafkalog_cli.render.row_formats import BlockSink, NdjsonSink

__all__ = ["folder_sink", "write_tables"]


class _Lines:
    """Gives each table's rows to a file of its own; a table without rows is an empty file."""

    room = ROOM
    spaced = False
    batches: int | None = None

    def __init__(self, folder: Path, columns: Sequence[str], tables: Iterable[str], open_files: ExitStack) -> None:
        self._sinks = {
            name: NdjsonSink(open_files.enter_context((folder / f"{name}.ndjson").open("wb")), columns)
            for name in tables
        }

    def names(self, table: Table) -> Sequence[str]:
        return self._sinks[table.name].names(table) if table.name in self._sinks else ()

    def row(self, table: Table, row: Sequence[Any]) -> None:
        if table.name in self._sinks:
            self._sinks[table.name].row(table, row)

    def block(self, rows: Rows) -> None:
        if rows.block.table.name in self._sinks:
            self._sinks[rows.block.table.name].block(rows)

    def flush(self) -> None:
        """Show nothing before the end."""

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
    if form == "ndjson":
        with ExitStack() as open_files:
            yield _Lines(folder, columns, tables, open_files)
        return
    from kafkalog_cli.render.columnar import arrow_directory

    place = "{table}/part-00000.parquet" if form == "parquet" and files is None else f"{{table}}.{form}"
    with arrow_directory(form, folder, place, columns, tables, files or ()) as sink:
        yield sink


def write_tables(form: str, tables: Iterable[tuple[Table, Iterable[Sequence[Any]]]], folder: Path) -> None:
    """Write the rows of tables, each to its file."""
    found = list(tables)
    with folder_sink(form, folder, (), [table.name for table, _ in found]) as sink:
        for table, rows in found:
            for row in rows:
                sink.row(table, row)
        sink.close()
