"""``kafkalog txn-audit``: what happened to every transaction and every offset of a data directory."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from kafkalog.narrowing import Narrowing
from kafkalog.quantities import Ago, iso
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import AUDIT_TABLES, STATES
from kafkalog.tables.dump_tables import OPEN
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    ALONE,
    SHOWN,
    Failing,
    as_one,
    audit_options,
    audit_options_of,
    check_rows,
    columns_option,
    findings_option,
    full_option,
    incident_option,
    jobs_option,
    keys_option,
    output_options,
    partition_option,
    paths_argument,
    say_reused,
    showing_options,
    since_audit_option,
    topic_option,
    transactional_id_option,
    tz_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import Target, say, say_findings
from kafkalog_cli.render.forms import REPORTS, ROWS
from kafkalog_cli.render.showing import Showing, Told

if TYPE_CHECKING:
    from kafkalog.auditing.incidents import Verdict
    from kafkalog.auditing.transactions import Audit, AuditOptions
    from kafkalog.reports import MadeSource
    from kafkalog_cli.audit_folder import AuditFolder

__all__ = ["txn_audit"]

_PRODUCERLESS: Final = "visible"  # what consumers see of a log is never one producer's


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


_OPEN: Final = "open"


def _every_state(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the states that words stand for."""
    return tuple(dict.fromkeys((*(one for one in given if one != _OPEN), *(OPEN if _OPEN in given else ()))))


