"""What the commands over internal topics share: their options, and how rows are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from kafkalog import Finding, Limits, Severity
from kafkalog.errors import NothingMatchesError
from kafkalog.exit_status import Exit, Outcome
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import DistinctIds, finding_row
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog_cli.options import (
    Failing,
    Option,
    as_one,
    check_rows,
    columns_option,
    limit_options,
    output_options,
    paths_argument,
    showing_options,
    status_options,
    table_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import parquet_engine, say, write_provenance
from kafkalog_cli.params import TIMES, At
from kafkalog_cli.render.showing import Showing

if TYPE_CHECKING:
    from kafkalog.auditing.topics import RowForm
    from kafkalog.writing.row_formats import BlockSink

__all__ = ["ViewOutput", "view_options"]

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class ViewOutput:
    """What a command reads, and how it writes its rows; `outcome` counts their findings."""

    paths: tuple[str, ...]
    tables: tuple[Table, ...]
    showing: Showing
    limits: Limits
    outcome: Outcome
    failing: Failing

    def showing_tables(self, tables: Sequence[Table]) -> ViewOutput:
        """Return the same for these tables, and those that were asked for by name."""
        asked = tuple(table for table in self.tables if table.name in self.showing.tables and table not in tables)
        check_rows(self.showing, (*asked, *tables))
        return replace(self, tables=(*asked, *tables))

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the tables that are wanted."""
        return frozenset(table.name for table in self.tables)

    @property
    def row_form(self) -> RowForm:
        """Return how rows are made that come many at once."""
        from kafkalog.auditing.topics import RowForm
        from kafkalog.writing.row_formats import ChosenColumns

        showing = self.showing
        if showing.form.draws:  # it leaves columns out itself
            return RowForm()
        return RowForm(ChosenColumns(showing.columns).names_of, showing.form.columnar)

    def write_rows(self, rows: Iterable[tuple[Table, Row] | Rows | Finding]) -> Exit:
        """Write the rows of the wanted tables, findings as rows or to standard error."""
        wanted = self.names
        with self._sink() as sink:
            for item in self._without_findings(rows, sink):
                if isinstance(item, Rows):
                    sink.block(item)
                elif item[0].name in wanted:
                    sink.row(*item)
            sink.close()
        return self.failing.status(self.outcome)

    @property
    def is_text(self) -> bool:
        """Say whether people read it, with all columns: a command may draw something."""
        return self.showing.form.draws and not self.showing.columns

    def draw(
        self, rows: Iterable[tuple[Table, Row] | Finding], drawn: Callable[[Iterable[dict[str, Any]]], Iterable[str]]
    ) -> Exit:
        """Write lines of text that are made of the rows, findings to standard error."""
        from kafkalog_cli.render.people import encoded

        items = self._without_findings(rows, None)
        named = (dict(zip(item[0].names, item[1], strict=True)) for item in items if not isinstance(item, Rows))
        with self.showing.target.stream(self.paths) as stream:
            for line in drawn(named):
                stream.write(encoded(f"{line}\n"))
        return self.failing.status(self.outcome)

    def _without_findings(
        self, rows: Iterable[tuple[Table, Row] | Rows | Finding], sink: BlockSink | None
    ) -> Iterator[tuple[Table, Row] | Rows]:
        """Yield the rows; count and show the findings, in the sink if it has them as rows."""
        as_rows = sink is not None and (self.showing.form.has_findings or self.showing.is_folder)
        distinct = DistinctIds()
        try:
            for item in rows:
                if not isinstance(item, Finding):
                    yield item
                    continue
                self.outcome.count(item.code, item.severity)
                if sink is not None and as_rows:
                    sink.row(FINDINGS, distinct(finding_row(item)))
                elif item.severity > Severity.NOTE:
                    say(str(item))
        except NothingMatchesError as error:  # the rows before are findings
            self.outcome.nothing_matched()
            say(f"error: {error}")

    @contextmanager
    def _sink(self) -> Iterator[BlockSink]:
        """Give the sink for the rows; an output appears when all of them are written."""
        from kafkalog_cli.render.sinks import folder_sink

        names, target = [table.name for table in (*self.tables, FINDINGS)], self.showing.target
        if self.showing.is_folder:
            with target.folder(self.paths) as folder:
                with folder_sink(self.showing, folder, names) as sink:
                    yield sink
                write_provenance(folder, target.command)
        else:
            with target.stream(self.paths) as stream:
                yield self.showing.sink(stream, names)


def view_options(tables: Sequence[Table], default: Sequence[Table], *, has_moment: bool = True) -> Option:
    """Give a command ``--at``, and its inputs and output options as a `ViewOutput`, `view`, after its own options.

    A command that shows no state has no moment.
    """
    by_name = {table.name: table for table in tables}

    def view(*, paths: tuple[str, ...], showing: Showing, limits: Limits, failing: Failing) -> ViewOutput:
        chosen = tuple(by_name[name] for name in showing.tables) or tuple(default)
        check_rows(showing, chosen)
        if showing.form.columnar:
            parquet_engine()
        return ViewOutput(unpacked(paths), chosen, showing, limits, failing.outcome(), failing)

    shown = ", ".join(table.name for table in default)
    moment = click.option(
        "--at",
        type=At(),
        metavar="OFFSET|TIME",
        help=f"Show the state at this offset, in each log, or at this time: {TIMES}",
    )
    return as_one(
        "view",
        view,
        paths_argument("DIR..."),
        *((moment,) if has_moment else ()),
        showing_options(
            table_option(tuple(by_name), f".  [default: {shown}]"),
            columns_option(tables),
            output_options("Write to this file; without a suffix, to this new directory with a file for each table."),
        ),
        unpacked_option,
        limit_options,
        status_options(),
    )
