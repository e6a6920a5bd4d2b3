"""``kafkalog txn-audit``: what happened to every transaction and every offset of a data directory."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from kafkalog import Limits, Severity
from kafkalog.narrowing import Narrowing
from kafkalog.quantities import Ago, iso
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import AUDIT_TABLES, STATES
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    ROW_FORMS,
    SHOWN,
    as_one,
    audit_options,
    audit_options_of,
    columns_option,
    findings_option,
    format_option,
    jobs_option,
    output_options,
    partition_option,
    paths_argument,
    row_form,
    say_reused,
    since_audit_option,
    topic_option,
    transactional_id_option,
    tz_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import Target, say
from kafkalog_cli.params import REPORT_FORMS, REPORT_SUFFIXES, check_name

if TYPE_CHECKING:
    from kafkalog.auditing.transactions import Audit, AuditOptions, Summary
    from kafkalog_cli.audit_folder import AuditFolder

__all__ = ["txn_audit"]

_PRODUCERLESS: Final = "visible"  # what consumers see of a log is never one producer's


_LINES: Final = ("ndjson", "json", "csv")  # formats of lines, which the kernel writes


@dataclass(frozen=True, slots=True)
class _Filter:
    """Which rows are shown; a table without a column is not filtered by it."""

    narrowing: Narrowing
    state: tuple[str, ...]

    def __bool__(self) -> bool:
        """Say whether some rows are left out."""
        return bool(self.narrowing or self.state)

    def of(self, table: Table) -> Callable[[Sequence[Any]], bool]:
        """Return the test for a table's rows."""
        about = self.narrowing.of(table)
        if not self.state or table.name != "transactions":
            return about
        at = table.names.index("state")
        return lambda row: row[at] in self.state and about(row)


_narrowing_options = as_one(
    "narrowing", Narrowing,
    topic_option,
    partition_option,
    click.option("--producer-id", "producer_ids", type=int, multiple=True, help="Only this producer; repeat for more."),
    transactional_id_option,
)  # fmt: skip


@click.command("txn-audit", cls=GroupedCommand)
@paths_argument("DIR...")
@format_option((*ROW_FORMS, *REPORT_FORMS))
@click.option("--all", "everything", is_flag=True, help="Show all rows of all tables except visible.")
@columns_option(AUDIT_TABLES)
@findings_option
@tz_option
@_narrowing_options
@click.option("--state", multiple=True, type=click.Choice(STATES),
              help="Show only transactions in this state; the verdict stays the same.")  # fmt: skip
@click.option("--incident", metavar="ID", help="Show only this incident, with all of its events and steps.")
@jobs_option
@unpacked_option
@output_options("Write to this file; without a suffix, to this new directory with a file for each table.")
@click.option("--engine", type=click.Choice(("local", "spark")), default="local", show_default=True,
              help="Where the audit runs; Spark writes only Parquet.")  # fmt: skip
@click.option("--master", metavar="URL", help="With --engine spark: the Spark master, such as local[2].")
@click.option("--confirm", type=click.FloatRange(min=0), metavar="SECONDS",
              help="Read partitions with open transactions that are not proved again after this time.")  # fmt: skip