_filter_options = as_one(
    "chosen", _Filter,
    as_one(
        "narrowing", Narrowing,
        topic_option,
        partition_option,
        click.option("--producer-id", "producer_ids", type=int, multiple=True,
                     help="Only this producer; repeat for more."),
        transactional_id_option,
    ),
    click.option("--state", multiple=True, type=click.Choice((*STATES, _OPEN)), callback=_every_state,
                 help="Show only transactions in this state, or open: all that no marker has ended; the verdict stays"
                 " the same."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Way:
    """Where the audit runs, what it takes of an earlier one, how often it reads."""

    engine: str
    master: str | None
    confirm: float | None
    since_audit: str | None
    hashed: str | None

    def check(self, *, folder: bool) -> None:
        """Raise UsageError for options that do not go together."""
        if self.hashed is not None and not folder:
            raise click.UsageError(
                "--hash needs --format parquet and -o NAME, a directory: the checksums are written to provenance.json."
            )
        if self.engine == "local" and self.master is not None:
            raise click.UsageError("--master works only with --engine spark.")

    def inputs_of(self, paths: tuple[str, ...], target: Target) -> tuple[str, ...]:
        """Return what is read, where nothing is written; --overwrite may replace the earlier audit."""
        earlier = self.since_audit
        if earlier is None or os.path.realpath(earlier) == os.path.realpath(target.path or ""):
            return paths
        return (*paths, earlier)


_way_options = as_one(
    "way", _Way,
    click.option("--engine", type=click.Choice(("local", "spark")), default="local", show_default=True,
                 help="Where the audit runs; Spark writes only Parquet."),
    click.option("--master", metavar="URL", help="With --engine spark: the Spark master, such as local[2]."),
    click.option("--confirm", type=click.FloatRange(min=0), metavar="SECONDS",
                 help="Read partitions with open transactions that are not proved again after this time."),
    since_audit_option,
)  # fmt: skip


@click.command("txn-audit", cls=GroupedCommand)
@paths_argument("DIR...")
@showing_options(
    click.option("--all", "everything", is_flag=True, help="Show all rows of all tables except visible."),
    columns_option(AUDIT_TABLES), findings_option, full_option, tz_option,
    output_options("Write to this file; without a suffix, to this new directory with a file for each table."),
    forms=(*ROWS, *REPORTS),
)  # fmt: skip
@_filter_options
@incident_option("Show only these incidents, with all of their events and steps")
@_way_options
@as_one("options", audit_options_of, jobs_option, keys_option, audit_options)
@unpacked_option
def txn_audit(
    paths: tuple[str, ...], showing: Showing, chosen: _Filter, incident: str | None, way: _Way,
    options: AuditOptions, failing: Failing,
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
    check_rows(showing, showing.tables)
    folder = showing.is_folder
    if not showing.form.has_rows and (showing.tables or showing.columns or chosen.state):
        raise click.UsageError(
            f"--format {showing.form} has all tables: choose partitions and ids, not tables or rows."
        )
    if incident is not None and (not showing.form.draws or showing.tables or showing.everything or chosen.state):
        raise click.UsageError(ALONE)
    if _PRODUCERLESS in showing.tables and chosen.narrowing.of_producers:
        raise click.UsageError("--table visible is about whole logs: filter it by --topic and --partition.")
    way.check(folder=folder)
    if way.engine == "spark":
        return _on_spark(paths, showing, chosen, way)
    from kafkalog.auditing.pipeline import ending, scans_of_audit
    from kafkalog.auditing.transactions import Summary, narrowed
    from kafkalog.reports import screen_of, source_of
    from kafkalog_cli.render.report_forms import is_report, print_headline, write_form

    paths, started = unpacked(paths), time.time()
    if not options.compare_keys:
        say("the records of compacted logs' replicas are not compared")
    earlier = () if way.since_audit is None else (scans_of_audit(way.since_audit),)
    with _audit_folder(showing.target, way.inputs_of(paths, showing.target)) if folder else nullcontext() as place:
        found = _audited(paths, options, earlier, place, way, started)
        say_reused(found.reused, way.since_audit, resumed=place is not None and place.resumed)
        found = narrowed(found, chosen.narrowing)
        summary = Summary.of(found)
        say_findings(found.refused)
        source = source_of(found, summary)
        screen = screen_of(source)
        status = failing.status_of(screen.verdict)
        verdict = screen.verdict.said()
        origin = partial(_origin, found, verdict, showing.target.command, started, hashed=way.hashed is not None)
        if place is not None:
            from kafkalog_cli.audit_folder import write_audit

            shown = replace(showing, tables=showing.tables or SHOWN)
            ended, test_of = partial(ending, summary, verdict, status), chosen.of if chosen else None
            write_audit(found, source, ended, place, shown, test_of, origin, started)
        elif is_report(replace(showing, everything=showing.everything or bool(chosen.state))):
            told = Told(source, screen, origin, every=bool(showing.tables), incident=incident)
            write_form(told, showing, paths)
        else:
            _write(found, source, screen.verdict, showing, chosen, paths)
        if showing.tells_findings:
            say_findings(found.findings())
        if showing.target.path is not None:
            print_headline(screen.verdict)
        return status


def _origin(
    found: Audit, verdict: Mapping[str, Any], command: str, started: float, engine: str = "local", *, hashed: bool
) -> dict[str, Any]:
    """Return what ``provenance.json`` has."""
    from kafkalog.auditing.pipeline import provenance
    from kafkalog_cli.audit_folder import files_of

    return provenance(command, verdict, files_of(found, hashed=hashed), sys.argv[1:], started, engine)


def _on_spark(paths: Sequence[str], showing: Showing, chosen: _Filter, way: _Way) -> int:
    target = showing.target
    if not showing.form.parts or not showing.is_folder:
        raise click.UsageError("--engine spark writes Parquet: name a new directory with -o DIR.")
    if way.confirm is not None:
        raise click.UsageError("--confirm works only with --engine local.")
    if chosen.state or chosen.narrowing.of_producers:
        raise click.UsageError(
            "With --engine spark only --topic and --partition choose what is read; ask the tables for the rest."
        )
    from kafkalog_cli.submit import run_bulk

    return run_bulk(paths, target.remote or str(target.path), overwrite=target.overwrite, master=way.master)


def _audited(
    paths: Sequence[str], options: AuditOptions, earlier: tuple[str, ...], place: AuditFolder | None, way: _Way,
    started: float,
) -> Audit:  # fmt: skip
    """Audit with the scans that an earlier audit, or an earlier run into the same directory, kept."""
    from kafkalog.auditing.pipeline import KeptScans, audit, confirmed

    kept = KeptScans(earlier=earlier, begun_ms=round(started * 1000))
    if place is not None:
        kept = place.kept(earlier, hashed=way.hashed is not None)
    found = audit(paths, options, kept=kept)
    if way.confirm is not None:
        found = confirmed(found, paths, options, way.confirm)
    if isinstance(options.now, Ago):
        for now in sorted({cluster.now for cluster in found.clusters}):
            say(f"the present is {iso(now)}")
    return found


def _audit_folder(target: Target, read: Sequence[str]) -> AbstractContextManager[AuditFolder]:
    from kafkalog_cli.audit_folder import audit_folder  # imports shutil, and with it each codec of Python

    return audit_folder(target, read, sys.argv[1:])


def _write(
    found: Audit, source: MadeSource, verdict: Verdict, showing: Showing, chosen: _Filter, paths: Sequence[str]
) -> None:
    with showing.target.stream(paths) as stream:
        if showing.form.draws and not showing.tables and not showing.everything:  # --state chooses some transactions
            stream.write(f"{verdict.headline}\n\n".encode("utf-8", "surrogateescape"))
            showing = replace(showing, tables=("transactions",))
        _write_rows(found, source, verdict, showing, chosen, stream)


def _write_rows(
    found: Audit, source: MadeSource, verdict: Verdict, showing: Showing, chosen: _Filter, stream: BinaryIO
) -> None:
    from kafkalog.auditing.transactions import COLUMN_TABLES, audit_columns
    from kafkalog_cli.render.sinks import write_columns, write_summary

    wanted = showing.tables or SHOWN
    sink = showing.sink(stream, wanted)
    if not showing.tables:
        write_summary(sink, verdict.row())
    for table in AUDIT_TABLES:
        if table.name in wanted:
            if table.name in COLUMN_TABLES and showing.form.is_lines and not chosen:
                write_columns(sink, table, audit_columns(found, table.name))
                continue
            test = chosen.of(table)
            for row in source.cells(table.name):
                if test(row):
                    sink.row(table, row)
    sink.close()
