"""``kafkalog txn-audit``: what happened to every transaction and every offset of a data directory."""

from __future__ import annotations

import fnmatch
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from kafkalog import Severity
from kafkalog.log.names import local_path
from kafkalog.tables import Table
from kafkalog.tables.audit import AUDIT_TABLES, STATES
from kafkalog_cli.audit_options import SHOWN, audit_options, audit_options_of
from kafkalog_cli.options import (
    columns_option,
    format_option,
    jobs_option,
    output_option,
    row_form,
    transactional_id_option,
)
from kafkalog_cli.output import data_stream, is_terminal, say
from kafkalog_cli.params import NumberRanges

if TYPE_CHECKING:
    from kafkalog.auditing.transactions import Audit

__all__ = ["txn_audit"]


@dataclass(frozen=True, slots=True)
class _Filter:
    """Which rows are shown; a table without a column is not filtered by it."""

    topic: str | None
    partitions: tuple[range, ...] | None
    producer_id: int | None
    transactional_id: str | None
    state: tuple[str, ...]

    def of(self, table: Table) -> Callable[[Sequence[Any]], bool]:
        """Return the test for a table's rows."""
        tests: list[Callable[[Sequence[Any]], bool]] = []
        at = {name: number for number, name in enumerate(table.names)}
        if self.topic is not None and "topic" in at:
            tests.append(
                lambda row: row[at["topic"]] is not None and fnmatch.fnmatchcase(row[at["topic"]], self.topic or "")
            )
        if self.partitions is not None and "partition" in at:
            tests.append(lambda row: any(row[at["partition"]] in numbers for numbers in self.partitions or ()))
        if self.producer_id is not None and "producer_id" in at:
            tests.append(lambda row: row[at["producer_id"]] == self.producer_id)
        if self.transactional_id is not None and "transactional_id" in at:
            tests.append(lambda row: row[at["transactional_id"]] == self.transactional_id)
        if self.state and table.name == "transactions":
            tests.append(lambda row: row[at["state"]] in self.state)
        return lambda row: all(test(row) for test in tests)


_EVERYTHING: Final = _Filter(None, None, None, None, ())


@click.command("txn-audit")
@click.argument("paths", nargs=-1, required=True, metavar="DIR...")
@format_option()
@click.option("--all", "everything", is_flag=True, help="Show all rows of all tables except visible.")
@columns_option(AUDIT_TABLES)
@click.option("--topic", metavar="GLOB", help="Only topics that match this pattern.")
@click.option("--partition", "partitions", type=NumberRanges(), help="Only these partitions.")
@click.option("--producer-id", type=int, help="Only this producer.")
@transactional_id_option
@click.option("--state", multiple=True, type=click.Choice(STATES), help="Only transactions in this state.")
@jobs_option
@output_option("Write to this file, or to a new directory of Parquet files.")
@click.option("--engine", type=click.Choice(("local", "spark")), default="local", show_default=True,
              help="Where the audit runs; Spark writes only Parquet.")  # fmt: skip
@click.option("--master", metavar="URL", help="With --engine spark: the Spark master, such as local[2].")
@click.option("--confirm", type=click.FloatRange(min=0), metavar="SECONDS",
              help="Read partitions with open transactions that are not proved again after this time.")  # fmt: skip
@audit_options
def txn_audit(
    paths: tuple[str, ...], form: str | None, tables: tuple[str, ...], everything: bool, columns: tuple[str, ...],
    topic: str | None, partitions: tuple[range, ...] | None, producer_id: int | None, transactional_id: str | None,
    state: tuple[str, ...], jobs: int | None, output: Path | None, hashed: bool, fail_on: str, exit_zero: bool,
    engine: str, master: str | None, confirm: float | None, **options: Any,
) -> int:  # fmt: skip
    """Report what happened to every transaction and offset under DIRs: brokers' log directories or single partitions.

    \b
        kafkalog txn-audit /copy/of/log.dirs
        kafkalog txn-audit --format ndjson --table transactions /copy/of/log.dirs | jq 'select(.state == "hanging")'
        kafkalog explain transaction-hanging
    """
    chosen = _Filter(topic, partitions, producer_id, transactional_id, state)
    form = row_form(form, output, tables)
    if form == "parquet" and output is None:
        raise click.UsageError("--format parquet needs -o DIR.")
    if form == "parquet" and columns:
        raise click.UsageError("--columns works only with rows as text; readers of Parquet choose columns themselves.")
    if hashed and form != "parquet":
        raise click.UsageError("--hash needs --format parquet: the checksums are written to provenance.json.")
    if master is not None and engine == "local":
        raise click.UsageError("--master works only with --engine spark.")
    if engine == "spark":
        if form != "parquet":
            raise click.UsageError("--engine spark writes Parquet: name a new directory with -o DIR.")
        if confirm is not None:
            raise click.UsageError("--confirm works only with --engine local.")
        _refuse_filters(click.get_current_context())
        from kafkalog_cli.bulk import run_bulk

        return run_bulk(paths, master=master)
    from kafkalog.auditing.pipeline import audit, confirmed
    from kafkalog.auditing.transactions import Summary

    started = time.time()
    of_audit = audit_options_of(options, jobs=jobs)
    found = audit(paths, of_audit)
    if confirm is not None:
        found = confirmed(found, paths, of_audit, confirm)
    summary = Summary.of(found)
    status = summary.outcome(Severity[fail_on.upper()]).status(exit_zero=exit_zero)
    for line in found.unreadable:
        say(f"error: {line}")
    if form == "parquet" and output is not None:
        from kafkalog_cli.render.parquet import write_audit

        write_audit(
            found, summary, status, output, tables or SHOWN, None if chosen == _EVERYTHING else chosen.of,
            paths=paths, arguments=sys.argv[1:], hashed=hashed, started=started,
        )  # fmt: skip
        print(summary.verdict())
    else:
        with data_stream(output, [Path(local_path(path)) for path in paths]) as stream:
            _write(
                found,
                form,
                stream,
                tables,
                columns,
                chosen,
                everything=everything,
                terminal=output is None and is_terminal(),
            )
    return status


def _refuse_filters(ctx: click.Context) -> None:
    """Refuse options that the bulk audit does not have: its tables are whole."""
    for name in ("topic", "partitions", "producer_id", "transactional_id", "state"):
        if ctx.params[name]:
            option = next(param.opts[0] for param in ctx.command.params if param.name == name)
            raise click.UsageError(f"{option} works only with --engine local: Spark writes whole tables, query them.")


def _write(
    found: Audit, form: str, stream: BinaryIO, tables: tuple[str, ...], columns: tuple[str, ...], chosen: _Filter,
    *, everything: bool, terminal: bool,
) -> None:  # fmt: skip
    from kafkalog.auditing.incidents import rows_of_audit
    from kafkalog_cli.render.report import write_report
    from kafkalog_cli.render.sinks import sink_of, style

    wanted = tables or SHOWN
    if form == "table" and not tables and not everything:
        write_report(found, stream, chosen.of, **style(terminal))
        return
    sink = sink_of(form, stream, columns, wanted, terminal=terminal)
    for table in AUDIT_TABLES:
        if table.name in wanted:
            test = chosen.of(table)
            for row in rows_of_audit(found, table.name):
                if test(row):
                    sink.row(table, row)
    sink.close()
    if form == "csv" and tables != ("findings",):
        for finding in found.findings():
            if finding.severity > Severity.NOTE:
                say(str(finding))