@since_audit_option
@audit_options
def txn_audit(
    paths: tuple[str, ...], form: str | None, tables: tuple[str, ...], everything: bool, columns: tuple[str, ...],
    narrowing: Narrowing, state: tuple[str, ...], jobs: int | None, target: Target, hashed: bool, fail_on: str,
    exit_zero: bool, engine: str, master: str | None, confirm: float | None, findings: bool, zone: Zone,
    since_audit: str | None, incident: str | None, limits: Limits, **options: Any,
) -> int:  # fmt: skip
    """Report what happened to every transaction and offset under DIRs: brokers' log directories or single partitions.

    A DIR may be a directory above them, an archive (.tar, .tar.gz, .tar.zst, .zip), or a segment of a partition.
    Filters narrow the verdict and the exit status, too.

    \b
        kafkalog txn-audit /copy/of/log.dirs
        kafkalog txn-audit --topic 'orders*' --now 2026-11-21T03:00:00Z /copy/of/log.dirs
        kafkalog txn-audit --format ndjson --table transactions /copy/of/log.dirs | jq 'select(.state == "hanging")'
        kafkalog explain transaction-hanging
    """
    chosen = _Filter(narrowing, state)
    form = row_form(form, target, tables, columns, REPORT_SUFFIXES)
    check_name(form, target.path)
    folder = target.is_folder(form)
    if form in REPORT_FORMS and (tables or columns or state):
        raise click.UsageError(f"--format {form} has all tables: choose partitions and ids, not tables or rows.")
    if incident is not None and (form != "table" or tables or everything or state):
        raise click.UsageError("--incident shows one incident as text: leave tables, --state and other formats out.")
    if _PRODUCERLESS in tables and narrowing.of_producers:
        raise click.UsageError("--table visible is about whole logs: filter it by --topic and --partition.")
    if hashed and not folder:
        raise click.UsageError(
            "--hash needs --format parquet and -o NAME, a directory: the checksums are written to provenance.json."
        )
    if engine == "spark":
        return _on_spark(paths, form, target, chosen, confirm, master)
    if master is not None:
        raise click.UsageError("--master works only with --engine spark.")
    from kafkalog.auditing.pipeline import provenance, scans_of_audit
    from kafkalog.auditing.transactions import Summary, narrowed
    from kafkalog.reports import first_screen, source_of
    from kafkalog_cli.render.report_forms import is_report, print_headline

    paths, started = unpacked(paths), time.time()
    earlier = () if since_audit is None else (scans_of_audit(since_audit),)
    read = paths
    if since_audit is not None and os.path.realpath(since_audit) != os.path.realpath(target.path or ""):
        read = (*paths, since_audit)  # --overwrite may replace the earlier audit, nothing else is written there
    with _audit_folder(target, read) if folder else nullcontext() as place:
        of_audit = audit_options_of(options, limits, jobs)
        found = _audited(paths, of_audit, earlier, place, confirm, started, hashed=hashed)
        say_reused(found.reused, since_audit, resumed=place is not None and place.resumed)
        found = narrowed(found, narrowing)
        summary = Summary.of(found)
        status = summary.outcome(Severity[fail_on.upper()]).status(exit_zero=exit_zero)
        for line in found.unreadable:
            say(f"error: {line}")
        source = source_of(found, summary)
        if place is not None:
            from kafkalog_cli.audit_folder import write_audit

            write_audit(
                found, source, summary, status, place, form, tables or SHOWN, chosen.of if chosen else None,
                command=target.command, arguments=sys.argv[1:], hashed=hashed, started=started,
            )  # fmt: skip
        elif is_report(form, tables, columns, everything=everything or bool(state)):
            from kafkalog_cli.render.people import style
            from kafkalog_cli.render.report_forms import write_form

            def origin() -> dict[str, Any]:
                from kafkalog_cli.audit_folder import files_of

                files = files_of(found, hashed=hashed)
                return provenance(target.command, summary, files, sys.argv[1:], started, "local")

            with target.stream(paths) as stream:
                write_form(
                    form, source, origin, stream, zone=zone, style=style(target.on_terminal), findings=findings,
                    every=bool(tables), incident=incident,
                )  # fmt: skip
        else:
            with target.stream(paths) as stream:
                if form == "table" and not tables and not everything:  # --state chooses some transactions
                    headline = first_screen(source, list(source.rows(INCIDENTS.name))).headline
                    stream.write(f"{headline}\n\n".encode("utf-8", "surrogateescape"))
                    tables = ("transactions",)
                _write(found, summary, form, stream, tables, columns, chosen, target=target, zone=zone)
        if target.path is not None:
            print_headline(source)
        return status


def _on_spark(
    paths: Sequence[str], form: str, target: Target, chosen: _Filter, confirm: float | None, master: str | None
) -> int:
    if form != "parquet" or not target.is_folder(form):
        raise click.UsageError("--engine spark writes Parquet: name a new directory with -o DIR.")
    if confirm is not None:
        raise click.UsageError("--confirm works only with --engine local.")
    if chosen:
        raise click.UsageError("Filters work only with --engine local: Spark writes whole tables, query them.")
    from kafkalog_cli.submit import run_bulk

    return run_bulk(paths, target.remote or str(target.path), overwrite=target.overwrite, master=master)


def _audited(
    paths: Sequence[str], options: AuditOptions, earlier: tuple[str, ...], place: AuditFolder | None,
    confirm: float | None, started: float, *, hashed: bool,
) -> Audit:  # fmt: skip
    """Audit with the scans that an earlier audit, or an earlier run into the same directory, kept."""
    from kafkalog.auditing.pipeline import KeptScans, audit, confirmed

    kept = KeptScans(earlier=earlier, begun_ms=round(started * 1000))
    if place is not None:
        kept = place.kept(earlier, hashed=hashed)
    found = audit(paths, options, kept=kept)
    if confirm is not None:
        found = confirmed(found, paths, options, confirm)
    if isinstance(options.now, Ago):
        for now in sorted({cluster.now for cluster in found.clusters}):
            say(f"the present is {iso(now)}")
    return found


def _audit_folder(target: Target, read: Sequence[str]) -> AbstractContextManager[AuditFolder]:
    from kafkalog_cli.audit_folder import audit_folder  # imports shutil, and with it each codec of Python

    return audit_folder(target, read, sys.argv[1:])


def _write(
    found: Audit, summary: Summary, form: str, stream: BinaryIO, tables: tuple[str, ...], columns: tuple[str, ...],
    chosen: _Filter, *, target: Target, zone: Zone,
) -> None:  # fmt: skip
    from kafkalog.auditing.incidents import rows_of_audit
    from kafkalog.auditing.transactions import COLUMN_TABLES, audit_columns
    from kafkalog_cli.render.sinks import sink_of, write_columns, write_summary

    wanted = tables or SHOWN
    sink = sink_of(form, stream, columns, wanted, target, zone=zone)
    if not tables:
        write_summary(sink, summary.row())
    for table in AUDIT_TABLES:
        if table.name in wanted:
            if table.name in COLUMN_TABLES and form in _LINES and not chosen:
                write_columns(sink, table, audit_columns(found, table.name))
                continue
            test = chosen.of(table)
            for row in rows_of_audit(found, table.name):
                if test(row):
                    sink.row(table, row)
    sink.close()
    if form == "csv" and tables != ("findings",):
        for finding in found.findings():
            if finding.severity > Severity.NOTE:
                say(str(finding))
