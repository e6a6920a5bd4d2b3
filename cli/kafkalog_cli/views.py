"""What the commands over internal topics share: their options, and how rows are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkalog import Finding, Limits, Severity
from kafkalog.errors import NothingMatchesError
from kafkalog.exit_status import Exit, Outcome
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import DistinctIds, finding_row
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog_cli.options import (
    columns_option,
    format_option,
    in_order,
    limit_options,
    output_options,
    paths_argument,
    row_form,
    status_options,
    table_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import Target, parquet_engine, say, write_provenance
from kafkalog_cli.params import TIMES, At

if TYPE_CHECKING:
    from kafkalog.auditing.topics import RowForm
    from kafkalog_cli.render.row_formats import BlockSink

__all__ = ["ViewOutput", "view_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class ViewOutput:
    """How a command writes its rows."""

    paths: tuple[str, ...]
    form: str
    tables: tuple[Table, ...]
    columns: tuple[str, ...]
    target: Target
    limits: Limits
    outcome: Outcome
    exit_zero: bool

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the tables that are wanted."""
        return frozenset(table.name for table in self.tables)

    @property
    def row_form(self) -> RowForm:
        """Return how rows are made that come many at once."""
        from kafkalog.auditing.topics import RowForm
        from kafkalog_cli.render.row_formats import ChosenColumns

        if self.form == "table":  # it leaves columns out itself
            return RowForm()
        return RowForm(ChosenColumns(self.columns).names_of, self.form in ("arrow", "parquet"))

    def write(self, rows: Iterable[tuple[Table, Row] | Rows | Finding]) -> Exit:
        """Write the rows of the wanted tables, findings as rows or to standard error."""
        wanted = self.names
        with self._sink() as sink:
            for item in self._without_findings(rows, sink):
                if isinstance(item, Rows):
                    sink.block(item)
                elif item[0].name in wanted:
                    sink.row(*item)
            sink.close()
        return self.outcome.status(exit_zero=self.exit_zero)

    @property
    def is_text(self) -> bool:
        """Say whether people read it, with all columns: a command may draw something."""
        return self.form == "table" and not self.columns and not self.target.is_folder(self.form)

    def draw(
        self, rows: Iterable[tuple[Table, Row] | Finding], drawn: Callable[[Iterable[dict[str, Any]]], Iterable[str]]
    ) -> Exit:
        """Write lines of text that are made of the rows, findings to standard error."""
        from kafkalog_cli.render.people import encoded

        items = self._without_findings(rows, None)
        named = (dict(zip(item[0].names, item[1], strict=True)) for item in items if not isinstance(item, Rows))
        with self.target.stream(self.paths) as stream:
            for line in drawn(named):
                stream.write(encoded(f"{line}\n"))
        return self.outcome.status(exit_zero=self.exit_zero)

    def _without_findings(
        self, rows: Iterable[tuple[Table, Row] | Rows | Finding], sink: BlockSink | None
    ) -> Iterator[tuple[Table, Row] | Rows]:
        """Yield the rows; count and show the findings, in the sink if it has them as rows."""
        as_rows = sink is not None and (self.form in ("ndjson", "json") or self.target.is_folder(self.form))
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
        from kafkalog_cli.render.sinks import folder_sink, sink_of

        names = [table.name for table in (*self.tables, FINDINGS)]
        if self.target.is_folder(self.form):
            with self.target.folder(self.paths) as folder:
                with folder_sink(self.form, folder, (), names) as sink:
                    yield sink
                write_provenance(folder, self.target.command)
        else:
            with self.target.stream(self.paths) as stream:
                yield sink_of(self.form, stream, self.columns, names, self.target)


def view_options(
    tables: Sequence[Table], default: Sequence[Table], *, has_moment: bool = True
) -> Callable[[_Command], _Command]:
    """Give a command the inputs, ``--at``, and its output options as a `ViewOutput`, `view`, after its own options.

    A command that shows no state has no moment.
    """
    by_name = {table.name: table for table in tables}

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def run(
            paths: tuple[str, ...], form: str | None, tables: tuple[str, ...], columns: tuple[str, ...],
            target: Target, limits: Limits, fail_on: str, exit_zero: bool, **own: Any,
        ) -> int:  # fmt: skip
            chosen = tuple(by_name[name] for name in tables) or tuple(default)
            form = row_form(form, target, chosen, columns)
            if form in ("arrow", "parquet"):
                parquet_engine()
            paths = unpacked(paths)
            view = ViewOutput(
                paths=paths, form=form, tables=chosen, columns=columns, target=target,
                limits=limits, outcome=Outcome(Severity[fail_on.upper()]), exit_zero=exit_zero,
            )  # fmt: skip
            return int(command(paths=paths, view=view, **own))

        return options(run)  # type: ignore[return-value]  # takes what click gives, not what the command takes

    shown = ", ".join(table.name for table in default)
    moment = click.option(
        "--at",
        type=At(),
        metavar="OFFSET|TIME",
        help=f"Show the state at this offset, in each log, or at this time: {TIMES}",
    )
    options = in_order(
        paths_argument("DIR..."),
        *((moment,) if has_moment else ()),
        format_option(),
        table_option(tuple(by_name), f".  [default: {shown}]"),
        columns_option(tables),
        unpacked_option,
        output_options("Write to this file; without a suffix, to this new directory with a file for each table."),
        limit_options,
        status_options(),
    )
    return decorate
